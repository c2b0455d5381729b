// The fence stands before the data, not between data and flag.
// race: a b
#include "prog.h"

int data, flag;

THREAD(sender)
{
    __atomic_thread_fence(__ATOMIC_RELEASE);
    data = 1; // [a]
    __atomic_store_n(&flag, 1, __ATOMIC_RELAXED);
    return NULL;
}

THREAD(receiver)
{
    while (!__atomic_load_n(&flag, __ATOMIC_RELAXED))
        sched_yield();
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    USE(data); // [b]
    return NULL;
}

int main(void)
{
    run_two(sender, receiver);
    return 0;
}
