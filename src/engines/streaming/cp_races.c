/* cp_races.c - the second pass of cp: accesses that CP leaves unordered
 *
 * Per variable and thread the accesses so far, the latest last, one for each
 * (site, kind): an older one is unordered with a later access only if the
 * newer one is too, so every pair of sites is found. An access walks back the
 * lists of the other threads until it meets one that is CP-before it; all
 * older ones are.
 *
 * Only variables that race at all are looked at (cp_screen.h).
 * Sound mode: of the races with one second access the one with the latest first
 * access comes first, as in the paper's theorem; it may order the others.
 */
#include "base/alloc.h"
#include "engines/streaming/cp_screen.h"
#include "engines/effort.h"
#include "engines/whole.h"

#include <stdlib.h>
#include <string.h>

enum { KIND_WRITE = 1, KIND_ATOMIC = 2, KIND_BITS = 2 };

/* How far back a thread's own list is searched for the same site and kind, and how long a list
 * may get before all repetitions in it are dropped. */
enum { LOOK_BACK = 8, LIST_MIN = 32 };

struct record {
    uint32_t time, site;
    uint32_t slot_kind;
    uint32_t node, rank;
};

struct seen {
    uint32_t thread;
    uint32_t count, cap, limit;
    struct record *records;
};

struct variable {
    struct seen *threads;
    uint32_t count, cap;
    uint32_t last;       /* thread that accessed it last */
    uint32_t last_time;  /* and when */
    uint32_t other_time; /* the last access by another thread than that */
};

struct freed {
    bool is;
    uint32_t thread;
    struct record record;
};

struct candidate {
    struct record earlier;
    uint32_t site;
};

struct checker {
    struct cp *cp;
    struct variable *vars;
    size_t vars_cap;
    uint8_t *watched; /* variable -> it races some time */
    size_t watched_cap;
    struct freed *blocks;
    size_t blocks_cap;
    struct candidate *candidates; /* of one event */
    size_t ncandidates, candidates_cap;
    struct cp_reduce reduce;
    struct cp_replay replay;
    struct cp_screen screen;
};

static uint8_t cp_races_kind_of(uint8_t op)
{
    return (uint8_t)((op_table[op].writes ? KIND_WRITE : 0) | (op_is_atomic(op) ? KIND_ATOMIC : 0));
}

static uint32_t kind_in(const struct record *r)
{
    return r->slot_kind & ((1 << KIND_BITS) - 1);
}

static uint32_t slot_in(const struct record *r)
{
    return r->slot_kind >> KIND_BITS;
}

/* ---- races ---- */

static void cp_races_report(struct checker *k, const struct candidate *d, uint32_t position)
{
    race_table_add(&k->cp->result->races, (struct access){ d->earlier.time - 1, d->earlier.site },
                   (struct access){ position, d->site }, STRENGTH_MAYBE);
}

static int compare_candidates(const void *a, const void *b)
{
    uint32_t x = ((const struct candidate *)a)->earlier.time;
    uint32_t y = ((const struct candidate *)b)->earlier.time;

    return x < y ? 1 : x > y ? -1 : 0;
}

/* Report what one event races with. */
static void settle_candidates(struct checker *k, uint32_t thread, uint32_t time)
{
    struct cp *c = k->cp;
    const struct cp_thread *t = &c->threads[thread];
    bool first = true;

    qsort(k->candidates, k->ncandidates, sizeof(*k->candidates), compare_candidates);
    for (size_t i = 0; i < k->ncandidates; i++) {
        const struct candidate *d = &k->candidates[i];

        if (i && d->earlier.time == d[-1].earlier.time) /* another variable of the same pair */
            continue;
        if (!c->all && cp_p(c, t->node)[slot_in(&d->earlier)] >= d->earlier.time)
            continue; /* ordered by an edge of this loop */
        cp_races_report(k, d, time - 1);
        if (c->all)
            continue;
        if (first)
            cp_replay_race(&k->replay, thread);
        first = false;
        cp_replay_edge(&k->replay, thread, d->earlier.node, slot_in(&d->earlier), d->earlier.time);
    }
    k->ncandidates = 0;
}

/* ---- lists ---- */

static void cp_races_forget(struct variable *v)
{
    for (uint32_t i = 0; i < v->count; i++)
        free(v->threads[i].records);
    free(v->threads);
    *v = (struct variable){ 0 };
}

/* There are many lists and most are short: room for one, two, four ... */
static void *cp_races_make_room(void *list, uint32_t count, uint32_t *cap, size_t bytes)
{
    if (count < *cap)
        return list;
    *cap = *cap ? 2 * *cap : 1;
    return xrealloc(list, *cap, bytes);
}

