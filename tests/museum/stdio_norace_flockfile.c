// flockfile on stdout is used as the lock of a counter.
// issue: https://github.com/llvm/llvm-project/issues/203451
// tool: ThreadSanitizer
// there: false alarm; flockfile is not intercepted
// verdict: no race; POSIX: flockfile gives the calling thread ownership of the stream, as a lock
#include "prog.h"

int counter;

THREAD(worker)
{
    flockfile(stdout);
    counter++;
    funlockfile(stdout);
    return NULL;
}

int main(void)
{
    run_two(worker, worker);
    return counter - 2;
}
