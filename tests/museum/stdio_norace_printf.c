// Two threads print through stdio.
// issue: https://github.com/pmem/pmdk/issues/4200
// tool: Helgrind
// there: false alarm; Helgrind and DRD report races inside of libc for a threaded hello world
// verdict: no race; POSIX: each call locks the stream
// stdout: thread
// stdout: thread
#include "prog.h"

THREAD(worker)
{
    printf("thread\n");
    return NULL;
}

int main(void)
{
    run_two(worker, worker);
    return 0;
}
