// The second barrier of each round is missing: a neighbour may be a round ahead.
// race: a b
// gcc: also
// tsan: misses
#include "prog.h"

enum { N = 4 };
pthread_barrier_t all;
int cell[N];

THREAD(work)
{
    int me = (int)(intptr_t)arg, sum = 0;
    for (int round = 0; round < 3; round++) {
        cell[me] = round; // [a]
        pthread_barrier_wait(&all);
        sum += cell[(me + 1) % N]; // [b]
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
    return 0;
}
