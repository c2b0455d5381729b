/* osr_order.c - an order for a set in which sections have to change places
 *
 * First the easy way (osr_tail.c). Otherwise the events before the first
 * pinned section that is overtaken keep the order of the trace, since nothing
 * they depend on moves, and the rest is a graph. Its edges are program order,
 * needs, and a read after the write it saw; and all other sections on a lock
 * come before one that stays open. What else has to be decided is tried in
 * two ways:
 *
 *   1. as in the paper: conflicting accesses, and sections that are over,
 *      keep the order of the trace. No cycle: any linear order of the graph
 *      is a correct reordering.
 *   2. greedily (osr_greedy.c), which lets two writes that nobody in the set
 *      reads change places. (Beyond the paper.)
 *
 * Both give correct reorderings by construction, neither finds all of them.
 * Cost: O(n log n) in the events from the first pinned section on.
 */
#include "engines/closure/osr_inside.h"
#include "base/sorted.h"

#include <stdlib.h>
#include <string.h>

static uint32_t *filled(size_t n)
{
    uint32_t *a = xmalloc((n + 1) * sizeof(*a));

    memset(a, 0xff, (n + 1) * sizeof(*a));
    return a;
}

struct osr_order *osr_order_new(const struct view *v)
{
    struct osr_order *o = xcalloc(1, sizeof(*o));

    o->v = v;
    o->slot_of = filled(v->nthreads);
    o->node_of = filled(v->count);
    o->last = filled(v->nthreads);
    o->cell_seen = xcalloc((size_t)v->ncells + 1, sizeof(*o->cell_seen));
    o->lock_seen = xcalloc((size_t)v->nlocks + 1, sizeof(*o->lock_seen));
    o->pending = xcalloc((size_t)v->ncells + 1, sizeof(*o->pending));
    return o;
}

void osr_order_free(struct osr_order *o)
{
    if (!o)
        return;
    free(o->slot_of);
    free(o->limit);
    free(o->node_of);
    free(o->position);
    free(o->first);
    free(o->waits_for);
    free(o->edges);
    free(o->last);
    free(o->cell_seen);
    free(o->lock_seen);
    free(o->reads);
    free(o->pending);
    free(o->holders);
    free(o->ends);
    free(o->endings);
    free(o->parked);
    free(o->heap);
    free(o->order);
    free(o);
}

/* ---- nodes ---- */

/* Which slot a thread is on; all threads of a slot follow each other. */
static void find_slots(struct osr_order *o, const struct osr_set *x)
{
    for (uint32_t s = 0; s < x->nslots && s < x->closure->slots_cap; s++)
        for (size_t i = 0; i < x->closure->slots[s].nevents; i++) {
            uint32_t p = x->closure->slots[s].events[i];

            if (p < o->v->count)
                o->slot_of[o->v->events[p].thread] = s;
        }
}

/* Are all events of the set known by position? Where only the beginning is, a section may have been
 * closed beyond it. */
static bool osr_order_is_known(const struct osr_set *x)
{
    for (uint32_t s = 0; x->truncated && s < x->nslots; s++)
        if (x->time[s] && (s >= x->closure->slots_cap || x->time[s] > x->closure->slots[s].nends))
            return false;
    return true;
}

/* The position after each slot's last event in the set; the largest of them. */
static uint32_t find_limits(struct osr_order *o, const struct osr_set *x)
{
    uint32_t end = 0;

    GROW(o->limit, o->slots_cap, (size_t)x->nslots + 1);
    for (uint32_t s = 0; s < x->nslots; s++) {
        size_t n = osr_set_events(x, s);

        o->limit[s] = n ? x->closure->slots[s].events[n - 1] + 1 : 0;
        if (o->limit[s] > end)
            end = (uint32_t)o->limit[s];
    }
    return end;
}

/* Mark the events of the set from x->from on. */
static void mark_events(struct osr_order *o, const struct osr_set *x)
{
    for (uint32_t s = 0; s < x->nslots; s++) {
        const struct slot_history *h = &x->closure->slots[s];
        size_t n = osr_set_events(x, s);

        for (size_t i = n ? osr_first_from(h, n, x->from) : 0; i < n; i++)
            o->node_of[h->events[i]] = 0;
    }
}

static void number_nodes(struct osr_order *o, uint64_t from, uint32_t end)
{
    o->nnodes = 0;
    for (uint32_t p = (uint32_t)from; p < end; p++) {
        if (o->node_of[p] == NO_NODE)
            continue;
        GROW(o->position, o->position_cap, (size_t)o->nnodes + 1);
        o->position[o->nnodes] = p;
        o->node_of[p] = o->nnodes++;
    }
}

static void forget_nodes(struct osr_order *o, uint64_t from, uint32_t end)
{
    for (uint32_t p = (uint32_t)from; p < end; p++)
        o->node_of[p] = NO_NODE;
}

/* ---- edges ---- */

