/* measure.h - time and memory of this process
 *
 * CPU time is what is compared: on a shared machine wall time measures the
 * neighbours. (They still cost CPU time through the caches: note the load.)
 */
#ifndef HEDDLE_BENCH_MEASURE_H
#define HEDDLE_BENCH_MEASURE_H

#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
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

/* What a call of cpu_seconds() costs itself (it is a system call: half a microsecond): to be
 * taken off where short stretches are added up. */
static inline double cpu_seconds_cost(void)
{
    enum { CALLS = 1000 };
    double start = cpu_seconds();

    for (int i = 0; i < CALLS; i++)
        cpu_seconds();
    return (cpu_seconds() - start) / CALLS;
}

static inline double wall_seconds(void)
{
    return seconds_of(CLOCK_MONOTONIC);
}

/* The most this program ever had resident, mapped files included. (Not getrusage(): its peak
 * counts the process that forked this one.) */
static inline uint64_t peak_bytes(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    unsigned long kib = 0;

    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "VmHWM: %lu", &kib) == 1)
            break;
    if (f)
        fclose(f);
    return (uint64_t)kib * 1024;
}

/* What malloc() has handed out and not got back. */
static inline uint64_t heap_bytes(void)
{
    struct mallinfo2 m = mallinfo2();

    return m.uordblks + m.hblkhd;
}

#endif
