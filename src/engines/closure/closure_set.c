/* closure_set.c - the least set that holds some pasts and keeps the order of sections
 *
 * A set is a time per slot. What is joined to it is always a whole clock, so
 * hard edges, allocations and writers are in it by construction; only locks
 * have to be looked at. A section that the set enters and does not leave is
 * held at the frontier of its slot, so these few are all there is to check:
 * is a later section of another slot on that lock in the set, one that
 * excludes it? Then its release joins the set, and so on until nothing
 * changes. Sections that no frontier is in cost nothing, however many there
 * are.
 *
 * The check is made when a section becomes open, against all slots, and when
 * a slot grows, against the sections that were open before: by looking at each
 * section that is new in the set, or, where these are many, by a search in
 * the run (one slot, one lock, one kind) for each open section.
 */
#include "engines/closure/closure_inside.h"

#include <stdlib.h>
#include <string.h>

/* So many new sections of a slot are looked at one by one. */
enum { FEW_SECTIONS = 16 };
/* So many later sections on a lock are looked at before each slot's first later one is searched. */
enum { NEXT_SECTIONS = 32 };

/* A section that the set is inside of, in the list of its lock and in that of its slot. */
struct open_section {
    uint32_t section;
    uint32_t on_lock, in_slot; /* the next; 0: none, number 0 is not used */
};

/* A slot that has grown: its acquires that are new in the set. */
struct growth {
    uint32_t slot, from, to;
};

struct closure_set {
    const struct closure *c;
    uint32_t nslots;
    uint32_t *time;   /* per slot; room for whole leaves */
    uint64_t *before; /* per slot: of the next segment, events before this position are in */
    uint32_t *cursor; /* per slot: how many of its acquires are in */
    bool *is_dirty;   /* per slot: has grown since its sections were looked at */
    uint32_t *dirty;
    uint32_t ndirty;
    struct growth *grown; /* dirty slots while they are looked at */

    struct open_section *open;
    size_t nopen, open_cap;
    uint32_t free_open; /* linked by in_slot */
    uint32_t *lock_open, *slot_open;
    uint32_t last; /* no section in the set has a higher number */
    uint32_t *ending;
    size_t nending, ending_cap;
    bool impossible;
};

struct closure_set *closure_set_new(const struct closure *c)
{
    struct closure_set *x = xcalloc(1, sizeof(*x));
    uint32_t n = c->hb.nslots;

    x->c = c;
    x->nslots = n;
    x->time = xcalloc((size_t)n + LEAF_SIZE, sizeof(*x->time));
    x->before = xcalloc(n + 1, sizeof(*x->before));
    x->cursor = xcalloc(n + 1, sizeof(*x->cursor));
    x->is_dirty = xcalloc(n + 1, sizeof(*x->is_dirty));
    x->dirty = xcalloc(n + 1, sizeof(*x->dirty));
    x->grown = xcalloc(n + 1, sizeof(*x->grown));
    x->slot_open = xcalloc(n + 1, sizeof(*x->slot_open));
    x->lock_open = xcalloc(c->nlocks + 1, sizeof(*x->lock_open));
    x->nopen = 1;
    return x;
}

void closure_set_free(struct closure_set *x)
{
    if (!x)
        return;
    free(x->time);
    free(x->before);
    free(x->cursor);
    free(x->is_dirty);
    free(x->dirty);
    free(x->grown);
    free(x->slot_open);
    free(x->lock_open);
    free(x->open);
    free(x->ending);
    free(x);
}

void closure_set_clear(struct closure_set *x)
{
    for (size_t i = 1; i < x->nopen; i++)
        x->lock_open[x->c->sections[x->open[i].section].lock] = 0;
    memset(x->time, 0, x->nslots * sizeof(*x->time));
    memset(x->before, 0, x->nslots * sizeof(*x->before));
    memset(x->cursor, 0, x->nslots * sizeof(*x->cursor));
    memset(x->slot_open, 0, x->nslots * sizeof(*x->slot_open));
    while (x->ndirty)
        x->is_dirty[x->dirty[--x->ndirty]] = false;
    x->nopen = 1;
    x->nending = 0;
    x->free_open = x->last = 0;
    x->impossible = false;
}

