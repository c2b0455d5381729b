/* check_trace.c - does the sequence of events make sense?
 *
 * Threads, calls, and the loop over the batch; locks are in lockcheck.c.
 * The idea of the loop: one byte per thread says "running, nothing to tell",
 * so an access costs that byte and a bit test, and everything else goes the
 * slow way through check_one().
 */
#include "trace/check/check_trace.h"
#include "trace/check/lockcheck.h"
#include "trace/check/teller.h"
#include "base/alloc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum thread_state {
    T_FORKED = 1 << 0,
    T_RAN = 1 << 1,
    T_ENDED = 1 << 2,
    T_JOINED = 1 << 3,
    T_AGAIN = 1 << 4,    /* forked again after it was over: may begin again */
    T_TOLD_END = 1 << 5, /* DIAG_AFTER_END was told */
    T_TOLD_JOIN = 1 << 6 /* DIAG_AFTER_JOIN was told */
};

struct open_call {
    uint64_t function;
    uint64_t position;
};

struct thread {
    uint64_t first, forked, ended, joined; /* positions, valid where the state says so */
    uint32_t forker, joiner;
    uint32_t state;
    struct open_call *calls; /* innermost last */
    size_t ncalls, calls_cap;
};

struct check {
    struct trace_info *info; /* borrowed */
    uint8_t *quick;          /* thread -> 1: an access needs no further look */
    size_t quick_cap;
    struct thread *threads;
    size_t threads_cap;
    struct lockcheck locks;
    struct teller teller;
    uint64_t seen; /* events checked in any pass */
    bool finished; /* the notes at the end were told */
};

enum { CHECK_MARKS = EV_NESTED | EV_IGNORED | EV_FOREIGN };

#define BIT(op) ((uint64_t)1 << (op))

/* Operations whose place in the sequence matters. */
static const uint64_t sequence_ops = BIT(OP_ACQUIRE) | BIT(OP_RELEASE) | BIT(OP_ACQUIRE_SHARED) |
                                     BIT(OP_RELEASE_SHARED) | BIT(OP_FORK) | BIT(OP_JOIN) |
                                     BIT(OP_BEGIN) | BIT(OP_END) | BIT(OP_CALL) | BIT(OP_RETURN);
static const uint64_t access_ops =
    BIT(OP_READ) | BIT(OP_WRITE) | BIT(OP_LOAD) | BIT(OP_STORE) | BIT(OP_RMW);

_Static_assert(OP_COUNT <= 64, "operations fit a word of bits");

struct check *check_new(const struct tables *tables, struct trace_info *info, struct diags *diags)
{
    struct check *c = xcalloc(1, sizeof(*c));

    c->info = info;
    c->teller.tables = tables;
    c->teller.diags = diags;
    c->locks.teller = &c->teller;
    c->locks.order = &info->order;
    return c;
}

static void forget_threads(struct check *c)
{
    for (size_t i = 0; i < c->threads_cap; i++)
        free(c->threads[i].calls);
    free(c->threads);
    free(c->quick);
    c->threads = NULL;
    c->quick = NULL;
    c->threads_cap = c->quick_cap = 0;
}

void check_free(struct check *c)
{
    if (!c)
        return;
    forget_threads(c);
    lockcheck_release(&c->locks);
    teller_release(&c->teller);
    free(c);
}

void check_rewind(struct check *c)
{
    forget_threads(c);
    lockcheck_clear(&c->locks);
    c->teller.told = c->seen;
}

static struct thread *thread_at(struct check *c, uint64_t number)
{
    GROW(c->quick, c->quick_cap, number + 1);
    GROW(c->threads, c->threads_cap, number + 1);
    return &c->threads[number];
}

static const char *name(const struct check *c, uint64_t thread)
{
    return teller_thread(&c->teller, (uint32_t)thread);
}

static void tell_after(struct check *c, uint32_t number, struct thread *th)
{
    if (th->state & T_JOINED && !(th->state & T_TOLD_JOIN)) {
        tell(&c->teller, DIAG_AFTER_JOIN,
             "%s goes on after %s joined it at event %" PRIu64 ": kept", name(c, number),
             name(c, th->joiner), th->joined);
        th->state |= T_TOLD_JOIN | T_TOLD_END;
    } else if (th->state & T_ENDED && !(th->state & T_TOLD_END)) {
        tell(&c->teller, DIAG_AFTER_END, "%s goes on after its end at event %" PRIu64 ": kept",
             name(c, number), th->ended);
        th->state |= T_TOLD_END;
    }
}

