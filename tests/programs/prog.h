/* prog.h - what nearly every test program needs; nothing here synchronises beyond create and join
 *
 * THREAD(f) { ... }      a thread function
 * run_two(f, g)          two threads side by side, joined
 * pause_ms(n)            lets others run first, most of the time; orders nothing
 * tell(&flag)            after it, await(&flag) in another thread goes on: an order of events in
 *                        time, on every machine, that is no order of memory (relaxed atomics)
 * USE(x)                 reads x even when optimised
 */
#ifndef PROG_H
#define PROG_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define THREAD(name) static void *name(void *arg __attribute__((unused)))

/* An opaque consumer of a value: the load that made it stays. */
#define USE(x)                                                                                     \
    do {                                                                                           \
        __typeof__(x) used_ = (x);                                                                 \
        __asm__ volatile("" : : "g"(used_));                                                       \
    } while (0)

static inline void pause_ms(int ms)
{
    struct timespec t = { ms / 1000, ms % 1000 * 1000000L };
    nanosleep(&t, NULL);
}

static inline void tell(int *flag)
{
    __atomic_store_n(flag, 1, __ATOMIC_RELAXED);
}

static inline void await(int *flag)
{
    while (!__atomic_load_n(flag, __ATOMIC_RELAXED))
        pause_ms(1);
}

static inline pthread_t start(void *(*f)(void *), void *arg)
{
    pthread_t t;
    if (pthread_create(&t, NULL, f, arg))
        abort();
    return t;
}

static inline void run_two(void *(*f)(void *), void *(*g)(void *))
{
    pthread_t a = start(f, NULL), b = start(g, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
}

#endif
