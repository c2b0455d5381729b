// Threads with thread-local variables, one after the other and side by side.
// issue: https://github.com/paulfloyd/freebsd_valgrind/issues/103
//   https://github.com/paulfloyd/freebsd_valgrind/issues/113
// tool: DRD
// there: false alarm; a load in pthread's own code, in memory that an ended thread had
// verdict: no race; each thread has its own, and memory of an ended thread starts anew
#include "prog.h"

_Thread_local int local = 7;
_Thread_local char big[5000];

THREAD(work)
{
    local++;
    big[local] = 1;
    big[4999] += big[local];
    return local == 8 && big[4999] == 1 ? NULL : &local;
}

int main(void)
{
    for (int i = 0; i < 10; i++)
        run_two(work, work);
    return local - 7;
}
