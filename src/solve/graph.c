/* graph.c - is the chosen order free of cycles?
 *
 * The graph has program order, needs (both always there) and the edges of
 * true variables. A place is kept for every knot (a node with an edge to or
 * from another thread) such that all edges lead forward: at first that of the
 * trace, then that of the last replay. An edge that agrees with the places
 * costs nothing, and most do. Else (Pearce and Kelly 2006) what v reaches
 * below u's place is searched: if u is there, the edge closes a cycle; if not,
 * that and what reaches u above v's place change places. Taking an edge away
 * needs no work.
 *
 * The search goes by threads: of each the earliest rank reached, since all
 * later ones are reached too. It crosses few variable edges first (rounds),
 * so explanations are short; other edges hold whatever is chosen and need no
 * explanation.
 */
#include "base/alloc.h"
#include "base/sorted.h"
#include "solve/solver_inside.h"

#include <stdlib.h>

/* ---- knots ---- */

static bool is_fixed_knot(const struct problem *p, uint32_t n)
{
    return p->need_first[n] < p->need_first[n + 1] || p->out_first[n] < p->out_first[n + 1];
}

void graph_init(struct solver *s)
{
    const struct problem *p = s->p;

    s->knots = xcalloc((size_t)p->nthreads + 1, sizeof(*s->knots));
    for (uint32_t n = 0; n < p->nnodes; n++)
        if (is_fixed_knot(p, n))
            list_push(&s->knots[p->thread[n]].fixed, p->rank[n]);
}

void graph_discard(struct solver *s)
{
    for (uint32_t t = 0; t < s->p->nthreads; t++) {
        free(s->knots[t].fixed.items);
        free(s->knots[t].extra.items);
    }
    free(s->knots);
    free(s->moves);
}

void graph_add_knot(struct solver *s, uint32_t node)
{
    uint32_t rank = s->p->rank[node];
    struct list *l = &s->knots[s->p->thread[node]].extra;
    size_t at = sorted_first_from_32(l->items, l->count, rank);

    if (node < s->frozen || is_fixed_knot(s->p, node) || (at < l->count && l->items[at] == rank))
        return;
    list_push(l, 0);
    for (size_t i = l->count - 1; i > at; i--)
        l->items[i] = l->items[i - 1];
    l->items[at] = rank;
}

void graph_clear_knots(struct solver *s)
{
    for (uint32_t t = 0; t < s->p->nthreads; t++)
        s->knots[t].extra.count = 0;
}

static uint32_t node_at(const struct problem *p, uint32_t thread, uint32_t rank)
{
    return p->thread_node[p->thread_first[thread] + rank];
}

/* ---- forwards ---- */

struct search {
    struct solver *s;
    uint32_t goal;
    uint32_t found; /* record, SOLVE_NONE */
    uint32_t limit; /* no need to look at later places; backwards: at earlier ones */
};

/* A record takes effect: its thread is reached from its rank on. */
static void arrive(struct search *f, uint32_t record)
{
    struct solver *s = f->s;
    const struct search_record *r = &s->records[record];

    if (s->reached[r->thread] <= r->rank)
        return;
    s->reached[r->thread] = r->rank;
    list_push(&s->round, record);
    if (r->thread == s->p->thread[f->goal] && r->rank <= s->p->rank[f->goal] &&
        f->found == SOLVE_NONE)
        f->found = record;
}

/* An edge leads to a node. Those of variables count from the next round on. */
static void graph_follow(struct search *f, uint32_t node, uint32_t parent, uint32_t lit)
{
    struct solver *s = f->s;
    uint32_t t = s->p->thread[node], rank = s->p->rank[node];

    if (s->reached[t] <= rank || place_of(s, node) > f->limit)
        return;
    if (s->nrecords == s->records_cap)
        GROW(s->records, s->records_cap, s->nrecords + 1);
    s->records[s->nrecords++] = (struct search_record){ t, rank, parent, lit };
    if (lit == LIT_NONE)
        arrive(f, (uint32_t)s->nrecords - 1);
    else
        list_push(&s->later, (uint32_t)s->nrecords - 1);
}

