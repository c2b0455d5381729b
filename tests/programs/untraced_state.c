/* untraced_state.c - a library that is not traced and keeps its state to itself */
#define _GNU_SOURCE
#include "untraced_state.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct state_flag {
    int set;
};

static void raise_flag(int *flag)
{
    __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
}

static void await_flag(const int *flag)
{
    while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE))
        sched_yield();
}

/* ---- in statics ---- */

static int taken, flag, word;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int state_exported;

void state_lock(void)
{
    while (__atomic_exchange_n(&taken, 1, __ATOMIC_ACQUIRE))
        sched_yield();
}

void state_unlock(void)
{
    __atomic_store_n(&taken, 0, __ATOMIC_RELEASE);
}

void state_mutex_lock(void)
{
    pthread_mutex_lock(&mutex);
}

void state_mutex_unlock(void)
{
    pthread_mutex_unlock(&mutex);
}

void state_set(void)
{
    raise_flag(&flag);
}

void state_wait(void)
{
    await_flag(&flag);
}

void state_set_exported(void)
{
    raise_flag(&state_exported);
}

void state_wait_exported(void)
{
    await_flag(&state_exported);
}

void state_wake(void)
{
    raise_flag(&word);
    syscall(SYS_futex, &word, FUTEX_WAKE, 100, NULL, NULL, 0);
}

void state_sleep(void)
{
    while (!__atomic_load_n(&word, __ATOMIC_ACQUIRE))
        syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
}

int state_sum(int a, int b)
{
    return a + b;
}

/* ---- by handles ---- */

static int handles[16], opened;

int state_open(void)
{
    return opened++;
}

void state_set_handle(int handle)
{
    raise_flag(&handles[handle]);
}

void state_wait_handle(int handle)
{
    await_flag(&handles[handle]);
}

/* ---- by a pointer that was passed before ---- */

static struct state_flag *kept;
static __thread struct state_flag *bound;
static pthread_key_t key;
static pthread_once_t key_made = PTHREAD_ONCE_INIT;

struct state_flag *state_flag_new(void)
{
    return calloc(1, sizeof(struct state_flag));
}

void state_flag_set(struct state_flag *f)
{
    raise_flag(&f->set);
}

void state_flag_wait(struct state_flag *f)
{
    await_flag(&f->set);
}

void state_keep(struct state_flag *f)
{
    kept = f;
}

void state_fire(void)
{
    state_flag_set(kept);
}

struct state_hub {
    long unused;
    struct state_flag *flag;
};

struct state_hub *state_hub_new(void)
{
    return calloc(1, sizeof(struct state_hub));
}

void state_hub_keep(struct state_hub *h, struct state_flag *f)
{
    h->flag = f;
}

void state_hub_fire(struct state_hub *h)
{
    state_flag_set(h->flag);
}

void state_bind(struct state_flag *f)
{
    bound = f;
}

void state_fire_bound(void)
{
    state_flag_set(bound);
}

static void make_key(void)
{
    pthread_key_create(&key, NULL);
}

void state_bind_key(struct state_flag *f)
{
    pthread_once(&key_made, make_key);
    pthread_setspecific(key, f);
}

void state_fire_key(void)
{
    state_flag_set(pthread_getspecific(key));
}

static struct entry {
    struct entry *next;
    int slot;
    struct state_flag *flag;
} *entries;

void state_table_keep(int slot, struct state_flag *f)
{
    struct entry *e = malloc(sizeof(*e));

    *e = (struct entry){ entries, slot, f };
    entries = e;
}

void state_table_fire(int slot)
{
    for (struct entry *e = entries; e; e = e->next)
        if (e->slot == slot)
            state_flag_set(e->flag);
}

/* ---- by the kernel, unseen ---- */

static long call_kernel(long number, long a, void *b, long c)
{
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c)
                     : "rcx", "r11", "memory");
    return result;
}

void state_pipe(int fds[2])
{
    syscall(SYS_pipe2, fds, 0);
}

void state_send(int fd)
{
    uint64_t one = 1;

    syscall(SYS_write, fd, &one, sizeof(one));
}

void state_receive(int fd)
{
    uint64_t n;

    syscall(SYS_read, fd, &n, sizeof(n));
}

void state_send_inline(int fd)
{
    uint64_t one = 1;

    call_kernel(SYS_write, fd, &one, sizeof(one));
}

void state_receive_inline(int fd)
{
    uint64_t n;

    call_kernel(SYS_read, fd, &n, sizeof(n));
}

int state_event(void)
{
    return (int)syscall(SYS_eventfd2, 0, 0);
}

int state_timer(void)
{
    struct {
        struct timespec interval, value;
    } soon = { { 0, 0 }, { 0, 1000000 } };
    int fd = (int)syscall(SYS_timerfd_create, CLOCK_MONOTONIC, 0);

    syscall(SYS_timerfd_settime, fd, 0, &soon, NULL);
    return fd;
}

/* ---- by functions ---- */

static const struct {
    void (*set)(void);
    void (*wait)(void);
} table = { state_set, state_wait };
static const void *volatile tables[] = { &table };

void state_call_set(void)
{
    ((void (*const *)(void))tables[0])[0]();
}

void state_call_wait(void)
{
    ((void (*const *)(void))tables[0])[1]();
}

void state_with_lock(void (*f)(void *), void *arg)
{
    state_lock();
    f(arg);
    state_unlock();
}

static int pending;

void state_pool_run(int jobs)
{
    __atomic_store_n(&pending, jobs, __ATOMIC_RELEASE);
}

void state_pool_done(void)
{
    __atomic_fetch_sub(&pending, 1, __ATOMIC_ACQ_REL);
}

void state_pool_wait(void)
{
    while (__atomic_load_n(&pending, __ATOMIC_ACQUIRE))
        sched_yield();
}
