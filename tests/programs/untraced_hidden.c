/* untraced_hidden.c - a library that is not traced and synchronises by itself, with atomics */
#include "untraced_hidden.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

struct hidden_lock {
    int taken;
};

struct hidden_flag {
    int *set; /* in another object */
};

struct hidden_queue {
    struct hidden_lock lock;
    struct hidden_item {
        struct hidden_item *next;
        void *data;
    } *first;
};

int hidden_global;

static void spin(int *taken)
{
    while (__atomic_exchange_n(taken, 1, __ATOMIC_ACQUIRE))
        sched_yield();
}

struct hidden_lock *hidden_lock_new(void)
{
    return calloc(1, sizeof(struct hidden_lock));
}

void hidden_take(struct hidden_lock *l)
{
    spin(&l->taken);
}

void hidden_drop(struct hidden_lock *l)
{
    __atomic_store_n(&l->taken, 0, __ATOMIC_RELEASE);
}

void hidden_locked(struct hidden_lock *l, void (*f)(void *), void *arg)
{
    hidden_take(l);
    f(arg);
    hidden_drop(l);
}

struct hidden_flag *hidden_flag_new(void)
{
    struct hidden_flag *f = calloc(1, sizeof(*f));
    f->set = calloc(1, sizeof(*f->set));
    return f;
}

void hidden_set(struct hidden_flag *f)
{
    __atomic_store_n(f->set, 1, __ATOMIC_RELEASE);
}

void hidden_await(struct hidden_flag *f)
{
    while (!__atomic_load_n(f->set, __ATOMIC_ACQUIRE))
        sched_yield();
}

void hidden_pass_on(struct hidden_flag *from, struct hidden_flag *to)
{
    hidden_await(from);
    hidden_set(to);
}

void hidden_meet(struct hidden_flag *mine, struct hidden_flag *other)
{
    hidden_set(mine);
    hidden_await(other);
}

void hidden_call_and_set(void (*f)(void), int *flag)
{
    f();
    __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
}

void hidden_await_and_call(int *flag, void (*f)(void))
{
    while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE))
        sched_yield();
    f();
}

struct hidden_queue *hidden_queue_new(void)
{
    return calloc(1, sizeof(struct hidden_queue));
}

void hidden_push(struct hidden_queue *q, void *data)
{
    struct hidden_item *i = calloc(1, sizeof(*i));
    i->data = data;
    hidden_take(&q->lock);
    i->next = q->first;
    q->first = i;
    hidden_drop(&q->lock);
}

void *hidden_pop(struct hidden_queue *q)
{
    struct hidden_item *i;
    void *data;

    do {
        sched_yield();
        hidden_take(&q->lock);
        i = q->first;
        if (i)
            q->first = i->next;
        hidden_drop(&q->lock);
    } while (!i);
    data = i->data;
    free(i);
    return data;
}

/* glibc says ESRCH for a thread that has ended and was not joined yet. */
int hidden_is_alive(pthread_t t)
{
    clockid_t clock;
    return pthread_getcpuclockid(t, &clock) != ESRCH;
}

void hidden_take_global(void)
{
    spin(&hidden_global);
}

void hidden_drop_global(void)
{
    __atomic_store_n(&hidden_global, 0, __ATOMIC_RELEASE);
}

/* ---- things that share a table, which is read only once the library is loaded ---- */

struct hidden_thing {
    const struct hidden_kind {
        void (*use)(struct hidden_thing *t);
        const char *name;
    } *kind;
    int used;
};

static void use_up(struct hidden_thing *t)
{
    t->used++;
}

static const struct hidden_kind kinds[64] __attribute__((aligned(256))) = {
    [0 ... 63] = { use_up, "thing" },
};

struct hidden_thing *hidden_thing_new(unsigned kind)
{
    struct hidden_thing *t = calloc(1, sizeof(*t));
    t->kind = &kinds[kind % 64];
    return t;
}

void hidden_use(struct hidden_thing *t)
{
    t->kind->use(t);
}