static void follow_knots(struct search *f, const struct list *knots, uint32_t record, uint32_t to)
{
    struct solver *s = f->s;
    const struct problem *p = s->p;
    uint32_t thread = s->records[record].thread;
    size_t i = sorted_first_from_32(knots->items, knots->count, s->records[record].rank);

    for (; i < knots->count && knots->items[i] < to; i++) {
        uint32_t n = node_at(p, thread, knots->items[i]);

        if (place_of(s, n) > f->limit)
            break;
        s->work++;
        for (uint32_t k = p->out_first[n]; k < p->out_first[n + 1]; k++)
            graph_follow(f, p->out[k], record, LIT_NONE);
        for (uint32_t e = s->out_of[n]; e; e = s->edges[e - 1].next_out)
            graph_follow(f, s->edges[e - 1].to, record, s->edges[e - 1].lit);
    }
}

/* All edges out of a thread from a record's rank on, but for those looked at before. */
static void graph_expand(struct search *f, uint32_t record)
{
    struct solver *s = f->s;
    uint32_t t = s->records[record].thread, rank = s->records[record].rank, to = s->expanded[t];

    if (to <= rank)
        return;
    s->expanded[t] = rank;
    follow_knots(f, &s->knots[t].fixed, record, to);
    follow_knots(f, &s->knots[t].extra, record, to);
}

/* Does v reach u? The record that does it, SOLVE_NONE otherwise. */
static uint32_t find_way(struct solver *s, uint32_t v, uint32_t u)
{
    struct search f = { s, u, SOLVE_NONE, place_of(s, u) };

    for (uint32_t t = 0; t < s->p->nthreads; t++)
        s->reached[t] = s->expanded[t] = SOLVE_NONE;
    s->nrecords = s->later.count = s->round.count = 0;
    graph_follow(&f, v, SOLVE_NONE, LIT_NONE);
    while (s->round.count && f.found == SOLVE_NONE) {
        for (size_t i = 0; i < s->round.count && f.found == SOLVE_NONE; i++)
            graph_expand(&f, s->round.items[i]);
        s->round.count = 0;
        for (size_t i = 0; i < s->later.count && f.found == SOLVE_NONE; i++)
            arrive(&f, s->later.items[i]);
        s->later.count = 0;
    }
    return f.found;
}

static void explain(struct solver *s, uint32_t record, uint32_t lit)
{
    s->conflict.count = 0;
    list_push(&s->conflict, lit ^ 1);
    for (; record != SOLVE_NONE; record = s->records[record].parent)
        if (s->records[record].lit != LIT_NONE)
            list_push(&s->conflict, s->records[record].lit ^ 1);
}

/* ---- backwards: s->behind[t] is one more than the latest rank that reaches u ---- */

static void retreat(struct search *f, uint32_t node)
{
    struct solver *s = f->s;
    uint32_t t = s->p->thread[node], rank = s->p->rank[node];

    if (s->behind[t] > rank || place_of(s, node) < f->limit)
        return;
    list_push(&s->round, t);
    list_push(&s->round, s->behind[t]);
    list_push(&s->round, rank + 1);
    s->behind[t] = rank + 1;
}

static void retreat_knots(struct search *f, const struct list *knots, uint32_t thread,
                          uint32_t from, uint32_t to)
{
    struct solver *s = f->s;
    const struct problem *p = s->p;
    size_t i = sorted_first_from_32(knots->items, knots->count, to);

    for (; i > 0 && knots->items[i - 1] >= from; i--) {
        uint32_t n = node_at(p, thread, knots->items[i - 1]);

        if (place_of(s, n) < f->limit)
            break;
        s->work++;
        for (uint32_t k = p->need_first[n]; k < p->need_first[n + 1]; k++)
            retreat(f, p->need[k]);
        for (uint32_t e = s->into[n]; e; e = s->edges[e - 1].next_in)
            retreat(f, s->edges[e - 1].from);
    }
}

