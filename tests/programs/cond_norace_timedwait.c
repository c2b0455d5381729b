// Timed waits (three kinds) that time out again and again until the flag is there.
// gcc: also
#include "prog.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
int data, ready;

THREAD(sender)
{
    pause_ms(5);
    pthread_mutex_lock(&lock);
    data = 42;
    ready = 1;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static struct timespec soon(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_nsec += 1000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    return t;
}

THREAD(receiver)
{
    pthread_mutex_lock(&lock);
    while (!ready) {
        struct timespec t = soon(CLOCK_REALTIME), m = soon(CLOCK_MONOTONIC);
        pthread_cond_timedwait(&cond, &lock, &t);
        pthread_cond_clockwait(&cond, &lock, CLOCK_MONOTONIC, &m);
    }
    pthread_mutex_unlock(&lock);
    data++;
    return NULL;
}

int main(void)
{
    run_two(receiver, sender);
    return data - 43;
}
