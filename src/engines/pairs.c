/* pairs.c - HBP and SHBP
 *
 * Differences from the paper: accesses may be atomic. Two atomics never race,
 * so a variable has separate sets for atomic accesses: an access is compared
 * with the sets it conflicts with, and throws out of them what it makes
 * redundant. A plain access makes redundant whatever happened before it, an
 * atomic one only atomics (a later atomic may race with an earlier plain
 * access but not with this one). An rmw is a write. As in the paper a write
 * leaves the reads alone.
 * The paper ticks at every event; ticking where a clock is published gives
 * the same answers, since only published times are ever compared.
 */
#include "engines/pairs.h"
#include "base/alloc.h"
#include "order/access_set.h"

#include <stdlib.h>

struct variable {
    struct access_set writes, reads;
    uint32_t atomic;          /* index into atomics, 0 none */
    struct clock last_write;  /* shb only */
    struct clock birth;       /* shb only: when its memory was allocated */
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
    struct clock *births; /* shb only: by allocation */
    size_t births_cap;
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
    p->natomics = 1;
    return p;
}

void pairs_free(struct pairs *p)
{
    for (size_t i = 0; i < p->vars_cap; i++) {
        access_set_clear(&p->vars[i].writes);
        access_set_clear(&p->vars[i].reads);
    }
    for (size_t i = 0; i < p->natomics && i < p->atomics_cap; i++) {
        access_set_clear(&p->atomics[i].writes);
        access_set_clear(&p->atomics[i].reads);
    }
    free(p->vars);
    free(p->births);
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

/* ---- shb: reads learn from the last write, every access from the allocation ---- */

static void read_from(struct pairs *p, struct variable *v, struct hb_thread *t)
{
    if (p->schedulable)
        hb_learn(&p->hb, t, &v->last_write);
}

static void written_by(struct pairs *p, struct variable *v, struct hb_thread *t)
{
    if (p->schedulable)
        hb_publish(&p->hb, t, &v->last_write);
}

static void allocated_by(struct pairs *p, const struct step *s)
{
    size_t old = p->births_cap;

    if (!p->schedulable)
        return;
    GROW(p->births, p->births_cap, (size_t)s->id + 1);
    for (size_t i = old; i < p->births_cap; i++)
        p->births[i] = CLOCK_EMPTY;
    hb_publish(&p->hb, hb_thread(&p->hb, s->thread), &p->births[s->id]);
}

static void born_in(struct pairs *p, struct variable *v, uint32_t allocation)
{
    if (p->schedulable && allocation)
        clock_copy(&p->hb.pool, &v->birth, &p->births[allocation - 1]);
}

/* ---- accesses ---- */

static struct atomic_sets *atomic_sets(struct pairs *p, struct variable *v)
{
    if (!v->atomic) {
        GROW(p->atomics, p->atomics_cap, p->natomics + 1);
        v->atomic = (uint32_t)p->natomics++;
    }
    return &p->atomics[v->atomic];
}

/* A plain access also throws older atomic ones out of the set it joins. */
static void prune_atomics(struct access_set *set, const struct hb_thread *t)
{
    const struct set_access *a = access_set_entries(set);
    struct access_set kept = { 0 };

    for (uint32_t i = 0; i < set->count; i++)
        if (!hb_knows(t, a[i].slot, a[i].time))
            access_set_append(&kept, a[i]);
    access_set_clear(set);
    *set = kept;
}

static inline void plain_read(struct pairs *p, struct variable *v, struct hb_thread *t,
                              const struct step *s)
{
    check(p, &v->writes, t, s);
    if (__builtin_expect(v->atomic, 0))
        check(p, &p->atomics[v->atomic].writes, t, s);
    read_from(p, v, t);
    if (__builtin_expect(v->atomic, 0))
        prune_atomics(&p->atomics[v->atomic].reads, t);
    access_set_put(&v->reads, t, s->position, s->site);
}

static inline void plain_write(struct pairs *p, struct variable *v, struct hb_thread *t,
                               const struct step *s)
{
    check(p, &v->writes, t, s);
    access_set_put(&v->writes, t, s->position, s->site);
    check(p, &v->reads, t, s);
    if (__builtin_expect(v->atomic, 0)) {
        check(p, &p->atomics[v->atomic].writes, t, s);
        check(p, &p->atomics[v->atomic].reads, t, s);
        prune_atomics(&p->atomics[v->atomic].writes, t);
    }
    written_by(p, v, t);
}

static void atomic_access(struct pairs *p, struct variable *v, struct hb_thread *t,
                          const struct step *s)
{
    struct atomic_sets *sets = atomic_sets(p, v);

    check(p, &v->writes, t, s);
    if (s->op == OP_LOAD) {
        read_from(p, v, t);
        access_set_put(&sets->reads, t, s->position, s->site);
        return;
    }
    check(p, &v->reads, t, s);
    access_set_put(&sets->writes, t, s->position, s->site);
    if (s->op == OP_RMW)
        read_from(p, v, t);
    written_by(p, v, t);
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

static inline void prefetch(const struct pairs *p, const struct step *s)
{
    if (op_is_access(s->op))
        __builtin_prefetch(&p->vars[s->id]);
}

void pairs_steps(struct pairs *p, const struct span *span)
{
    hb_begin_span(&p->hb, span);
    grow_variables(p, span->variables);
    for (size_t i = 0; i < span->count; i++) {
        const struct step *s = &span->steps[i];
        struct variable *v;

        if (i + STEPS_AHEAD < span->count)
            prefetch(p, &s[STEPS_AHEAD]);
        hb_before(&p->hb, s);
        if (s->op == OP_SPLIT)
            split(p, s->from, s->id);
        if (s->op == OP_ALLOC)
            allocated_by(p, s);
        if (!op_is_access(s->op))
            continue;
        v = &p->vars[s->id];
        p->accesses++;
        if (s->flags & STEP_FRESH) {
            forget(p, v);
            born_in(p, v, s->from);
        }
        if (v->birth.slot != SLOT_NONE)
            hb_learn(&p->hb, hb_thread(&p->hb, s->thread), &v->birth);
        if (__builtin_expect(p->probe != NULL, 0))
            p->probe(p->probe_arg, &p->hb, s, hb_thread(&p->hb, s->thread));
        if (s->op == OP_READ)
            plain_read(p, v, hb_thread(&p->hb, s->thread), s);
        else if (s->op == OP_WRITE)
            plain_write(p, v, hb_thread(&p->hb, s->thread), s);
        else
            atomic_access(p, v, hb_thread(&p->hb, s->thread), s);
        hb_after(&p->hb, s);
    }
}

void pairs_finish(struct pairs *p)
{
    engine_count(p->result, "accesses", p->accesses);
    engine_count(p->result, "comparisons", p->comparisons);
    engine_count(p->result, "slots", p->hb.nslots);
}
