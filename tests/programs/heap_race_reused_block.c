// The thread wrote this address before, in a block that is gone: the new block is a new object.
// race: a b
// tsan: differs
#include "prog.h"

int *published;

static int *fresh(int value)
{
    int *p = malloc(40);
    __asm__ volatile("" : "+r"(p));
    p[2] = value;
    return p;
}

THREAD(owner)
{
    free(fresh(1));
    int *p = malloc(40);
    __asm__ volatile("" : "+r"(p));
    p[2] = 2; // [a]
    __atomic_store_n(&published, p, __ATOMIC_RELAXED);
    return NULL;
}

THREAD(reader)
{
    int *p;
    while (!(p = __atomic_load_n(&published, __ATOMIC_RELAXED)))
        sched_yield();
    USE(p[2]); // [b]
    return NULL;
}

int main(void)
{
    run_two(owner, reader);
    free(published);
    return 0;
}