static struct seen *seen_by(struct variable *v, uint32_t thread)
{
    for (uint32_t i = 0; i < v->count; i++)
        if (v->threads[i].thread == thread)
            return &v->threads[i];
    v->threads = cp_races_make_room(v->threads, v->count, &v->cap, sizeof(*v->threads));
    v->threads[v->count] = (struct seen){ .thread = thread, .limit = LIST_MIN };
    return &v->threads[v->count++];
}

static void cp_races_append(struct seen *e, struct record r)
{
    e->records = cp_races_make_room(e->records, e->count, &e->cap, sizeof(*e->records));
    e->records[e->count++] = r;
}

/* Keep only the last of each site and kind. */
static void drop_repetitions(struct seen *e)
{
    struct map last = { 0 };
    uint32_t kept = e->count;

    for (uint32_t i = e->count; i-- > 0;) {
        const struct record *r = &e->records[i];
        uint32_t *known = map_put(&last, (uint64_t)r->site << KIND_BITS | kind_in(r), 0);

        if (!*known)
            e->records[--kept] = *r;
        *known = 1;
    }
    e->count -= kept;
    memmove(e->records, e->records + kept, e->count * sizeof(*e->records));
    e->limit = e->count * 2 > LIST_MIN ? e->count * 2 : LIST_MIN;
    map_release(&last);
}

/* The record of the same site and kind, not far from the end; NULL: none there. */
static struct record *find_record(struct seen *e, const struct record *r)
{
    for (uint32_t i = e->count; i-- > 0 && e->count - i <= LOOK_BACK;)
        if (e->records[i].site == r->site && kind_in(&e->records[i]) == kind_in(r))
            return &e->records[i];
    return NULL;
}

static void cp_races_put(struct variable *v, struct seen *e, struct record r)
{
    struct record *old = find_record(e, &r);

    if (old) {
        struct record *last = &e->records[e->count - 1];

        memmove(old, old + 1, (size_t)(last - old) * sizeof(*old));
        *last = r;
    } else {
        cp_races_append(e, r);
        if (e->count > e->limit)
            drop_repetitions(e);
    }
    if (v->last != e->thread) {
        v->other_time = v->last_time;
        v->last = e->thread;
    }
    v->last_time = r.time;
}

/* ---- accesses ---- */

static bool cp_races_conflict(uint32_t a, uint32_t b)
{
    return ((a | b) & KIND_WRITE) && !(a & b & KIND_ATOMIC);
}

static void add_candidate(struct checker *k, const struct record *earlier, uint32_t site)
{
    GROW(k->candidates, k->candidates_cap, k->ncandidates + 1);
    k->candidates[k->ncandidates++] = (struct candidate){ *earlier, site };
}

/* Records of another thread, from the latest back to the first that is known. */
static void compare_thread(struct checker *k, const struct seen *e, const struct record *r,
                           const uint32_t *known)
{
    uint32_t window = k->cp->window;

    for (uint32_t i = e->count; i-- > 0;) {
        const struct record *x = &e->records[i];

        if (known[slot_in(x)] >= x->time || (window && r->rank - x->rank >= window))
            return;
        if (cp_races_conflict(kind_in(x), kind_in(r)))
            add_candidate(k, x, r->site);
    }
}

static struct record record_of(const struct checker *k, const struct step *s)
{
    const struct cp_thread *t = &k->cp->threads[s->thread];

    return (struct record){ (uint32_t)s->position + 1, s->site,
                            t->slot << KIND_BITS | cp_races_kind_of(s->op), t->node,
                            k->reduce.rank };
}

/* Nothing new since the thread did the same: no node of its own, no access of another thread. */
static bool repeats(const struct variable *v, struct seen *e, const struct record *r)
{
    const struct record *old = find_record(e, r);
    uint32_t other = v->last == e->thread ? v->other_time : v->last_time;

    return old && old->node == r->node && old->time > other;
}

static void cp_races_compare(struct checker *k, const struct step *s)
{
    struct variable *v = &k->vars[s->id];
    struct record r = record_of(k, s);
    struct seen *e = seen_by(v, s->thread);

    if (repeats(v, e, &r))
        return;
    for (uint32_t i = 0; i < v->count; i++)
        if (v->threads[i].thread != s->thread)
            compare_thread(k, &v->threads[i], &r, cp_p(k->cp, r.node));
}

static void cp_races_keep(struct checker *k, const struct step *s)
{
    struct variable *v = &k->vars[s->id];

    cp_races_put(v, seen_by(v, s->thread), record_of(k, s));
}

/* ---- variables that come and part ---- */

static void cp_races_begin(struct checker *k, const struct step *s)
{
    const struct freed *f = s->from && s->from <= k->blocks_cap ? &k->blocks[s->from - 1] : NULL;
    struct variable *v = &k->vars[s->id];

    cp_races_forget(v);
    if (f && f->is)
        cp_races_put(v, seen_by(v, f->thread), f->record);
}

