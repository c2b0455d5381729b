// A semaphore of one used as a lock, taken by sem_wait and sem_timedwait.
// gcc: also
#include "prog.h"
#include <semaphore.h>

sem_t sem;
int x;

THREAD(work)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += 10;
    for (int i = 0; i < 20; i++) {
        if (i % 2 ? sem_wait(&sem) : sem_timedwait(&sem, &t))
            abort();
        x++;
        sem_post(&sem);
    }
    return NULL;
}

int main(void)
{
    sem_init(&sem, 0, 1);
    run_two(work, work);
    sem_destroy(&sem);
    return x - 40;
}
