// 200 threads live at the same time; each writes its own cell, one lock for all.
#include "prog.h"

enum { N = 200 };
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_barrier_t all;
int cell[N], sum;

THREAD(child)
{
    cell[(intptr_t)arg] = 1;
    pthread_barrier_wait(&all);
    pthread_mutex_lock(&lock);
    sum += cell[((intptr_t)arg + 1) % N];
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void)
{
    pthread_t t[N];
    pthread_barrier_init(&all, NULL, N);
    for (intptr_t i = 0; i < N; i++)
        t[i] = start(child, (void *)i);
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    return sum != N;
}
