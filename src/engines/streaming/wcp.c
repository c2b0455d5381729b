/* wcp.c - races that weak-causally-precedes leaves unordered
 *
 * Kini, Mathur and Viswanathan, "Dynamic Race Prediction in Linear Time",
 * PLDI 2017. The relation is the smallest with
 *   (a') release of section A -> a conflicting access inside a later section B
 *        on the same lock;
 *   (b') release of A -> release of B when A and B contain ordered events;
 *   (c)  composition with happens-before on both sides;
 *   hard edges between threads.
 * A race is a conflicting pair ordered neither by it nor by program order.
 * docs/design/wcp.md says what is made of rwlocks, atomics, open sections and
 * the rest, and what a race proves.
 *
 * Differences from Algorithm 1 of the paper: rule (b') also holds between two
 * sections of one thread, as the definition has it; queues are shared and
 * pruned (wcp_queue.c); an access keeps its past, so that a reported pair can
 * be ordered from there on (wcp_pairs.c).
 * Limits: times are 32 bits, so no slot may have more than 4 billion accesses
 * and synchronisations.
 */
#include "engines/streaming/wcp.h"
#include "base/alloc.h"
#include "engines/predict/vindicate.h"

#include <stdlib.h>

/* Sections kept for rule (b'). When so many are there they are pruned for the first time. */
enum { PRUNE_AT = 4096 };
/* Beyond this, sections are joined: 24 bytes each, and a clock of its own (264 bytes up to 64
 * threads) for most: 75 MB. */
enum { QUEUE_BUDGET = 1 << 18 };

struct wcp *wcp_new(struct engine_result *result, const struct engine_options *options)
{
    struct wcp *w = xcalloc(1, sizeof(*w));

    w->result = result;
    w->all = options && options->all;
    w->prune_at = PRUNE_AT;
    w->queue_budget = QUEUE_BUDGET;
    return w;
}

void wcp_free(void *state)
{
    struct wcp *w = state;

    for (size_t i = 0; i < w->vars_cap; i++)
        wcp_set_forget(w, &w->vars[i]);
    for (size_t i = 0; i < w->blocks_cap; i++)
        wcp_set_forget(w, &w->blocks[i].variable);
    wcp_edges_free(w);
    wcp_locks_free(w);
    clock_pool_release(&w->pool);
    free(w->objects);
    free(w->threads);
    free(w->free_slots);
    free(w->vars);
    free(w->blocks);
    free(w->floor);
    free(w->unordered);
    free(w);
}

/* ---- threads ---- */

void wcp_learn(struct wcp *w, struct wcp_thread *t, const struct clock *h)
{
    if (clock_join(&w->pool, &t->p, h)) /* what P knows, H knows */
        clock_join(&w->pool, &t->h, h);
}

/* A slot whose last thread ended before anything the creator will do, or a new one. */
static struct wcp_free_slot wcp_find_slot(struct wcp *w, const struct clock *creator)
{
    enum { TRIES = 8 }; /* as in order/hb_threads.c */

    for (size_t i = 0; creator && i < w->nfree && i < TRIES; i++) {
        struct wcp_free_slot *f = &w->free_slots[w->nfree - 1 - i], found = *f;

        if (clock_knows(creator, found.slot, found.time)) {
            *f = w->free_slots[--w->nfree];
            return found;
        }
    }
    return (struct wcp_free_slot){ w->nslots++, 0 };
}

/* `creator` is the P of the thread that forks it. A thread that goes on after its join (a broken
 * trace) gets a new slot, and all it knew becomes WCP. */
void wcp_start_thread(struct wcp *w, uint32_t thread, const struct clock *creator)
{
    struct wcp_thread *t = &w->threads[thread];
    struct wcp_free_slot slot = wcp_find_slot(w, creator);

    clock_join(&w->pool, &t->p, &t->h);
    t->h.slot = slot.slot;
    t->h.time = slot.time + 1;
    t->over = false;
}

static void fork_thread(struct wcp *w, const struct step *s)
{
    struct wcp_thread *parent = wcp_thread(w, s->thread), *child = &w->threads[s->id];

    if (child->h.slot == SLOT_NONE)
        wcp_start_thread(w, s->id, &parent->p);
    child->over = false;
    wcp_learn(w, child, &parent->h);
    parent->h.time++;
}

