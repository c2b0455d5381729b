/* pairs.c - HBP and SHBP
 *
 * Differences from the paper: accesses may be atomic (order/accesses.h).
 * An event may touch several variables; its steps are then done phase by
 * phase, each phase for all of them: compare, learn, record, publish.
 * The paper ticks at every event; ticking where a clock is published gives
 * the same answers, since only published times are ever compared.
 */
#include "engines/streaming/pairs.h"
#include "base/alloc.h"
#include "order/accesses.h"

#include <stdlib.h>

struct variable {
    struct accesses last;
    struct clock last_write; /* shb only */
    struct clock birth;      /* shb only: when its memory was allocated */
};

struct pairs {
    struct hb hb;
    struct engine_result *result;
    bool schedulable;
    struct variable *vars;
    size_t vars_cap;
    struct atomic_table atomics;
    uint64_t accesses, comparisons, crowded;
    pairs_probe *probe;
    void *probe_arg;
};

struct pairs *pairs_new(struct engine_result *result, bool schedulable)
{
    struct pairs *p = xcalloc(1, sizeof(*p));

    hb_init(&p->hb);
    p->result = result;
    p->schedulable = schedulable;
    p->hb.births = schedulable;
    return p;
}

void pairs_free(void *state)
{
    struct pairs *p = state;

    for (size_t i = 0; i < p->vars_cap; i++)
        accesses_clear(&p->vars[i].last, &p->atomics);
    free(p->vars);
    atomic_table_release(&p->atomics);
    hb_release(&p->hb);
    free(p);
}

void pairs_set_probe(struct pairs *p, pairs_probe *probe, void *arg)
{
    p->probe = probe;
    p->probe_arg = arg;
}

struct hb *pairs_hb(struct pairs *p)
{
    return &p->hb;
}

struct engine_result *pairs_result(const struct pairs *p)
{
    return p->result;
}

static inline void check_in_pairs(struct pairs *p, const struct access_set *set,
                                  const struct hb_thread *t, const struct step *s)
{
    const struct set_access *a = access_set_entries(set);

    p->comparisons += set->count;
    p->crowded += access_set_is_full(set);
    for (uint32_t i = 0; i < set->count; i++)
        if (!hb_knows(t, a[i].slot, a[i].time))
            race_table_add(&p->result->races, (struct access){ a[i].position, a[i].site },
                           (struct access){ s->position, s->site }, STRENGTH_MAYBE);
}

/* ---- the phases of an access ---- */

static inline void pairs_compare(struct pairs *p, const struct variable *v,
                                 const struct hb_thread *t, const struct step *s)
{
    bool writes = s->op != OP_READ && s->op != OP_LOAD;

    check_in_pairs(p, &v->last.writes, t, s);
    if (writes)
        check_in_pairs(p, &v->last.reads, t, s);
    if (__builtin_expect(v->last.atomic, 0) && !op_is_atomic(s->op)) {
        const struct atomic_accesses *atomics = &p->atomics.rows[v->last.atomic];

        check_in_pairs(p, &atomics->writes, t, s);
        if (writes)
            check_in_pairs(p, &atomics->reads, t, s);
    }
}

/* shb: reads learn from the last write. */
static inline void pairs_learn(struct pairs *p, const struct variable *v, struct hb_thread *t,
                               const struct step *s)
{
    if (p->schedulable && op_table[s->op].reads)
        hb_learn(&p->hb, t, &v->last_write);
}

/* True: the thread has to tick at the end of the event. */
static inline bool publish(struct pairs *p, struct variable *v, const struct hb_thread *t,
                           const struct step *s)
{
    bool tick = hb_after(&p->hb, s);

    if (!p->schedulable || !op_table[s->op].writes)
        return tick;
    clock_copy(&p->hb.pool, &v->last_write, &t->clock);
    return true;
}

/* ---- variables that come and part ---- */

static void pairs_forget(struct pairs *p, struct variable *v)
{
    accesses_clear(&v->last, &p->atomics);
    if (p->schedulable) {
        clock_clear(&p->hb.pool, &v->last_write);
        clock_clear(&p->hb.pool, &v->birth);
    }
}

/* The first access to a variable: it may lie in memory that was allocated, or freed already. */
static void pairs_begin(struct pairs *p, struct variable *v, const struct step *s)
{
    const struct hb_block *b = hb_block_of(&p->hb, s);

    pairs_forget(p, v);
    if (!b)
        return;
    if (p->schedulable)
        clock_copy(&p->hb.pool, &v->birth, &b->birth);
    if (!b->freed)
        return;
    accesses_put_free(&v->last, b);
    if (p->schedulable)
        clock_copy(&p->hb.pool, &v->last_write, &b->death);
}