static void find_behind(struct solver *s, uint32_t u, uint32_t v)
{
    struct search f = { s, v, SOLVE_NONE, place_of(s, v) };

    for (uint32_t t = 0; t < s->p->nthreads; t++)
        s->behind[t] = 0;
    s->round.count = 0;
    retreat(&f, u);
    while (s->round.count) {
        uint32_t to = s->round.items[--s->round.count], from = s->round.items[--s->round.count];
        uint32_t t = s->round.items[--s->round.count];

        retreat_knots(&f, &s->knots[t].fixed, t, from, to);
        retreat_knots(&f, &s->knots[t].extra, t, from, to);
    }
}

/* ---- new places ---- */

static void add_move(struct solver *s, uint32_t node)
{
    if (s->nmoves == s->moves_cap)
        GROW(s->moves, s->moves_cap, s->nmoves + 1);
    s->moves[s->nmoves++] = (struct move){ place_of(s, node), node };
}

static void move_forward(struct solver *s, const struct list *knots, uint32_t t, uint32_t limit)
{
    size_t i = sorted_first_from_32(knots->items, knots->count, s->reached[t]);

    for (; i < knots->count; i++) {
        uint32_t n = node_at(s->p, t, knots->items[i]);

        if (place_of(s, n) > limit)
            break;
        add_move(s, n);
    }
}

static void move_backward(struct solver *s, const struct list *knots, uint32_t t, uint32_t limit)
{
    size_t i = sorted_first_from_32(knots->items, knots->count, s->behind[t]);

    for (; i > 0; i--) {
        uint32_t n = node_at(s->p, t, knots->items[i - 1]);

        if (place_of(s, n) < limit)
            break;
        add_move(s, n);
    }
}

static int compare_moves(const void *a, const void *b)
{
    uint32_t x = ((const struct move *)a)->place, y = ((const struct move *)b)->place;

    return x < y ? -1 : x > y;
}

/* What reaches u goes before what v reaches, within the places that both have now. */
static void reorder(struct solver *s, uint32_t u, uint32_t v)
{
    uint32_t first = place_of(s, v), last = place_of(s, u);
    size_t before;

    s->nmoves = 0;
    find_behind(s, u, v);
    for (uint32_t t = 0; t < s->p->nthreads; t++) {
        move_backward(s, &s->knots[t].fixed, t, first);
        move_backward(s, &s->knots[t].extra, t, first);
    }
    before = s->nmoves;
    for (uint32_t t = 0; t < s->p->nthreads; t++) {
        move_forward(s, &s->knots[t].fixed, t, last);
        move_forward(s, &s->knots[t].extra, t, last);
    }
    qsort(s->moves, before, sizeof(*s->moves), compare_moves);
    qsort(s->moves + before, s->nmoves - before, sizeof(*s->moves), compare_moves);
    s->round.count = s->later.count = 0;
    for (size_t i = 0; i < s->nmoves; i++)
        list_push(&s->later, s->moves[i].node);
    qsort(s->moves, s->nmoves, sizeof(*s->moves), compare_moves);
    for (size_t i = 0; i < s->nmoves; i++) {
        s->place[s->later.items[i]] = s->moves[i].place;
        s->placed[s->later.items[i]] = s->replays;
    }
}

/* ---- edges ---- */

bool graph_add(struct solver *s, uint32_t from, uint32_t to, uint32_t lit)
{
    if (place_of(s, from) > place_of(s, to)) {
        uint32_t way = find_way(s, to, from);

        if (way != SOLVE_NONE) {
            explain(s, way, lit);
            return false;
        }
        reorder(s, from, to);
    }
    if (s->nedges == s->edges_cap)
        GROW(s->edges, s->edges_cap, s->nedges + 1);
    s->edges[s->nedges++] = (struct edge){ from, to, lit, s->out_of[from], s->into[to] };
    s->out_of[from] = s->into[to] = (uint32_t)s->nedges;
    return true;
}

void graph_undo(struct solver *s, size_t edges)
{
    while (s->nedges > edges) {
        const struct edge *e = &s->edges[--s->nedges];

        s->out_of[e->from] = e->next_out;
        s->into[e->to] = e->next_in;
    }
}
