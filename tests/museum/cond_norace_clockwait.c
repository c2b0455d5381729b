// pthread_cond_clockwait with the monotonic clock.
// issue: https://github.com/pmem/libpmemobj-cpp/issues/179
// tool: Helgrind
// there: crash; the test of condition variables fails now and then, only under the tool
// verdict: no race; the flag is under the mutex, which the wait gives back and takes again
#include "prog.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
int ready, data;

THREAD(waits)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 1000;
    pthread_mutex_lock(&lock);
    while (!ready)
        pthread_cond_clockwait(&cond, &lock, CLOCK_MONOTONIC, &until);
    pthread_mutex_unlock(&lock);
    data++;
    return NULL;
}

THREAD(signals)
{
    data = 1;
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void)
{
    run_two(waits, signals);
    return data - 2;
}
