// A spin lock built from compare-and-swap.
// flags: -O0
// flags: -O2
// gcc: also
#include "prog.h"

int locked, x;

THREAD(work)
{
    for (int i = 0; i < 30; i++) {
        int free = 0;
        while (!__atomic_compare_exchange_n(&locked, &free, 1, 1, __ATOMIC_ACQUIRE,
                                            __ATOMIC_RELAXED)) {
            free = 0;
            sched_yield();
        }
        x++;
        __atomic_store_n(&locked, 0, __ATOMIC_RELEASE);
    }
    return NULL;
}

int main(void)
{
    run_two(work, work);
    return x - 60;
}
