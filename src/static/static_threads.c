/* static_threads.c - which code may run in which threads, and which threads at the same time
 *
 * An abstract thread is a place that starts threads; thread 0 is main's, thread 1 is whatever
 * untraced code does: callbacks, signal handlers, functions at exit. Two questions:
 *
 * - Which threads may have been started, and not have ended, when a thread is at some place?
 *   A forward data flow over the code with one bit per thread: a start sets the thread's and its
 *   descendants' bits, a join clears the thread's where static_joins.c proves that it is the
 *   thread's. A function is the pair of its exits for "none" and "all": the flow is distributive.
 * - Which threads run beside a thread all the time? Those that are there when it is started, or
 *   are started while it is there: a fixed point over all places that start threads.
 *
 * Two places may run at the same time if each finds the other's thread beside it.
 */
#include "base/alloc.h"
#include "static/static_inside.h"
#include "static/static_threads.h"

#include <stdlib.h>
#include <string.h>

#define BIT(t) (UINT64_C(1) << (t))

/* ---- calls by function ---- */

static int compare_calls(const void *a, const void *b)
{
    const struct call *x = a, *y = b;

    if (x->function != y->function)
        return x->function < y->function ? -1 : 1;
    return x->fact < y->fact ? -1 : x->fact > y->fact;
}

static void sort_calls(struct statics *s, struct threads *t)
{
    if (s->ncalls)
        qsort(s->calls, s->ncalls, sizeof(*s->calls), compare_calls);
    map_release(&s->call_of); /* its numbers are not right any more */
    t->first_call = xcalloc(s->nfunctions + 2, sizeof(*t->first_call));
    for (size_t i = 0; i < s->ncalls; i++)
        t->first_call[s->calls[i].function + 1]++;
    for (size_t i = 1; i <= s->nfunctions; i++)
        t->first_call[i] += t->first_call[i - 1];
}

bool call_starts(const struct call *c)
{
    return c->model && (c->model->does == LIBC_CREATE || c->model->does == LIBC_CREATE_CXX);
}

static bool call_registers(const struct call *c)
{
    return c->model && (c->model->does == LIBC_KEY || c->model->does == LIBC_ATEXIT ||
                        c->model->does == LIBC_HANDLER || c->model->does == LIBC_ACTION);
}

/* ---- who runs what ---- */

static void reach(struct threads *t, unsigned thread, uint32_t function, struct thread_work *w)
{
    if (t->runs[function] & BIT(thread))
        return;
    t->runs[function] |= BIT(thread);
    GROW(w->at, w->cap, w->count + 1);
    w->at[w->count++] = function;
}

static void reach_escaped(struct statics *s, struct threads *t, unsigned thread,
                          struct thread_work *w)
{
    for (uint32_t f = 0; f < s->nfunctions; f++)
        if (s->functions[f].escaped)
            reach(t, thread, f, w);
}

static void reach_all(struct statics *s, struct threads *t, unsigned thread, struct thread_work *w)
{
    while (w->count) {
        uint32_t f = w->at[--w->count];

        for (uint32_t i = t->first_call[f]; i < t->first_call[f + 1]; i++) {
            const struct call *c = &s->calls[i];

            if (c->world)
                reach_escaped(s, t, thread, w);
            if (call_starts(c) || call_registers(c))
                continue;
            for (uint32_t k = 0; k < c->ntargets; k++)
                reach(t, thread, c->targets[k], w);
        }
    }
}

static void reach_list(struct statics *s, struct threads *t, const struct sfile_module *m,
                       const uint32_t *symbols, uint32_t n, unsigned thread, struct thread_work *w)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct entity *e = &s->entities[m->entities[symbols[i]]];

        for (uint32_t k = 0; k < e->nfunctions; k++)
            reach(t, thread, e->functions[k], w);
    }
}

static void reach_main(struct statics *s, struct threads *t, struct thread_work *w)
{
    uint32_t e = statics_main(s);

    for (uint32_t i = 0; e != UINT32_MAX && i < s->entities[e].nfunctions; i++)
        reach(t, THREAD_MAIN, s->entities[e].functions[i], w);
    for (size_t i = 0; i < s->nmodules; i++) {
        const struct sfile_module *m = &s->modules[i];

        reach_list(s, t, m, m->facts->constructors, m->facts->nconstructors, THREAD_MAIN, w);
    }
    reach_all(s, t, THREAD_MAIN, w);
}

