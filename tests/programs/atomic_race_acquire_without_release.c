// The load acquires, but the store does not release.
// race: a b
#include "prog.h"

int data, flag;

THREAD(sender)
{
    data = 1; // [a]
    __atomic_store_n(&flag, 1, __ATOMIC_RELAXED);
    return NULL;
}

THREAD(receiver)
{
    while (!__atomic_load_n(&flag, __ATOMIC_ACQUIRE))
        sched_yield();
    USE(data); // [b]
    return NULL;
}

int main(void)
{
    run_two(sender, receiver);
    return 0;
}
