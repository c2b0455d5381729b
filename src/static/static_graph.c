/* static_graph.c - inclusion constraints, solved in waves
 *
 * Andersen's analysis. A wave: cycles of edges are collapsed (Tarjan), then every node passes on
 * what is new in it, in topological order, and its rules turn that into edges; until nothing is
 * new. That is wave propagation (Pereira and Berlin, CGO 2009); loads and stores are done while
 * visiting, not after each wave, which saves about half of the waves.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "static/static_inside.h"

#include <stdlib.h>
#include <string.h>

/* ---- nodes ---- */

uint32_t nodes_new(struct statics *s, uint32_t n)
{
    uint32_t first = (uint32_t)s->nnodes;

    GROW(s->nodes, s->nodes_cap, s->nnodes + n + 1);
    for (uint32_t i = 0; i < n; i++)
        s->nodes[first + i] = (struct node){ .rep = first + i };
    s->nnodes += n;
    return first;
}

uint32_t node_new(struct statics *s)
{
    return nodes_new(s, 1);
}

static void push_edge(struct node *n, uint32_t to)
{
    if (n->nedges == n->edges_cap) {
        n->edges_cap = n->edges_cap ? 2 * n->edges_cap : 4;
        n->edges = xrealloc(n->edges, n->edges_cap, sizeof(*n->edges));
    }
    n->edges[n->nedges++] = to;
}

void node_edge(struct statics *s, uint32_t from, uint32_t to)
{
    uint32_t *known;

    if (!from || !to)
        return;
    from = node_rep(s, from);
    to = node_rep(s, to);
    if (from == to)
        return;
    known = map_put(&s->edges, (uint64_t)from << 32 | to, 0);
    if (*known)
        return;
    *known = 1;
    s->nedges++;
    s->grown = true;
    push_edge(&s->nodes[from], to);
    if (set_join(&s->nodes[to].set, &s->nodes[from].set))
        s->nodes[to].dirty = true;
}

void node_point(struct statics *s, uint32_t node, uint32_t location)
{
    if (!node || location == UINT32_MAX)
        return;
    node = node_rep(s, node);
    if (set_add(&s->nodes[node].set, location))
        s->nodes[node].dirty = true;
}

/* Valid until the next one. */
struct rule *node_rule(struct statics *s, uint32_t node, enum rule_kind kind)
{
    static struct rule unused;
    struct rule *r;

    if (!node) {
        unused = (struct rule){ 0 };
        return &unused;
    }
    node = node_rep(s, node);
    GROW(s->rules, s->rules_cap, s->nrules + 1);
    r = &s->rules[s->nrules++];
    *r = (struct rule){ .kind = (uint8_t)kind, .next = s->nodes[node].rules };
    s->nodes[node].rules = (uint32_t)s->nrules;
    /* what the node has already is new to the rule: visit all of it again */
    set_release(&s->nodes[node].done);
    s->nodes[node].dirty = true;
    return r;
}

void nodes_release(struct statics *s)
{
    for (size_t i = 0; i < s->nnodes; i++) {
        free(s->nodes[i].edges);
        set_release(&s->nodes[i].set);
        set_release(&s->nodes[i].done);
    }
    free(s->nodes);
    free(s->rules);
    free(s->locations);
    free(s->same);
    free(s->objects);
    map_release(&s->location_of);
    map_release(&s->edges);
    set_release(&s->known);
}

/* ---- cycles ---- */

static void merge(struct statics *s, uint32_t into, uint32_t n)
{
    struct node *a = &s->nodes[into], *b = &s->nodes[n];
    uint32_t *last;

    set_join(&a->set, &b->set);
    set_meet(&a->done, &b->done);
    for (uint32_t i = 0; i < b->nedges; i++)
        push_edge(a, b->edges[i]);
    for (last = &a->rules; *last; last = &s->rules[*last - 1].next)
        ;
    *last = b->rules;
    b->rules = 0;
    a->dirty = true;
    b->rep = into;
    b->dirty = false;
    free(b->edges);
    b->edges = NULL;
    b->nedges = b->edges_cap = 0;
    set_release(&b->set);
    set_release(&b->done);
}

struct search {
    uint32_t *number, *low; /* of nodes; 0: not met */
    uint32_t *stack, *path, *at;
    size_t nstack, npath;
    uint32_t *order; /* nodes, successors first */
    size_t norder;
    uint32_t count;
    bool *on;
};