/* Registered functions run only if the registration does; a program that nobody calls has none. */
static void reach_other(struct statics *s, struct threads *t, struct thread_work *w)
{
    reach_escaped(s, t, THREAD_OTHER, w);
    for (size_t i = 0; i < s->ncalls; i++)
        for (uint32_t k = 0; call_registers(&s->calls[i]) && k < s->calls[i].ntargets; k++)
            reach(t, THREAD_OTHER, s->calls[i].targets[k], w);
    for (size_t i = 0; i < s->nmodules; i++) {
        const struct sfile_module *m = &s->modules[i];

        reach_list(s, t, m, m->facts->destructors, m->facts->ndestructors, THREAD_OTHER, w);
    }
    reach_all(s, t, THREAD_OTHER, w);
}

/* What is more than THREADS_MAX shares the last one, which then runs beside itself. */
static void number_threads(struct statics *s, struct threads *t)
{
    t->count = 2;
    for (size_t i = 0; i < s->ncalls; i++) {
        struct call *c = &s->calls[i];

        if (!call_starts(c))
            continue;
        if (t->count == THREADS_MAX) {
            t->crowded = true;
            c->thread = THREADS_MAX;
            continue;
        }
        t->start[t->count] = (uint32_t)i;
        c->thread = ++t->count;
    }
}

static void reach_threads(struct statics *s, struct threads *t)
{
    struct thread_work w = { 0 };

    reach_main(s, t, &w);
    reach_other(s, t, &w);
    for (size_t i = 0; i < s->ncalls; i++) {
        const struct call *c = &s->calls[i];

        for (uint32_t k = 0; c->thread && k < c->ntargets; k++)
            reach(t, c->thread - 1, c->targets[k], &w);
        if (c->thread)
            reach_all(s, t, c->thread - 1, &w);
    }
    free(w.at);
}

/* Threads that a thread starts, directly or not. */
static void find_descendants(struct statics *s, struct threads *t)
{
    bool more = true;

    while (more) {
        more = false;
        for (size_t i = 0; i < s->ncalls; i++) {
            const struct call *c = &s->calls[i];
            uint64_t runs = t->runs[c->function], started = 0;

            if (c->thread)
                started = BIT(c->thread - 1) | BIT(THREAD_OTHER) | t->below[c->thread - 1];
            else if (c->world)
                started = BIT(THREAD_OTHER) | t->below[THREAD_OTHER];
            for (unsigned k = 0; started && k < t->count; k++)
                if (runs & BIT(k) && started & ~t->below[k]) {
                    t->below[k] |= started;
                    more = true;
                }
        }
    }
}

/* ---- the flow ---- */

static uint64_t all_started(const struct threads *t)
{
    return (t->count < THREADS_MAX ? BIT(t->count) - 1 : UINT64_MAX) & ~BIT(THREAD_MAIN);
}

static uint64_t pass_call(const struct threads *t, const struct call *c, uint64_t mask)
{
    uint64_t out = 0;
    bool any = false;

    if (c->twice) /* it may be longjmp() that leads here */
        return mask | all_started(t);
    if (c->thread)
        return mask | BIT(c->thread - 1) | BIT(THREAD_OTHER) | t->below[c->thread - 1];
    if (c->model)
        mask &= ~c->kills;
    for (uint32_t i = 0; i < c->ntargets && !call_registers(c); i++) {
        out |= t->exit0[c->targets[i]] | (mask & t->exit1[c->targets[i]]);
        any = true;
    }
    if (c->world)
        out |= BIT(THREAD_OTHER) | t->below[THREAD_OTHER] | t->escaped_exit;
    return any && !c->world ? out : out | mask;
}

/* Masks at the start of blocks, for an entry; returns the mask at the exits. */
static uint64_t flow(struct statics *s, const struct threads *t, uint32_t f, uint64_t entry,
                     uint64_t *in, void (*at_call)(void *arg, uint32_t call, uint64_t mask),
                     void *arg)
{
    const struct fact_function *code = s->functions[f].code;
    bool *seen = xcalloc(code->nblocks + (size_t)1, sizeof(*seen));
    uint64_t exits = 0;
    bool more = true;

    memset(in, 0, code->nblocks * sizeof(*in));
    in[0] = entry;
    seen[0] = true;
    while (more) {
        uint32_t call = t->first_call[f];

        more = false;
        exits = 0;
        for (uint32_t b = 0; b < code->nblocks; b++) {
            uint64_t mask;

            if (seen[b] && code->blocks[b].lands)
                in[b] |= all_started(t); /* who threw had started what nobody knows */
            mask = in[b];

            for (; call < t->first_call[f + 1] && s->calls[call].fact < code->blocks[b + 1].first;
                 call++) {
                if (!seen[b])
                    continue;
                if (at_call)
                    at_call(arg, call, mask);
                mask = pass_call(t, &s->calls[call], mask);
            }
            if (!seen[b])
                continue;
            if (code->blocks[b].returns)
                exits |= mask;
            for (uint32_t k = 0; k < code->blocks[b].nnext; k++) {
                uint32_t to = code->next[code->blocks[b].next + k];

                more |= !seen[to] || mask & ~in[to];
                seen[to] = true;
                in[to] |= mask;
            }
        }
    }
    free(seen);
    return exits;
}

