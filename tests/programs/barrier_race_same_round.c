// One read between two rounds; the writer stands in the same gap.
// race: a b
// tsan: misses
#include "prog.h"

pthread_barrier_t all;
int x;

THREAD(first)
{
    pthread_barrier_wait(&all);
    x = 1; // [a]
    pthread_barrier_wait(&all);
    return NULL;
}

THREAD(second)
{
    pthread_barrier_wait(&all);
    USE(x); // [b]
    pthread_barrier_wait(&all);
    USE(x);
    return NULL;
}

int main(void)
{
    pthread_barrier_init(&all, NULL, 2);
    run_two(first, second);
    return 0;
}
