/* witness.c - asks what a reordering leads to, and refuses it at the first thing that cannot be
 *
 * The trace is prepared once (prepare.c). A check walks the listed events with
 * the state of a machine (replay_state.c) and then looks at the last ones: two
 * accesses that race, or requests that wait for each other.
 */
#include "witness/witness_inside.h"

#include <inttypes.h>

/* ---- messages ---- */

struct name name_thread(const struct witness_trace *w, uint32_t thread)
{
    struct name n;

    if (w->names && thread < w->names->threads.count)
        snprintf(n.text, sizeof(n.text), "%s", intern_get(&w->names->threads, thread));
    else
        snprintf(n.text, sizeof(n.text), "thread %" PRIu32, thread);
    return n;
}

struct name name_target(const struct witness_trace *w, const struct event *e)
{
    struct buf b = { 0 };
    struct name n;

    if (w->names && (op_is_on_lock(e->op) || op_class_of(e->op) == CLASS_SEM))
        tables_name_object(w->names, e->target, &b);
    else if (w->names)
        tables_name_variable(w->names, e->target, op_is_access(e->op) ? e->size : e->value, &b);
    else
        buf_addf(&b, "0x%" PRIx64, e->target);
    snprintf(n.text, sizeof(n.text), "%s", b.data);
    buf_release(&b);
    return n;
}

struct name name_function(const struct witness_trace *w, uint32_t call)
{
    uint64_t f = w->events[call].target;
    struct name n;

    if (w->names && f < w->names->functions.count)
        snprintf(n.text, sizeof(n.text), "%s", intern_get(&w->names->functions, (uint32_t)f));
    else
        snprintf(n.text, sizeof(n.text), "function %" PRIu64, f);
    return n;
}

/* ---- the race ---- */

static bool can_race(const struct event *e)
{
    return op_is_access(e->op) || e->op == OP_FREE;
}

/* Do two events meet in a cell, and in one where it is the same memory for both? */
static bool check_overlap(const struct witness_trace *w, uint64_t a, uint64_t b, struct error *err)
{
    const struct place *x = &w->places[a], *y = &w->places[b];
    uint32_t from = x->cell > y->cell ? x->cell : y->cell, c = from;

    for (; c < x->cell + x->count && c < y->cell + y->count; c++)
        if (w->touches[x->touch + (c - x->cell)].life == w->touches[y->touch + (c - y->cell)].life)
            return true;
    if (c == from)
        return refuse(err, b, "does not overlap event %" PRIu64, a);
    return refuse(err, b, "uses the memory at %s in another lifetime than event %" PRIu64,
                  name_target(w, &w->events[b]).text, a);
}

static bool check_conflict(const struct witness_trace *w, uint64_t a, uint64_t b, struct error *err)
{
    const struct event *x = &w->events[a], *y = &w->events[b];

    if (!can_race(x) || !can_race(y))
        return refuse(err, can_race(x) ? b : a, "%s is no access that could race",
                      op_table[can_race(x) ? y->op : x->op].name);
    if (x->thread == y->thread)
        return refuse(err, b, "is of the same thread as event %" PRIu64, a);
    if (!op_table[x->op].writes && !op_table[y->op].writes)
        return refuse(err, b, "neither it nor event %" PRIu64 " writes", a);
    if (op_is_atomic(x->op) && op_is_atomic(y->op))
        return refuse(err, b, "it and event %" PRIu64 " are both atomic", a);
    return check_overlap(w, a, b, err);
}

/* Both must be possible next, each without the other. */
static bool check_race(const struct witness_trace *w, uint64_t a, uint64_t b, struct error *err)
{
    return check_next(w, a, err) && check_next(w, b, err) && check_conflict(w, a, b, err);
}

/* ---- the deadlock ---- */

/* Does the thread hold the lock of event i in a way that keeps i from happening? */
static bool is_blocked_by(const struct witness_trace *w, uint32_t i, uint32_t thread)
{
    uint32_t lock = w->places[i].lock;

    return find_hold(w->scratch, thread, lock, false) ||
           ((w->events[i].op == OP_ACQUIRE || w->events[i].op == OP_REQUEST) &&
            find_hold(w->scratch, thread, lock, true));
}

/* A request that waits for a lock of the thread of another one. */
static bool check_request(const struct witness_trace *w, uint64_t a, uint64_t next,
                          struct error *err)
{
    const struct event *e = &w->events[a];
    uint32_t holder = w->events[next].thread;