/* Both are positions; what is not a node comes first anyway. */
static void add_edge(struct osr_order *o, uint32_t from, uint32_t to)
{
    uint32_t a = from == VIEW_NONE ? NO_NODE : o->node_of[from], b = o->node_of[to];

    if (a == NO_NODE || b == NO_NODE || a == b)
        return;
    GROW(o->edges, o->edges_cap, o->nedges + 1);
    o->edges[o->nedges] = (struct edge){ b, o->first[a] };
    o->first[a] = (uint32_t)o->nedges++;
    o->waits_for[b]++;
}

static void thread_edges(struct osr_order *o)
{
    const struct view *v = o->v;

    memset(o->last, 0xff, v->nthreads * sizeof(*o->last));
    for (uint32_t i = 0; i < o->nnodes; i++) {
        uint32_t p = o->position[i], thread = v->events[p].thread;

        add_edge(o, o->last[thread], p);
        o->last[thread] = p;
        for (uint32_t k = v->need_first[p]; k < v->need_first[p + 1]; k++)
            add_edge(o, v->need[k], p);
        if (op_table[v->events[p].op].reads)
            for (uint32_t k = v->cell_first[p]; k < v->cell_first[p + 1]; k++)
                add_edge(o, v->writer[k], p);
    }
}

/* Accesses to a cell keep the order of the trace where they conflict. */
static void cell_edges(struct osr_order *o, uint32_t cell)
{
    const struct view *v = o->v;
    uint32_t end = v->access_first[cell + 1], written = VIEW_NONE;
    uint32_t i = osr_lower_bound(v->access, v->access_first[cell], end, o->set->from);

    o->nreads = 0;
    for (; i < end; i++) {
        uint32_t p = v->access[i];

        if (o->node_of[p] == NO_NODE)
            continue;
        if (!osr_gives_content(&v->events[p])) {
            add_edge(o, written, p);
            GROW(o->reads, o->reads_cap, o->nreads + 1);
            o->reads[o->nreads++] = p;
            continue;
        }
        add_edge(o, written, p);
        while (o->nreads)
            add_edge(o, o->reads[--o->nreads], p);
        written = p;
    }
}

/* ---- sections ---- */

static bool excludes(const struct view_section *s, const struct view_section *t)
{
    return s->thread != t->thread && !(s->shared && t->shared);
}

static void osr_order_note(struct osr_order *o, uint32_t number)
{
    GROW(o->reads, o->reads_cap, o->nreads + 1);
    o->reads[o->nreads++] = number;
}

/* Sections that stay open come after all others on their lock. */
void osr_open_last(struct osr_order *o, uint32_t lock)
{
    const struct view *v = o->v;

    o->nreads = 0;
    for (uint32_t i = v->lock_first[lock]; i < v->lock_first[lock + 1]; i++)
        if (osr_takes_part(o, &v->sections[v->lock_section[i]]) &&
            !osr_in_set(o, v->sections[v->lock_section[i]].end))
            osr_order_note(o, v->lock_section[i]);
    for (uint32_t i = v->lock_first[lock]; o->nreads && i < v->lock_first[lock + 1]; i++) {
        const struct view_section *s = &v->sections[v->lock_section[i]];

        for (size_t k = 0; k < o->nreads && osr_takes_part(o, s) && osr_in_set(o, s->end); k++)
            if (excludes(s, &v->sections[o->reads[k]]))
                add_edge(o, s->end, v->sections[o->reads[k]].acquire);
    }
}

/* The section follows those of the list that exclude it. Once an exclusive one does, later ones
 * need not look at them any more. */
static void osr_order_follow(struct osr_order *o, uint32_t section)
{
    const struct view_section *s = &o->v->sections[section];
    size_t kept = 0;

    for (size_t i = 0; i < o->nreads; i++) {
        const struct view_section *t = &o->v->sections[o->reads[i]];

        if (excludes(t, s))
            add_edge(o, t->end, s->acquire);
        if (s->shared || !excludes(t, s))
            o->reads[kept++] = o->reads[i];
    }
    o->nreads = kept;
    osr_order_note(o, section);
}

/* Sections that are over keep the order of the trace. */
static void lock_edges(struct osr_order *o, uint32_t lock)
{
    const struct view *v = o->v;

    osr_open_last(o, lock);
    o->nreads = 0;
    for (uint32_t i = v->lock_first[lock]; i < v->lock_first[lock + 1]; i++) {
        const struct view_section *s = &v->sections[v->lock_section[i]];

        if (osr_takes_part(o, s) && osr_in_set(o, s->end))
            osr_order_follow(o, v->lock_section[i]);
    }
}

/* ---- the order ---- */

void osr_push(struct osr_order *o, uint32_t node)
{
    size_t i = o->nheap++;

    GROW(o->heap, o->heap_cap, o->nheap);
    for (; i && o->heap[(i - 1) / 2] > node; i = (i - 1) / 2)
        o->heap[i] = o->heap[(i - 1) / 2];
    o->heap[i] = node;
}

