/* pairs.c - HBP and SHBP
 *
 * Differences from the paper: accesses may be atomic. Two atomics never race,
 * so a variable has separate sets for atomic accesses: an access is compared
 * with the sets it conflicts with, and throws out of them what it makes
 * redundant. A plain access makes redundant whatever happened before it, an
 * atomic one only atomics (a later atomic may race with an earlier plain
 * access but not with this one). An rmw is a write. As in the paper a write
 * leaves the reads alone.
 * An event may touch several variables; its steps are then done phase by
 * phase, each phase for all of them: compare, learn, record, publish.
 * The paper ticks at every event; ticking where a clock is published gives
 * the same answers, since only published times are ever compared.
 */
#include "engines/pairs.h"
#include "base/alloc.h"
#include "order/access_set.h"

#include <stdlib.h>

struct variable {
    struct access_set writes, reads;
    uint32_t atomic;         /* index into atomics, 0 none */
    struct clock last_write; /* shb only */
    struct clock birth;      /* shb only: when its memory was allocated */
};

struct atomic_sets {
    struct access_set writes, reads;
};

struct pairs {
    struct hb hb;
    struct engine_result *result;
    bool schedulable;
    struct variable *vars;
    size_t vars_cap;
    struct atomic_sets *atomics;
    size_t natomics, atomics_cap;
    uint64_t accesses, comparisons;
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
    p->natomics = 1;
    return p;
}