static void cp_races_split(struct checker *k, uint32_t from, uint32_t to)
{
    struct variable *new = &k->vars[to], *old = &k->vars[from];

    cp_races_forget(new);
    for (uint32_t i = 0; i < old->count; i++) {
        struct seen *e = seen_by(new, old->threads[i].thread);

        for (uint32_t r = 0; r < old->threads[i].count; r++)
            cp_races_append(e, old->threads[i].records[r]);
    }
    new->last = old->last;
    new->last_time = old->last_time;
    new->other_time = old->other_time;
}

static void block_step(struct checker *k, const struct step *s)
{
    GROW(k->blocks, k->blocks_cap, (size_t)s->id + 1);
    k->blocks[s->id] = (struct freed){ .is = s->op == OP_FREE, .thread = s->thread };
    if (s->op == OP_FREE) {
        k->blocks[s->id].record = record_of(k, s);
        k->blocks[s->id].record.slot_kind |= KIND_WRITE;
    }
}

/* ---- the pass ---- */

/* A variable comes or parts; from here on its steps count, or do not. */
static void cp_races_meet(struct checker *k, const struct step *s)
{
    struct lives *l = &k->screen.lives;
    uint32_t life = lives_of(l, s);

    k->watched[s->id] = k->screen.suspect[lives_family(l, life)];
    if (s->op == OP_SPLIT)
        cp_races_split(k, s->from, s->id);
    else
        cp_races_begin(k, s);
}

static void event(struct checker *k, const struct step *s, size_t n)
{
    uint32_t time = (uint32_t)s->position + 1;

    cp_replay_to(&k->replay, op_is_access(s[n - 1].op), time);
    for (size_t i = 0; i < n; i++)
        if (s[i].op == OP_SPLIT || (op_is_access(s[i].op) && s[i].flags & STEP_FRESH))
            cp_races_meet(k, &s[i]);
    for (size_t i = 0; i < n; i++)
        if (op_is_access(s[i].op) && k->watched[s[i].id])
            cp_races_compare(k, &s[i]);
    if (k->ncandidates)
        settle_candidates(k, s->thread, time);
    for (size_t i = 0; i < n; i++) {
        if (op_is_access(s[i].op) && k->watched[s[i].id])
            cp_races_keep(k, &s[i]);
        else if (s[i].op == OP_ALLOC || s[i].op == OP_FREE)
            block_step(k, &s[i]);
    }
}

/* A plain access to a variable that never races; most are. */
static bool is_dull(const struct checker *k, const struct step *s)
{
    return (s->op == OP_READ || s->op == OP_WRITE) && !(s->flags & (STEP_FRESH | STEP_GROUP)) &&
           !k->watched[s->id];
}

static void check_span(struct checker *k, const struct span *span)
{
    size_t n;

    GROW(k->vars, k->vars_cap, span->variables);
    GROW(k->watched, k->watched_cap, span->variables);
    lives_begin_span(&k->screen.lives, span);
    if (k->cp->window)
        cp_reduce_begin(&k->reduce, span);
    for (size_t i = 0; i < span->count; i += n) {
        const struct step *s = &span->steps[i];

        n = s->flags & STEP_GROUP ? step_group(span, i) : 1;
        if (s->position >= UINT32_MAX - 1)
            return;
        if (k->cp->window)
            cp_reduce_event(&k->reduce, s, n);
        if (!is_dull(k, s))
            event(k, s, n);
    }
}

static int check_trace(struct checker *k, struct whole *whole, struct error *err)
{
    uint64_t done = 0, all = whole_info(whole)->events;
    struct batch events;
    struct span span;
    int r;

    if (whole_restart(whole, err) < 0)
        return -1;
    cp_replay_start(&k->replay, k->cp);
    while ((r = whole_next(whole, &events, &span, err)) > 0) {
        check_span(k, &span);
        done += events.count;
        whole_spend(whole, UNITS_AN_EVENT * events.count);
        k->cp->stopped = whole_stop(whole, all ? 0.5 + (double)done / (double)all / 2 : 0.5);
        if (k->cp->stopped)
            return 0;
    }
    return r;
}

static void checker_release(struct checker *k)
{
    for (size_t i = 0; i < k->vars_cap; i++)
        cp_races_forget(&k->vars[i]);
    free(k->vars);
    free(k->watched);
    free(k->blocks);
    free(k->candidates);
    cp_reduce_release(&k->reduce);
    cp_screen_release(&k->screen);
}

int cp_find_races(struct cp *c, struct whole *whole, struct error *err)
{
    struct checker k = { .cp = c };
    int r = cp_screen_run(&k.screen, c, whole, err);

    if (r == 0 && k.screen.suspects && !c->stopped)
        r = check_trace(&k, whole, err);
    engine_count(c->result, "suspects", k.screen.suspects);
    engine_leave(c->result, "stopped", c->stopped);
    checker_release(&k);
    return r;
}