    if (e->op != OP_ACQUIRE && e->op != OP_ACQUIRE_SHARED && !op_is_request(e->op))
        return refuse(err, a, "%s is no request for a lock", op_table[e->op].name);
    if (e->flags & EV_NESTED)
        return refuse(err, a, "its thread has lock %s already", name_target(w, e).text);
    if (e->flags & EV_BARE)
        return refuse(err, a, "tries to get lock %s but does not wait", name_target(w, e).text);
    if (w->handed[w->places[a].lock])
        return refuse(err, a, "lock %s is also released by threads that do not hold it",
                      name_target(w, e).text);
    if (!check_next(w, a, err))
        return false;
    if (!is_blocked_by(w, (uint32_t)a, holder))
        return refuse(err, a, "lock %s is not held%s by %s", name_target(w, e).text,
                      find_hold(w->scratch, holder, w->places[a].lock, true) ? " exclusively" : "",
                      name_thread(w, holder).text);
    return true;
}

/* Each waits for the next, the last for the first, and no thread is there twice. Only a request
 * that was never fulfilled waits for its own thread: of any other the trace shows that it does not.
 */
static bool check_cycle(const struct witness_trace *w, const uint64_t *requests, size_t k,
                        struct error *err)
{
    if (k == 1 && !op_is_request(w->events[requests[0]].op))
        return refuse(err, requests[0], "does not wait for its own thread");
    for (size_t i = 0; i < k; i++) {
        for (size_t j = 0; j < i; j++)
            if (w->events[requests[i]].thread == w->events[requests[j]].thread)
                return refuse(err, requests[i], "is of the same thread as event %" PRIu64,
                              requests[j]);
        if (!check_request(w, requests[i], requests[(i + 1) % k], err))
            return false;
    }
    return true;
}

/* ---- a whole sequence ---- */

static bool check_positions(const struct witness_trace *w, const uint64_t *order, size_t n,
                            struct error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (order[i] < w->count)
            continue;
        error_set(err, "event %" PRIu64 " does not exist, the trace has %zu", order[i], w->count);
        return false;
    }
    return true;
}

void leave_beginning(const struct witness_trace *w)
{
    struct scratch *s = w->scratch;

    while (s->begun > 0)
        if (w->places[--s->begun].rank != NONE)
            undo_event(w, s->begun);
    s->nholds = 0;
}

int check_sequence(const struct witness_trace *w, const uint64_t *order, size_t n, size_t end,
                   bool deadlock, struct error *err)
{
    const uint64_t *last = order + (n - end);
    bool accepted = check_positions(w, order, n, err);
    size_t done = 0;

    leave_beginning(w);
    while (accepted && done < n - end)
        accepted = replay_event(w, order[done++], err);
    if (accepted)
        accepted = deadlock ? check_cycle(w, last, end, err) : check_race(w, last[0], last[1], err);
    while (done > 0)
        undo_event(w, (uint32_t)order[--done]);
    w->scratch->nholds = 0;
    w->scratch->nreads = 0;
    w->scratch->nloose = 0;
    return accepted;
}

int witness_check(const struct witness_trace *w, const uint64_t *order, size_t n, struct error *err)
{
    if (n < 2) {
        error_set(err, "a witness ends with two racing accesses, this one has %zu events", n);
        return 0;
    }
    return check_sequence(w, order, n, 2, false, err);
}

/* ---- schedules that begin as the trace does ---- */

bool witness_can_follow(const struct witness_trace *w)
{
    return !w->quiet && !w->loose && w->calls == CALLS_IGNORED;
}

/* Up to where the trace itself goes on: false and why where it does not. */
static bool replay_beginning(const struct witness_trace *w, uint64_t beginning, struct error *err)
{
    struct scratch *s = w->scratch;

    if (s->begun > beginning)
        leave_beginning(w);
    for (; s->begun < beginning; s->begun++)
        if (w->places[s->begun].rank != NONE && !replay_event(w, s->begun, err))
            return false;
    return true;
}

int witness_check_after(const struct witness_trace *w, uint64_t beginning, const uint64_t *order,
                        size_t n, struct error *err)
{
    struct scratch *s = w->scratch;
    size_t nholds;
    bool accepted;

    if (!witness_can_follow(w) || beginning > w->count || n < 2) {
        error_set(err, "no schedule that begins as the trace does");
        return 0;
    }
    accepted = check_positions(w, order, n, err) && replay_beginning(w, beginning, err);
    nholds = s->nholds;
    begin_saving(s);
    for (size_t i = 0; accepted && i < n - 2; i++)
        accepted = replay_event(w, order[i], err);
    accepted = accepted && check_race(w, order[n - 2], order[n - 1], err);
    restore_saved(s);
    s->nholds = nholds;
    return accepted;
}

int witness_check_deadlock(const struct witness_trace *w, const uint64_t *order, size_t n,
                           size_t requests, struct error *err)
{
    if (requests < 1 || n < requests) {
        error_set(err, "a deadlock has a request or more, not %zu of %zu events", requests, n);
        return 0;
    }
    return check_sequence(w, order, n, requests, true, err);
}
