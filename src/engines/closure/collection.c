/* collection.c - the accesses of the suspects, with their pasts
 *
 * Accesses of one cluster (variable, slot, kind, locks) at one site are
 * merged where that loses no race. Let a come before b, with no lock event of
 * their thread in between:
 *   - in the same segment: whatever contains one contains the other, and a
 *     needs less. a stays.
 *   - the thread learned nothing in between: b needs nothing but its own
 *     thread's events beyond what a needs, and is harder to catch. b stays.
 * So loops over a racy variable take no memory unless they synchronise.
 */
#include "base/alloc.h"
#include "engines/closure/collection.h"
#include "engines/effort.h"
#include "engines/whole.h"

#include <stdlib.h>
#include <string.h>

struct collect_var {
    uint32_t watched;     /* in collection.lives, or NOT_WATCHED */
    uint32_t first, last; /* clusters or CLUSTER_NONE; the last used */
};
#define NOT_WATCHED UINT32_MAX

/* The accesses of a cluster at one site so far. */
struct site_state {
    uint32_t count, last; /* records; number of the last */
};

struct collecting {
    struct collection *c;
    const struct suspects *suspects;
    uint32_t site_max;
    bool packed; /* see closure_past_pack() */
    struct collect_var *vars;
    size_t vars_cap;
    uint32_t lives;
    struct map combinations, index; /* see find_cluster() */
    struct map site_index;          /* cluster and site -> state */
    struct site_state *sites;
    size_t nsites, sites_cap;
};

/* ---- clusters ---- */

/* Slot, locks and kind as one number. */
static uint32_t combination(struct collecting *k, uint32_t slot, uint32_t set, uint8_t kind)
{
    uint64_t key = (uint64_t)set << 34 | (uint64_t)slot << 2 | kind;

    return *map_put(&k->combinations, key, (uint32_t)k->combinations.count);
}

static uint32_t find_cluster(struct collecting *k, struct collect_var *v, uint32_t slot,
                             uint32_t set, uint8_t kind)
{
    struct collection *c = k->c;
    const struct cluster *last = v->last == CLUSTER_NONE ? NULL : &c->clusters[v->last];
    uint32_t *at;

    if (last && last->slot == slot && last->set == set && last->kind == kind)
        return v->last;
    at = map_put(&k->index, (uint64_t)v->watched << 32 | combination(k, slot, set, kind),
                 CLUSTER_NONE);
    if (*at == CLUSTER_NONE) {
        GROW(c->clusters, c->cap, c->count + 1);
        c->clusters[c->count] = (struct cluster){
            .slot = slot, .set = set, .kind = kind, .life = v->watched, .next = v->first
        };
        *at = v->first = (uint32_t)c->count++;
    }
    return v->last = *at;
}

static struct site_state *site_state(struct collecting *k, uint32_t cluster, uint32_t site)
{
    uint32_t *at = map_put(&k->site_index, (uint64_t)cluster << 32 | site, (uint32_t)k->nsites);

    if (*at == k->nsites) {
        GROW(k->sites, k->sites_cap, k->nsites + 1);
        k->sites[k->nsites++] = (struct site_state){ 0 };
    }
    return &k->sites[*at];
}

static void add_record(struct collecting *k, uint32_t cluster, const struct record *r)
{
    struct collection *c = k->c;
    struct cluster *l = &c->clusters[cluster];
    struct site_state *s = site_state(k, cluster, r->site);

    c->lives[l->life].wanted++;
    if (s->count >= k->site_max || c->records >= (k->packed ? RECORDS_MAX : RECORDS_FEW)) {
        l->truncated = true;
        return;
    }
    s->last = (uint32_t)l->count;
    s->count++;
    GROW(l->records, l->cap, l->count + 1);
    l->records[l->count] = *r;
    if (k->packed)
        closure_past_pack(c->closure, &l->records[l->count].past, &r->past);
    else
        closure_past_keep(c->closure, &l->records[l->count].past, &r->past);
    l->count++;
    c->records++;
}

/* Merge with the cluster's last access at this site; false where they differ. */
static bool merge(struct collecting *k, uint32_t cluster, const struct record *r)
{
    const struct site_state *s = site_state(k, cluster, r->site);
    struct record *old = s->count ? &k->c->clusters[cluster].records[s->last] : NULL;

    if (!old || old->changes != r->changes)
        return false;
    if (old->past.clock.time == r->past.clock.time)
        return true;
    if (old->past.version != r->past.version)
        return false;
    old->past.clock.time = r->past.clock.time;
    old->past.position = r->past.position;
    return true;
}

/* ---- lives ---- */

/* `from`: the life it is a part of, or NOT_WATCHED. */
static void new_life(struct collecting *k, struct collect_var *v, uint32_t from)
{
    struct collection *c = k->c;
    uint32_t life = k->lives++, n = (uint32_t)c->nlives;

    *v = (struct collect_var){ NOT_WATCHED, CLUSTER_NONE, CLUSTER_NONE };
    if (!suspects_has(k->suspects, life))
        return;
    GROW(c->lives, c->lives_cap, c->nlives + 1);
    c->lives[c->nlives++] =
        (struct watched){ .life = life, .family = from == NOT_WATCHED ? n : c->lives[from].family };
    v->watched = n;
}

static void collection_begin(struct collecting *k, struct collect_var *v, const struct step *s)
{
    struct record freed = { .site = 0 };

    new_life(k, v, NOT_WATCHED);
    if (v->watched != NOT_WATCHED && closure_freed(k->c->closure, s, &freed.past, &freed.site))
        add_record(k, find_cluster(k, v, freed.past.clock.slot, 0, KIND_WRITE), &freed);
}

