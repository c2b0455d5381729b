/* usage.c - who else touches the memory of a race, and under which locks */
#include "report/usage.h"
#include "base/alloc.h"
#include "report/history.h"

#include <stdlib.h>
#include <string.h>

struct range {
    uint64_t from, to;
};

/* Different places of accesses with the same locks. */
struct kind {
    uint64_t *locks; /* owned */
    size_t nlocks;
    uint32_t site;
    uint64_t count;
};

struct counter {
    struct range range;
    uint64_t last_race; /* position of the second access */
    struct history history;
    struct kind *kinds;
    size_t nkinds, kinds_cap;
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

static bool has_locks(const struct kind *k, const struct history_thread *t)
{
    bool same = k->nlocks == t->nlocks;

    for (size_t i = 0; i < t->nlocks && same; i++)
        same = k->locks[i] == t->locks[i].target;
    return same;
}

static void count_access(struct counter *c, const struct event *e)
{
    const struct history_thread *t = history_of(&c->history, e->thread);
    struct kind *k;

    c->accesses++;
    c->writes += op_table[e->op].writes;
    map_put(&c->threads, e->thread, 1);
    for (size_t i = 0; i < c->nkinds; i++)
        if (c->kinds[i].site == e->site && has_locks(&c->kinds[i], t)) {
            c->kinds[i].count++;
            return;
        }
    GROW(c->kinds, c->kinds_cap, c->nkinds + 1);
    k = &c->kinds[c->nkinds++];
    *k = (struct kind){ .site = e->site, .nlocks = t->nlocks, .count = 1 };
    k->locks = xcalloc(t->nlocks + 1, sizeof(*k->locks));
    for (size_t i = 0; i < t->nlocks; i++)
        k->locks[i] = t->locks[i].target;
}

static void forget(struct counter *c)
{
    for (size_t i = 0; i < c->nkinds; i++)
        free(c->kinds[i].locks);
    c->nkinds = 0;
    c->accesses = c->writes = 0;
    map_release(&c->threads);
}

static void take_event(struct counter *c, const struct event *e, uint64_t position)
{
    struct range x;

    history_event(&c->history, e, position);
    if (c->over || !range_of(e, &x) || x.from >= c->range.to || x.to <= c->range.from)
        return;
    if (e->op == OP_ALLOC && position > c->last_race)
        c->over = true;
    else if (e->op == OP_ALLOC)
        forget(c);
    else
        count_access(c, e);
}

/* How many accesses hold this lock. */
static uint64_t holders(const struct counter *c, uint64_t lock)
{
    uint64_t n = 0;

    for (size_t i = 0; i < c->nkinds; i++)
        for (size_t k = 0; k < c->kinds[i].nlocks; k++)
            if (c->kinds[i].locks[k] == lock) {
                n += c->kinds[i].count;
                break;
            }
    return n;
}

static bool holds(const struct kind *k, uint64_t lock)
{
    for (size_t i = 0; i < k->nlocks; i++)
        if (k->locks[i] == lock)
            return true;
    return false;
}

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

static void sum_up(struct usage *u, const struct counter *c, struct naming *naming)
{
    uint64_t best = 0;

    *u =
        (struct usage){ .accesses = c->accesses, .writes = c->writes, .threads = c->threads.count };
    for (size_t i = 0; i < c->nkinds; i++)
        for (size_t k = 0; k < c->kinds[i].nlocks; k++)
            if (holders(c, c->kinds[i].locks[k]) > u->holding) {
                best = c->kinds[i].locks[k];
                u->holding = holders(c, best);
            }
    if (!u->holding)
        return;
    u->lock = naming_object(naming, best);
    for (size_t i = 0; i < c->nkinds; i++)
        if (!holds(&c->kinds[i], best))
            add_place(
                u, naming_location(
                       naming, findings_string(naming->home,
                                               tables_location(naming->tables, c->kinds[i].site))));
}

int usage_collect(struct usage *u, const struct finding *r, struct naming *naming, struct trace *t,
                  struct error *err)
{
    struct counter c = { .last_race = r->sides[1].event };
    struct batch b;
    int got = find_range(&c.range, r, t, err);

    if (got == 0)
        got = trace_rewind(t, err);
    while (got >= 0 && !c.over && (got = trace_next(t, &b, err)) > 0)
        for (size_t i = 0; i < b.count; i++)
            take_event(&c, &b.events[i], b.first + i);
    if (got >= 0)
        sum_up(u, &c, naming);
    forget(&c);
    free(c.kinds);
    history_release(&c.history);
    return got < 0 ? -1 : 0;
}
