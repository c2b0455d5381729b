/* mc_pairs.c - which pairs of sites might race, with a few instances of each */
#include "engines/predict/mc_pairs.h"
#include "base/alloc.h"
#include "engines/predict/holds.h"
#include "engines/race.h"

#include <stdlib.h>
#include <string.h>

/* Groups of accesses to one cell that are kept, the latest first. A cell touched from more places
 * than this loses the pairs of its oldest ones (counted as dropped). */
enum { GROUPS_MAX = 1024 };

/* Pairs of accesses that mc_pairs_all() looks at: half a second. */
enum { COMPARED_MAX = 20000000 };

/* Accesses to a cell that look alike. */
struct group {
    uint32_t site, thread;
    uint32_t last; /* position of the latest */
    uint32_t held; /* locks, see holds.h */
    bool writes, atomic;
};

struct finder {
    const struct view *v;
    struct mc_pairs *out;
    struct holds holds;
    struct group *groups; /* of the present cell */
    size_t ngroups, groups_cap;
    uint64_t distance;    /* 0: any */
    struct mc_more *more; /* in the second look: beside the pairs */
    uint32_t most;        /* instances of each then */
    struct map *sites;    /* of every access to these, not the latest of its group alone; or NULL */
    uint64_t compared;
};

/* ---- pairs ---- */

static struct mc_pair *pair_of(struct mc_pairs *p, uint32_t site, uint32_t other)
{
    uint32_t low = site < other ? site : other, high = site < other ? other : site, *index;

    if (p->count >= RACES_MAX) {
        index = map_get(&p->by_sites, (uint64_t)low << 32 | high);
        return index ? &p->pairs[*index] : NULL;
    }
    index = map_put(&p->by_sites, (uint64_t)low << 32 | high, (uint32_t)p->count);
    if (*index == p->count) {
        GROW(p->pairs, p->cap, p->count + 1);
        p->pairs[p->count++] = (struct mc_pair){ .site = low, .other = high };
    }
    return &p->pairs[*index];
}

static uint64_t distance(struct instance i)
{
    return i.second - i.first;
}

/* Every stride-th of the rest; when there is no more room every second one goes. */
static void add_spread(struct mc_pair *p, struct instance new)
{
    struct instance *spread = p->instances + MC_NEAR + MC_KINDS;

    if (p->rest++ % (p->stride ? p->stride : 1))
        return;
    if (p->nspread == MC_SPREAD) {
        for (uint32_t i = 0; i < MC_SPREAD / 2; i++)
            spread[i] = spread[2 * i];
        p->nspread = MC_SPREAD / 2;
        p->stride = 2 * (p->stride ? p->stride : 1);
    }
    spread[p->nspread++] = new;
}

/* The first of its kind, or one of many. */
static void add_other(struct mc_pair *p, struct instance new, uint32_t kind)
{
    for (uint32_t i = 0; i < p->nkinds; i++) {
        if (p->kinds[MC_NEAR + i] == kind) {
            add_spread(p, new);
            return;
        }
    }
    if (p->nkinds == MC_KINDS) {
        add_spread(p, new);
        return;
    }
    p->kinds[MC_NEAR + p->nkinds] = kind;
    p->instances[MC_NEAR + p->nkinds++] = new;
}

/* The nearest stay sorted by distance; two events may meet in several cells. */
static void add_instance(struct mc_pair *p, struct instance new, uint32_t kind)
{
    uint32_t i = p->nnear;

    for (uint32_t k = 0; k < p->nnear; k++)
        if (p->instances[k].first == new.first && p->instances[k].second == new.second)
            return;
    if (i < MC_NEAR) {
        p->nnear++;
    } else if (distance(p->instances[--i]) > distance(new)) {
        p->cut = true;
        add_other(p, p->instances[i], p->kinds[i]);
    } else {
        p->cut = true;
        add_other(p, new, kind);
        return;
    }
    for (; i > 0 && distance(p->instances[i - 1]) > distance(new); i--) {
        p->instances[i] = p->instances[i - 1];
        p->kinds[i] = p->kinds[i - 1];
    }
    p->instances[i] = new;
    p->kinds[i] = kind;
}

