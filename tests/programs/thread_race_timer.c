// The timer's thread writes while main does.
// race: a b
// tsan: misses
#include "prog.h"
#include <signal.h>

int x, written;

static void tick(union sigval value)
{
    x = value.sival_int; // [a]
    tell(&written);
}

int main(void)
{
    struct sigevent e = { .sigev_notify = SIGEV_THREAD, .sigev_notify_function = tick };
    struct itimerspec soon = { .it_value = { 0, 1000000 } };
    timer_t timer;
    timer_create(CLOCK_MONOTONIC, &e, &timer);
    timer_settime(timer, 0, &soon, NULL);
    x = 2; // [b]
    await(&written);
    return 0;
}