static void enter(struct search *t, uint32_t n)
{
    t->number[n] = t->low[n] = ++t->count;
    t->on[n] = true;
    t->stack[t->nstack++] = n;
    t->at[t->npath] = 0;
    t->path[t->npath++] = n;
}

static void static_graph_leave(struct statics *s, struct search *t, uint32_t n)
{
    uint32_t m;

    t->npath--;
    if (t->npath && t->low[n] < t->low[t->path[t->npath - 1]])
        t->low[t->path[t->npath - 1]] = t->low[n];
    if (t->low[n] != t->number[n])
        return;
    while ((m = t->stack[--t->nstack]) != n) {
        t->on[m] = false;
        merge(s, n, m);
    }
    t->on[n] = false;
    t->order[t->norder++] = n;
}

static void static_graph_visit(struct statics *s, struct search *t, uint32_t root)
{
    enter(t, root);
    while (t->npath) {
        uint32_t n = t->path[t->npath - 1], m;
        const struct node *node = &s->nodes[n];

        if (t->at[t->npath - 1] == node->nedges) {
            static_graph_leave(s, t, n);
            continue;
        }
        m = node_rep(s, node->edges[t->at[t->npath - 1]++]);
        if (!t->number[m])
            enter(t, m);
        else if (t->on[m] && t->number[m] < t->low[n])
            t->low[n] = t->number[m];
    }
}

/* Collapses cycles; the order to visit nodes in, sources first. Owned by the caller. */
static uint32_t *sort_nodes(struct statics *s, size_t *count)
{
    size_t n = s->nnodes;
    struct search t = { .number = xcalloc(n, sizeof(uint32_t)),
                        .low = xcalloc(n, sizeof(uint32_t)),
                        .stack = xcalloc(n, sizeof(uint32_t)),
                        .path = xcalloc(n, sizeof(uint32_t)),
                        .at = xcalloc(n, sizeof(uint32_t)),
                        .order = xcalloc(n, sizeof(uint32_t)),
                        .on = xcalloc(n, sizeof(bool)) };

    for (uint32_t i = 1; i < n; i++)
        if (s->nodes[i].rep == i && !t.number[i])
            static_graph_visit(s, &t, i);
    for (size_t i = 0; i < t.norder / 2; i++) {
        uint32_t swap = t.order[i];

        t.order[i] = t.order[t.norder - 1 - i];
        t.order[t.norder - 1 - i] = swap;
    }
    free(t.number);
    free(t.low);
    free(t.stack);
    free(t.path);
    free(t.at);
    free(t.on);
    *count = t.norder;
    return t.order;
}

/* ---- rules ---- */

/* Places a pointer may be at in an access of so many bytes. */
static uint32_t chunks(uint32_t size)
{
    return size <= POINTER_BYTES ? 1 : size > 256 ? 0 : (size + POINTER_BYTES - 1) / POINTER_BYTES;
}

static uint32_t chunk(struct statics *s, uint32_t location, uint32_t i, uint32_t n)
{
    if (n == 0)
        return location_whole(s, s->locations[location].object);
    return i ? location_move(s, location, (int64_t)i * POINTER_BYTES, 0, 0) : location;
}

static void apply_access(struct statics *s, const struct rule *r, uint32_t location)
{
    uint32_t n = chunks(r->size), bytes = r->size < POINTER_BYTES ? r->size : POINTER_BYTES;
    enum access_width width = r->stride ? WIDTH_PARTS : access_width(bytes);

    for (uint32_t i = 0; i < (n ? n : 1); i++) {
        uint32_t at = chunk(s, location, i, n);

        if (at == UINT32_MAX || !location_fits(s, &s->locations[at], bytes))
            continue;
        if (r->kind == RULE_LOAD)
            node_edge(s, location_out(s, at, width), r->node);
        else
            node_edge(s, r->node, location_in(s, at, width));
    }
}

/* r->node is the first of nodes that hold what is moved, two per chunk: pointers and parts. */
static void apply_move(struct statics *s, const struct rule *r, uint32_t location)
{
    for (uint32_t i = 0; i < (r->size ? r->size : 1); i++) {
        uint32_t at = chunk(s, location, i, r->size), node = r->node + 2 * i;

        if (at == UINT32_MAX)
            continue;
        if (r->kind == RULE_FROM) {
            node_edge(s, location_out(s, at, WIDTH_WHOLE), node);
            node_edge(s, location_out(s, at, WIDTH_PARTS), node + 1);
        } else {
            node_edge(s, node, location_in(s, at, WIDTH_POINTER));
            node_edge(s, node + 1, location_in(s, at, WIDTH_PARTS));
        }
    }
}