/* Does anything in it, or below it, start or join threads? */
static void find_interesting(struct statics *s, struct threads *t)
{
    bool more = true;

    for (uint32_t f = 0; f < s->nfunctions; f++)
        for (uint32_t b = 0; b < s->functions[f].code->nblocks; b++)
            t->interesting[f] |= s->functions[f].code->blocks[b].lands;
    while (more) {
        more = false;
        for (size_t i = 0; i < s->ncalls; i++) {
            const struct call *c = &s->calls[i];
            bool yes = c->thread || c->world || c->kills || c->twice;

            for (uint32_t k = 0; k < c->ntargets && !yes; k++)
                yes = t->interesting[c->targets[k]] && !call_registers(c);
            if (yes && !t->interesting[c->function]) {
                t->interesting[c->function] = true;
                more = true;
            }
        }
    }
}

static void find_exits(struct statics *s, struct threads *t)
{
    bool more = true;

    for (uint32_t f = 0; f < s->nfunctions; f++) {
        t->exit0[f] = 0;
        t->exit1[f] = t->interesting[f] ? 0 : UINT64_MAX;
    }
    t->escaped_exit = 0;
    while (more) {
        more = false;
        for (uint32_t f = 0; f < s->nfunctions; f++) {
            uint64_t none, all;

            if (!t->interesting[f] || !s->functions[f].code->nblocks)
                continue;
            none = flow(s, t, f, 0, t->scratch, NULL, NULL);
            all = flow(s, t, f, UINT64_MAX, t->scratch, NULL, NULL);
            more |= none != t->exit0[f] || all != t->exit1[f];
            t->exit0[f] = none;
            t->exit1[f] = all;
            if (s->functions[f].escaped)
                t->escaped_exit |= none;
        }
    }
}

/* ---- entries of a thread's functions ---- */

struct entering {
    struct statics *s;
    struct threads *t;
    unsigned thread;
    bool more;
};

static void enter(struct entering *e, uint32_t function, uint64_t mask)
{
    uint64_t *entry = &e->t->entry[e->thread][function];

    if (!(e->t->runs[function] & BIT(e->thread)) || !(mask & ~*entry))
        return;
    *entry |= mask;
    e->more = true;
}

static void enter_callees(void *arg, uint32_t call, uint64_t mask)
{
    struct entering *e = arg;
    const struct call *c = &e->s->calls[call];

    if (c->thread || call_registers(c))
        return;
    if (c->world)
        for (uint32_t f = 0; f < e->s->nfunctions; f++)
            if (e->s->functions[f].escaped)
                enter(e, f, mask | BIT(THREAD_OTHER) | e->t->below[THREAD_OTHER]);
    for (uint32_t k = 0; k < c->ntargets; k++)
        enter(e, c->targets[k], mask);
}

static void find_entries(struct statics *s, struct threads *t, unsigned thread)
{
    struct entering e = { s, t, thread, true };

    free(t->entry[thread]);
    t->entry[thread] = NULL;
    if (!t->below[thread])
        return;
    t->entry[thread] = xcalloc(s->nfunctions + 1, sizeof(uint64_t));
    while (e.more) {
        e.more = false;
        for (uint32_t f = 0; f < s->nfunctions; f++) {
            uint64_t mask = t->entry[thread][f];

            if (!(t->runs[f] & BIT(thread)))
                continue;
            if (t->interesting[f] && s->functions[f].code->nblocks)
                flow(s, t, f, mask, t->scratch, enter_callees, &e);
            else
                for (uint32_t i = t->first_call[f]; mask && i < t->first_call[f + 1]; i++)
                    enter_callees(&e, i, mask);
        }
    }
}

/* ---- threads beside threads ---- */

static void pair_up(struct threads *t, uint64_t these, uint64_t those, bool *more)
{
    for (unsigned i = 0; i < t->count; i++) {
        uint64_t with = (these & BIT(i) ? those : 0) | (those & BIT(i) ? these : 0);

        if (i == THREAD_MAIN)
            continue; /* what runs beside main depends on where main is */
        *more |= (with & ~t->beside[i]) != 0;
        t->beside[i] |= with;
    }
}

