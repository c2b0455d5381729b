/* osr_set.c - the optimistic closure of two accesses
 *
 * As the sync-preserving closure (closure_set.c) with one difference. A
 * section that one of the two accesses is inside of cannot be closed: its
 * release comes after the access. syncp gives up where a later section on that
 * lock is in the set. Here the later section is closed instead, in the hope
 * that it can move before the pinned one; osr_order.c sees whether it can.
 *
 * So of the other sections that the set enters and does not leave, those are
 * closed which exclude a pinned section, or which a later one in the set
 * excludes. What the release needs joins the set, until nothing changes.
 * Where no pinned section is overtaken the set is the sync-preserving one.
 */
#include "engines/closure/closure_inside.h"
#include "engines/closure/osr.h"
#include "engines/whole.h"

#include <stdlib.h>
#include <string.h>

void osr_set_init(struct osr_set *x, const struct closure *c, const struct whole *w)
{
    *x = (struct osr_set){ .closure = c,
                           .truncated = whole_info(w)->events > whole_listed(w),
                           .nslots = c->hb.nslots };
    x->time = xcalloc((size_t)x->nslots + LEAF_SIZE, sizeof(*x->time));
    x->before = xcalloc((size_t)x->nslots + 1, sizeof(*x->before));
}

void osr_set_release(struct osr_set *x)
{
    free(x->time);
    free(x->before);
    free(x->pinned);
}

/* ---- growing ---- */

/* All entries of a tree whose first slot is `base`. */
static void raise_tree(struct osr_set *x, const struct clock_node *n, uint32_t base)
{
    if (!n || base >= x->nslots)
        return;
    for (uint32_t i = 0; n->height && i < FAN; i++)
        raise_tree(x, n->child[i], base + (i << (LEAF_BITS + (n->height - 1) * FAN_BITS)));
    for (uint32_t i = 0; !n->height && i < LEAF_SIZE; i++) /* there is room for all of a leaf */
        x->time[base + i] = n->time[i] > x->time[base + i] ? n->time[i] : x->time[base + i];
}

static void add_past(struct osr_set *x, const struct closure_past *p)
{
    uint32_t slot = p->clock.slot;

    raise_tree(x, p->clock.tree, 0);
    if (x->time[slot] < p->clock.time - 1)
        x->time[slot] = p->clock.time - 1;
    if (x->before[slot] < p->position)
        x->before[slot] = p->position;
}

static bool contains(const struct osr_set *x, const struct closure_past *p)
{
    return x->time[p->clock.slot] >= p->clock.time;
}

/* ---- sections ---- */

static bool is_open(const struct osr_set *x, const struct section *s)
{
    return s->release.slot == SLOT_NONE || s->release.time > x->time[s->slot];
}

static bool exclude(const struct section *a, const struct section *b)
{
    return a->slot != b->slot && !(a->shared && b->shared);
}

/* List of the sections held at the slot's frontier, open or not; 0: none. */
static uint32_t held_at(const struct osr_set *x, uint32_t slot)
{
    const struct slot_history *h = x->closure->slots;
    size_t lo = 0, hi;

    if (slot >= x->closure->slots_cap)
        return 0;
    h += slot;
    hi = h->nacquires;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (h->acquires[mid].time <= x->time[slot])
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo ? x->closure->sections[h->acquires[lo - 1].section].held : 0;
}

/* Is a later section of the run in the set? */
static bool run_is_later(const struct osr_set *x, const struct run *r, uint32_t section)
{
    const struct entry *entries = x->closure->entries;
    uint32_t lo = r->first, hi = r->first + r->count;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;

        if (entries[mid].section <= section)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < r->first + r->count && entries[lo].time <= x->time[r->slot];
}

/* Is a later section in the set that excludes this one? */
static bool is_overtaken(const struct osr_set *x, uint32_t section)
{
    const struct closure *c = x->closure;
    const struct section *s = &c->sections[section];

    for (uint32_t i = c->lock_runs[s->lock]; i < c->lock_runs[s->lock + 1]; i++)
        if (c->runs[i].slot != s->slot && !(s->shared && c->runs[i].shared) &&
            run_is_later(x, &c->runs[i], section))
            return true;
    return false;
}

static bool excludes_pinned(const struct osr_set *x, const struct section *s)
{
    for (size_t i = 0; i < x->npinned; i++) {
        const struct section *p = &x->closure->sections[x->pinned[i]];

        if (p->lock == s->lock && exclude(p, s))
            return true;
    }
    return false;
}

/* The access of the slot is inside of these. False: one of them excludes one of the other access.
 */
static bool pin(struct osr_set *x, uint32_t slot)
{
    const struct closure *c = x->closure;

    for (uint32_t i = held_at(x, slot); i; i = c->helds[i].next) {
        if (!is_open(x, &c->sections[c->helds[i].section]))
            continue;
        if (excludes_pinned(x, &c->sections[c->helds[i].section]))
            return false;
        GROW(x->pinned, x->pinned_cap, x->npinned + 1);
        x->pinned[x->npinned++] = c->helds[i].section;
    }
    return true;
}

