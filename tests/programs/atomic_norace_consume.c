// A consume load, which compilers treat as acquire.
#include "prog.h"

int object, *published;

THREAD(sender)
{
    object = 1;
    __atomic_store_n(&published, &object, __ATOMIC_RELEASE);
    return NULL;
}

THREAD(receiver)
{
    int *p;
    while (!(p = __atomic_load_n(&published, __ATOMIC_CONSUME)))
        sched_yield();
    USE(*p);
    return NULL;
}

int main(void)
{
    run_two(sender, receiver);
    return 0;
}
