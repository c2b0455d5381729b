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
#include "engines/streaming/fasttrack.h"
#include "base/alloc.h"
#include "order/access_set.h"

#include <stdlib.h>

/* The last access of a kind: position and slot in one word, so that a variable is half a cache
 * line. Time 0: never. */
struct last {
    uint64_t where; /* position << SLOT_BITS | slot */
    uint32_t time, site;
};

enum { SLOT_BITS = 24 }; /* 16 million slots, positions up to 2^40 */
#define SLOT_MASK (((uint64_t)1 << SLOT_BITS) - 1)
#define SLOT_BUSY SLOT_MASK /* as the slot of the last read: see struct more */

struct variable {
    struct last read, write;
};

/* What few variables need at a time: concurrent reads, atomic accesses. While they do, the
 * variable is busy: its last read is one of the set `reads`, and read.time is the number of
 * this record. */
struct more {
    struct access_set reads, atomic_writes, atomic_reads;
    uint32_t next_free;
};

struct fasttrack {
    struct hb hb;
    struct engine_result *result;
    struct variable *vars;
    size_t vars_cap;
    struct more *more; /* [0] unused */
    size_t nmore, more_cap;
    uint32_t free_more; /* first record not in use, 0 none */
    uint64_t accesses, quiet, busy;
    fasttrack_watcher *watcher; /* or NULL */
    void *watcher_arg;
};

static void *fasttrack_open(struct engine_result *result, const struct engine_options *options)
{
    struct fasttrack *f = xcalloc(1, sizeof(*f));

    (void)options;
    hb_init(&f->hb);
    f->result = result;
    f->nmore = 1;
    return f;
}

static inline uint32_t last_slot(const struct last *l)
{
    return (uint32_t)(l->where & SLOT_MASK);
}

static inline bool is_busy(const struct variable *v)
{
    return last_slot(&v->read) == SLOT_BUSY;
}

static inline void set_last(struct last *l, const struct hb_thread *t, const struct step *s)
{
    l->where = s->position << SLOT_BITS | t->clock.slot;
    l->time = t->clock.time;
    l->site = s->site;
}

static struct set_access as_set_access(const struct last *l)
{
    return (struct set_access){ l->where >> SLOT_BITS, last_slot(l), l->time, l->site, 0 };
}

static struct last as_last(const struct set_access *a)
{
    return (struct last){ a->position << SLOT_BITS | a->slot, a->time, a->site };
}

/* The record of a variable, which becomes busy. */
static struct more *get_more(struct fasttrack *f, struct variable *v)
{
    uint32_t number = f->free_more;
    struct more *m;

    if (is_busy(v))
        return &f->more[v->read.time];
    if (number) {
        f->free_more = f->more[number].next_free;
    } else {
        GROW(f->more, f->more_cap, f->nmore + 1);
        number = (uint32_t)f->nmore++;
    }
    m = &f->more[number];
    if (v->read.time)
        access_set_append(&m->reads, as_set_access(&v->read));
    v->read = (struct last){ SLOT_BUSY, number, 0 };
    f->busy++;
    return m;
}

static void more_release(struct more *m)
{
    access_set_clear(&m->reads);
    access_set_clear(&m->atomic_writes);
    access_set_clear(&m->atomic_reads);
}

/* Give the record back, with the memory of its sets; the variable has never been read then. */
static void drop_more(struct fasttrack *f, struct variable *v)
{
    uint32_t number = v->read.time;
    struct more *m = &f->more[number];

    access_set_empty(&m->reads);
    access_set_empty(&m->atomic_writes);
    access_set_empty(&m->atomic_reads);
    m->next_free = f->free_more;
    f->free_more = number;
    v->read = (struct last){ 0 };
}

/* ---- comparing ---- */

static void fasttrack_report(struct fasttrack *f, uint64_t position, uint32_t site,
                             const struct step *s)
{
    race_table_add(&f->result->races, (struct access){ position, site },
                   (struct access){ s->position, s->site }, STRENGTH_MAYBE);
    if (f->watcher)
        f->watcher(f->watcher_arg, s);
}

void fasttrack_watch(void *state, fasttrack_watcher *watcher, void *arg)
{
    struct fasttrack *f = state;

    f->watcher = watcher;
    f->watcher_arg = arg;
}

