// The main thread waits in a ring's system call for what another thread submits.
// issue: https://github.com/axboe/liburing/issues/657
// tool: Helgrind
// there: hang; valgrind waits for ever in io_uring_wait_cqe; the other thread never runs
// verdict: no race; one thread submits, one completes: different words of the ring
// stdout: completed
#include "prog.h"
#include "uring.h"

struct uring ring;

THREAD(submits)
{
    uring_submit(&ring, IORING_OP_NOP, -1, NULL, 0);
    return NULL;
}

int main(void)
{
    if (!uring_open(&ring)) {
        pthread_t t = start(submits, NULL);
        uring_wait(&ring);
        pthread_join(t, NULL);
    }
    puts("completed");
    return 0;
}
