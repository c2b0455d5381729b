// A semaphore used to wait for two workers.
// gcc: also
#include "prog.h"
#include <semaphore.h>

sem_t done;
int result[2];

THREAD(work)
{
    result[(intptr_t)arg] = 1;
    sem_post(&done);
    return NULL;
}

int main(void)
{
    sem_init(&done, 0, 0);
    pthread_t a = start(work, (void *)0), b = start(work, (void *)1);
    sem_wait(&done);
    while (sem_trywait(&done))
        sched_yield();
    int sum = result[0] + result[1];
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return sum - 2;
}