static void compare_set(struct fasttrack *f, const struct access_set *set,
                        const struct hb_thread *t, const struct step *s)
{
    const struct set_access *a = access_set_entries(set);

    for (uint32_t i = 0; i < set->count; i++)
        if (!hb_knows(t, a[i].slot, a[i].time))
            fasttrack_report(f, a[i].position, a[i].site, s);
}

static inline void compare_last(struct fasttrack *f, const struct last *l,
                                const struct hb_thread *t, const struct step *s)
{
    if (l->time && !hb_knows(t, last_slot(l), l->time))
        fasttrack_report(f, l->where >> SLOT_BITS, l->site, s);
}

static void fasttrack_compare(struct fasttrack *f, const struct variable *v,
                              const struct hb_thread *t, const struct step *s)
{
    bool writes = s->op != OP_READ && s->op != OP_LOAD;
    const struct more *m;

    compare_last(f, &v->write, t, s);
    if (!is_busy(v)) {
        if (writes)
            compare_last(f, &v->read, t, s);
        return;
    }
    m = &f->more[v->read.time];
    if (writes)
        compare_set(f, &m->reads, t, s);
    if (op_is_atomic(s->op))
        return;
    compare_set(f, &m->atomic_writes, t, s);
    if (writes)
        compare_set(f, &m->atomic_reads, t, s);
}

/* ---- recording ---- */

static void record_read(struct fasttrack *f, struct variable *v, const struct hb_thread *t,
                        const struct step *s)
{
    struct more *m;

    if (!is_busy(v) && (!v->read.time || hb_knows(t, last_slot(&v->read), v->read.time))) {
        set_last(&v->read, t, s);
        return;
    }
    m = get_more(f, v);
    access_set_put_lazy(&m->reads, t, s->position, s->site);
    if (m->reads.count == 1 && !m->atomic_writes.count && !m->atomic_reads.count) {
        struct last only = as_last(access_set_entries(&m->reads));

        drop_more(f, v); /* all others happened before this one */
        v->read = only;
    }
}

static void fasttrack_record(struct fasttrack *f, struct variable *v, const struct hb_thread *t,
                             const struct step *s)
{
    if (s->op == OP_READ) {
        record_read(f, v, t, s);
    } else if (s->op == OP_WRITE) { /* what came before is ordered before it, or was reported */
        if (is_busy(v))
            drop_more(f, v);
        set_last(&v->write, t, s);
    } else if (s->op == OP_LOAD) {
        access_set_put_lazy(&get_more(f, v)->atomic_reads, t, s->position, s->site);
    } else {
        access_set_put_lazy(&get_more(f, v)->atomic_writes, t, s->position, s->site);
    }
}

/* ---- variables that come and part ---- */

/* The first access to a variable; its memory may have been freed before. */
static void fasttrack_begin(struct fasttrack *f, struct variable *v, const struct step *s)
{
    const struct hb_block *b = hb_block_of(&f->hb, s);

    if (is_busy(v))
        drop_more(f, v);
    *v = (struct variable){ 0 };
    if (b && b->freed)
        v->write = (struct last){ b->free_position << SLOT_BITS | b->free_slot, b->free_time,
                                  b->free_site };
}

static void fasttrack_split(struct fasttrack *f, const struct variable *from, struct variable *to)
{
    struct more *m;

    if (is_busy(to))
        drop_more(f, to);
    *to = *from;
    if (!is_busy(from))
        return;
    to->read = (struct last){ 0 };
    m = get_more(f, to);
    more_release(m);
    access_set_copy(&m->reads, &f->more[from->read.time].reads);
    access_set_copy(&m->atomic_writes, &f->more[from->read.time].atomic_writes);
    access_set_copy(&m->atomic_reads, &f->more[from->read.time].atomic_reads);
}

/* ---- events ---- */

/* Everything of a step that comes before any comparison. */
static void fasttrack_prepare(struct fasttrack *f, const struct step *s)
{
    hb_before(&f->hb, s);
    if (s->op == OP_SPLIT)
        fasttrack_split(f, &f->vars[s->from], &f->vars[s->id]);
    else if (s->flags & STEP_FRESH && op_is_access(s->op))
        fasttrack_begin(f, &f->vars[s->id], s);
}