static bool runs_quietly(const struct check *c, uint32_t number)
{
    return number < c->quick_cap && c->quick[number];
}

/* The thread of the event does something, whatever it is. */
static void thread_runs(struct check *c, uint32_t number)
{
    struct thread *th;

    if (runs_quietly(c, number))
        return;
    th = thread_at(c, number);
    if (!(th->state & T_RAN)) {
        th->first = c->teller.position;
        th->state |= T_RAN;
    }
    tell_after(c, number, th);
    th->state &= ~(uint32_t)T_AGAIN;
    c->quick[number] = 1;
}

static void check_begin(struct check *c, const struct event *ev)
{
    const struct thread *th = thread_at(c, ev->thread);

    if (th->state & T_RAN && !(th->state & T_AGAIN))
        tell(&c->teller, DIAG_BEGIN_LATE, "%s begins, but runs since event %" PRIu64 ": no effect",
             name(c, ev->thread), th->first);
}

static void check_end(struct check *c, const struct event *ev)
{
    struct thread *th = thread_at(c, ev->thread);
    char where[64];

    th->state |= T_ENDED;
    th->ended = c->teller.position;
    c->quick[ev->thread] = 0;
    snprintf(where, sizeof(where), "where it ends (event %" PRIu64 ")", th->ended);
    lockcheck_thread_over(&c->locks, ev->thread, where);
}

/* A thread that was over and is forked again starts anew. */
static void restart(struct check *c, uint64_t number)
{
    struct thread *th = thread_at(c, number);

    if (!(th->state & (T_ENDED | T_JOINED)))
        return;
    th->state &= ~(uint32_t)(T_ENDED | T_JOINED);
    th->state |= T_AGAIN;
    c->quick[number] = 0;
}

static void check_fork(struct check *c, struct event *ev)
{
    struct thread *child = thread_at(c, ev->target);
    struct teller *t = &c->teller;

    if (ev->target == ev->thread) {
        tell(t, DIAG_FORK_SELF, "%s forks itself: ignored", name(c, ev->thread));
        ev->flags |= EV_IGNORED;
        return;
    }
    if (child->state & T_FORKED) {
        tell(t, DIAG_FORK_AGAIN,
             "%s forks %s again (%s forked it at event %" PRIu64
             "): kept, orders what %s does from here on",
             name(c, ev->thread), name(c, ev->target), name(c, child->forker), child->forked,
             name(c, ev->target));
    } else {
        if (child->state & T_RAN)
            tell(t, DIAG_FORK_LATE,
                 "%s forks %s, which runs since event %" PRIu64
                 ": kept, orders what %s does from here on",
                 name(c, ev->thread), name(c, ev->target), child->first, name(c, ev->target));
        child->state |= T_FORKED;
        child->forked = t->position;
        child->forker = ev->thread;
    }
    restart(c, ev->target);
}

static void thread_joined(struct check *c, const struct event *ev, struct thread *child)
{
    struct buf where = { 0 };

    child->state |= T_JOINED;
    child->joined = c->teller.position;
    child->joiner = ev->thread;
    c->quick[ev->target] = 0;
    buf_addf(&where, "where %s joins it (event %" PRIu64 ")", name(c, ev->thread), child->joined);
    lockcheck_thread_over(&c->locks, (uint32_t)ev->target, where.data);
    buf_release(&where);
}

/* Did the thread run in a beginning that is gone? */
static bool is_in_past(const struct check *c, uint64_t thread)
{
    const struct seam *s = &c->teller.tables->seam;

    for (size_t i = 0; i < s->count; i++)
        if (s->entries[i].kind == SEAM_THREAD && s->entries[i].key == thread)
            return true;
    return false;
}

