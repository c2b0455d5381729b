/* wcp_pairs.c - which accesses a new access is compared with
 *
 * Sound mode (the default): a reported pair counts as ordered from there on.
 * Of the earlier accesses that are unordered with the new one the latest is
 * reported first; it becomes a hard edge, and the next one is looked at with
 * that order. So an access that comes before another one, which conflicts with
 * whatever it conflicts with, is never reported after it, and a variable needs
 * only its last unordered accesses: at most one of each kind a slot. To make
 * the edge exact every access keeps its H and ticks.
 *
 * All pairs (options.all): no edge is added, and every pair of sites that WCP
 * leaves unordered in some instance is reported. Of a slot's accesses a suffix
 * is unordered with a new one; the latest of each site and kind is enough to
 * find every site in it. They are kept in time order, walked from the back, and
 * cleared of repetitions when the list is full: the cost is what is found.
 */
#include "engines/streaming/wcp.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* ---- all pairs ---- */

struct brief {
    uint64_t position;
    uint32_t time, site, what;
};

struct by_slot {
    uint32_t slot;
    struct brief *list; /* in time order */
    size_t count, cap;
};

struct wcp_all {
    struct by_slot *slots;
    size_t count, cap;
};

static bool wcp_pairs_conflict(unsigned a, unsigned b)
{
    return (a | b) & WCP_WRITE && !(a & b & WCP_ATOMIC);
}

static void wcp_pairs_report(struct wcp *w, uint64_t position, uint32_t site, const struct step *s)
{
    race_table_add(&w->result->races, (struct access){ position, site },
                   (struct access){ s->position, s->site }, STRENGTH_MAYBE);
}

static void compare_all(struct wcp *w, const struct wcp_thread *t, const struct wcp_all *all,
                        const struct step *s, unsigned what)
{
    for (size_t k = 0; all && k < all->count; k++) {
        const struct by_slot *b = &all->slots[k];
        uint32_t known = clock_tree_get(t->p.tree, b->slot);

        w->comparisons++;
        if (b->slot == t->h.slot)
            continue;
        for (size_t i = b->count; i > 0 && b->list[i - 1].time > known; i--)
            if (wcp_pairs_conflict(what, b->list[i - 1].what))
                wcp_pairs_report(w, b->list[i - 1].position, b->list[i - 1].site, s);
    }
}

static int by_site_latest_first(const void *a, const void *b)
{
    const struct brief *x = a, *y = b;

    if (x->site != y->site)
        return x->site < y->site ? -1 : 1;
    if (x->what != y->what)
        return x->what < y->what ? -1 : 1;
    return x->position > y->position ? -1 : x->position < y->position;
}

static int by_position(const void *a, const void *b)
{
    const struct brief *x = a, *y = b;

    return x->position < y->position ? -1 : x->position > y->position;
}

/* Keep the latest of each site and kind. */
static void drop_repetitions(struct by_slot *b)
{
    size_t kept = 0;

    qsort(b->list, b->count, sizeof(*b->list), by_site_latest_first);
    for (size_t i = 0; i < b->count; i++)
        if (!kept || b->list[kept - 1].site != b->list[i].site ||
            b->list[kept - 1].what != b->list[i].what)
            b->list[kept++] = b->list[i];
    b->count = kept;
    qsort(b->list, b->count, sizeof(*b->list), by_position);
}

static struct by_slot *wcp_pairs_slot_of(struct wcp_variable *v, uint32_t slot)
{
    struct wcp_all *all = v->all ? v->all : (v->all = xcalloc(1, sizeof(*all)));

    for (size_t i = 0; i < all->count; i++)
        if (all->slots[i].slot == slot)
            return &all->slots[i];
    GROW(all->slots, all->cap, all->count + 1);
    all->slots[all->count] = (struct by_slot){ .slot = slot };
    return &all->slots[all->count++];
}

static void record_all(const struct wcp_thread *t, struct wcp_variable *v, const struct step *s,
                       unsigned what)
{
    struct by_slot *b = wcp_pairs_slot_of(v, t->h.slot);
    struct brief *last = b->count ? &b->list[b->count - 1] : NULL;

    if (last && last->site == s->site && last->what == what) {
        last->position = s->position;
        last->time = t->h.time;
        return;
    }
    if (b->count && b->count == b->cap) {
        drop_repetitions(b);
        if (b->count > b->cap / 2)
            GROW(b->list, b->cap, b->cap + 1);
    }
    GROW(b->list, b->cap, b->count + 1);
    b->list[b->count++] = (struct brief){ s->position, t->h.time, s->site, what };
}

static void forget_all(struct wcp_variable *v)
{
    for (size_t i = 0; v->all && i < v->all->count; i++)
        free(v->all->slots[i].list);
    if (v->all)
        free(v->all->slots);
    free(v->all);
    v->all = NULL;
}

static void copy_all(struct wcp_variable *to, const struct wcp_variable *from)
{
    for (size_t i = 0; from->all && i < from->all->count; i++) {
        const struct by_slot *old = &from->all->slots[i];
        struct by_slot *new = wcp_pairs_slot_of(to, old->slot);

        GROW(new->list, new->cap, old->count);
        memcpy(new->list, old->list, old->count * sizeof(*old->list));
        new->count = old->count;
    }
}

