// The workers of a pool add up into one variable, each job claimed by an atomic counter.
// race: a a
#include "prog.h"

int next;
long sum;

THREAD(worker)
{
    sum += __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED); // [a]
    return NULL;
}

int main(void)
{
    run_two(worker, worker);
    return 0;
}