/* The samples one after the other; what was kept twice is tried once. */
static void close_ranks(struct mc_pair *p)
{
    uint32_t starts[] = { 0, MC_NEAR, MC_NEAR + MC_KINDS };
    uint32_t counts[] = { p->nnear, p->nkinds, p->nspread };

    for (int k = 0; k < 3; k++)
        for (uint32_t i = 0; i < counts[k]; i++) {
            struct instance new = p->instances[starts[k] + i];
            uint32_t same = 0;

            while (same < p->count && (p->instances[same].first != new.first ||
                                       p->instances[same].second != new.second))
                same++;
            if (same == p->count)
                p->instances[p->count++] = new;
        }
}

static int compare_instances(const void *a, const void *b)
{
    const struct instance *x = a, *y = b;

    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->second < y->second ? -1 : x->second > y->second;
}

/* Two copies of large blocks meet in thousands of cells. */
static void keep_once(struct mc_more *m)
{
    uint32_t kept = 0;

    if (m->count)
        qsort(m->instances, m->count, sizeof(*m->instances), compare_instances);
    for (uint32_t i = 0; i < m->count; i++)
        if (!i || compare_instances(&m->instances[i], &m->instances[i - 1]))
            m->instances[kept++] = m->instances[i];
    m->count = kept;
}

/* Half of the room is free; every second one goes where need be. */
static void mc_pairs_make_room(struct mc_more *m, uint32_t most)
{
    keep_once(m);
    if (m->count <= most / 2)
        return;
    for (uint32_t i = 0; i < m->count / 2; i++)
        m->instances[i] = m->instances[2 * i];
    m->count /= 2;
    m->stride *= 2;
}

/* Every stride-th of all instances. */
static void add_more(struct mc_more *m, uint32_t most, struct instance new)
{
    if (!m->wanted || m->seen++ % m->stride)
        return;
    if (m->count == most)
        mc_pairs_make_room(m, most);
    GROW(m->instances, m->cap, (size_t)m->count + 1);
    m->instances[m->count++] = new;
}

/* ---- cells ---- */

/* Which threads, which locks. */
static uint32_t mc_pairs_kind_of(const struct finder *f, const struct group *old,
                                 const struct group *new)
{
    uint32_t h = (old->thread * 31 + new->thread) * 0x9e3779b1u;

    for (uint32_t i = 0; i <= f->holds.list[old->held]; i++)
        h = (h ^ f->holds.list[old->held + i]) * 0x85ebca6bu;
    for (uint32_t i = 0; i <= f->holds.list[new->held]; i++)
        h = (h ^ f->holds.list[new->held + i]) * 0xc2b2ae35u;
    return h;
}

static void mc_pairs_compare(struct finder *f, const struct group *old, const struct group *new)
{
    struct mc_pair *p;

    if (new->last < f->out->fresh || old->thread == new->thread || !(old->writes || new->writes) ||
        (old->atomic && new->atomic))
        return;
    if (f->distance && new->last - old->last > f->distance)
        return;
    if (holds_common(&f->holds, old->held, new->held)) {
        f->out->locked++;
        return;
    }
    p = pair_of(f->out, old->site, new->site);
    if (p && f->more)
        add_more(&f->more[p - f->out->pairs], f->most, (struct instance){ old->last, new->last });
    else if (p)
        add_instance(p, (struct instance){ old->last, new->last }, mc_pairs_kind_of(f, old, new));
    else
        f->out->dropped++;
}

/* The group becomes the latest of its kind. */
static void mc_pairs_keep(struct finder *f, const struct group *new)
{
    size_t i = f->sites ? f->ngroups : 0;

    while (
        i < f->ngroups &&
        !(f->groups[i].site == new->site && f->groups[i].thread == new->thread &&
          f->groups[i].writes == new->writes &&
          f->groups[i].atomic == new->atomic &&holds_same(&f->holds, f->groups[i].held, new->held)))
        i++;
    if (!f->sites && i == f->ngroups && f->ngroups == GROUPS_MAX) {
        f->out->dropped++;
        i = 0;
        for (size_t k = 1; k < f->ngroups; k++)
            if (f->groups[k].last < f->groups[i].last)
                i = k;
    }
    if (i == f->ngroups) {
        GROW(f->groups, f->groups_cap, f->ngroups + 1);
        f->ngroups++;
    }
    f->groups[i] = *new;
}