/* Close the sections of a slot that have to be. False: one never ends. */
static bool close_slot(struct osr_set *x, uint32_t slot, bool *changed)
{
    const struct closure *c = x->closure;

    for (uint32_t i = held_at(x, slot); i; i = c->helds[i].next) {
        const struct section *s = &c->sections[c->helds[i].section];

        if (!is_open(x, s) || !(excludes_pinned(x, s) || is_overtaken(x, c->helds[i].section)))
            continue;
        if (s->release.slot == SLOT_NONE)
            return false;
        raise_tree(x, s->release.tree, 0);
        if (x->time[slot] < s->release.time)
            x->time[slot] = s->release.time;
        *changed = true;
    }
    return true;
}

static uint64_t position_of_acquire(const struct osr_set *x, const struct section *s)
{
    const struct slot_history *h = &x->closure->slots[s->slot];

    if (!x->closure->listed)
        return 0;
    return s->acquire <= h->nends ? h->events[h->ends[s->acquire - 1] - 1] : x->closure->listed;
}

/* ---- sections that change places ---- */

/* Does a section that is open at a slot's frontier exclude one that the tail began at `time` or
 * later? */
static bool blocks(const struct osr_set *x, uint32_t slot, uint32_t tail, uint32_t time)
{
    const struct closure *c = x->closure;
    const struct slot_history *h = &c->slots[tail];

    for (uint32_t i = held_at(x, slot); i; i = c->helds[i].next) {
        const struct section *o = &c->sections[c->helds[i].section];

        for (size_t k = h->nacquires; is_open(x, o) && k-- && h->acquires[k].time >= time;) {
            const struct section *s = &c->sections[h->acquires[k].section];

            if (s->acquire <= x->time[tail] && s->lock == o->lock && exclude(s, o))
                return true;
        }
    }
    return false;
}

/* Can what the slot does from the acquire of a section on come after all else, as far as locks go?
 * Not if another section that is still open excludes one of the tail, nor if a section that ends
 * in the tail began before it and is overtaken. */
static bool locks_let_wait(const struct osr_set *x, uint32_t section)
{
    const struct closure *c = x->closure;
    const struct section *first = &c->sections[section];

    for (uint32_t i = first->held; i; i = c->helds[i].next)
        if (!is_open(x, &c->sections[c->helds[i].section]) && is_overtaken(x, c->helds[i].section))
            return false;
    for (uint32_t s = 0; s < x->nslots; s++)
        if (s != first->slot && x->time[s] && blocks(x, s, first->slot, first->acquire))
            return false;
    return true;
}

static void find_reversals(struct osr_set *x)
{
    uint32_t first = SECTION_NONE;
    bool two = false;

    for (size_t i = 0; i < x->npinned; i++) {
        const struct section *s = &x->closure->sections[x->pinned[i]];
        uint64_t position;

        if (!is_overtaken(x, x->pinned[i]))
            continue;
        position = position_of_acquire(x, s);
        two |= x->reversed && x->closure->sections[first].slot != s->slot;
        if (!x->reversed || position < x->from) {
            x->from = position;
            first = x->pinned[i];
        }
        x->reversed = true;
    }
    x->tail = SLOT_NONE;
    if (x->reversed && !two && locks_let_wait(x, first))
        x->tail = x->closure->sections[first].slot;
}

bool osr_set_close(struct osr_set *x, const struct closure_past *a, const struct closure_past *b)
{
    bool changed = true;

    memset(x->time, 0, x->nslots * sizeof(*x->time));
    memset(x->before, 0, x->nslots * sizeof(*x->before));
    x->npinned = 0;
    x->reversed = false;
    x->seen = x->nslots;
    add_past(x, a);
    add_past(x, b);
    if (contains(x, a) || contains(x, b) || !pin(x, a->clock.slot) || !pin(x, b->clock.slot))
        return false;
    while (changed) {
        changed = false;
        x->seen += x->nslots;
        for (uint32_t s = 0; s < x->nslots; s++)
            if (s != a->clock.slot && s != b->clock.slot && x->time[s] &&
                !close_slot(x, s, &changed))
                return false;
        if (contains(x, a) || contains(x, b))
            return false;
    }
    find_reversals(x);
    return true;
}

/* ---- events ---- */

size_t osr_set_events(const struct osr_set *x, uint32_t slot)
{
    const struct slot_history *h = &x->closure->slots[slot];
    size_t n = 0, end;

    if (slot >= x->closure->slots_cap)
        return 0;
    if (x->time[slot])
        n = x->time[slot] <= h->nends ? h->ends[x->time[slot] - 1] : h->nevents;
    end = x->time[slot] < h->nends ? h->ends[x->time[slot]] : h->nevents;
    while (n < end && h->events[n] < x->before[slot])
        n++;
    return n;
}
