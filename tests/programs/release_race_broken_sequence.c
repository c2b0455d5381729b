// A relaxed STORE by a third thread ends the release sequence; the acquire reads that store.
// race: a b
// tsan: misses
#include "prog.h"

int data, flag;

THREAD(sender)
{
    data = 1; // [a]
    __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
    return NULL;
}

THREAD(middle)
{
    while (!__atomic_load_n(&flag, __ATOMIC_RELAXED))
        sched_yield();
    __atomic_store_n(&flag, 2, __ATOMIC_RELAXED);
    return NULL;
}

THREAD(receiver)
{
    while (__atomic_load_n(&flag, __ATOMIC_RELAXED) != 2)
        sched_yield();
    USE(__atomic_load_n(&flag, __ATOMIC_ACQUIRE));
    data = 2; // [b]
    return NULL;
}

int main(void)
{
    pthread_t t = start(middle, NULL);
    run_two(sender, receiver);
    pthread_join(t, NULL);
    return 0;
}