/* The slot of a joined thread may serve another one. What it knew stays, for a second join. */
static void join_thread(struct wcp *w, const struct step *s)
{
    struct wcp_thread *t = wcp_thread(w, s->thread), *child = &w->threads[s->id];
    struct clock last = CLOCK_EMPTY;

    if (child->h.slot == SLOT_NONE) {
        wcp_learn(w, t, &child->h);
        return;
    }
    wcp_close_all(w, s->id);
    wcp_learn(w, t, &child->h);
    GROW(w->free_slots, w->free_cap, w->nfree + 1);
    w->free_slots[w->nfree++] = (struct wcp_free_slot){ child->h.slot, child->h.time };
    clock_join(&w->pool, &last, &child->h);
    clock_clear(&w->pool, &child->h);
    child->h = last;
    child->over = true;
}

static void end_thread(struct wcp *w, const struct step *s)
{
    wcp_close_all(w, s->thread);
    w->threads[s->thread].over = true;
}

/* ---- variables ---- */

static unsigned what_of(unsigned op)
{
    return (op_table[op].writes ? WCP_WRITE : WCP_READ) | (op_is_atomic(op) ? WCP_ATOMIC : 0);
}

static void wcp_forget(struct wcp *w, struct wcp_variable *v)
{
    wcp_set_forget(w, v);
    wcp_guards_forget(w, v);
    wcp_atomic_forget(w, v);
}

static void copy(struct wcp *w, struct wcp_variable *to, const struct wcp_variable *from)
{
    wcp_forget(w, to);
    wcp_set_copy(w, to, from);
    wcp_guards_copy(w, to, from);
    wcp_atomic_copy(w, to, from);
}

static void alloc_step(struct wcp *w, const struct step *s)
{
    GROW(w->blocks, w->blocks_cap, (size_t)s->id + 1);
    w->blocks[s->id].freed = false;
    wcp_forget(w, &w->blocks[s->id].variable);
}

/* The write that stands for the variables of a freed block that nobody has touched yet. */
static void free_step(struct wcp *w, struct wcp_thread *t, const struct step *s)
{
    struct wcp_block *b;

    GROW(w->blocks, w->blocks_cap, (size_t)s->id + 1);
    b = &w->blocks[s->id];
    b->freed = true;
    wcp_forget(w, &b->variable);
    wcp_touch(w, t, &b->variable, WCP_WRITE);
    wcp_record(w, t, &b->variable, s, WCP_WRITE);
}

/* The first access to a variable; its memory may have been freed before. */
static void wcp_begin(struct wcp *w, const struct step *s)
{
    const struct wcp_block *b =
        s->from && s->from <= w->blocks_cap ? &w->blocks[s->from - 1] : NULL;

    if (b && b->freed)
        copy(w, &w->vars[s->id], &b->variable);
    else
        wcp_forget(w, &w->vars[s->id]);
}

/* ---- steps ---- */

/* Everything that is no access. */
static void other_step(struct wcp *w, const struct step *s)
{
    switch (s->op) {
    case OP_ACQUIRE:
    case OP_RELEASE:
    case OP_ACQUIRE_SHARED:
    case OP_RELEASE_SHARED:
        wcp_lock_step(w, s);
        break;
    case OP_FORK:
        fork_thread(w, s);
        break;
    case OP_JOIN:
        join_thread(w, s);
        break;
    case OP_END:
        end_thread(w, s);
        break;
    case OP_ALLOC:
        alloc_step(w, s);
        break;
    case OP_SPLIT:
        copy(w, &w->vars[s->id], &w->vars[s->from]);
        break;
    default:
        wcp_sync(w, s);
        break;
    }
}

/* What an access learns before it is compared. */
static inline void wcp_prepare(struct wcp *w, struct wcp_thread *t, const struct step *s)
{
    w->accesses++;
    if (s->flags & STEP_FRESH)
        wcp_begin(w, s);
    if (op_is_atomic(s->op))
        wcp_atomic_before(w, s);
    wcp_touch(w, t, &w->vars[s->id], what_of(s->op));
}

