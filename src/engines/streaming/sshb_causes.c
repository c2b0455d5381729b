/* sshb_causes.c - which races follow from another race
 *
 * A race would not be there if another one were fixed, where that one's accesses, made atomic,
 * would order its own: in all of its occurrences. One race is tried at a time. The graph has the
 * edges of happens-before, and from a write to a read only those between the two sites of that
 * race: what the read saw in the recorded order and, where that order is not exact, what it may
 * have seen (Definition 6), unless these edges make a cycle: then they cannot all hold.
 * docs/design/actual.md, "What follows from another race".
 *
 * A cause must not follow from another one itself, so races that join each other are none.
 * CAUSES_MAX races are tried, in the order of their first edge, fewer where there are many
 * occurrences: a list of so many races is not read for its causes.
 */
#include "engines/streaming/sshb_causes.h"
#include "base/alloc.h"
#include "engines/streaming/sshb_graph.h"
#include "engines/effort.h"
#include "engines/whole.h"

#include <stdlib.h>

/* Looks at a pair, of all causes together: a second. */
enum { CAUSES_MAX = 64, PAIRS_MAX = 1000000, LOOKS_MAX = 100000000 };
#define NO_RACE UINT32_MAX

/* What reads saw in the recorded order, or may have seen. */
enum edges { SAW, MAY_HAVE_SEEN, EDGES };

struct cause {
    uint32_t race;
    bool *joins; /* by race: all of its pairs */
};

struct causes {
    const struct sshb_facts *facts;
    struct race_table *races;
    uint32_t *race_of; /* by pair; NO_RACE: of one that follows from none */
    struct sshb_observed *edges[EDGES];
    uint32_t *edge_of[EDGES]; /* the race that it belongs to, NO_RACE */
    size_t nedges[EDGES];
    bool *joined; /* by pair, by the present cause */
    struct cause tried[CAUSES_MAX];
    size_t ntried;
};

/* ---- what is tried ---- */

static uint32_t race_number(const struct causes *c, uint32_t a, uint32_t b)
{
    const struct race *r = race_table_find(c->races, a, b);

    return r ? (uint32_t)(r - c->races->races) : NO_RACE;
}

/* How many pairs look for a cause. The sites of their positions go into the map. */
static size_t sort_pairs(struct causes *c, struct map *sites)
{
    size_t n = 0;

    c->race_of = xcalloc(c->facts->npairs + 1, sizeof(*c->race_of));
    for (size_t i = 0; i < c->facts->npairs; i++) {
        const struct sshb_pair *p = &c->facts->pairs[i];
        uint32_t race = race_number(c, p->site[0], p->site[1]);
        bool depends = race != NO_RACE && !c->races->races[race].independent;

        *map_put(sites, p->position[0], 0) = p->site[0];
        *map_put(sites, p->position[1], 0) = p->site[1];
        c->race_of[i] = depends ? race : NO_RACE;
        n += depends;
    }
    return n;
}

/* Between two atomics there is no race, and no edge is taken. */
static void take_edges(struct causes *c, enum edges kind, const struct map *sites)
{
    const struct sshb_facts *f = c->facts;
    size_t n = kind == SAW ? f->nobserved : f->ncandidates;

    c->nedges[kind] = n;
    c->edges[kind] = xcalloc(n + 1, sizeof(*c->edges[kind]));
    c->edge_of[kind] = xcalloc(n + 1, sizeof(*c->edge_of[kind]));
    for (size_t i = 0; i < n; i++) {
        struct sshb_observed *e = &c->edges[kind][i];
        const uint32_t *from, *to;

        *e = kind == SAW ? f->observed[i]
                         : (struct sshb_observed){ f->candidates[i].from, f->candidates[i].to, 0 };
        from = map_get(sites, e->from.position);
        to = map_get(sites, e->to.position);
        c->edge_of[kind][i] = from && to ? race_number(c, *from, *to) : NO_RACE;
    }
}

/* How many races can be tried. */
static size_t causes_max(const struct causes *c)
{
    uint64_t groups = c->facts->hb->nslots / GRAPH_LANES + 1;
    uint64_t n = LOOKS_MAX / (EDGES * c->facts->npairs * groups + 1);

    return n < CAUSES_MAX ? (size_t)n : CAUSES_MAX;
}

/* ---- one cause ---- */

/* As candidates: some may go back in the trace. Allocations are no part of happens-before. */
static struct sshb_facts facts_with(const struct causes *c, uint32_t cause, enum edges kind)
{
    struct sshb_facts f = *c->facts;

    f.nbirths = f.ncandidates = f.nloose = f.nobserved = 0;
    f.candidates = xcalloc(c->nedges[kind] + 1, sizeof(*f.candidates));
    for (size_t i = 0; i < c->nedges[kind]; i++)
        if (c->edge_of[kind][i] == cause)
            f.candidates[f.ncandidates++] =
                (struct sshb_candidate){ c->edges[kind][i].from, c->edges[kind][i].to, SSHB_NONE,
                                         0 };
    return f;
}

