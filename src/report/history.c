/* history.c - locks held, call stacks and forks of each thread */
#include "report/history.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

void history_release(struct history *h)
{
    for (size_t i = 0; i < h->cap; i++) {
        free(h->threads[i].locks);
        free(h->threads[i].calls);
        free(h->threads[i].fork_calls.calls);
    }
    free(h->threads);
    *h = (struct history){ 0 };
}

static struct history_thread *history_thread_of(struct history *h, uint32_t thread)
{
    if (thread >= h->cap)
        GROW(h->threads, h->cap, (size_t)thread + 1);
    return &h->threads[thread];
}

const struct history_thread *history_of(struct history *h, uint32_t thread)
{
    return history_thread_of(h, thread);
}

void history_copy(struct history_calls *to, const struct history_thread *t, size_t keep)
{
    size_t n = t->ncalls < keep ? t->ncalls : keep;

    to->calls = xrealloc(to->calls, n + 1, sizeof(*to->calls));
    if (n)
        memcpy(to->calls, t->calls + t->ncalls - n, n * sizeof(*to->calls));
    to->count = n;
    to->missing = t->ncalls - n + t->deeper;
}

static void *copy_of(const void *from, size_t n, size_t bytes)
{
    void *to = xcalloc(n + 1, bytes);

    if (n)
        memcpy(to, from, n * bytes);
    return to;
}

void history_adopt(struct history *to, const struct history_thread *from, uint32_t thread)
{
    struct history_thread *t = history_thread_of(to, thread);

    *t = *from;
    t->locks = copy_of(from->locks, from->nlocks, sizeof(*from->locks));
    t->locks_cap = from->nlocks + 1;
    t->calls = copy_of(from->calls, from->ncalls, sizeof(*from->calls));
    t->calls_cap = from->ncalls + 1;
    t->fork_calls.calls =
        copy_of(from->fork_calls.calls, from->fork_calls.count, sizeof(*from->fork_calls.calls));
}

static void take_lock(struct history *h, const struct event *ev, uint64_t position)
{
    struct history_thread *t = history_thread_of(h, ev->thread);
    size_t n = t->ncalls < HISTORY_LOCK_CALLS ? t->ncalls : HISTORY_LOCK_CALLS;
    struct history_lock *l;

    GROW(t->locks, t->locks_cap, t->nlocks + 1);
    l = &t->locks[t->nlocks++];
    *l = (struct history_lock){
        .target = ev->target,
        .position = position,
        .site = ev->site,
        .shared = ev->op == OP_ACQUIRE_SHARED,
        .ncalls = (uint8_t)n,
    };
    if (n)
        memcpy(l->calls, t->calls + t->ncalls - n, n * sizeof(*l->calls));
}

/* The innermost hold of the lock goes; false where the thread has none. */
static bool drop_lock(struct history_thread *t, uint64_t target)
{
    for (size_t i = t->nlocks; i-- > 0;) {
        if (t->locks[i].target != target)
            continue;
        memmove(&t->locks[i], &t->locks[i + 1], (t->nlocks - i - 1) * sizeof(*t->locks));
        t->nlocks--;
        return true;
    }
    return false;
}

/* A lock may be released by a thread that did not take it (EV_FOREIGN): whoever has it loses it. */
static void release_lock(struct history *h, const struct event *ev)
{
    if (drop_lock(history_thread_of(h, ev->thread), ev->target) || !(ev->flags & EV_FOREIGN))
        return;
    for (size_t i = 0; i < h->cap; i++)
        if (drop_lock(&h->threads[i], ev->target))
            return;
}

static void enter_function(struct history *h, const struct event *ev)
{
    struct history_thread *t = history_thread_of(h, ev->thread);

    if (t->ncalls == HISTORY_DEPTH) {
        t->deeper++;
        return;
    }
    GROW(t->calls, t->calls_cap, t->ncalls + 1);
    t->calls[t->ncalls++] = (struct history_call){ (uint32_t)ev->target, ev->site };
}

/* An exit leaves the innermost call of its function, and with it calls that never said they
 * ended (a longjmp, an exception); one without a call is ignored. */
static void exit_function(struct history *h, const struct event *ev)
{
    struct history_thread *t = history_thread_of(h, ev->thread);

    if (t->deeper) {
        t->deeper--;
        return;
    }
    for (size_t i = t->ncalls; i-- > 0;) {
        if (t->calls[i].function == (uint32_t)ev->target) {
            t->ncalls = i;
            return;
        }
    }
}

static void fork_thread(struct history *h, const struct event *ev, uint64_t position)
{
    struct history_thread *child = history_thread_of(h, (uint32_t)ev->target);

    if (child->forked)
        return;
    child->forked = true;
    child->fork_thread = ev->thread;
    child->fork_site = ev->site;
    child->fork_position = position;
    if (ev->thread < h->cap)
        history_copy(&child->fork_calls, &h->threads[ev->thread], HISTORY_FORK_CALLS);
}

void history_event(struct history *h, const struct event *ev, uint64_t position)
{
    if (ev->op <= OP_FENCE || (ev->flags & (EV_IGNORED | EV_NESTED)))
        return;
    switch (ev->op) {
    case OP_ACQUIRE:
    case OP_ACQUIRE_SHARED:
        take_lock(h, ev, position);
        break;
    case OP_RELEASE:
    case OP_RELEASE_SHARED:
        release_lock(h, ev);
        break;
    case OP_FORK:
        fork_thread(h, ev, position);
        break;
    case OP_ENTER:
        enter_function(h, ev);
        break;
    case OP_EXIT:
        exit_function(h, ev);
        break;
    default:
        break;
    }
}
