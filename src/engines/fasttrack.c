/* fasttrack.c - happens-before races with epochs, one pass
 *
 * Flanagan and Freund, "FastTrack" (2009). A variable keeps the epoch of its
 * last write and of its last read; only reads that are concurrent with each
 * other, and atomic accesses, need sets. Finds a race on every variable that
 * has one under HB; which pairs it names depends on what it still remembers.
 * Differences: accesses of other kinds than plain ones are kept apart, since
 * two atomics never race; the earlier access is remembered with its site, so
 * both sides of a race are named. A variable that only one thread has touched
 * so far needs no comparison at all; that is the test made first.
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

/* The last access of a kind; time 0: never. */
struct last {
    uint64_t position;
    uint32_t slot, time, site;
    uint32_t more; /* of the variable, kept in the read's: index into more, 0 none */
};

struct variable {
    struct last read, write;
};

struct fasttrack {
    struct hb hb;
    struct engine_result *result;
    struct variable *vars;
    size_t vars_cap;
    struct more *more; /* [0] unused */
    size_t nmore, more_cap;
    uint64_t accesses, private, inflated;
};

static void *fasttrack_open(struct engine_result *result)
{
    struct fasttrack *f = xcalloc(1, sizeof(*f));

    hb_init(&f->hb);
    f->result = result;
    f->nmore = 1;
    return f;
}

static struct more *find_more(struct fasttrack *f, const struct variable *v)
{
    return v->read.more ? &f->more[v->read.more] : NULL;
}

static struct more *get_more(struct fasttrack *f, struct variable *v)
{
    if (!v->read.more) {
        GROW(f->more, f->more_cap, f->nmore + 1);
        v->read.more = (uint32_t)f->nmore++;
    }
    return &f->more[v->read.more];
}

/* ---- comparing ---- */

static void report(struct fasttrack *f, uint64_t position, uint32_t site, const struct step *s)
{
    race_table_add(&f->result->races, (struct access){ position, site },
                   (struct access){ s->position, s->site }, STRENGTH_MAYBE);
}

static void compare_set(struct fasttrack *f, const struct access_set *set,
                        const struct hb_thread *t, const struct step *s)
{
    const struct set_access *a = access_set_entries(set);

    for (uint32_t i = 0; i < set->count; i++)
        if (!hb_knows(t, a[i].slot, a[i].time))
            report(f, a[i].position, a[i].site, s);
}

static inline void compare_last(struct fasttrack *f, const struct last *l,
                                const struct hb_thread *t, const struct step *s)
{
    if (l->time && !hb_knows(t, l->slot, l->time))
        report(f, l->position, l->site, s);
}

static void compare(struct fasttrack *f, const struct variable *v, const struct hb_thread *t,
                    const struct step *s)
{
    const struct more *m = find_more(f, v);
    bool writes = s->op != OP_READ && s->op != OP_LOAD;

    compare_last(f, &v->write, t, s);
    if (writes && v->read.slot == READ_SHARED)
        compare_set(f, &m->reads, t, s);
    else if (writes)
        compare_last(f, &v->read, t, s);
    if (!m || op_is_atomic(s->op))
        return;
    compare_set(f, &m->atomic_writes, t, s);
    if (writes)
        compare_set(f, &m->atomic_reads, t, s);
}

/* ---- recording ---- */

static inline void set_last(struct last *l, const struct hb_thread *t, const struct step *s)
{
    l->position = s->position;
    l->slot = t->clock.slot;
    l->time = t->clock.time;
    l->site = s->site;
}

static void record_read(struct fasttrack *f, struct variable *v, const struct hb_thread *t,
                        const struct step *s)
{
    struct more *m;

    if (!v->read.time ||
        (v->read.slot != READ_SHARED && hb_knows(t, v->read.slot, v->read.time))) {
        set_last(&v->read, t, s);
        return;
    }
    m = get_more(f, v);
    if (v->read.slot != READ_SHARED) {
        access_set_clear(&m->reads);
        access_set_append(&m->reads, (struct set_access){ v->read.position, v->read.slot,
                                                          v->read.time, v->read.site, 0 });
        v->read.slot = READ_SHARED;
        f->inflated++;
    }
    access_set_put(&m->reads, t, s->position, s->site);
}

/* All that came before is ordered before this write, or was reported. */
static void record_write(struct fasttrack *f, struct variable *v, const struct hb_thread *t,
                         const struct step *s)
{
    struct more *m = find_more(f, v);

    if (m) {
        access_set_clear(&m->atomic_writes);
        access_set_clear(&m->atomic_reads);
        access_set_clear(&m->reads);
    }
    if (v->read.slot == READ_SHARED)
        v->read.slot = v->read.time = 0;
    set_last(&v->write, t, s);
}

static void record(struct fasttrack *f, struct variable *v, const struct hb_thread *t,
                   const struct step *s)
{
    if (s->op == OP_READ)
        record_read(f, v, t, s);
    else if (s->op == OP_WRITE)
        record_write(f, v, t, s);
    else if (s->op == OP_LOAD)
        access_set_put(&get_more(f, v)->atomic_reads, t, s->position, s->site);
    else
        access_set_put(&get_more(f, v)->atomic_writes, t, s->position, s->site);
}