static uint32_t heap_pop(struct osr_order *o)
{
    uint32_t top = o->heap[0], node = o->heap[--o->nheap];
    size_t i = 0, child;

    while ((child = 2 * i + 1) < o->nheap) {
        if (child + 1 < o->nheap && o->heap[child + 1] < o->heap[child])
            child++;
        if (o->heap[child] >= node)
            break;
        o->heap[i] = o->heap[child];
        i = child;
    }
    o->heap[i] = node;
    return top;
}

static void build(struct osr_order *o)
{
    const struct view *v = o->v;

    GROW(o->first, o->first_cap, (size_t)o->nnodes + 1);
    GROW(o->waits_for, o->waits_cap, (size_t)o->nnodes + 1);
    GROW(o->ends, o->ends_cap, (size_t)o->nnodes + 1);
    memset(o->first, 0, o->nnodes * sizeof(*o->first));
    memset(o->waits_for, 0, o->nnodes * sizeof(*o->waits_for));
    memset(o->ends, 0, o->nnodes * sizeof(*o->ends));
    o->nedges = o->nendings = 1;
    o->nholders = o->nparked = o->nheap = o->norder = 0;
    o->round++;
    thread_edges(o);
    for (uint32_t i = 0; i < o->nnodes; i++) {
        uint32_t p = o->position[i], section = v->section_of[p];

        for (uint32_t k = v->cell_first[p]; k < v->cell_first[p + 1]; k++) {
            uint32_t cell = v->cell[k];

            if (o->cell_seen[cell] == o->round)
                continue;
            o->cell_seen[cell] = o->round;
            if (o->greedy)
                osr_cell_state(o, cell);
            else
                cell_edges(o, cell);
        }
        if (section == VIEW_NONE || o->lock_seen[v->sections[section].lock] == o->round)
            continue;
        o->lock_seen[v->sections[section].lock] = o->round;
        if (o->greedy)
            osr_lock_state(o, v->sections[section].lock);
        else
            lock_edges(o, v->sections[section].lock);
    }
}

/* Follow the edges, the earliest in the trace first; false: something waits for ever. */
static bool linearise(struct osr_order *o)
{
    build(o);
    GROW(o->order, o->order_cap, (size_t)o->nnodes + 1);
    for (uint32_t i = 0; i < o->nnodes; i++)
        if (!o->waits_for[i])
            osr_push(o, i);
    while (o->nheap) {
        uint32_t node = heap_pop(o);

        if (o->greedy && !osr_may_come(o, o->position[node])) {
            GROW(o->parked, o->parked_cap, o->nparked + 1);
            o->parked[o->nparked++] = node;
            continue;
        }
        o->order[o->norder++] = o->position[node];
        if (o->greedy)
            osr_come(o, o->position[node]);
        for (uint32_t e = o->first[node]; e; e = o->edges[e].next)
            if (!--o->waits_for[o->edges[e].to])
                osr_push(o, o->edges[e].to);
    }
    return o->norder == o->nnodes;
}

bool osr_order_find(struct osr_order *o, const struct osr_set *x, uint64_t *cost)
{
    uint32_t end;
    bool found;

    if (!o->set)
        find_slots(o, x);
    o->set = x;
    if (!osr_order_is_known(x))
        return false;
    end = find_limits(o, x);
    o->easy = x->tail != SLOT_NONE && osr_tail_can_wait(o, cost);
    if (o->easy)
        return true;
    mark_events(o, x);
    number_nodes(o, x->from, end);
    *cost += end - x->from;
    o->greedy = false;
    found = linearise(o);
    if (!found) {
        o->greedy = true;
        found = linearise(o);
        *cost += end - x->from;
    }
    forget_nodes(o, x->from, end);
    return found;
}

/* ---- the schedule ---- */

/* How many of a slot's events keep their place in the trace. */
static size_t unmoved(const struct osr_order *o, const struct osr_set *x, uint32_t slot)
{
    size_t n = osr_set_events(x, slot);

    if (!x->reversed || (o->easy && slot != x->tail))
        return n;
    return n ? osr_first_from(&x->closure->slots[slot], n, x->from) : 0;
}

uint64_t *osr_order_list(struct osr_order *o, const struct osr_set *x, const struct closure_past *a,
                         const struct closure_past *b, size_t *count)
{
    uint64_t total = x->reversed ? o->norder + 2 : 2;
    uint64_t *list;
    size_t n = 0;

    for (uint32_t s = 0; s < x->nslots; s++)
        total += unmoved(o, x, s);
    if (!osr_order_is_known(x))
        return NULL;
    list = xmalloc(total * sizeof(*list));
    for (uint32_t s = 0; s < x->nslots; s++)
        for (size_t i = 0, in = unmoved(o, x, s); i < in; i++)
            list[n++] = x->closure->slots[s].events[i];
    qsort(list, n, sizeof(*list), sorted_compare);
    for (size_t i = 0; x->reversed && i < o->norder; i++)
        list[n++] = o->order[i];
    list[n++] = a->position;
    list[n++] = b->position;
    *count = n;
    return list;
}
