// A pointer is read from a pipe by io_uring; another thread wrote it there.
// issue: https://github.com/google/sanitizers/issues/1729
// tool: ThreadSanitizer
// there: false alarm; reading by io_uring does not order as read() does
// verdict: no race; the kernel completes the read after the write, and the completion is acquired
#include "prog.h"
#include "uring.h"

int box, ends[2];

THREAD(writer)
{
    int *sent = &box;

    box = 7331;
    if (write(ends[1], &sent, sizeof(sent)) != sizeof(sent))
        abort();
    return NULL;
}

int main(void)
{
    struct uring ring;
    int *got = NULL;

    if (uring_open(&ring) || pipe(ends))
        return 0; // no io_uring here
    pthread_t t = start(writer, NULL);
    uring_submit(&ring, IORING_OP_READ, ends[0], &got, sizeof(got));
    uring_wait(&ring);
    int value = *got;
    pthread_join(t, NULL);
    return value - 7331;
}
