/* seconds.h - the time that passes, for progress, budgets and timings */
#ifndef HEDDLE_BASE_SECONDS_H
#define HEDDLE_BASE_SECONDS_H

#include <time.h>

/* Since some moment in the past; never goes back. */
static inline double seconds_now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

#endif
