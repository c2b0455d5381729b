// A __sync counter says who comes second; it does not say that the first has finished.
// race: a b
// gcc: also
#include "prog.h"

int entered, x;

THREAD(first)
{
    __sync_fetch_and_add(&entered, 1);
    x = 1; // [a]
    return NULL;
}

THREAD(second)
{
    while (!__sync_fetch_and_add(&entered, 0))
        sched_yield();
    x = 2; // [b]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
