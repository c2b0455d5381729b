// A timer's function runs in a thread that libc makes: what was set up before is seen.
// tsan: false alarm
#include "prog.h"
#include <signal.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
int setup, fired;

static void tick(union sigval value)
{
    pthread_mutex_lock(&lock);
    fired = setup + value.sival_int;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&lock);
}

int main(void)
{
    struct sigevent e = { .sigev_notify = SIGEV_THREAD, .sigev_notify_function = tick };
    struct itimerspec soon = { .it_value = { 0, 5000000 } };
    timer_t timer;
    setup = 1;
    e.sigev_value.sival_int = 2;
    timer_create(CLOCK_MONOTONIC, &e, &timer);
    timer_settime(timer, 0, &soon, NULL);
    pthread_mutex_lock(&lock);
    while (!fired)
        pthread_cond_wait(&cond, &lock);
    pthread_mutex_unlock(&lock);
    return fired - 3;
}
