/* notify.c - timers, and threads that libc starts for them
 *
 * With SIGEV_THREAD libc calls the program's function in a thread that it makes
 * itself, seen by no function of ours: it gets a number when it first records,
 * and no fork event. So the function is replaced by ours, which knows what
 * happened before: timer_create() or mq_notify() by an object of their own, and
 * timer_settime() by one for all timers, which handlers of a timer's signal
 * learn from as well.
 *
 * What was asked for is kept for ever, once for each function and value.
 * (aio.c is about other functions that know SIGEV_THREAD.)
 */
#include "runtime/interpose/interpose.h"

#include <mqueue.h>
#include <time.h>

struct notice {
    void (*function)(union sigval);
    union sigval value;
    struct notice *next;
};
enum { SLAB_BYTES = 4096 };

static struct notice *notices; /* under actions_lock */
static struct notice *slab;    /* the rest of it: slab_left */
static size_t slab_left;

static void notify(union sigval value)
{
    struct notice *n = value.sival_ptr;
    uint64_t where = where_inside(*(void **)&n->function);

    rt_sync(OP_AFTER, n, where);
    rt_sync_number(OP_AFTER, OBJECT_TIMERS, where);
    n->function(n->value);
}

static struct notice *notice_new(void)
{
    if (!slab_left) {
        slab = rt_pages(SLAB_BYTES);
        slab_left = slab ? SLAB_BYTES / sizeof(*slab) : 0;
    }
    return slab_left ? &slab[--slab_left] : NULL;
}

static struct notice *notice_of(const struct sigevent *e)
{
    struct notice *n;

    rt_lock_take(&actions_lock);
    for (n = notices; n; n = n->next)
        if (n->function == e->sigev_notify_function &&
            n->value.sival_ptr == e->sigev_value.sival_ptr)
            break;
    if (!n && (n = notice_new())) {
        *n = (struct notice){ e->sigev_notify_function, e->sigev_value, notices };
        notices = n;
    }
    rt_lock_drop(&actions_lock);
    return n;
}

/* What to give to libc; `own` has room for it. Records that it is asked for. */
static struct sigevent *wrap(struct sigevent *e, struct sigevent *own, int signal_if_null,
                             uint64_t where)
{
    struct notice *n;

    if (!e || e->sigev_notify == SIGEV_SIGNAL)
        signal_to_process(e ? e->sigev_signo : signal_if_null, where);
    else if (e->sigev_notify == SIGEV_THREAD_ID)
        signal_to_all(e->sigev_signo, where);
    if (!e || e->sigev_notify != SIGEV_THREAD || !(n = notice_of(e)))
        return e;
    rt_sync(OP_BEFORE, n, where);
    *own = *e;
    own->sigev_notify_function = notify;
    own->sigev_value.sival_ptr = n;
    return own;
}

INTERPOSE(int, timer_create, clockid_t clock, struct sigevent *restrict event,
          timer_t *restrict timer)
{
    struct sigevent own;

    return REAL(timer_create)(clock, wrap(event, &own, SIGALRM, WHERE_CALLER()), timer);
}

INTERPOSE(int, timer_settime, timer_t timer, int flags, const struct itimerspec *restrict value,
          struct itimerspec *restrict old)
{
    rt_sync_number(OP_BEFORE, OBJECT_TIMERS, WHERE_CALLER());
    return REAL(timer_settime)(timer, flags, value, old);
}

INTERPOSE(int, mq_notify, mqd_t queue, const struct sigevent *event)
{
    struct sigevent own, *e = (struct sigevent *)(uintptr_t)event;

    return REAL(mq_notify)(queue, wrap(e, &own, 0, WHERE_CALLER()));
}

/* Handlers may call these first: look them up while nothing is interrupted. */
static __attribute__((constructor)) void notify_look_up(void)
{
    (void)REAL(timer_settime);
}
