/* fasttrack.c - happens-before races with epochs, one pass
 *
 * Flanagan and Freund, "FastTrack" (2009). A variable keeps the epoch of its
 * last write and of its last read; only reads that are concurrent with each
 * other, and atomic accesses, need sets. Finds a race on every variable that
 * has one under HB; which pairs it names depends on what it still remembers.
 * Differences: accesses of other kinds than plain ones are kept apart, since
 * two atomics never race; the earlier access is remembered with its site, so
 * both sides of a race are named.
 */
#include "engines/engine.h"
#include "base/alloc.h"
#include "order/access_set.h"

#include <stdlib.h>

/* What few variables need. */
struct more {
    struct access_set reads; /* in use when the variable's read slot is READ_SHARED */
    struct access_set atomic_writes, atomic_reads;
};

#define READ_SHARED (SLOT_NONE - 1)

/* 40 bytes, so that a cache line holds most of a variable; time 0: never. */
struct variable {
    uint64_t write_position, read_position;
    uint32_t write_slot, write_time, write_site;
    uint32_t read_slot, read_time, read_site;
};

struct fasttrack {
    struct hb hb;
    struct engine_result *result;
    struct variable *vars;
    size_t vars_cap;
    uint32_t *more_of; /* variable -> index into more, 0 none */
    size_t more_of_cap;
    struct more *more;
    size_t nmore, more_cap;
    uint64_t accesses, same_epoch, inflated;
};

static void *fasttrack_open(struct engine_result *result)
{
    struct fasttrack *f = xcalloc(1, sizeof(*f));

    hb_init(&f->hb);
    f->result = result;
    f->nmore = 1;
    return f;
}

static void report(struct fasttrack *f, uint64_t position, uint32_t site, const struct step *s)
{
    race_table_add(&f->result->races, (struct access){ position, site },
                   (struct access){ s->position, s->site }, STRENGTH_MAYBE);
}

static void check_set(struct fasttrack *f, const struct access_set *set,
                      const struct hb_thread *t, const struct step *s)
{
    const struct set_access *a = access_set_entries(set);

    for (uint32_t i = 0; i < set->count; i++)
        if (!hb_knows(t, a[i].slot, a[i].time))
            report(f, a[i].position, a[i].site, s);
}

static void check_write(struct fasttrack *f, const struct variable *v, const struct hb_thread *t,
                        const struct step *s)
{
    if (v->write_time && !hb_knows(t, v->write_slot, v->write_time))
        report(f, v->write_position, v->write_site, s);
}

static struct more *find_more(struct fasttrack *f, uint32_t var)
{
    return f->nmore > 1 && f->more_of[var] ? &f->more[f->more_of[var]] : NULL;
}

static struct more *get_more(struct fasttrack *f, uint32_t var)
{
    GROW(f->more_of, f->more_of_cap, f->vars_cap);
    if (!f->more_of[var]) {
        GROW(f->more, f->more_cap, f->nmore + 1);
        f->more_of[var] = (uint32_t)f->nmore++;
    }
    return &f->more[f->more_of[var]];
}

static void check_reads(struct fasttrack *f, const struct variable *v, uint32_t var,
                        const struct hb_thread *t, const struct step *s)
{
    if (v->read_slot == READ_SHARED)
        check_set(f, &find_more(f, var)->reads, t, s);
    else if (v->read_time && !hb_knows(t, v->read_slot, v->read_time))
        report(f, v->read_position, v->read_site, s);
}

/* ---- plain accesses ---- */

static void read_shared(struct fasttrack *f, struct variable *v, const struct hb_thread *t,
                        const struct step *s)
{
    struct more *m = get_more(f, s->id);

    if (v->read_slot != READ_SHARED) {
        access_set_clear(&m->reads);
        m->reads.count = 1;
        m->reads.one = (struct set_access){ v->read_position, v->read_slot, v->read_time,
                                            v->read_site, 0 };
        v->read_slot = READ_SHARED;
        f->inflated++;
    }
    access_set_put(&m->reads, t, s->position, s->site);
}

static inline void plain_read(struct fasttrack *f, struct variable *v, const struct step *s)
{
    struct hb_thread *t = hb_thread(&f->hb, s->thread);
    struct more *m;

    if (v->read_slot == t->clock.slot && v->read_time == t->clock.time) {
        f->same_epoch++;
        return;
    }
    check_write(f, v, t, s);
    if (__builtin_expect(f->nmore > 1, 0) && (m = find_more(f, s->id)))
        check_set(f, &m->atomic_writes, t, s);
    if (v->read_time && (v->read_slot == READ_SHARED || !hb_knows(t, v->read_slot, v->read_time))) {
        read_shared(f, v, t, s);
        return;
    }
    v->read_position = s->position;
    v->read_slot = t->clock.slot;
    v->read_time = t->clock.time;
    v->read_site = s->site;
}

