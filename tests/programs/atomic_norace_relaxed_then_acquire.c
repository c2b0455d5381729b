// A relaxed spin, then one acquire load that reads the same value again: it is the one that orders.
// flags: -O0
// flags: -O2
// gcc: also
#include "prog.h"

int data, flag;

THREAD(sender)
{
    data = 1;
    __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
    return NULL;
}

THREAD(receiver)
{
    while (!__atomic_load_n(&flag, __ATOMIC_RELAXED))
        sched_yield();
    if (__atomic_load_n(&flag, __ATOMIC_ACQUIRE))
        data = 2;
    return NULL;
}

int main(void)
{
    run_two(sender, receiver);
    return data - 2;
}