static void apply_call(struct statics *s, const struct rule *r, uint32_t location)
{
    const struct object *o = &s->objects[s->locations[location].object];
    struct entity e;

    if (o->kind == OBJECT_WORLD) {
        if (r->kind == RULE_CALL)
            build_world_call(s, r->node, (uint32_t)r->offset);
        else
            build_world_start(s, r->node, r->size, (uint32_t)r->offset, r->kind == RULE_BACK);
        return;
    }
    if (o->kind != OBJECT_FUNCTION)
        return;
    e = s->entities[o->entity];
    if (!e.is_defined && r->kind == RULE_CALL) {
        build_external(s, r->node, (uint32_t)r->offset, o->entity);
        return;
    }
    for (uint32_t i = 0; i < e.nfunctions; i++) {
        if (r->kind == RULE_CALL)
            build_call_target(s, r->node, (uint32_t)r->offset, e.functions[i]);
        else if (r->kind == RULE_BACK)
            build_back(s, e.functions[i], r->node, r->size, (uint32_t)r->offset);
        else
            build_start(s, e.functions[i], r->node, r->size, (uint32_t)r->offset);
    }
}

static void apply(struct statics *s, const struct rule *r, uint32_t location)
{
    switch ((enum rule_kind)r->kind) {
    case RULE_OFFSET:
        node_point(s, r->node, location_move(s, location, r->offset, r->stride, r->span));
        break;
    case RULE_LOAD:
    case RULE_STORE:
        apply_access(s, r, location);
        break;
    case RULE_FROM:
    case RULE_INTO:
        apply_move(s, r, location);
        break;
    case RULE_CALL:
    case RULE_START:
    case RULE_BACK:
        apply_call(s, r, location);
        break;
    case RULE_WORLD:
        build_escape(s, s->locations[location].object);
        break;
    }
}

static void drop_known(struct statics *s, struct set *set)
{
    struct set rest = { 0 };

    set_minus(&rest, set, &s->known);
    set_release(set);
    *set = rest;
}

static void visit_node(struct statics *s, uint32_t n)
{
    struct set fresh = { 0 };
    struct node *node = &s->nodes[n];

    node->dirty = false;
    set_minus(&fresh, &node->set, &node->done);
    set_join(&node->done, &fresh);
    /* ANYWHERE stands for what is known; only NODE_WORLD itself makes it known */
    if (n != node_rep(s, NODE_WORLD) && set_has(&node->set, ANYWHERE))
        drop_known(s, &fresh);
    for (uint32_t i = 0; fresh.count && i < node->nedges; i++) {
        uint32_t to = node_rep(s, node->edges[i]);

        if (to != n && set_join(&s->nodes[to].set, &fresh))
            s->nodes[to].dirty = true;
    }
    /* rules make nodes and rules: `node` may move, and r with it */
    for (uint32_t at = s->nodes[n].rules; fresh.count && at;) {
        struct rule r = s->rules[at - 1];

        SET_EACH(&fresh, l)
        apply(s, &r, (uint32_t)l);
        at = r.next;
    }
    set_release(&fresh);
}

/* Nothing is left to hand on: else a pair might be missing. */
static bool is_settled(const struct statics *s)
{
    for (uint32_t n = 0; n < s->nnodes; n++)
        if (node_rep((struct statics *)s, n) == n &&
            (s->nodes[n].dirty || set_size(&s->nodes[n].set) != set_size(&s->nodes[n].done)))
            return false;
    return true;
}

void nodes_solve(struct statics *s)
{
    uint32_t *order = NULL;
    size_t count = 0;
    bool any = true;

    s->grown = true;
    while (any) {
        size_t before = s->nnodes;

        any = false;
        if (s->grown) {
            free(order);
            s->grown = false;
            order = sort_nodes(s, &count);
        }
        for (size_t i = 0; i < count; i++) {
            uint32_t n = node_rep(s, order[i]);

            if (!s->nodes[n].dirty)
                continue;
            any = true;
            visit_node(s, n);
        }
        for (size_t i = before; i < s->nnodes; i++)
            any |= s->nodes[i].dirty;
        s->grown |= s->nnodes > before;
        s->counters.waves++;
    }
    free(order);
    invariant(is_settled(s));
}
