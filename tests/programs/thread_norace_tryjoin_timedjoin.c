// The other ways to join.
// gcc: also
// tsan: false alarm
#include "prog.h"

int x;

THREAD(child)
{
    x++;
    return NULL;
}

int main(void)
{
    pthread_t t = start(child, NULL);
    while (pthread_tryjoin_np(t, NULL))
        sched_yield();
    x++;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 10;
    t = start(child, NULL);
    pthread_timedjoin_np(t, NULL, &until);
    x++;
    t = start(child, NULL);
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 10;
    pthread_clockjoin_np(t, NULL, CLOCK_MONOTONIC, &until);
    return x - 5;
}