/* What it leaves behind; true where the thread has to tick. */
static inline bool wcp_leave(struct wcp *w, struct wcp_thread *t, const struct step *s)
{
    struct wcp_variable *v = &w->vars[s->id];

    wcp_record(w, t, v, s, what_of(s->op));
    if (op_is_atomic(s->op))
        return wcp_atomic_after(w, s);
    if (s->op == OP_WRITE && v->atomic)
        wcp_plain_write(w, v);
    return false;
}

/* The steps of an event that touches several variables, or frees memory. */
static void wcp_group(struct wcp *w, struct wcp_thread *t, const struct step *s, size_t n)
{
    bool tick = !w->all;

    for (size_t i = 0; i < n; i++) {
        if (op_is_access(s[i].op))
            wcp_prepare(w, t, &s[i]);
        else if (s[i].op != OP_FREE)
            other_step(w, &s[i]);
    }
    for (size_t i = 0; i < n; i++)
        if (op_is_access(s[i].op))
            wcp_compare(w, t, &w->vars[s[i].id], &s[i], what_of(s[i].op));
    wcp_report(w, t, s);
    for (size_t i = 0; i < n; i++) {
        if (op_is_access(s[i].op))
            tick |= wcp_leave(w, t, &s[i]);
        else if (s[i].op == OP_FREE)
            free_step(w, t, &s[i]);
    }
    t->h.time += tick;
}

static inline void single(struct wcp *w, struct wcp_thread *t, const struct step *s)
{
    bool tick = !w->all;

    wcp_prepare(w, t, s);
    wcp_compare(w, t, &w->vars[s->id], s, what_of(s->op));
    if (__builtin_expect(w->nunordered, 0))
        wcp_report(w, t, s);
    tick |= wcp_leave(w, t, s);
    t->h.time += tick;
}

static void grow(struct wcp *w, const struct span *span)
{
    size_t old = w->threads_cap;

    GROW(w->threads, w->threads_cap, span->threads);
    for (size_t i = old; i < w->threads_cap; i++)
        w->threads[i].h = w->threads[i].p = w->threads[i].fence = w->threads[i].pending =
            CLOCK_EMPTY;
    w->nthreads = span->threads;
    GROW(w->objects, w->objects_cap, span->objects);
    GROW(w->vars, w->vars_cap, span->variables);
}

void wcp_steps(void *state, const struct span *span)
{
    struct wcp *w = state;
    size_t n;

    grow(w, span);
    for (size_t i = 0; i < span->count; i += n) {
        const struct step *s = &span->steps[i];
        struct wcp_thread *t = wcp_thread(w, s->thread);

        if (i + STEPS_AHEAD < span->count && op_is_access(s[STEPS_AHEAD].op))
            __builtin_prefetch(&w->vars[s[STEPS_AHEAD].id]);
        n = 1;
        t->steps++;
        if (__builtin_expect(s->flags & STEP_GROUP || s->op == OP_FREE, 0))
            wcp_group(w, t, s, n = step_group(span, i));
        else if (op_is_access(s->op))
            single(w, t, s);
        else
            other_step(w, s);
    }
}

void wcp_finish(void *state)
{
    struct wcp *w = state;

    engine_count(w->result, "accesses", w->accesses);
    engine_count(w->result, "comparisons", w->comparisons);
    engine_count(w->result, "slots", w->nslots);
    engine_count(w->result, "guards", w->nguards);
    engine_count(w->result, "queued_most", w->queued_most);
    engine_leave(w->result, "approximated", w->approximated);
}

static void *wcp_open(struct engine_result *result, const struct engine_options *options)
{
    return wcp_new(result, options);
}

static int wcp_decide(void *state, struct whole *whole, struct error *err)
{
    return vindicate(whole, ((struct wcp *)state)->result, err);
}

const struct engine engine_wcp = {
    .name = "wcp",
    .summary = "weak causal precedence: races that only the order of sections hides",
    .proves = STRENGTH_MAYBE,
    .predicts = true,
    .follows = &engine_syncp,
    .open = wcp_open,
    .steps = wcp_steps,
    .finish = wcp_finish,
    .decide = wcp_decide,
    .close = wcp_free,
};
