// A relaxed increment by a third thread continues the release sequence.
// gcc: also
#include "prog.h"

int data, flag;

THREAD(sender)
{
    data = 1;
    __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
    return NULL;
}

THREAD(middle)
{
    while (!__atomic_load_n(&flag, __ATOMIC_RELAXED))
        sched_yield();
    __atomic_fetch_add(&flag, 1, __ATOMIC_RELAXED);
    return NULL;
}

THREAD(receiver)
{
    while (__atomic_load_n(&flag, __ATOMIC_ACQUIRE) != 2)
        sched_yield();
    data = 2;
    return NULL;
}

int main(void)
{
    pthread_t t = start(middle, NULL);
    run_two(sender, receiver);
    pthread_join(t, NULL);
    return data - 2;
}