/* ---- sound mode ---- */

static inline const struct wcp_access *entries(const struct wcp_set *s)
{
    return s->cap ? s->many : s->few;
}

static void found(struct wcp *w, const struct wcp_access *a)
{
    GROW(w->unordered, w->unordered_cap, w->nunordered + 1);
    w->unordered[w->nunordered++] = *a; /* borrows the clock */
}

void wcp_compare(struct wcp *w, struct wcp_thread *t, const struct wcp_variable *v,
                 const struct step *s, unsigned what)
{
    const struct wcp_access *a = entries(&v->last);

    if (w->all) {
        compare_all(w, t, v->all, s, what);
        return;
    }
    w->comparisons += v->last.count;
    for (uint32_t i = 0; i < v->last.count; i++)
        if (!wcp_knows(t, a[i].h.slot, a[i].h.time) && wcp_pairs_conflict(what, a[i].what))
            found(w, &a[i]);
}

static int latest_first(const void *a, const void *b)
{
    const struct wcp_access *x = a, *y = b;

    return x->position > y->position ? -1 : x->position < y->position;
}

void wcp_report(struct wcp *w, struct wcp_thread *t, const struct step *s)
{
    if (w->nunordered > 1)
        qsort(w->unordered, w->nunordered, sizeof(*w->unordered), latest_first);
    for (size_t i = 0; i < w->nunordered; i++) {
        const struct wcp_access *a = &w->unordered[i];

        if (wcp_knows(t, a->h.slot, a->h.time))
            continue;
        wcp_pairs_report(w, a->position, a->site, s);
        wcp_learn(w, t, &a->h);
    }
    w->nunordered = 0;
}

/* Whatever conflicts with an access of the old kind conflicts with one of the new kind. */
static bool covers(unsigned new, unsigned old)
{
    return (new &WCP_WRITE || !(old & WCP_WRITE)) && (!(new &WCP_ATOMIC) || old & WCP_ATOMIC);
}

static void put_one(struct wcp *w, const struct wcp_thread *t, struct wcp_access *a,
                    const struct step *s, unsigned what)
{
    a->position = s->position;
    a->site = s->site;
    a->what = what;
    clock_copy(&w->pool, &a->h, &t->h);
}

/* Room for one more; where the entries are. */
static struct wcp_access *wcp_pairs_make_room(struct wcp_set *s)
{
    struct wcp_access few[WCP_FEW];

    if (!s->cap && s->count == WCP_FEW) {
        memcpy(few, s->few, sizeof(few));
        s->cap = 2 * WCP_FEW;
        s->many = xmalloc(s->cap * sizeof(*s->many));
        memcpy(s->many, few, sizeof(few));
    } else if (s->cap && s->count == s->cap) {
        s->cap *= 2;
        s->many = xrealloc(s->many, s->cap, sizeof(*s->many));
    }
    return s->cap ? s->many : s->few;
}

/* The new access takes the place of the first one that it covers; others that it covers go. */
static void record_last(struct wcp *w, const struct wcp_thread *t, struct wcp_set *set,
                        const struct step *s, unsigned what)
{
    struct wcp_access *a = set->cap ? set->many : set->few, *place = NULL;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < set->count; i++) {
        bool covered = covers(what, a[i].what) && wcp_knows(t, a[i].h.slot, a[i].h.time);

        if (covered && place) {
            clock_clear(&w->pool, &a[i].h);
            continue;
        }
        if (kept != i)
            a[kept] = a[i];
        if (covered)
            place = &a[kept];
        kept++;
    }
    set->count = kept;
    if (!place) {
        place = &wcp_pairs_make_room(set)[set->count++];
        place->h = CLOCK_EMPTY;
    }
    put_one(w, t, place, s, what);
}

void wcp_record(struct wcp *w, const struct wcp_thread *t, struct wcp_variable *v,
                const struct step *s, unsigned what)
{
    if (w->all)
        record_all(t, v, s, what);
    else
        record_last(w, t, &v->last, s, what);
}

void wcp_set_forget(struct wcp *w, struct wcp_variable *v)
{
    struct wcp_set *set = &v->last;

    forget_all(v);
    for (uint32_t i = 0; i < set->count; i++)
        clock_clear(&w->pool, set->cap ? &set->many[i].h : &set->few[i].h);
    if (set->cap)
        free(set->many);
    memset(set, 0, sizeof(*set));
}

void wcp_set_copy(struct wcp *w, struct wcp_variable *to, const struct wcp_variable *from)
{
    const struct wcp_access *a = entries(&from->last);

    copy_all(to, from);
    to->last = from->last;
    if (from->last.cap)
        to->last.many = xmalloc(from->last.cap * sizeof(*to->last.many));
    for (uint32_t i = 0; i < from->last.count; i++) {
        struct wcp_access *b = from->last.cap ? &to->last.many[i] : &to->last.few[i];

        *b = a[i];
        b->h = CLOCK_EMPTY;
        clock_copy(&w->pool, &b->h, &a[i].h);
    }
}
