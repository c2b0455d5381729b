// Relaxed atomics do not race themselves, but pass nothing.
// race: a b
// flags: -O0
// flags: -O2
// gcc: also
#include "prog.h"
#include <stdatomic.h>

int data;
atomic_int flag;

THREAD(sender)
{
    data = 1; // [a]
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
    return NULL;
}

THREAD(receiver)
{
    while (!atomic_load_explicit(&flag, memory_order_relaxed))
        sched_yield();
    data = 2; // [b]
    return NULL;
}

int main(void)
{
    run_two(sender, receiver);
    return 0;
}
