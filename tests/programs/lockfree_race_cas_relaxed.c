// The same spin lock with relaxed orders protects nothing.
// race: a a
#include "prog.h"

int locked, x;

THREAD(work)
{
    int free = 0;
    while (!__atomic_compare_exchange_n(&locked, &free, 1, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        free = 0;
        sched_yield();
    }
    x++; // [a]
    __atomic_store_n(&locked, 0, __ATOMIC_RELAXED);
    return NULL;
}

int main(void)
{
    run_two(work, work);
    return 0;
}
