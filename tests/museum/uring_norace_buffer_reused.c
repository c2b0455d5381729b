// A buffer is written to a pipe by io_uring, and reused by another thread after the completion.
// issue: https://github.com/Thomasdezeeuw/a10/issues/98
// tool: ThreadSanitizer
// there: false alarm; the tools do not understand io_uring
// verdict: no race; the kernel has read the buffer before the completion, and the join orders
//   the rest
#include "prog.h"
#include "uring.h"

struct uring ring;
int ends[2];
char buffer[8] = "abcdefg";

THREAD(submits)
{
    uring_submit(&ring, IORING_OP_WRITE, ends[1], buffer, sizeof(buffer));
    uring_wait(&ring);
    return NULL;
}

int main(void)
{
    if (uring_open(&ring) || pipe(ends))
        return 0;
    pthread_join(start(submits, NULL), NULL);
    memset(buffer, 0, sizeof(buffer));
    return read(ends[0], buffer, sizeof(buffer)) == sizeof(buffer) ? buffer[0] - 'a' : 1;
}
