/* forcing_calls.c - what the program calls: ThreadSanitizer's interface, and pthread functions
 *
 * Each stops at a point and then does its part on the models of locks, conditions, barriers and
 * semaphores (forcing.h). No atomics: a program that uses them does not link.
 */
#include "forcing.h"

#include <string.h>
#include <unistd.h>

#define CALLER __builtin_return_address(0)

#define ACCESSES(n)                                                                                \
    void __tsan_read##n(void *p)                                                                   \
    {                                                                                              \
        reach(READ, CALLER, p, n, false);                                                          \
    }                                                                                              \
    void __tsan_write##n(void *p)                                                                  \
    {                                                                                              \
        reach(WRITE, CALLER, p, n, true);                                                          \
    }                                                                                              \
    void __tsan_unaligned_read##n(void *p)                                                         \
    {                                                                                              \
        reach(READ, CALLER, p, n, false);                                                          \
    }                                                                                              \
    void __tsan_unaligned_write##n(void *p)                                                        \
    {                                                                                              \
        reach(WRITE, CALLER, p, n, true);                                                          \
    }

/* clang-format off */
ACCESSES(1) ACCESSES(2) ACCESSES(4) ACCESSES(8) ACCESSES(16)
    /* clang-format on */

    void __tsan_init(void)
{
}
void __tsan_func_entry(void *pc)
{
    (void)pc;
}
void __tsan_func_exit(void)
{
}

void *__tsan_memcpy(void *to, const void *from, size_t n)
{
    reach_half(READ, CALLER, from, n, false);
    reach_half(WRITE, CALLER, to, n, true);
    return memcpy(to, from, n);
}

void *__tsan_memset(void *to, int c, size_t n)
{
    reach_half(WRITE, CALLER, to, n, true);
    return memset(to, c, n);
}

/* ---- threads ---- */

static void *begin(void *arg)
{
    self = arg;
    while (__real_sem_wait(&self->go) != 0)
        ;
    self->result = self->start(self->argument);
    self->op = ENDED;
    self->site = -1;
    run_next();
    return self->result;
}

int __wrap_pthread_create(pthread_t *out, const pthread_attr_t *a, void *(*f)(void *), void *arg)
{
    struct task *t;

    reach(CREATE, CALLER, NULL, 0, false);
    if (!self)
        return __real_pthread_create(out, a, f, arg);
    t = task_new();
    t->start = f;
    t->argument = arg;
    name_thread(t);
    if (__real_pthread_create(&t->handle, a, begin, t) != 0)
        give_up("cannot create a thread");
    *out = t->handle;
    return 0;
}

int __wrap_pthread_join(pthread_t handle, void **result)
{
    for (int i = 1; self && i < ntasks; i++)
        if (pthread_equal(tasks[i].handle, handle))
            self->other = &tasks[i];
    reach(JOIN, CALLER, NULL, 0, false);
    return __real_pthread_join(handle, result);
}

/* ---- locks, conditions, barriers, semaphores ---- */

int __wrap_pthread_mutex_lock(pthread_mutex_t *m)
{
    reach(LOCK, CALLER, m, 0, false);
    object_of(m)->owner = self;
    return 0;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *m)
{
    reach(UNLOCK, CALLER, m, 0, false);
    object_of(m)->owner = NULL;
    return 0;
}

int __wrap_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
    reach(UNLOCK, CALLER, m, 0, false);
    object_of(m)->owner = NULL;
    self->woken = false;
    self->waits_on = c;
    reach(WAIT, CALLER, c, 0, false);
    self->waits_on = NULL;
    reach(LOCK, CALLER, m, 0, false);
    object_of(m)->owner = self;
    return 0;
}

static void wake(const void *c, bool all)
{
    struct task *waiting[MAX_TASKS];
    unsigned n = 0;

    for (int i = 0; i < ntasks; i++)
        if (tasks[i].waits_on == c && !tasks[i].woken)
            waiting[n++] = &tasks[i];
    if (n > 0 && !all)
        waiting[chance() % n]->woken = true;
    for (unsigned i = 0; all && i < n; i++)
        waiting[i]->woken = true;
}

int __wrap_pthread_cond_signal(pthread_cond_t *c)
{
    reach(WAKE, CALLER, c, 0, false);
    wake(c, false);
    return 0;
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *c)
{
    reach(WAKE, CALLER, c, 0, false);
    wake(c, true);
    return 0;
}

int __wrap_pthread_barrier_init(pthread_barrier_t *b, const pthread_barrierattr_t *a, unsigned n)
{
    (void)a;
    object_of(b)->parties = n;
    return 0;
}

int __wrap_pthread_barrier_wait(pthread_barrier_t *b)
{
    struct object *o = object_of(b);

    reach(ARRIVE, CALLER, b, 0, false);
    self->round = o->round;
    if (++o->count == (long)o->parties) {
        o->count = 0;
        o->round++;
    }
    reach(LEAVE, CALLER, b, 0, false);
    return 0;
}

int __wrap_sem_init(sem_t *s, int shared, unsigned n)
{
    (void)shared;
    object_of(s)->count = n;
    return 0;
}

int __wrap_sem_post(sem_t *s)
{
    reach(POST, CALLER, s, 0, false);
    object_of(s)->count++;
    return 0;
}

int __wrap_sem_wait(sem_t *s)
{
    reach(TAKE, CALLER, s, 0, false);
    object_of(s)->count--;
    return 0;
}

int __wrap_usleep(useconds_t us)
{
    (void)us;
    return 0;
}