bool closure_set_has(const struct closure_set *x, const struct closure_past *p)
{
    uint32_t slot = p->clock.slot, time = p->clock.time;

    return x->impossible || x->time[slot] >= time ||
           (x->time[slot] + 1 == time && p->position < x->before[slot]);
}

/* ---- growing ---- */

static inline void raise_slot(struct closure_set *x, uint32_t slot, uint32_t time)
{
    if (x->time[slot] >= time)
        return;
    x->time[slot] = time;
    if (!x->is_dirty[slot]) {
        x->is_dirty[slot] = true;
        x->dirty[x->ndirty++] = slot;
    }
}

/* Is some time of a known to b? Made so that the compiler takes vectors. */
static bool any_above(const uint32_t *a, const uint32_t *b)
{
    int32_t above = 0;

    for (int i = 0; i < PACKED_STEP; i++)
        above |= (int32_t)a[i] > (int32_t)b[i];
    return above;
}

/* All entries of a tree whose first slot is `base`. */
static void raise_tree(struct closure_set *x, const struct clock_node *n, uint32_t base)
{
    uint32_t count = LEAF_SIZE;

    if (!n || base >= x->nslots)
        return;
    if (n->height == PACKED_HEIGHT) {
        count = n->refs;
    } else if (n->height) {
        for (uint32_t i = 0; i < FAN; i++)
            raise_tree(x, n->child[i], base + (i << (LEAF_BITS + (n->height - 1) * FAN_BITS)));
        return;
    }
    for (uint32_t i = 0; i < count && base + i < x->nslots; i += PACKED_STEP)
        if (any_above(&n->time[i], &x->time[base + i]))
            for (uint32_t k = i; k < i + PACKED_STEP; k++)
                raise_slot(x, base + k, n->time[k]);
}

/* ---- open sections ---- */

static bool is_open(const struct closure_set *x, const struct section *s)
{
    return s->release.slot == SLOT_NONE || s->release.time > x->time[s->slot];
}

static bool is_in(const struct closure_set *x, const struct section *s)
{
    return x->time[s->slot] >= s->acquire;
}

static bool exclude(const struct section *a, const struct section *b)
{
    return a->slot != b->slot && !(a->shared && b->shared);
}

static void unlink_from_lock(struct closure_set *x, uint32_t n)
{
    uint32_t *at = &x->lock_open[x->c->sections[x->open[n].section].lock];

    while (*at != n)
        at = &x->open[*at].on_lock;
    *at = x->open[n].on_lock;
}

/* Forget the sections that the slot has left. */
static void leave_sections(struct closure_set *x, uint32_t slot)
{
    uint32_t *at = &x->slot_open[slot];

    while (*at) {
        uint32_t n = *at;

        if (is_open(x, &x->c->sections[x->open[n].section])) {
            at = &x->open[n].in_slot;
            continue;
        }
        *at = x->open[n].in_slot;
        unlink_from_lock(x, n);
        x->open[n].in_slot = x->free_open;
        x->free_open = n;
    }
}

static bool is_listed(const struct closure_set *x, uint32_t section)
{
    uint32_t n = x->lock_open[x->c->sections[section].lock];

    while (n && x->open[n].section != section)
        n = x->open[n].on_lock;
    return n != 0;
}

static void list_section(struct closure_set *x, uint32_t section)
{
    const struct section *s = &x->c->sections[section];
    uint32_t n = x->free_open;

    if (n) {
        x->free_open = x->open[n].in_slot;
    } else {
        GROW(x->open, x->open_cap, x->nopen + 1);
        n = (uint32_t)x->nopen++;
    }
    x->open[n] = (struct open_section){ section, x->lock_open[s->lock], x->slot_open[s->slot] };
    x->lock_open[s->lock] = x->slot_open[s->slot] = n;
}

