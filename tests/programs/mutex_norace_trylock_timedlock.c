// Locks taken by trylock, timedlock and clocklock protect like others.
// gcc: also
#include "prog.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int x;

THREAD(tries)
{
    while (pthread_mutex_trylock(&lock))
        sched_yield();
    x++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(timed)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += 10;
    pthread_mutex_timedlock(&lock, &t);
    x++;
    pthread_mutex_unlock(&lock);
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += 10;
    pthread_mutex_clocklock(&lock, CLOCK_MONOTONIC, &t);
    x++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void)
{
    run_two(tries, timed);
    return x - 3;
}
