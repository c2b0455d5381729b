// The old version is freed while a reader may still hold it. Relaxed flags fix the order.
// race: a b
#include "prog.h"

int *current, step;

THREAD(reader)
{
    int *p = __atomic_load_n(&current, __ATOMIC_ACQUIRE);
    USE(*p); // [a]
    __atomic_store_n(&step, 1, __ATOMIC_RELAXED);
    return NULL;
}

THREAD(writer)
{
    while (!__atomic_load_n(&step, __ATOMIC_RELAXED))
        sched_yield();
    free(__atomic_exchange_n(&current, NULL, __ATOMIC_ACQ_REL)); // [b]
    return NULL;
}

int main(void)
{
    current = calloc(1, sizeof(int));
    run_two(reader, writer);
    return 0;
}