static uint64_t mask_at(const struct statics *s, const struct threads *t, unsigned thread,
                        uint32_t f, uint32_t fact)
{
    const struct fact_function *code = s->functions[f].code;
    uint64_t *in, mask;
    uint32_t low = 0, high = code->nblocks;

    if (!t->entry[thread])
        return 0;
    if (!t->interesting[f] || !code->nblocks)
        return t->entry[thread][f];
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;

        if (code->blocks[middle].first <= fact)
            low = middle;
        else
            high = middle;
    }
    in = threads_blocks((struct statics *)s, (struct threads *)t, thread, f);
    mask = in[low];
    for (uint32_t i = t->first_call[f]; i < t->first_call[f + 1] && s->calls[i].fact < fact; i++)
        if (s->calls[i].fact >= code->blocks[low].first)
            mask = pass_call(t, &s->calls[i], mask);
    return mask;
}

/* The last question's answer is kept: questions come function by function. */
uint64_t *threads_blocks(struct statics *s, struct threads *t, unsigned thread, uint32_t f)
{
    if (t->cached_thread == thread + 1 && t->cached_function == f)
        return t->cache;
    GROW(t->cache, t->cache_cap, s->functions[f].code->nblocks + (size_t)1);
    flow(s, t, f, t->entry[thread][f], t->cache, NULL, NULL);
    t->cached_thread = thread + 1;
    t->cached_function = f;
    return t->cache;
}

uint64_t threads_mask(const struct statics *s, unsigned thread, uint32_t function, uint32_t fact)
{
    return mask_at(s, s->threads, thread, function, fact);
}

static void find_beside(struct statics *s, struct threads *t)
{
    bool more = true;

    memset(t->beside, 0, sizeof(t->beside));
    t->beside[THREAD_OTHER] = UINT64_MAX;
    if (t->crowded)
        t->beside[THREADS_MAX - 1] |= BIT(THREADS_MAX - 1);
    for (unsigned i = 2; i < t->count; i++) /* ancestors may live on */
        for (unsigned k = 0; k < t->count; k++)
            if (k == THREAD_OTHER || t->below[k] & BIT(i))
                t->beside[i] |= BIT(k);
    while (more) {
        more = false;
        for (size_t i = 0; i < s->ncalls; i++) {
            const struct call *c = &s->calls[i];

            for (unsigned b = 0; c->thread && b < t->count; b++) {
                uint64_t family = BIT(c->thread - 1) | t->below[c->thread - 1], there;

                if (!(t->runs[c->function] & BIT(b)))
                    continue;
                there = t->beside[b] | mask_at(s, t, b, c->function, c->fact);
                if (t->beside[b] & BIT(b)) /* two of the creator: two of what it creates */
                    there |= family | BIT(b);
                pair_up(t, family, there, &more);
            }
        }
    }
}

/* ---- all together ---- */

static void compute(struct statics *s, struct threads *t)
{
    memset(t->interesting, 0, s->nfunctions);
    t->cached_thread = 0;
    find_interesting(s, t);
    find_exits(s, t);
    for (unsigned i = 0; i < t->count; i++)
        find_entries(s, t, i);
    t->cached_thread = 0;
    find_beside(s, t);
}

void threads_find(struct statics *s)
{
    struct threads *t = s->threads = xcalloc(1, sizeof(*t));
    uint32_t blocks = 0;

    for (uint32_t f = 0; f < s->nfunctions; f++)
        if (s->functions[f].code->nblocks > blocks)
            blocks = s->functions[f].code->nblocks;
    t->scratch = xcalloc(blocks + (size_t)1, sizeof(*t->scratch));
    t->runs = xcalloc(s->nfunctions + 1, sizeof(*t->runs));
    t->exit0 = xcalloc(s->nfunctions + 1, sizeof(*t->exit0));
    t->exit1 = xcalloc(s->nfunctions + 1, sizeof(*t->exit1));
    t->interesting = xcalloc(s->nfunctions + 1, 1);
    sort_calls(s, t);
    number_threads(s, t);
    reach_threads(s, t);
    find_descendants(s, t);
    joins_find(s);
    do
        compute(s, t);
    while (joins_refute(s));
    s->counters.threads = t->count;
}

void threads_release(struct statics *s)
{
    struct threads *t = s->threads;

    if (!t)
        return;
    for (unsigned i = 0; i < THREADS_MAX; i++)
        free(t->entry[i]);
    free(t->first_call);
    free(t->runs);
    free(t->exit0);
    free(t->exit1);
    free(t->interesting);
    free(t->scratch);
    free(t->cache);
    free(t);
}

uint64_t threads_of(const struct statics *s, uint32_t function)
{
    return s->threads->runs[function];
}

uint64_t threads_beside(const struct statics *s, uint32_t thread, uint32_t function, uint32_t fact)
{
    return s->threads->beside[thread] | mask_at(s, s->threads, thread, function, fact);
}
