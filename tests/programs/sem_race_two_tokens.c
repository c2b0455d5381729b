// A semaphore of two lets both in; the barrier makes sure that both are.
// race: a a
// gcc: also
// tsan: misses
#include "prog.h"
#include <semaphore.h>

sem_t sem;
pthread_barrier_t both;
int x;

THREAD(work)
{
    sem_wait(&sem);
    pthread_barrier_wait(&both);
    x++; // [a]
    pthread_barrier_wait(&both);
    sem_post(&sem);
    return NULL;
}

int main(void)
{
    sem_init(&sem, 0, 2);
    pthread_barrier_init(&both, NULL, 2);
    run_two(work, work);
    return 0;
}