static void pairs_split(struct pairs *p, uint32_t from, uint32_t to)
{
    struct variable *old = &p->vars[from], *new = &p->vars[to];

    pairs_forget(p, new);
    accesses_copy(&new->last, &old->last, &p->atomics);
    if (p->schedulable) {
        clock_copy(&p->hb.pool, &new->last_write, &old->last_write);
        clock_copy(&p->hb.pool, &new->birth, &old->birth);
    }
}

static void grow_variables(struct pairs *p, uint32_t count)
{
    size_t old = p->vars_cap;

    GROW(p->vars, p->vars_cap, count);
    for (size_t i = old; i < p->vars_cap; i++)
        p->vars[i].last_write = p->vars[i].birth = CLOCK_EMPTY;
}

/* Everything of a step that comes before any comparison. */
static inline void pairs_prepare(struct pairs *p, const struct step *s)
{
    hb_before(&p->hb, s);
    if (s->op == OP_SPLIT)
        pairs_split(p, s->from, s->id);
    if (!op_is_access(s->op))
        return;
    p->accesses++;
    if (s->flags & STEP_FRESH)
        pairs_begin(p, &p->vars[s->id], s);
    if (p->schedulable && p->vars[s->id].birth.slot != SLOT_NONE)
        hb_learn(&p->hb, hb_thread(&p->hb, s->thread), &p->vars[s->id].birth);
}

static inline void probe(struct pairs *p, const struct step *s, const struct hb_thread *t)
{
    if (__builtin_expect(p->probe != NULL, 0))
        p->probe(p->probe_arg, &p->hb, s, t);
}

/* An event of one step; most are. */
static inline void single(struct pairs *p, const struct step *s)
{
    struct hb_thread *t;
    struct variable *v;

    pairs_prepare(p, s);
    if (!op_is_access(s->op))
        return;
    t = hb_thread(&p->hb, s->thread);
    v = &p->vars[s->id];
    probe(p, s, t);
    pairs_compare(p, v, t, s);
    pairs_learn(p, v, t, s);
    accesses_put(&v->last, &p->atomics, t, s);
    t->clock.time += publish(p, v, t, s);
}

/* The steps of one event that touches several variables, or frees memory. */
static void pairs_group(struct pairs *p, const struct step *s, size_t n)
{
    struct hb_thread *t = hb_thread(&p->hb, s->thread);
    bool tick = false;

    for (size_t i = 0; i < n; i++)
        pairs_prepare(p, &s[i]);
    probe(p, s, t);
    for (size_t i = 0; i < n; i++)
        if (op_is_access(s[i].op))
            pairs_compare(p, &p->vars[s[i].id], t, &s[i]);
    for (size_t i = 0; i < n; i++)
        if (op_is_access(s[i].op))
            pairs_learn(p, &p->vars[s[i].id], t, &s[i]);
    for (size_t i = 0; i < n; i++)
        if (op_is_access(s[i].op))
            accesses_put(&p->vars[s[i].id].last, &p->atomics, t, &s[i]);
    for (size_t i = 0; i < n; i++) {
        if (s[i].op == OP_FREE) {
            hb_free_block(&p->hb, t, &s[i]);
            tick |= p->schedulable;
        } else if (op_is_access(s[i].op)) {
            tick |= publish(p, &p->vars[s[i].id], t, &s[i]);
        }
    }
    t->clock.time += tick;
}

static inline void pairs_prefetch(const struct pairs *p, const struct step *s)
{
    if (op_is_access(s->op))
        __builtin_prefetch(&p->vars[s->id]);
}

void pairs_steps(void *state, const struct span *span)
{
    struct pairs *p = state;
    size_t n;

    hb_begin_span(&p->hb, span);
    grow_variables(p, span->variables);
    for (size_t i = 0; i < span->count; i += n) {
        const struct step *s = &span->steps[i];

        if (i + STEPS_AHEAD < span->count)
            pairs_prefetch(p, &s[STEPS_AHEAD]);
        n = 1;
        if (__builtin_expect(s->flags & STEP_GROUP || s->op == OP_FREE, 0))
            pairs_group(p, s, n = step_group(span, i));
        else
            single(p, s);
    }
}

void pairs_finish(void *state)
{
    struct pairs *p = state;

    engine_count(p->result, "accesses", p->accesses);
    engine_count(p->result, "comparisons", p->comparisons);
    engine_count(p->result, "slots", p->hb.nslots);
    engine_leave(p->result, "crowded", p->crowded);
}
