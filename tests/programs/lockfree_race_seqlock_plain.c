// A sequence lock over plain data. A relaxed flag makes the reader come first.
// race: a b
#include "prog.h"

unsigned seq;
int data, seen;

THREAD(reader)
{
    unsigned before = __atomic_load_n(&seq, __ATOMIC_ACQUIRE);
    USE(data); // [a]
    USE(before == __atomic_load_n(&seq, __ATOMIC_ACQUIRE));
    __atomic_store_n(&seen, 1, __ATOMIC_RELAXED);
    return NULL;
}

THREAD(writer)
{
    while (!__atomic_load_n(&seen, __ATOMIC_RELAXED))
        sched_yield();
    __atomic_store_n(&seq, 1, __ATOMIC_RELEASE);
    data = 1; // [b]
    __atomic_store_n(&seq, 2, __ATOMIC_RELEASE);
    return NULL;
}

int main(void)
{
    run_two(reader, writer);
    return 0;
}