static void must_end(struct closure_set *x, uint32_t section)
{
    GROW(x->ending, x->ending_cap, x->nending + 1);
    x->ending[x->nending++] = section;
}

/* ---- is a later section in the set? ---- */

/* The first entry of the run that is a later section than this one, or the run's end. */
static uint32_t later_in_run(const struct closure *c, const struct run *r, uint32_t section)
{
    uint32_t lo = r->first, hi = r->first + r->count;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;

        if (c->entries[mid].section <= section)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Has the run a section in the set that must come after this one's release? */
static bool run_is_later(const struct closure_set *x, const struct run *r, uint32_t section)
{
    const struct section *s = &x->c->sections[section];
    uint32_t at;

    if (r->slot == s->slot || (s->shared && r->shared))
        return false;
    at = later_in_run(x->c, r, section);
    return at < r->first + r->count && x->c->entries[at].time <= x->time[r->slot];
}

static bool is_overtaken(const struct closure_set *x, uint32_t section)
{
    const struct closure *c = x->c;
    const struct section *s = &c->sections[section];
    uint32_t next = s->next;

    for (int i = 0; i < NEXT_SECTIONS; i++, next = c->sections[next].next) {
        if (next == SECTION_NONE || next > x->last)
            return false;
        if (is_in(x, &c->sections[next]) && exclude(s, &c->sections[next]))
            return true;
    }
    for (uint32_t i = c->lock_runs[s->lock]; i < c->lock_runs[s->lock + 1]; i++)
        if (run_is_later(x, &c->runs[i], section))
            return true;
    return false;
}

/* The first run of a lock that is of this slot, or of a later one. */
static uint32_t find_run(const struct closure *c, uint32_t lock, uint32_t slot)
{
    uint32_t lo = c->lock_runs[lock], hi = c->lock_runs[lock + 1];

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;

        if (c->runs[mid].slot < slot)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static bool slot_overtakes(const struct closure_set *x, uint32_t slot, uint32_t section)
{
    const struct closure *c = x->c;
    uint32_t lock = c->sections[section].lock;

    for (uint32_t i = find_run(c, lock, slot); i < c->lock_runs[lock + 1]; i++) {
        if (c->runs[i].slot != slot)
            break;
        if (run_is_later(x, &c->runs[i], section))
            return true;
    }
    return false;
}

/* ---- a slot that has grown ---- */

/* How many of a slot's acquires are in the set: from where it was, in growing steps. */
static uint32_t find_cursor(const struct closure_set *x, uint32_t slot)
{
    const struct slot_history *h = &x->c->slots[slot];
    size_t lo = x->cursor[slot], step = 1, hi;

    while (lo + step <= h->nacquires && h->acquires[lo + step - 1].time <= x->time[slot]) {
        lo += step;
        step *= 2;
    }
    hi = lo + step <= h->nacquires ? lo + step : h->nacquires;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (h->acquires[mid].time <= x->time[slot])
            lo = mid + 1;
        else
            hi = mid;
    }
    return (uint32_t)lo;
}

/* Sections that were open before against one that is new in the set. */
static void overtake(struct closure_set *x, uint32_t section)
{
    const struct section *s = &x->c->sections[section];

    for (uint32_t n = x->lock_open[s->lock]; n; n = x->open[n].on_lock)
        if (x->open[n].section < section && exclude(&x->c->sections[x->open[n].section], s))
            must_end(x, x->open[n].section);
}

static void overtake_by_slot(struct closure_set *x, const struct growth *g)
{
    const struct entry *acquires = x->c->slots[g->slot].acquires;

    if (g->to - g->from <= FEW_SECTIONS) {
        for (uint32_t i = g->from; i < g->to; i++)
            overtake(x, acquires[i].section);
        return;
    }
    for (uint32_t s = 0; s < x->nslots; s++)
        for (uint32_t n = s == g->slot ? 0 : x->slot_open[s]; n; n = x->open[n].in_slot)
            if (slot_overtakes(x, g->slot, x->open[n].section))
                must_end(x, x->open[n].section);
}

/* Which sections is the set inside of, at the slot's new frontier? */
static void enter_sections(struct closure_set *x, const struct growth *g)
{
    const struct closure *c = x->c;
    uint32_t last = c->slots[g->slot].acquires[g->to - 1].section;

    for (uint32_t i = c->sections[last].held; i; i = c->helds[i].next) {
        uint32_t section = c->helds[i].section;

        if (!is_open(x, &c->sections[section]) || is_listed(x, section))
            continue;
        list_section(x, section);
        if (is_overtaken(x, section))
            must_end(x, section);
    }
}

/* First all slots against what was open before, then what is open now against all slots. */
static void look_at_dirty(struct closure_set *x)
{
    uint32_t ngrown = 0;

    while (x->ndirty) {
        uint32_t slot = x->dirty[--x->ndirty];
        struct growth g = { slot, x->cursor[slot], 0 };

        x->is_dirty[slot] = false;
        leave_sections(x, slot);
        if (slot >= x->c->slots_cap || (g.to = find_cursor(x, slot)) == g.from)
            continue;
        x->cursor[slot] = g.to;
        if (x->last < x->c->slots[slot].acquires[g.to - 1].section)
            x->last = x->c->slots[slot].acquires[g.to - 1].section;
        x->grown[ngrown++] = g;
    }
    for (uint32_t i = 0; i < ngrown; i++)
        overtake_by_slot(x, &x->grown[i]);
    for (uint32_t i = 0; i < ngrown; i++)
        enter_sections(x, &x->grown[i]);
}

static void join_release(struct closure_set *x, const struct section *s)
{
    if (s->release.slot == SLOT_NONE) {
        x->impossible = true;
        return;
    }
    raise_slot(x, s->release.slot, s->release.time);
    raise_tree(x, s->release.tree, 0);
}

bool closure_set_add(struct closure_set *x, const struct closure_past *p)
{
    uint32_t slot = p->clock.slot;

    if (x->impossible)
        return false;
    raise_slot(x, slot, p->clock.time - 1);
    raise_tree(x, p->clock.tree, 0);
    if (x->before[slot] < p->position)
        x->before[slot] = p->position;
    look_at_dirty(x);
    while (x->nending && !x->impossible) {
        const struct section *s = &x->c->sections[x->ending[--x->nending]];

        if (!is_open(x, s))
            continue;
        join_release(x, s);
        look_at_dirty(x);
    }
    return !x->impossible;
}

/* ---- events ---- */

/* How many of a slot's events are in the set. */
static size_t events_in(const struct closure_set *x, uint32_t slot)
{
    const struct slot_history *h = &x->c->slots[slot];
    size_t n = 0, end;

    if (x->time[slot])
        n = x->time[slot] <= h->nends ? h->ends[x->time[slot] - 1] : h->nevents;
    end = x->time[slot] < h->nends ? h->ends[x->time[slot]] : h->nevents;
    while (n < end && h->events[n] < x->before[slot])
        n++;
    return n;
}

uint64_t closure_set_count(const struct closure_set *x)
{
    uint64_t n = 0;

    for (uint32_t s = 0; s < x->nslots && s < x->c->slots_cap; s++)
        n += events_in(x, s);
    return n;
}

static int compare_positions(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

void closure_set_list(const struct closure_set *x, uint64_t *list)
{
    size_t n = 0;

    for (uint32_t s = 0; s < x->nslots && s < x->c->slots_cap; s++)
        for (size_t i = 0, in = events_in(x, s); i < in; i++)
            list[n++] = x->c->slots[s].events[i];
    qsort(list, n, sizeof(*list), compare_positions);
}