/* The part has the history of the whole. */
static void collection_split(struct collecting *k, const struct collect_var *from,
                             struct collect_var *to)
{
    struct collection *c = k->c;

    new_life(k, to, from->watched);
    if (to->watched == NOT_WATCHED)
        return;
    for (uint32_t i = from->first; i != CLUSTER_NONE; i = c->clusters[i].next) {
        struct cluster old = c->clusters[i];
        uint32_t copy = find_cluster(k, to, old.slot, old.set, old.kind);

        for (size_t r = 0; r < old.count; r++)
            add_record(k, copy, &old.records[r]);
        c->clusters[copy].truncated |= old.truncated;
    }
    if (from->watched != NOT_WATCHED)
        c->lives[to->watched].wanted = c->lives[from->watched].wanted;
}

/* ---- hooks ---- */

static void on_access(void *arg, const struct step *s, const struct closure_past *past)
{
    struct collecting *k = arg;
    struct collect_var *v = &k->vars[s->id];
    struct held_thread held;
    struct record r;
    uint32_t cluster;

    if (s->op == OP_SPLIT) {
        collection_split(k, &k->vars[s->from], v);
        return;
    }
    if (s->flags & STEP_FRESH)
        collection_begin(k, v, s);
    if (v->watched == NOT_WATCHED)
        return;
    held = held_sets_of(&k->c->sets, s->thread);
    r = (struct record){ *past, s->site, held.changes };
    cluster = find_cluster(k, v, past->clock.slot, held.set, access_kind(s->op));
    if (!merge(k, cluster, &r))
        add_record(k, cluster, &r);
}

static void on_acquire(void *arg, const struct step *s, const struct closure_past *past)
{
    (void)past;
    held_sets_acquire(&((struct collecting *)arg)->c->sets, s);
}

static void on_release(void *arg, const struct step *s)
{
    held_sets_release_lock(&((struct collecting *)arg)->c->sets, s);
}

static void on_over(void *arg, uint32_t thread)
{
    held_sets_over(&((struct collecting *)arg)->c->sets, thread);
}

static void on_ahead(void *arg, const struct step *s)
{
    __builtin_prefetch(&((struct collecting *)arg)->vars[s->id]);
}

/* ---- the end of the pass ---- */

static int compare_records(const void *a, const void *b)
{
    uint64_t x = ((const struct record *)a)->past.position;
    uint64_t y = ((const struct record *)b)->past.position;

    return x < y ? -1 : x > y;
}

struct numbered {
    uint32_t site, number;
};

static int compare_sites(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;

    if (x->site != y->site)
        return x->site < y->site ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Merging moved records behind later ones of other sites. */
static void seal_cluster(struct cluster *l)
{
    struct numbered *order = xmalloc((l->count + 1) * sizeof(*order));

    qsort(l->records, l->count, sizeof(*l->records), compare_records);
    for (size_t i = 0; i < l->count; i++)
        order[i] = (struct numbered){ l->records[i].site, (uint32_t)i };
    qsort(order, l->count, sizeof(*order), compare_sites);
    l->by_site = xmalloc((l->count + 1) * sizeof(*l->by_site));
    for (size_t i = 0; i < l->count; i++)
        l->by_site[i] = order[i].number;
    free(order);
}

/* 0, 1 when stopped, -1 on an error. */
static int stream(struct collecting *k, struct whole *w, struct error *err)
{
    uint64_t all = whole_info(w)->events, done = 0;
    struct batch b;
    struct span span;
    int r;

    if (whole_restart(w, err) < 0)
        return -1;
    while ((r = whole_next(w, &b, &span, err)) > 0) {
        GROW(k->vars, k->vars_cap, span.variables);
        closure_feed(k->c->closure, &b, &span);
        done += b.count;
        whole_spend(w, UNITS_AN_EVENT * b.count);
        if (whole_stop(w, all ? 0.5 * (double)done / (double)all : 0))
            break;
    }
    return r;
}

int collection_make(struct collection *c, const struct suspects *suspects, uint32_t site_max,
                    struct whole *w, struct error *err)
{
    struct collecting k = {
        .c = c, .suspects = suspects, .site_max = site_max, .packed = site_max == UINT32_MAX
    };
    struct closure_hooks hooks = { &k, on_access, on_acquire, on_release, on_over, on_ahead };
    int r;

    *c = (struct collection){ 0 };
    c->closure = closure_new(true, whole_listed(w), &hooks);
    held_sets_init(&c->sets);
    r = stream(&k, w, err);
    closure_seal(c->closure);
    for (size_t i = 0; i < c->count; i++)
        seal_cluster(&c->clusters[i]);
    free(k.vars);
    free(k.sites);
    map_release(&k.combinations);
    map_release(&k.index);
    map_release(&k.site_index);
    return r;
}

uint32_t *collection_later(const struct collection *c)
{
    uint32_t *later = xcalloc(c->count + 1, sizeof(*later));

    for (size_t i = 0; i < c->count; i++)
        if (c->clusters[i].next != CLUSTER_NONE)
            later[i] = later[c->clusters[i].next] + 1;
    return later;
}

void collection_release(struct collection *c)
{
    for (size_t i = 0; i < c->count; i++) {
        free(c->clusters[i].records);
        free(c->clusters[i].by_site);
    }
    free(c->clusters);
    free(c->lives);
    held_sets_release(&c->sets);
    closure_free(c->closure);
    *c = (struct collection){ 0 };
}
