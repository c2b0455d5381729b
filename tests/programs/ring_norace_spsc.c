// A ring buffer of one producer and one consumer, with release and acquire on its indices.
// flags: -O0
// flags: -O2
// gcc: also
#include "prog.h"

enum { SIZE = 8, N = 200 };
int ring[SIZE];
unsigned head, tail;

THREAD(producer)
{
    for (unsigned i = 0; i < N; i++) {
        while (i - __atomic_load_n(&tail, __ATOMIC_ACQUIRE) == SIZE)
            sched_yield();
        ring[i % SIZE] = (int)i;
        __atomic_store_n(&head, i + 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

THREAD(consumer)
{
    for (unsigned i = 0; i < N; i++) {
        while (__atomic_load_n(&head, __ATOMIC_ACQUIRE) == i)
            sched_yield();
        if (ring[i % SIZE] != (int)i)
            abort();
        __atomic_store_n(&tail, i + 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

int main(void)
{
    run_two(producer, consumer);
    return 0;
}
