/* naive_sshb.c - Definitions 6 and 11 of sshb-inaccurate-traces.txt, by brute
 * force */
#include "naive_sshb.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static bool touches(const struct event *e, uint64_t byte)
{
    uint64_t bytes = op_is_access(e->op) ? e->size : 0;

    if (e->op == OP_ALLOC || e->op == OP_FREE)
        bytes = e->value;
    return !(e->flags & EV_IGNORED) && byte >= e->target && byte - e->target < bytes;
}

/* Is the byte allocated anew between the two? */
static bool same_lifetime(const struct trace_mem *t, size_t a, size_t b, uint64_t byte)
{
    size_t low = a < b ? a : b, high = a < b ? b : a;

    for (size_t i = low + 1; i < high; i++)
        if (t->events[i].op == OP_ALLOC && touches(&t->events[i], byte))
            return false;
    return true;
}

static bool before(const struct relation *hb, size_t a, size_t b)
{
    return a < b && relation_has(hb, a, b);
}

static bool unsynchronised(const struct relation *hb, size_t a, size_t b)
{
    return !before(hb, a, b) && !before(hb, b, a);
}

static bool writes_byte(const struct trace_mem *t, size_t w, size_t read, uint64_t byte)
{
    const struct event *e = &t->events[w];

    return w != read && op_table[e->op].writes && e->op != OP_ALLOC && touches(e, byte) &&
           same_lifetime(t, w, read, byte);
}

/* A write to the byte that the read could have seen at all: atomics are
 * recorded in their order, so an atomic read saw no other atomic write than the
 * last before it. */
static bool is_write(const struct trace_mem *t, size_t w, size_t read, uint64_t byte)
{
    bool atomic = op_is_atomic(t->events[w].op) && op_is_atomic(t->events[read].op);

    if (!writes_byte(t, w, read, byte) || (atomic && w > read))
        return false;
    for (size_t k = w + 1; atomic && k < read; k++)
        if (op_is_atomic(t->events[k].op) && writes_byte(t, k, read, byte))
            return false;
    return true;
}

static bool in_w1(const struct trace_mem *t, const struct relation *hb, size_t read, size_t w,
                  uint64_t byte)
{
    if (!unsynchronised(hb, read, w))
        return false;
    for (size_t k = 0; k < t->count; k++)
        if (k != w && is_write(t, k, read, byte) && unsynchronised(hb, read, k) && before(hb, w, k))
            return false;
    return true;
}

static bool in_w2(const struct trace_mem *t, const struct relation *hb, size_t read, size_t w,
                  uint64_t byte)
{
    if (!before(hb, w, read))
        return false;
    for (size_t k = 0; k < t->count; k++)
        if (k != w && is_write(t, k, read, byte) && before(hb, k, read) && before(hb, w, k))
            return false;
    return true;
}

size_t naive_candidates(const struct trace_mem *t, const struct relation *hb, size_t read,
                        uint64_t byte, size_t *out)
{
    size_t n = 0;

    for (size_t w = 0; w < t->count; w++)
        if (is_write(t, w, read, byte) &&
            (in_w1(t, hb, read, w, byte) || in_w2(t, hb, read, w, byte)))
            out[n++] = w;
    return n;
}

/* Edges from candidates to reads. */
static void add_candidates(const struct trace_mem *t, const struct relation *hb,
                           struct relation *edges)
{
    size_t *list = xcalloc(t->count + 1, sizeof(*list));

    for (size_t r = 0; r < t->count; r++) {
        const struct event *e = &t->events[r];

        if (!op_table[e->op].reads || e->flags & EV_IGNORED)
            continue;
        for (uint64_t byte = e->target; byte < e->target + e->size; byte++)
            for (size_t n = naive_candidates(t, hb, r, byte, list); n-- > 0;)
                relation_add(edges, list[n], r);
    }
    free(list);
}

/* Is there a path that does not take the candidate edge from a right to b? */
static bool path(const struct relation *order, const struct relation *candidates, size_t a,
                 size_t b)
{
    bool *seen = xcalloc(order->n, sizeof(*seen));
    size_t *stack = xcalloc(order->n + 1, sizeof(*stack)), depth = 0;

    stack[depth++] = a;
    seen[a] = true;
    while (depth && !seen[b]) {
        size_t x = stack[--depth];

        for (size_t y = 0; y < order->n; y++) {
            bool direct = x == a && y == b;

            if (seen[y] ||
                !(relation_has(order, x, y) || (!direct && relation_has(candidates, x, y))))
                continue;
            seen[y] = true;
            stack[depth++] = y;
        }
    }
    depth = seen[b];
    free(seen);
    free(stack);
    return depth;
}

void naive_guaranteed(const struct trace_mem *t, struct pair_set *out)
{
    struct relation hb, order, candidates;
    struct pair_set races;

    naive_order(t, NAIVE_HB, &hb);
    naive_unordered(t, &hb, &races);
    relation_copy(&order, &hb);
    naive_lifetimes(t, &order);
    relation_init(&candidates, t->count);
    add_candidates(t, &hb, &candidates);
    pair_set_init(out, t->count);
    for (size_t a = 0; a < t->count; a++)
        for (size_t b = a + 1; b < t->count; b++)
            if (pair_set_has(&races, a, b) && !path(&order, &candidates, a, b) &&
                !path(&order, &candidates, b, a))
                pair_set_add(out, a, b);
    relation_release(&hb);
    relation_release(&order);
    relation_release(&candidates);
    pair_set_release(&races);
}
