// Two calls after each other share stack memory; only the second one's local is shared.
// race: a b
// may: c b
// tsan: differs
#include "prog.h"

int *published, done;

static void __attribute__((noinline)) before(void)
{
    int local[4];
    __asm__ volatile("" : : "r"(local) : "memory");
    local[1] = 1; // [c]
    __asm__ volatile("" : : "r"(local) : "memory");
}

static void __attribute__((noinline)) shared(void)
{
    int local[4];
    __asm__ volatile("" : : "r"(local) : "memory");
    __atomic_store_n(&published, local, __ATOMIC_RELAXED);
    local[1] = 2; // [a]
    while (!__atomic_load_n(&done, __ATOMIC_RELAXED))
        sched_yield();
}

THREAD(owner)
{
    before();
    shared();
    return NULL;
}

THREAD(other)
{
    int *p;
    while (!(p = __atomic_load_n(&published, __ATOMIC_RELAXED)))
        sched_yield();
    p[1] = 3; // [b]
    __atomic_store_n(&done, 1, __ATOMIC_RELAXED);
    return NULL;
}

int main(void)
{
    run_two(owner, other);
    return 0;
}