static void fasttrack_group(struct fasttrack *f, const struct step *s, size_t n)
{
    struct hb_thread *t = hb_thread(&f->hb, s->thread);
    bool tick = false;

    for (size_t i = 0; i < n; i++)
        fasttrack_prepare(f, &s[i]);
    for (size_t i = 0; i < n; i++)
        if (op_is_access(s[i].op))
            fasttrack_compare(f, &f->vars[s[i].id], t, &s[i]);
    for (size_t i = 0; i < n; i++) {
        if (s[i].op == OP_FREE)
            hb_free_block(&f->hb, t, &s[i]);
        if (!op_is_access(s[i].op))
            continue;
        fasttrack_record(f, &f->vars[s[i].id], t, &s[i]);
        tick |= hb_after(&f->hb, &s[i]);
        f->accesses++;
    }
    t->clock.time += tick;
}

static void other(struct fasttrack *f, const struct step *s)
{
    fasttrack_prepare(f, s);
    if (op_is_access(s->op)) {
        struct hb_thread *t = hb_thread(&f->hb, s->thread);

        fasttrack_compare(f, &f->vars[s->id], t, s);
        fasttrack_record(f, &f->vars[s->id], t, s);
        t->clock.time += hb_after(&f->hb, s);
        f->accesses++;
    }
}

static inline bool happened_before(const struct hb_thread *t, const struct last *l)
{
    return !l->time || hb_knows(t, last_slot(l), l->time);
}

/* Was the last access, if any, another thread's? Without a branch: it is asked for every access. */
static inline unsigned is_foreign(const struct last *l, uint32_t slot)
{
    return (unsigned)(last_slot(l) != slot) & (unsigned)(l->time != 0);
}

/* A plain access after everything else that was done to the variable, as nearly all are: no race,
 * and nothing to remember but the access itself. */
static inline bool quiet_access(struct fasttrack *f, const struct hb_thread *t,
                                const struct step *s)
{
    struct variable *v = &f->vars[s->id];
    uint32_t slot = t->clock.slot;

    if (is_foreign(&v->read, slot) | is_foreign(&v->write, slot))
        if (is_busy(v) || !happened_before(t, &v->read) || !happened_before(t, &v->write))
            return false;
    set_last(s->op == OP_READ ? &v->read : &v->write, t, s);
    f->quiet++;
    return true;
}

static inline void fasttrack_prefetch(const struct fasttrack *f, const struct step *s)
{
    if (op_is_access(s->op))
        __builtin_prefetch(&f->vars[s->id]);
}

static void fasttrack_steps(void *state, const struct span *span)
{
    struct fasttrack *f = state;
    const struct hb_thread *t = NULL; /* of the step before: threads run in bursts */
    uint32_t thread = THREAD_NONE;
    size_t n;

    hb_begin_span(&f->hb, span);
    GROW(f->vars, f->vars_cap, span->variables);
    for (size_t i = 0; i < span->count; i += n) {
        const struct step *s = &span->steps[i];

        if (i + STEPS_AHEAD < span->count)
            fasttrack_prefetch(f, &s[STEPS_AHEAD]);
        n = 1;
        if (s->thread != thread) {
            thread = s->thread;
            t = hb_thread(&f->hb, thread); /* from here on it has a slot */
        }
        if (s->op <= OP_WRITE && !s->flags && !f->hb.natomics && quiet_access(f, t, s))
            continue;
        if (s->flags & STEP_GROUP || s->op == OP_FREE)
            fasttrack_group(f, s, n = step_group(span, i));
        else
            other(f, s);
    }
}

static void fasttrack_finish(void *state)
{
    struct fasttrack *f = state;

    engine_count(f->result, "accesses", f->accesses + f->quiet);
    engine_count(f->result, "quiet", f->quiet);
    engine_count(f->result, "sets_made", f->busy);
    engine_count(f->result, "slots", f->hb.nslots);
}

static void fasttrack_close(void *state)
{
    struct fasttrack *f = state;

    for (size_t i = 1; i < f->nmore; i++)
        more_release(&f->more[i]);
    free(f->more);
    free(f->vars);
    hb_release(&f->hb);
    free(f);
}

const struct engine engine_fasttrack = {
    .name = "fasttrack",
    .summary = "happens-before races by epochs: fastest; one race on every racy variable",
    .proves = STRENGTH_MAYBE,
    .sees_all = true,
    .on_request = true,
    .open = fasttrack_open,
    .steps = fasttrack_steps,
    .finish = fasttrack_finish,
    .close = fasttrack_close,
};
