// The consumer gives slots back with a relaxed store: the producer may overwrite what is read.
// race: a b
#include "prog.h"

int slot;
unsigned head, tail;

THREAD(producer)
{
    slot = 1;
    __atomic_store_n(&head, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&tail, __ATOMIC_ACQUIRE))
        sched_yield();
    slot = 2; // [a]
    return NULL;
}

THREAD(consumer)
{
    while (!__atomic_load_n(&head, __ATOMIC_ACQUIRE))
        sched_yield();
    USE(slot); // [b]
    __atomic_store_n(&tail, 1, __ATOMIC_RELAXED);
    return NULL;
}

int main(void)
{
    run_two(producer, consumer);
    return 0;
}