/* ---- variables that come and part ---- */

static void more_clear(struct more *m)
{
    access_set_clear(&m->reads);
    access_set_clear(&m->atomic_writes);
    access_set_clear(&m->atomic_reads);
}

/* The record with the sets stays with the number, empty. */
static void forget(struct fasttrack *f, struct variable *v)
{
    uint32_t more = v->read.more;

    if (more)
        more_clear(&f->more[more]);
    *v = (struct variable){ .read.more = more };
}

/* The first access to a variable; its memory may have been freed before. */
static void begin(struct fasttrack *f, struct variable *v, const struct step *s)
{
    const struct hb_block *b = hb_block_of(&f->hb, s);

    forget(f, v);
    if (b && b->freed)
        v->write = (struct last){ b->free_position, b->free_slot, b->free_time, b->free_site, 0 };
}

static void split(struct fasttrack *f, const struct variable *from, struct variable *to)
{
    struct more *m;
    uint32_t more;

    forget(f, to);
    more = to->read.more;
    *to = *from;
    to->read.more = more;
    if (!from->read.more)
        return;
    m = get_more(f, to);
    access_set_copy(&m->reads, &f->more[from->read.more].reads);
    access_set_copy(&m->atomic_writes, &f->more[from->read.more].atomic_writes);
    access_set_copy(&m->atomic_reads, &f->more[from->read.more].atomic_reads);
}

/* ---- events ---- */

/* Everything of a step that comes before any comparison. */
static void prepare(struct fasttrack *f, const struct step *s)
{
    hb_before(&f->hb, s);
    if (s->op == OP_SPLIT)
        split(f, &f->vars[s->from], &f->vars[s->id]);
    else if (s->flags & STEP_FRESH && op_is_access(s->op))
        begin(f, &f->vars[s->id], s);
}

static void group(struct fasttrack *f, const struct step *s, size_t n)
{
    struct hb_thread *t = hb_thread(&f->hb, s->thread);
    bool tick = false;

    for (size_t i = 0; i < n; i++)
        prepare(f, &s[i]);
    for (size_t i = 0; i < n; i++)
        if (op_is_access(s[i].op))
            compare(f, &f->vars[s[i].id], t, &s[i]);
    for (size_t i = 0; i < n; i++) {
        if (s[i].op == OP_FREE)
            hb_free_block(&f->hb, t, &s[i]);
        if (!op_is_access(s[i].op))
            continue;
        record(f, &f->vars[s[i].id], t, &s[i]);
        tick |= hb_after(&f->hb, &s[i]);
        f->accesses++;
    }
    t->clock.time += tick;
}

static void other(struct fasttrack *f, const struct step *s)
{
    prepare(f, s);
    if (op_is_access(s->op)) {
        struct hb_thread *t = hb_thread(&f->hb, s->thread);

        compare(f, &f->vars[s->id], t, s);
        record(f, &f->vars[s->id], t, s);
        t->clock.time += hb_after(&f->hb, s);
        f->accesses++;
    }
}

/* A plain access to a variable that no other thread has touched: nothing to compare with. */
static inline bool private_access(struct fasttrack *f, const struct step *s)
{
    struct hb_thread *t = &f->hb.threads[s->thread];
    struct variable *v = &f->vars[s->id];
    uint32_t slot = t->clock.slot;

    if (!((v->read.slot == slot) | !v->read.time) | !((v->write.slot == slot) | !v->write.time) |
        (v->read.more != 0) | (slot == SLOT_NONE))
        return false;
    set_last(s->op == OP_READ ? &v->read : &v->write, t, s);
    f->private++;
    return true;
}

static inline void prefetch(const struct fasttrack *f, const struct step *s)
{
    if (op_is_access(s->op)) { /* the two cache lines it may lie in */
        __builtin_prefetch(&f->vars[s->id].read);
        __builtin_prefetch(&f->vars[s->id].write.site);
    }
}

static void fasttrack_steps(void *state, const struct span *span)
{
    struct fasttrack *f = state;
    size_t n;

    hb_begin_span(&f->hb, span);
    GROW(f->vars, f->vars_cap, span->variables);
    for (size_t i = 0; i < span->count; i += n) {
        const struct step *s = &span->steps[i];

        if (i + STEPS_AHEAD < span->count)
            prefetch(f, &s[STEPS_AHEAD]);
        n = 1;
        if (s->op <= OP_WRITE && !s->flags && !f->hb.natomics && private_access(f, s))
            continue;
        if (s->flags & STEP_GROUP || s->op == OP_FREE)
            group(f, s, n = step_group(span, i));
        else
            other(f, s);
    }
}

static void fasttrack_finish(void *state)
{
    struct fasttrack *f = state;

    engine_count(f->result, "accesses", f->accesses + f->private);
    engine_count(f->result, "private", f->private);
    engine_count(f->result, "read_shared", f->inflated);
    engine_count(f->result, "slots", f->hb.nslots);
}

static void fasttrack_close(void *state)
{
    struct fasttrack *f = state;

    for (size_t i = 1; i < f->nmore; i++)
        more_clear(&f->more[i]);
    free(f->more);
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
