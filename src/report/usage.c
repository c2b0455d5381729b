/* usage.c - who else touches the memory of a race, and under which locks */
#include "report/usage.h"
#include "base/alloc.h"
#include "report/history.h"
#include "report/locklife.h"

#include <stdlib.h>
#include <string.h>

struct range {
    uint64_t from, to;
};

/* Accesses at one place with the same locks. */
struct kind {
    uint32_t site;
    uint32_t locks; /* number of the set */
    uint64_t count;
};

/* A set of locks, in the order they were taken. */
struct lock_set {
    uint64_t *locks; /* owned */
    size_t count;
    uint32_t next; /* another set with this hash, + 1; 0: none */
};

struct counter {
    struct range range;
    uint64_t first_race, last_race; /* positions of the accesses */
    struct history history;
    struct kind *kinds;
    size_t nkinds, kinds_cap;
    struct map kind_of; /* set and site -> number in kinds, + 1 */
    struct lock_set *sets;
    size_t nsets, sets_cap;
    struct map set_of; /* hash -> number in sets, + 1 */
    struct map threads;
    uint64_t accesses, writes;
    bool over; /* the memory is something else now */
};

static bool range_of(const struct event *e, struct range *r)
{
    uint64_t bytes = op_is_access(e->op) ? e->size : e->value;

    if (!op_is_access(e->op) && e->op != OP_ALLOC && e->op != OP_FREE)
        return false;
    *r = (struct range){ e->target, e->target + bytes };
    return true;
}

/* What both sides touch. */
static int find_range(struct range *out, const struct finding *r, struct trace *t,
                      struct error *err)
{
    *out = (struct range){ 0, UINT64_MAX };
    for (int k = 0; k < 2; k++) {
        struct trace_mem one;
        struct range x = { 0, 0 };

        if (trace_window(t, r->sides[k].event, 1, &one, err) < 0)
            return -1;
        if (one.count == 1 && range_of(&one.events[0], &x)) {
            out->from = x.from > out->from ? x.from : out->from;
            out->to = x.to < out->to ? x.to : out->to;
        }
        trace_mem_release(&one);
        if (x.from == x.to)
            return error_set(err, "the trace is not the one of the race");
    }
    return out->from < out->to ? 0 : error_set(err, "the trace is not the one of the race");
}

static bool has_locks(const struct lock_set *set, const struct history_thread *t)
{
    bool same = set->count == t->nlocks;

    for (size_t i = 0; i < t->nlocks && same; i++)
        same = set->locks[i] == t->locks[i].target;
    return same;
}

static uint32_t add_set(struct counter *c, const struct history_thread *t, uint32_t next)
{
    struct lock_set *set;

    GROW(c->sets, c->sets_cap, c->nsets + 1);
    set = &c->sets[c->nsets++];
    *set = (struct lock_set){ xcalloc(t->nlocks + 1, sizeof(*set->locks)), t->nlocks, next };
    for (size_t i = 0; i < t->nlocks; i++)
        set->locks[i] = t->locks[i].target;
    return (uint32_t)c->nsets;
}

/* The number of the set of locks that a thread holds. */
static uint32_t set_of(struct counter *c, const struct history_thread *t)
{
    uint64_t hash = t->nlocks;
    uint32_t *newest;

    for (size_t i = 0; i < t->nlocks; i++)
        hash = map_hash(hash ^ t->locks[i].target);
    newest = map_put(&c->set_of, hash, 0);
    for (uint32_t i = *newest; i; i = c->sets[i - 1].next)
        if (has_locks(&c->sets[i - 1], t))
            return i - 1;
    *newest = add_set(c, t, *newest);
    return *newest - 1;
}

static void count_access(struct counter *c, const struct event *e)
{
    uint32_t set = set_of(c, history_of(&c->history, e->thread));
    uint32_t *kind = map_put(&c->kind_of, (uint64_t)set << 32 | e->site, 0);

    c->accesses++;
    c->writes += op_table[e->op].writes;
    map_put(&c->threads, e->thread, 1);
    if (!*kind) {
        GROW(c->kinds, c->kinds_cap, c->nkinds + 1);
        c->kinds[c->nkinds++] = (struct kind){ .site = e->site, .locks = set };
        *kind = (uint32_t)c->nkinds;
    }
    c->kinds[*kind - 1].count++;
}

static void usage_forget(struct counter *c)
{
    for (size_t i = 0; i < c->nsets; i++)
        free(c->sets[i].locks);
    c->nsets = c->nkinds = 0;
    c->accesses = c->writes = 0;
    map_release(&c->kind_of);
    map_release(&c->set_of);
    map_release(&c->threads);
}

static void usage_take_event(struct counter *c, const struct event *e, uint64_t position)
{
    struct range x;

    history_event(&c->history, e, position);
    if (c->over || !range_of(e, &x) || x.from >= c->range.to || x.to <= c->range.from)
        return;
    if (e->op == OP_ALLOC && position > c->last_race)
        c->over = true;
    else if (e->op == OP_ALLOC)
        usage_forget(c);
    else
        count_access(c, e);
}

