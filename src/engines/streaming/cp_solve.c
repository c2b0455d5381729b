/* cp_solve.c - the rows of all nodes: HB and the least fixpoint of CP
 *
 * Nodes are computed in the order of the trace. HB needs no more than that.
 * CP does: rule (b) looks back. A section B whose release is CP-after the
 * acquire of an earlier section A on its lock gets an edge from A's release to
 * B's ACQUIRE, so rows between B's acquire and the present change. They do so
 * through a heap of changed nodes, the earliest first; each hands its P on to
 * the next node of its thread and to the acquires that its sections lead to,
 * and rule (b) is asked again for the sections that end there. Rows only grow,
 * so this ends, with the least fixpoint. Sections are short in most programs,
 * and so is the way back.
 * Of all sections A on a lock that have an edge into B only the latest counts:
 * its release is HB-after all earlier ones. (Of shared sections, which do not
 * order each other, the latest of each slot.) It is found by a search from the
 * end of the list of each slot.
 */
#include "engines/streaming/cp_graph.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

uint32_t *cp_new_rows(struct cp *c)
{
    return arena_alloc(&c->memory, 2 * c->width * sizeof(uint32_t));
}

static bool ended_before(const struct cp_section *a, const struct cp_section *b)
{
    return a->release && a->release < b->acquire;
}

/* ---- one node ---- */

/* The lock edge from section a to an acquire. */
static void follow_lock(struct cp *c, uint32_t node, const struct cp_section *a)
{
    if (!ended_before(a, &c->sections[c->nodes[node].section]))
        return;
    row_learn(cp_h(c, node), cp_h(c, a->end), a->slot, a->release, c->width);
    row_join(cp_p(c, node), cp_p(c, a->end), c->width);
}

/* The edge of rule (a) or (b) from section a to an acquire. */
static bool follow_edge(struct cp *c, uint32_t node, const struct cp_section *a)
{
    return row_learn(cp_p(c, node), cp_h(c, a->end), a->slot, a->release, c->width);
}

static void compute_acquire(struct cp *c, uint32_t node)
{
    const struct cp_section *b = &c->sections[c->nodes[node].section];

    if (b->exclusive_before)
        follow_lock(c, node, &c->sections[b->exclusive_before]);
    for (uint32_t a = b->shared ? 0 : b->read; a; a = c->sections[a].next_read)
        follow_lock(c, node, &c->sections[a]);
    if (b->source)
        follow_edge(c, node, &c->sections[b->source]);
    for (uint32_t i = b->links; i; i = c->links[i].next)
        follow_edge(c, node, &c->sections[c->links[i].section]);
}

void cp_compute(struct cp *c, uint32_t node)
{
    struct cp_node *n = &c->nodes[node];

    memcpy(n->rows, c->nodes[n->prev].rows, 2 * c->width * sizeof(*n->rows));
    for (uint32_t i = 0; i < n->hard_count; i++) {
        const struct cp_source *s = &c->sources[c->hard_in[n->hard_first + i]];

        row_learn(cp_h(c, node), cp_h(c, s->node), s->slot, s->time, c->width);
        row_learn(cp_p(c, node), cp_h(c, s->node), s->slot, s->time, c->width);
    }
    if (n->section)
        compute_acquire(c, node);
}

/* ---- the heap of changed nodes ---- */

static bool comes_before(const struct cp *c, uint32_t a, uint32_t b)
{
    const struct cp_node *x = &c->nodes[a], *y = &c->nodes[b];

    return x->time != y->time ? x->time < y->time : a < b;
}

void cp_push(struct cp *c, uint32_t node)
{
    size_t i = c->nheap;

    if (c->nodes[node].queued)
        return;
    c->nodes[node].queued = true;
    GROW(c->heap, c->heap_cap, ++c->nheap);
    for (; i && comes_before(c, node, c->heap[(i - 1) / 2]); i = (i - 1) / 2)
        c->heap[i] = c->heap[(i - 1) / 2];
    c->heap[i] = node;
}

static uint32_t pop(struct cp *c)
{
    uint32_t first = c->heap[0], last = c->heap[--c->nheap];
    size_t i = 0, child;

    for (; (child = 2 * i + 1) < c->nheap; i = child) {
        if (child + 1 < c->nheap && comes_before(c, c->heap[child + 1], c->heap[child]))
            child++;
        if (!comes_before(c, c->heap[child], last))
            break;
        c->heap[i] = c->heap[child];
    }
    c->heap[i] = last;
    c->nodes[first].queued = false;
    return first;
}

static void hand_on(struct cp *c, uint32_t from, uint32_t to)
{
    if (to && c->nodes[to].time <= c->now && row_join(cp_p(c, to), cp_p(c, from), c->width))
        cp_push(c, to);
}

/* To the acquires that a section leads to: of an exclusive one up to the next exclusive one. */
static void hand_on_section(struct cp *c, const struct cp_section *a)
{
    uint32_t id = a->shared ? a->exclusive_after : a->next;

    for (; id; id = c->sections[id].next) {
        const struct cp_section *b = &c->sections[id];

        if (ended_before(a, b))
            hand_on(c, a->end, b->begin);
        if (!b->shared)
            return;
    }
}

