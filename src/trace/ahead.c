/* ahead.c - a ring of copies of batches
 *
 * Copying a batch costs a tenth of decoding it. Each side waits until half of the ring is
 * at its disposal, so that the two wake each other seldom.
 */
#include "trace/ahead.h"
#include "base/alloc.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Batches have 4,096 events, 160 KB: the ring stays in the cache that processors share. */
enum { SLOTS = AHEAD_SLOTS };

struct slot {
    struct batch batch;
    struct event *events; /* owned, as `extra` is */
    uint64_t *extra;
    size_t events_cap, extra_cap;
    struct trace_info info;
    int got; /* of trace_next() */
    struct error err;
};

struct ahead {
    struct trace *trace;
    struct ahead_work work;
    bool threaded;
    pthread_t thread;
    struct slot slots[SLOTS]; /* number `filled` is the reader's, `taken` - 1 the caller's */

    pthread_mutex_t lock;   /* guards what follows */
    pthread_cond_t changed; /* one of them has moved on */
    uint64_t filled, taken;
    bool over; /* the last slot was filled, or nobody wants more */
};

/* ---- the reader ---- */

/* Where lists of the batch at hand went. */
enum { LISTS = 64 };
struct moved {
    uint64_t from, to, entries; /* 0 entries: none */
};

/* The entries of calls, and nothing else: what the reader has of them at hand may be much more than
 * this batch uses. Calls often share a list. */
static void keep_lists(struct slot *s, struct event *events, const struct batch *b)
{
    struct moved lists[LISTS] = { { 0 } };
    size_t used = 0;

    for (size_t i = 0; i < b->count; i++) {
        struct event *e = &events[i];
        struct moved *l = &lists[e->value / 2 % LISTS];

        if (e->op != OP_CALL || !e->old)
            continue;
        if (l->from != e->value || l->entries != e->old) {
            *l = (struct moved){ e->value, used, e->old };
            GROW(s->extra, s->extra_cap, used + 2 * e->old);
            memcpy(s->extra + used, b->extra + e->value, 2 * e->old * sizeof(*s->extra));
            used += 2 * e->old;
        }
        e->value = l->to;
    }
}

static void keep_batch(struct slot *s, const struct batch *b)
{
    GROW(s->events, s->events_cap, b->count);
    memcpy(s->events, b->events, b->count * sizeof(*s->events));
    keep_lists(s, s->events, b);
    s->batch = (struct batch){ s->events, b->count, b->first, s->extra, b->skipped };
}

/* The next slot to fill, or NULL: nobody wants more. */
static struct slot *wait_for_room(struct ahead *a)
{
    struct slot *s;

    pthread_mutex_lock(&a->lock);
    if (a->filled - a->taken >= SLOTS - 1)
        while (!a->over && a->filled - a->taken > SLOTS / 2)
            pthread_cond_wait(&a->changed, &a->lock);
    s = a->over ? NULL : &a->slots[a->filled % SLOTS];
    pthread_mutex_unlock(&a->lock);
    return s;
}

static void give(struct ahead *a, bool last)
{
    pthread_mutex_lock(&a->lock);
    a->filled++;
    a->over |= last;
    if (last || a->filled - a->taken >= SLOTS / 2)
        pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->lock);
}

static void run_work(const struct ahead *a, struct batch *b, unsigned slot)
{
    if (a->work.run)
        a->work.run(a->work.arg, b, slot);
}

static void *read_trace(void *arg)
{
    struct ahead *a = arg;
    struct slot *s;
    struct batch b;
    bool last = false;

    while (!last && (s = wait_for_room(a))) {
        s->got = trace_next(a->trace, &b, &s->err);
        s->info = *trace_info(a->trace);
        last = s->got <= 0;
        if (!last) {
            keep_batch(s, &b);
            run_work(a, &s->batch, (unsigned)(s - a->slots));
        }
        give(a, last);
    }
    return NULL;
}

/* ---- the caller ---- */

/* Signals are for the threads that wait for them. */
static bool start(struct ahead *a)
{
    sigset_t all, before;
    bool started;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    started = pthread_create(&a->thread, NULL, read_trace, a) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

struct ahead *ahead_new(struct trace *t, unsigned threads, const struct ahead_work *work)
{
    struct ahead *a = xcalloc(1, sizeof(*a));

    a->trace = t;
    if (work)
        a->work = *work;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
    a->threaded = threads > 1 && start(a);
    return a;
}

void ahead_free(struct ahead *a)
{
    if (a->threaded) {
        pthread_mutex_lock(&a->lock);
        a->over = true;
        pthread_cond_signal(&a->changed);
        pthread_mutex_unlock(&a->lock);
        pthread_join(a->thread, NULL);
    }
    for (size_t i = 0; i < SLOTS; i++) {
        free(a->slots[i].events);
        free(a->slots[i].extra);
    }
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

/* The slot that the caller had goes back; the next one, when there is any. */
static struct slot *take(struct ahead *a)
{
    struct slot *s;

    pthread_mutex_lock(&a->lock);
    if (a->filled == a->taken)
        while (!a->over && a->filled - a->taken < SLOTS / 2)
            pthread_cond_wait(&a->changed, &a->lock);
    if (a->taken < a->filled) /* else the end was told before */
        a->taken++;
    s = &a->slots[(a->taken - 1) % SLOTS];
    if (a->filled - a->taken <= SLOTS / 2)
        pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->lock);
    return s;
}

int ahead_next(struct ahead *a, struct batch *out, struct error *err)
{
    const struct slot *s;

    if (!a->threaded) {
        int r = trace_next(a->trace, out, err);

        if (r > 0)
            run_work(a, out, 0);
        return r;
    }
    s = take(a);
    if (s->got < 0)
        *err = s->err;
    else if (s->got)
        *out = s->batch;
    return s->got;
}

unsigned ahead_slot(const struct ahead *a)
{
    return a->threaded ? (unsigned)((a->taken - 1) % SLOTS) : 0;
}

const struct trace_info *ahead_info(const struct ahead *a)
{
    return a->threaded ? &a->slots[(a->taken - 1) % SLOTS].info : trace_info(a->trace);
}
