#include "untraced_pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>

enum { JOBS = 256, THREADS = 8 };
static struct {
    void (*f)(void *);
    void *arg;
} jobs[JOBS];
static int lock, first, last, pending, stopping, running;
static pthread_t workers[THREADS];

static void take(void)
{
    while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
        sched_yield();
}

static void drop(void)
{
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

static void *work(void *arg)
{
    for (;;) {
        int job = -1, over;
        take();
        over = stopping;
        if (first != last)
            job = first++ % JOBS;
        drop();
        if (job >= 0) {
            jobs[job].f(jobs[job].arg);
            __atomic_fetch_sub(&pending, 1, __ATOMIC_SEQ_CST);
        } else if (over) {
            return arg;
        } else {
            sched_yield();
        }
    }
}

void pool_start(int threads)
{
    stopping = 0;
    running = threads;
    for (int i = 0; i < threads; i++)
        pthread_create(&workers[i], NULL, work, NULL);
}

void pool_push(void (*f)(void *), void *arg)
{
    __atomic_fetch_add(&pending, 1, __ATOMIC_SEQ_CST);
    take();
    jobs[last % JOBS].f = f;
    jobs[last++ % JOBS].arg = arg;
    drop();
}

void pool_wait(void)
{
    while (__atomic_load_n(&pending, __ATOMIC_SEQ_CST))
        sched_yield();
}

void pool_stop(void)
{
    take();
    stopping = 1;
    drop();
    for (int i = 0; i < running; i++)
        pthread_join(workers[i], NULL);
}

static struct {
    void (*f)(void *);
    intptr_t number;
} one[THREADS];

static void *once(void *arg)
{
    intptr_t i = (intptr_t)arg;
    one[i].f((void *)i);
    __atomic_fetch_sub(&pending, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

void pool_once(void (*f)(void *), int n)
{
    __atomic_store_n(&pending, n, __ATOMIC_SEQ_CST);
    for (intptr_t i = 0; i < n; i++) {
        pthread_t t;
        one[i].f = f;
        pthread_create(&t, NULL, once, (void *)i);
        pthread_detach(t);
    }
    pool_wait();
}