void pairs_free(void *state)
{
    struct pairs *p = state;

    for (size_t i = 0; i < p->vars_cap; i++) {
        access_set_clear(&p->vars[i].writes);
        access_set_clear(&p->vars[i].reads);
    }
    for (size_t i = 0; i < p->natomics && i < p->atomics_cap; i++) {
        access_set_clear(&p->atomics[i].writes);
        access_set_clear(&p->atomics[i].reads);
    }
    free(p->vars);
    free(p->atomics);
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

static inline void check(struct pairs *p, const struct access_set *set, const struct hb_thread *t,
                         const struct step *s)
{
    const struct set_access *a = access_set_entries(set);

    p->comparisons += set->count;
    for (uint32_t i = 0; i < set->count; i++)
        if (!hb_knows(t, a[i].slot, a[i].time))
            race_table_add(&p->result->races, (struct access){ a[i].position, a[i].site },
                           (struct access){ s->position, s->site }, STRENGTH_MAYBE);
}

/* ---- the phases of an access ---- */

static struct atomic_sets *atomic_sets(struct pairs *p, struct variable *v)
{
    if (!v->atomic) {
        GROW(p->atomics, p->atomics_cap, p->natomics + 1);
        v->atomic = (uint32_t)p->natomics++;
    }
    return &p->atomics[v->atomic];
}

static inline void compare(struct pairs *p, const struct variable *v, const struct hb_thread *t,
                           const struct step *s)
{
    bool writes = s->op != OP_READ && s->op != OP_LOAD;

    check(p, &v->writes, t, s);
    if (writes)
        check(p, &v->reads, t, s);
    if (__builtin_expect(v->atomic, 0) && !op_is_atomic(s->op)) {
        check(p, &p->atomics[v->atomic].writes, t, s);
        if (writes)
            check(p, &p->atomics[v->atomic].reads, t, s);
    }
}

/* shb: reads learn from the last write. */
static inline void learn(struct pairs *p, const struct variable *v, struct hb_thread *t,
                         const struct step *s)
{
    if (p->schedulable && op_table[s->op].reads)
        hb_learn(&p->hb, t, &v->last_write);
}

/* A plain access also throws older atomic ones out of the sets of its kind. */
static inline void record(struct pairs *p, struct variable *v, const struct hb_thread *t,
                          const struct step *s)
{
    if (s->op == OP_READ) {
        access_set_put(&v->reads, t, s->position, s->site);
        if (__builtin_expect(v->atomic, 0))
            access_set_prune(&p->atomics[v->atomic].reads, t);
    } else if (s->op == OP_WRITE) {
        access_set_put(&v->writes, t, s->position, s->site);
        if (__builtin_expect(v->atomic, 0))
            access_set_prune(&p->atomics[v->atomic].writes, t);
    } else {
        struct atomic_sets *sets = atomic_sets(p, v);

        access_set_put(s->op == OP_LOAD ? &sets->reads : &sets->writes, t, s->position, s->site);
    }
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

static void forget(struct pairs *p, struct variable *v)
{
    access_set_clear(&v->writes);
    access_set_clear(&v->reads);
    if (v->atomic) {
        access_set_clear(&p->atomics[v->atomic].writes);
        access_set_clear(&p->atomics[v->atomic].reads);
    }
    if (p->schedulable) {
        clock_clear(&p->hb.pool, &v->last_write);
        clock_clear(&p->hb.pool, &v->birth);
    }
}

/* The first access to a variable: it may lie in memory that was allocated, or freed already. */
static void begin(struct pairs *p, struct variable *v, const struct step *s)
{
    const struct hb_block *b = hb_block_of(&p->hb, s);

    forget(p, v);
    if (!b)
        return;
    if (p->schedulable)
        clock_copy(&p->hb.pool, &v->birth, &b->birth);
    if (!b->freed)
        return;
    access_set_append(&v->writes, (struct set_access){ b->free_position, b->free_slot, b->free_time,
                                                       b->free_site, 0 });
    if (p->schedulable)
        clock_copy(&p->hb.pool, &v->last_write, &b->death);
}

static void split(struct pairs *p, uint32_t from, uint32_t to)
{
    struct variable *old = &p->vars[from], *new = &p->vars[to];

    forget(p, new);
    access_set_copy(&new->writes, &old->writes);
    access_set_copy(&new->reads, &old->reads);
    if (old->atomic) {
        struct atomic_sets *sets = atomic_sets(p, new);

        access_set_copy(&sets->writes, &p->atomics[old->atomic].writes);
        access_set_copy(&sets->reads, &p->atomics[old->atomic].reads);
    }
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
static inline void prepare(struct pairs *p, const struct step *s)
{
    hb_before(&p->hb, s);
    if (s->op == OP_SPLIT)
        split(p, s->from, s->id);
    if (!op_is_access(s->op))
        return;
    p->accesses++;
    if (s->flags & STEP_FRESH)
        begin(p, &p->vars[s->id], s);
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

    prepare(p, s);
    if (!op_is_access(s->op))
        return;
    t = hb_thread(&p->hb, s->thread);
    v = &p->vars[s->id];
    probe(p, s, t);
    compare(p, v, t, s);
    learn(p, v, t, s);
    record(p, v, t, s);
    t->clock.time += publish(p, v, t, s);
}

/* The steps of one event that touches several variables, or frees memory. */
static void group(struct pairs *p, const struct step *s, size_t n)
{
    struct hb_thread *t = hb_thread(&p->hb, s->thread);
    bool tick = false;

    for (size_t i = 0; i < n; i++)
        prepare(p, &s[i]);
    probe(p, s, t);
    for (size_t i = 0; i < n; i++)
        if (op_is_access(s[i].op))
            compare(p, &p->vars[s[i].id], t, &s[i]);
    for (size_t i = 0; i < n; i++)
        if (op_is_access(s[i].op))
            learn(p, &p->vars[s[i].id], t, &s[i]);
    for (size_t i = 0; i < n; i++)
        if (op_is_access(s[i].op))
            record(p, &p->vars[s[i].id], t, &s[i]);
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

static inline void prefetch(const struct pairs *p, const struct step *s)
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
            prefetch(p, &s[STEPS_AHEAD]);
        n = 1;
        if (__builtin_expect(s->flags & STEP_GROUP || s->op == OP_FREE, 0))
            group(p, s, n = step_group(span, i));
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
}