static bool reaches(struct sshb_graph *g, const struct sshb_pair *p, int from, uint32_t base)
{
    int to = !from;

    return p->slot[to] - base < GRAPH_LANES &&
           sshb_graph_reach(g, (struct sshb_point){ p->slot[from], p->position[from] },
                            p->slot[to]) <= p->position[to];
}

static void join_pairs(struct causes *c, struct sshb_graph *g, uint32_t cause)
{
    for (uint32_t base = 0; base < c->facts->hb->nslots; base += GRAPH_LANES) {
        sshb_graph_sweep(g, base);
        for (size_t i = 0; i < c->facts->npairs; i++) {
            const struct sshb_pair *p = &c->facts->pairs[i];

            if (c->race_of[i] != NO_RACE && c->race_of[i] != cause && !c->joined[i])
                c->joined[i] = reaches(g, p, 0, base) || reaches(g, p, 1, base);
        }
    }
}

static void try_edges(struct causes *c, uint32_t cause, enum edges kind, struct whole *whole)
{
    struct sshb_facts f = facts_with(c, cause, kind);
    struct sshb_graph *g = sshb_graph_new(&f, GRAPH_CANDIDATES);

    if (f.ncandidates && sshb_graph_cycles(g) == 0)
        join_pairs(c, g, cause);
    whole_spend(whole, sshb_graph_work(g) + c->facts->npairs + c->nedges[kind]);
    sshb_graph_free(g);
    free(f.candidates);
}

static void try_cause(struct causes *c, uint32_t cause, bool exact, struct whole *whole)
{
    struct cause *tried = &c->tried[c->ntried++];

    tried->race = cause;
    tried->joins = xcalloc(c->races->count + 1, sizeof(*tried->joins));
    for (size_t i = 0; i < c->facts->npairs; i++)
        c->joined[i] = false;
    try_edges(c, cause, SAW, whole);
    if (!exact)
        try_edges(c, cause, MAY_HAVE_SEEN, whole);
    for (size_t i = 0; i < c->facts->npairs; i++)
        if (c->race_of[i] != NO_RACE)
            tried->joins[c->race_of[i]] = true;
    for (size_t i = 0; i < c->facts->npairs; i++)
        if (c->race_of[i] != NO_RACE && !c->joined[i])
            tried->joins[c->race_of[i]] = false;
}

static void try_all(struct causes *c, enum edges kind, bool exact, struct whole *whole)
{
    bool *seen = xcalloc(c->races->count + 1, sizeof(*seen));

    for (size_t i = 0; i < c->ntried; i++)
        seen[c->tried[i].race] = true;
    for (size_t i = 0; i < c->nedges[kind] && c->ntried < causes_max(c); i++) {
        uint32_t cause = c->edge_of[kind][i];

        if (cause == NO_RACE || seen[cause])
            continue;
        if (whole_stop(whole, 1))
            break;
        seen[cause] = true;
        try_cause(c, cause, exact, whole);
    }
    free(seen);
}

/* ---- all ---- */

static bool follows(const struct causes *c, uint32_t race)
{
    for (size_t i = 0; i < c->ntried; i++)
        if (c->tried[i].joins[race])
            return true;
    return false;
}

static void name_causes(const struct causes *c, bool exact)
{
    for (size_t i = 0; i < c->ntried; i++) {
        const struct race *cause = &c->races->races[c->tried[i].race];

        for (size_t k = 0; k < c->races->count && !follows(c, c->tried[i].race); k++) {
            struct race *r = &c->races->races[k];

            if (!c->tried[i].joins[k] || r->follows)
                continue;
            r->follows = exact ? FOLLOWS_SURELY : FOLLOWS_MAYBE;
            r->cause[0] = cause->first.site;
            r->cause[1] = cause->second.site;
        }
    }
}

void sshb_find_causes(struct sshb *p, struct whole *whole)
{
    struct causes c = { .facts = &p->facts, .races = &p->result->races };
    bool exact = whole_info(whole)->order == TRACE_EXACT;
    struct map sites = { 0 };

    if (p->facts.full || p->facts.unordered || p->facts.pairs_left_out ||
        p->facts.npairs > PAIRS_MAX)
        return;
    if (sort_pairs(&c, &sites)) {
        c.joined = xcalloc(p->facts.npairs + 1, sizeof(*c.joined));
        take_edges(&c, SAW, &sites);
        take_edges(&c, MAY_HAVE_SEEN, &sites);
        try_all(&c, SAW, exact, whole);
        if (!exact)
            try_all(&c, MAY_HAVE_SEEN, exact, whole);
        name_causes(&c, exact);
    }
    for (size_t i = 0; i < c.ntried; i++)
        free(c.tried[i].joins);
    for (int kind = 0; kind < EDGES; kind++) {
        free(c.edges[kind]);
        free(c.edge_of[kind]);
    }
    free(c.joined);
    free(c.race_of);
    map_release(&sites);
}