static void hand_on_all(struct cp *c, uint32_t node)
{
    const struct cp_thread *t = &c->threads[c->nodes[node].thread];

    hand_on(c, node, c->nodes[node].next);
    for (uint32_t id = c->nodes[node].ends; id; id = c->sections[id].next_end) {
        hand_on_section(c, &c->sections[id]);
        cp_rule_b(c, id, cp_p(c, node));
    }
    for (size_t i = 0; t->node == node && i < t->nheld; i++)
        cp_rule_b(c, t->held[i], cp_p(c, node));
}

void cp_drain(struct cp *c)
{
    while (c->nheap) {
        c->rounds++;
        hand_on_all(c, pop(c));
    }
}

/* ---- rule (b) ---- */

static struct cp_use *use_of(struct cp_lock *l, uint32_t slot, bool shared)
{
    size_t i = 0;

    while (i < l->nusers && l->users[i].slot != slot)
        i++;
    if (i == l->nusers) {
        GROW(l->users, l->users_cap, i + 1);
        l->users[l->nusers++] = (struct cp_user){ .slot = slot };
    }
    return shared ? &l->users[i].shared : &l->users[i].exclusive;
}

static void list_use(struct cp *c, uint32_t id)
{
    const struct cp_section *s = &c->sections[id];
    struct cp_use *u = use_of(&c->locks[s->lock], s->slot, s->shared);

    GROW(u->took, u->cap, u->count + 1);
    u->took[u->count++] = (struct cp_took){ s->acquire, id };
}

/* Is the acquire of a CP-before b's events: by the row, or because the window is over? */
static bool cp_solve_is_known(const struct cp *c, const struct cp_took *a,
                              const struct cp_section *b, uint32_t known)
{
    return a->acquire <= known ||
           (c->window && b->release && b->release_rank >= c->window &&
            c->sections[a->section].acquire_rank <= b->release_rank - c->window);
}

/* How many of a slot's sections have a known acquire: looked for from the end, in growing steps. */
static size_t count_known(const struct cp *c, const struct cp_use *u, const struct cp_section *b,
                          uint32_t known)
{
    size_t high = u->count, step = 1, low;

    while (step <= high && !cp_solve_is_known(c, &u->took[high - step], b, known)) {
        high -= step;
        step *= 2;
    }
    low = step <= high ? high - step + 1 : 0; /* took[low - 1] is known */
    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (cp_solve_is_known(c, &u->took[mid], b, known))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* The latest section of a slot that has an edge into b and ends later than `floor`; 0 none. */
static uint32_t latest(const struct cp *c, const struct cp_use *u, uint32_t b, uint32_t known,
                       uint32_t floor)
{
    const struct cp_section *s = &c->sections[b];
    size_t n;

    if (!u->count || c->sections[u->took[u->count - 1].section].release <= floor)
        return 0;
    n = count_known(c, u, s, known);
    while (n && !ended_before(&c->sections[u->took[n - 1].section], s))
        n--;
    return n && c->sections[u->took[n - 1].section].release > floor ? u->took[n - 1].section : 0;
}

/* Shared sections: one of each slot that did not end before the exclusive one that has an edge. */
static bool shared_edges(struct cp *c, uint32_t id, const uint32_t *known, uint32_t floor)
{
    struct cp_section *b = &c->sections[id];
    const struct cp_lock *l = &c->locks[b->lock];
    bool changed = false;

    for (size_t i = 0; !b->shared && i < l->nusers; i++) {
        const struct cp_user *u = &l->users[i];
        uint32_t a = latest(c, &u->shared, id, known[u->slot], floor);

        if (!a || !follow_edge(c, b->begin, &c->sections[a]))
            continue;
        if (!c->nlinks)
            c->nlinks = 1;
        GROW(c->links, c->links_cap, c->nlinks + 1);
        c->links[c->nlinks] = (struct cp_link){ a, b->links };
        b->links = (uint32_t)c->nlinks++;
        c->rule_b++;
        changed = true;
    }
    return changed;
}

void cp_rule_b(struct cp *c, uint32_t id, const uint32_t *known)
{
    struct cp_section *b = &c->sections[id];
    const struct cp_lock *l = &c->locks[b->lock];
    uint32_t floor = b->source ? c->sections[b->source].acquire : 0, before = floor;
    bool changed = false;

    for (size_t i = 0; i < l->nusers; i++) {
        const struct cp_user *u = &l->users[i];
        uint32_t a = latest(c, &u->exclusive, id, known[u->slot], floor);

        if (a) {
            b->source = a;
            floor = c->sections[a].acquire;
        }
    }
    if (floor != before && follow_edge(c, b->begin, &c->sections[b->source])) {
        c->rule_b++;
        changed = true;
    }
    if (shared_edges(c, id, known, floor) || changed)
        cp_push(c, b->begin);
}

/* ---- all nodes ---- */

static void cp_solve_visit(struct cp *c, uint32_t node)
{
    c->nodes[node].rows = cp_new_rows(c);
    c->now = c->nodes[node].time;
    cp_compute(c, node);
    if (c->nodes[node].section)
        list_use(c, c->nodes[node].section);
    for (uint32_t id = c->nodes[node].ends; id; id = c->sections[id].next_end)
        cp_rule_b(c, id, cp_p(c, node));
    cp_drain(c);
}

void cp_solve(struct cp *c)
{
    c->width = ((uint32_t)c->nslots + 7) / 8 * 8;
    c->nodes[0].rows = cp_new_rows(c);
    memset(c->nodes[0].rows, 0, 2 * c->width * sizeof(uint32_t));
    for (size_t i = 1; i < c->nnodes; i++)
        cp_solve_visit(c, (uint32_t)i);
}
