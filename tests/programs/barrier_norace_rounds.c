// Ten rounds: each thread writes its own cell, then reads its neighbour's.
// gcc: also
#include "prog.h"

enum { N = 4 };
pthread_barrier_t all;
int cell[N];

THREAD(work)
{
    int me = (int)(intptr_t)arg, sum = 0;
    for (int round = 0; round < 10; round++) {
        cell[me] = round;
        pthread_barrier_wait(&all);
        sum += cell[(me + 1) % N];
        pthread_barrier_wait(&all);
    }
    return (void *)(intptr_t)sum;
}

int main(void)
{
    pthread_t t[N];
    pthread_barrier_init(&all, NULL, N);
    for (intptr_t i = 0; i < N; i++)
        t[i] = start(work, (void *)i);
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    pthread_barrier_destroy(&all);
    return 0;
}
