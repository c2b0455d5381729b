// A release fence with an acquire load, and a release store with an acquire fence.
// tsan: false alarm
#include "prog.h"

int data, there, back;

THREAD(first)
{
    data = 1;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(&there, 1, __ATOMIC_RELAXED);
    while (!__atomic_load_n(&back, __ATOMIC_RELAXED))
        sched_yield();
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    data = 3;
    return NULL;
}

THREAD(second)
{
    while (!__atomic_load_n(&there, __ATOMIC_ACQUIRE))
        sched_yield();
    data = 2;
    __atomic_store_n(&back, 1, __ATOMIC_RELEASE);
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return data - 3;
}