static void check_join(struct check *c, struct event *ev)
{
    struct thread *child = thread_at(c, ev->target);

    if (ev->target == ev->thread) {
        tell(&c->teller, DIAG_JOIN_SELF, "%s joins itself: ignored", name(c, ev->thread));
        ev->flags |= EV_IGNORED;
    } else if (!(child->state & (T_FORKED | T_RAN)) && is_in_past(c, ev->target)) {
        ev->flags |= EV_IGNORED; /* all that it did is before */
    } else if (!(child->state & (T_FORKED | T_RAN))) {
        tell(&c->teller, DIAG_JOIN_UNKNOWN,
             "%s joins %s, which nobody forked and which did nothing so far: ignored",
             name(c, ev->thread), name(c, ev->target));
        ev->flags |= EV_IGNORED;
    } else {
        thread_joined(c, ev, child);
    }
}

/* fork(155) that meant thread T155. */
static void tell_bare_name(struct check *c, const struct event *ev)
{
    const char *full = name(c, ev->target);

    if (ev->flags & EV_BARE)
        tell(&c->teller, DIAG_THREAD_NAME, "%s is written as %s: taken as the same thread", full,
             *full ? full + 1 : full);
}

static void check_call(struct check *c, const struct event *ev)
{
    struct thread *th = thread_at(c, ev->thread);

    if (ev->flags & EV_ALONE)
        return;
    GROW(th->calls, th->calls_cap, th->ncalls + 1);
    th->calls[th->ncalls++] = (struct open_call){ ev->target, c->teller.position };
}

static void check_return(struct check *c, struct event *ev)
{
    struct thread *th = thread_at(c, ev->thread);
    const struct open_call *top = th->ncalls ? &th->calls[th->ncalls - 1] : NULL;
    struct teller *t = &c->teller;

    if (top && top->function == ev->target) {
        th->ncalls--;
        return;
    }
    if (top)
        tell(t, DIAG_RETURN_UNMATCHED,
             "%s returns from %s inside its call of %s at event %" PRIu64 ": ignored",
             name(c, ev->thread), teller_function(t, ev->target), teller_function(t, top->function),
             top->position);
    else
        tell(t, DIAG_RETURN_UNMATCHED, "%s returns from %s without a call: ignored",
             name(c, ev->thread), teller_function(t, ev->target));
    ev->flags |= EV_IGNORED;
}

static void check_one(struct check *c, struct event *ev, uint64_t position)
{
    c->teller.position = position;
    ev->flags &= (uint16_t)~CHECK_MARKS;
    if (ev->op == OP_BEGIN)
        check_begin(c, ev);
    thread_runs(c, ev->thread);
    switch (ev->op) {
    case OP_ACQUIRE:
    case OP_RELEASE:
    case OP_ACQUIRE_SHARED:
    case OP_RELEASE_SHARED:
        lockcheck_event(&c->locks, ev);
        break;
    case OP_FORK:
        tell_bare_name(c, ev);
        check_fork(c, ev);
        break;
    case OP_JOIN:
        tell_bare_name(c, ev);
        check_join(c, ev);
        break;
    case OP_END:
        check_end(c, ev);
        break;
    case OP_CALL:
        check_call(c, ev);
        break;
    case OP_RETURN:
        check_return(c, ev);
        break;
    }
}

void check_batch(struct check *c, struct batch *b)
{
    uint64_t ops = 0, valued = 0, position = b->first;
    unsigned flags = 0;

    for (size_t i = 0; i < b->count; i++) {
        struct event *ev = &b->events[i];
        uint64_t at = position;

        position += event_positions(ev);
        if (ev->flags & EV_EXCLUDED)
            continue;
        ops |= BIT(ev->op);
        flags |= ev->flags;
        valued |= (uint64_t)(ev->flags & EV_VALUE) << ev->op;
        if (sequence_ops >> ev->op & 1 || !runs_quietly(c, ev->thread))
            check_one(c, ev, at);
    }
    if (valued & access_ops)
        c->info->values = true;
    if (flags & EV_LOOSE)
        c->info->loose = true;
    if (ops & BIT(OP_BRANCH))
        c->info->branches = true;
    if (ops & BIT(OP_CALL))
        c->info->calls = true;
    if (position > c->seen)
        c->seen = position;
}

void check_finish(struct check *c)
{
    if (c->finished)
        return;
    c->finished = true;
    c->teller.position = c->seen;
    lockcheck_finish(&c->locks);
}