static void visit_cell(struct finder *f, uint32_t cell)
{
    const struct view *v = f->v;

    f->ngroups = 0;
    for (uint32_t k = v->access_first[cell]; k < v->access_first[cell + 1]; k++) {
        uint32_t i = v->access[k];
        const struct event *e = &v->events[i];
        struct group new = {
            e->site, e->thread, i, f->holds.of[i], op_table[e->op].writes, op_is_atomic(e->op)
        };

        if (e->op == OP_ALLOC || i < f->out->from || (f->sites && !map_get(f->sites, e->site)))
            continue;
        f->compared += f->ngroups;
        if (f->sites && f->compared > COMPARED_MAX)
            return;
        for (size_t g = 0; g < f->ngroups; g++)
            mc_pairs_compare(f, &f->groups[g], &new);
        mc_pairs_keep(f, &new);
    }
}

/* Touched by several threads? */
static bool is_shared(const struct view *v, uint32_t cell)
{
    for (uint32_t k = v->access_first[cell] + 1; k < v->access_first[cell + 1]; k++)
        if (v->events[v->access[k]].thread != v->events[v->access[k - 1]].thread)
            return true;
    return false;
}

static void mc_pairs_look(struct finder *f)
{
    const struct view *v = f->v;

    holds_init(&f->holds, v);
    for (uint32_t c = 0; c < v->ncells; c++)
        if (is_shared(v, c))
            visit_cell(f, c);
    holds_release(&f->holds);
    free(f->groups);
}

void mc_pairs_find(struct mc_pairs *p, const struct view *v, uint64_t distance)
{
    mc_pairs_find_from(p, v, distance, 0, 0);
}

void mc_pairs_find_from(struct mc_pairs *p, const struct view *v, uint64_t distance, uint64_t from,
                        uint64_t fresh)
{
    struct finder f = { .v = v, .out = p, .distance = distance };

    *p = (struct mc_pairs){ .from = (uint32_t)from, .fresh = (uint32_t)fresh };
    mc_pairs_look(&f);
    for (size_t i = 0; i < p->count; i++)
        close_ranks(&p->pairs[i]);
}

static void look_again(struct mc_pairs *p, struct finder *f)
{
    uint64_t dropped = p->dropped, locked = p->locked;

    for (size_t i = 0; i < p->count; i++)
        f->more[i].stride = 1;
    mc_pairs_look(f);
    for (size_t i = 0; i < p->count; i++)
        keep_once(&f->more[i]);
    p->dropped = dropped; /* counted already */
    p->locked = locked;
}

void mc_pairs_most(struct mc_pairs *p, const struct view *v, uint64_t distance, uint32_t most,
                   struct mc_more *more)
{
    struct finder f = { .v = v, .out = p, .distance = distance, .more = more, .most = most };

    look_again(p, &f);
}

void mc_pairs_more(struct mc_pairs *p, const struct view *v, uint64_t distance,
                   struct mc_more *more)
{
    mc_pairs_most(p, v, distance, MC_MORE_MAX, more);
}

void mc_pairs_all(struct mc_pairs *p, const struct view *v, uint64_t distance, uint32_t most,
                  struct mc_more *more)
{
    struct map sites = { 0 };
    struct finder f = { .v = v, .out = p, .distance = distance, .more = more, .most = most };

    f.sites = &sites;
    for (size_t i = 0; i < p->count; i++) {
        if (!more[i].wanted)
            continue;
        map_put(&sites, p->pairs[i].site, 1);
        map_put(&sites, p->pairs[i].other, 1);
    }
    look_again(p, &f);
    for (size_t i = 0; f.compared > COMPARED_MAX && i < p->count; i++)
        more[i].stride++;
    map_release(&sites);
}

void mc_pairs_release(struct mc_pairs *p)
{
    free(p->pairs);
    map_release(&p->by_sites);
    *p = (struct mc_pairs){ 0 };
}