/* ---- which lock ---- */

static bool holds(const struct lock_set *set, uint64_t lock)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->locks[i] == lock)
            return true;
    return false;
}

/* A lock and how many accesses hold it. */
struct held {
    uint64_t lock;
    uint64_t holding;
};

struct tally {
    struct held *list; /* in the order they were met */
    size_t count, cap;
    struct map index; /* lock -> number in the list, + 1 */
};

static void tally_release(struct tally *t)
{
    free(t->list);
    map_release(&t->index);
}

static void tally_kind(struct tally *t, const struct lock_set *set, uint64_t count)
{
    for (size_t i = 0; i < set->count; i++) {
        uint32_t *at = map_put(&t->index, set->locks[i], 0);

        if (!*at) {
            GROW(t->list, t->cap, t->count + 1);
            t->list[t->count++] = (struct held){ .lock = set->locks[i] };
            *at = (uint32_t)t->count;
        }
        t->list[*at - 1].holding += count;
    }
}

static void take_tally(struct tally *t, const struct counter *c, struct locklives *lives)
{
    for (size_t i = 0; i < c->nkinds; i++)
        tally_kind(t, &c->sets[c->kinds[i].locks], c->kinds[i].count);
    for (size_t i = 0; i < t->count; i++)
        locklives_want(lives, t->list[i].lock);
    locklives_seal(lives);
}

/* The lock that most accesses hold, of those that could be taken at both of the race; or NULL. */
static const struct held *best_lock(const struct tally *t, const struct counter *c,
                                    const struct locklives *lives)
{
    const struct held *best = NULL;

    for (size_t i = 0; i < t->count; i++) {
        const struct locklife *life = locklives_get(lives, t->list[i].lock);

        if (life && !locklife_spans(life, c->first_race, c->last_race))
            continue;
        if (!best || t->list[i].holding > best->holding)
            best = &t->list[i];
    }
    return best;
}

/* One more pass, for the locks that were held. */
static int read_lives(struct locklives *lives, uint64_t last, struct trace *t, struct error *err)
{
    struct history h = { 0 };
    struct batch b;
    int got = lives->count ? trace_rewind(t, err) : 0;

    while (lives->count && got >= 0 && (got = trace_next(t, &b, err)) > 0 && b.first <= last)
        for (size_t i = 0; i < b.count; i++) {
            history_event(&h, &b.events[i], b.first + i);
            locklives_event(lives, &h, &b.events[i], b.first + i, false);
        }
    history_release(&h);
    return got < 0 ? -1 : 0;
}

/* ---- the answer ---- */

static void add_place(struct usage *u, const char *place)
{
    for (size_t i = 0; i < u->nwithout; i++)
        if (u->without[i] == place) /* strings of one home */
            return;
    if (u->nwithout < USAGE_PLACES)
        u->without[u->nwithout++] = place;
    else
        u->more = true;
}

static void name_lock(struct usage *u, const struct counter *c, const struct held *best,
                      struct naming *naming)
{
    u->lock = naming_object(naming, best->lock);
    u->holding = best->holding;
    for (size_t i = 0; i < c->nkinds && !u->more; i++)
        if (!holds(&c->sets[c->kinds[i].locks], best->lock))
            add_place(
                u, naming_location(
                       naming, findings_string(naming->home,
                                               tables_location(naming->tables, c->kinds[i].site))));
}

static int sum_up(struct usage *u, const struct counter *c, struct naming *naming, struct trace *t,
                  struct error *err)
{
    struct tally tally = { 0 };
    struct locklives lives = { 0 };
    const struct held *best;
    int r;

    *u =
        (struct usage){ .accesses = c->accesses, .writes = c->writes, .threads = c->threads.count };
    for (size_t i = 0; i < c->nkinds; i++)
        if (c->sets[c->kinds[i].locks].count)
            u->locked += c->kinds[i].count;
    take_tally(&tally, c, &lives);
    r = read_lives(&lives, c->last_race, t, err);
    best = r == 0 ? best_lock(&tally, c, &lives) : NULL;
    if (best)
        name_lock(u, c, best, naming);
    tally_release(&tally);
    locklives_release(&lives);
    return r;
}

int usage_collect(struct usage *u, const struct finding *r, struct naming *naming, struct trace *t,
                  struct error *err)
{
    struct counter c = { .first_race = r->sides[0].event, .last_race = r->sides[1].event };
    struct batch b;
    int got = find_range(&c.range, r, t, err);

    if (got == 0)
        got = trace_rewind(t, err);
    while (got >= 0 && !c.over && (got = trace_next(t, &b, err)) > 0)
        for (size_t i = 0; i < b.count; i++)
            usage_take_event(&c, &b.events[i], b.first + i);
    if (got >= 0)
        got = sum_up(u, &c, naming, t, err);
    usage_forget(&c);
    free(c.kinds);
    free(c.sets);
    history_release(&c.history);
    return got < 0 ? -1 : 0;
}