static inline void plain_write(struct fasttrack *f, struct variable *v, const struct step *s)
{
    struct hb_thread *t = hb_thread(&f->hb, s->thread);
    struct more *m;

    if (v->write_slot == t->clock.slot && v->write_time == t->clock.time) {
        f->same_epoch++;
        return;
    }
    check_write(f, v, t, s);
    check_reads(f, v, s->id, t, s);
    if (__builtin_expect(f->nmore > 1, 0) && (m = find_more(f, s->id))) {
        check_set(f, &m->atomic_writes, t, s);
        check_set(f, &m->atomic_reads, t, s);
        access_set_clear(&m->atomic_writes);
        access_set_clear(&m->atomic_reads);
        access_set_clear(&m->reads);
    }
    if (v->read_slot == READ_SHARED)
        v->read_slot = v->read_time = 0;
    v->write_position = s->position;
    v->write_slot = t->clock.slot;
    v->write_time = t->clock.time;
    v->write_site = s->site;
}

/* ---- atomics: they race with plain accesses only ---- */

static void atomic_access(struct fasttrack *f, struct variable *v, const struct step *s)
{
    struct hb_thread *t = hb_thread(&f->hb, s->thread);
    struct more *m = get_more(f, s->id);

    check_write(f, v, t, s);
    if (s->op == OP_LOAD) {
        access_set_put(&m->atomic_reads, t, s->position, s->site);
    } else {
        check_reads(f, v, s->id, t, s);
        access_set_put(&m->atomic_writes, t, s->position, s->site);
    }
}

/* ---- variables that come and part ---- */

static void more_clear(struct more *m)
{
    access_set_clear(&m->reads);
    access_set_clear(&m->atomic_writes);
    access_set_clear(&m->atomic_reads);
}

static void forget(struct fasttrack *f, uint32_t var)
{
    struct more *m = find_more(f, var);

    if (m)
        more_clear(m);
    f->vars[var] = (struct variable){ 0 };
}

static void split(struct fasttrack *f, uint32_t from, uint32_t to)
{
    struct more *m;

    forget(f, to);
    f->vars[to] = f->vars[from];
    if (!find_more(f, from))
        return;
    m = get_more(f, to);
    access_set_copy(&m->reads, &find_more(f, from)->reads);
    access_set_copy(&m->atomic_writes, &find_more(f, from)->atomic_writes);
    access_set_copy(&m->atomic_reads, &find_more(f, from)->atomic_reads);
}

static inline void prefetch(const struct fasttrack *f, const struct step *s)
{
    if (op_is_access(s->op))
        __builtin_prefetch(&f->vars[s->id]);
}

static void fasttrack_steps(void *state, const struct span *span)
{
    struct fasttrack *f = state;

    hb_begin_span(&f->hb, span);
    GROW(f->vars, f->vars_cap, span->variables);
    if (f->nmore > 1)
        GROW(f->more_of, f->more_of_cap, f->vars_cap);
    for (size_t i = 0; i < span->count; i++) {
        const struct step *s = &span->steps[i];

        if (i + STEPS_AHEAD < span->count)
            prefetch(f, &s[STEPS_AHEAD]);
        hb_before(&f->hb, s);
        if (s->flags & STEP_FRESH)
            forget(f, s->id);
        if (s->op == OP_READ) {
            plain_read(f, &f->vars[s->id], s);
            f->accesses++;
        } else if (s->op == OP_WRITE) {
            plain_write(f, &f->vars[s->id], s);
            f->accesses++;
        } else if (op_is_atomic(s->op)) {
            atomic_access(f, &f->vars[s->id], s);
        } else if (s->op == OP_SPLIT) {
            split(f, s->from, s->id);
        }
        hb_after(&f->hb, s);
    }
}

static void fasttrack_finish(void *state)
{
    struct fasttrack *f = state;

    engine_count(f->result, "accesses", f->accesses);
    engine_count(f->result, "same_epoch", f->same_epoch);
    engine_count(f->result, "read_shared", f->inflated);
    engine_count(f->result, "slots", f->hb.nslots);
}

static void fasttrack_close(void *state)
{
    struct fasttrack *f = state;

    for (size_t i = 1; i < f->nmore; i++)
        more_clear(&f->more[i]);
    free(f->more);
    free(f->more_of);
    free(f->vars);
    hb_release(&f->hb);
    free(f);
}

const struct engine engine_fasttrack = {
    .name = "fasttrack",
    .summary = "happens-before races with epochs: fastest, a race on every racy variable",
    .proves = STRENGTH_MAYBE,
    .open = fasttrack_open,
    .steps = fasttrack_steps,
    .finish = fasttrack_finish,
    .close = fasttrack_close,
};
