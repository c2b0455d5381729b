/* measure.h - time and memory of this process
 *
 * CPU time is what is compared: on a shared machine wall time measures the
 * neighbours. (They still cost CPU time through the caches: note the load.)
 */
#ifndef HEDDLE_BENCH_MEASURE_H
#define HEDDLE_BENCH_MEASURE_H

#include <malloc.h>
#include <stdint.h>
#include <sys/resource.h>
#include <time.h>

static inline double seconds_of(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static inline double cpu_seconds(void)
{
    return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

static inline double wall_seconds(void)
{
    return seconds_of(CLOCK_MONOTONIC);
}

/* The most this process ever had resident, mapped files included. */
static inline uint64_t peak_bytes(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (uint64_t)u.ru_maxrss * 1024;
}

/* What malloc() has handed out and not got back. */
static inline uint64_t heap_bytes(void)
{
    struct mallinfo2 m = mallinfo2();

    return m.uordblks + m.hblkhd;
}

#endif
