/* kind_tree.c - tree clocks
 *
 * Mathur, Pavlogiannis, Tunç and Viswanathan, "A Tree Clock Data Structure for
 * Causal Orderings in Concurrent Executions", ASPLOS 2022: Join and
 * MonotoneCopy as in the paper, and CopyCheckMonotone, which its version of
 * schedulable happens-before needs at each write.
 *
 * A clock remembers through whom it learned each time: a node per thread,
 * under the node of the thread that knew it, with the time that one had when
 * it learned it (`attached`). Children are sorted by it, newest first, so a
 * join walks only subtrees that are new and one node behind them.
 * Nodes are in an array by thread, as the paper has it.
 *
 * The paper ticks at every event. Ticking after each snapshot keeps what the
 * proofs need: whoever knows (thread, time) has everything that the thread
 * had learned while its time was `time`, because it knows it from the
 * snapshot that ended this time.
 */
#include "clock_kinds.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

struct node {
    uint32_t time; /* 0: the clock has not heard of this thread */
    uint32_t attached;
    uint32_t parent, child, next, previous; /* threads */
};

struct tree_clock {
    struct node *nodes; /* by thread; NULL: knows nothing */
    uint32_t root;
};

struct tree {
    uint32_t threads, clocks;
    uint32_t *stack; /* threads whose nodes are new, parents after their children */
    size_t depth;
    struct tree_clock clock[];
};

static struct node *new_nodes(uint32_t threads)
{
    struct node *nodes = xcalloc(threads, sizeof(*nodes));

    for (uint32_t i = 0; i < threads; i++)
        nodes[i].parent = nodes[i].child = nodes[i].next = nodes[i].previous = NONE;
    return nodes;
}

static void *tree_open(uint32_t threads, uint32_t objects)
{
    uint32_t clocks = threads + objects;
    struct tree *s = xcalloc(1, sizeof(*s) + clocks * sizeof(s->clock[0]));

    s->threads = threads;
    s->clocks = clocks;
    s->stack = xcalloc(threads, sizeof(uint32_t));
    for (uint32_t t = 0; t < threads; t++) {
        s->clock[t] = (struct tree_clock){ new_nodes(threads), t };
        s->clock[t].nodes[t].time = 1;
    }
    return s;
}

/* ---- moving nodes ---- */

static void push_child(struct node *nodes, uint32_t child, uint32_t parent)
{
    struct node *n = &nodes[child];

    n->parent = parent;
    n->previous = NONE;
    n->next = nodes[parent].child;
    if (n->next != NONE)
        nodes[n->next].previous = child;
    nodes[parent].child = child;
}

static void unlink_node(struct node *nodes, uint32_t thread)
{
    struct node *n = &nodes[thread];

    if (n->previous != NONE)
        nodes[n->previous].next = n->next;
    else
        nodes[n->parent].child = n->next;
    if (n->next != NONE)
        nodes[n->next].previous = n->previous;
    n->parent = n->next = n->previous = NONE;
}

static void detach(struct tree *s, struct tree_clock *to)
{
    for (size_t i = 0; i < s->depth; i++)
        if (to->nodes[s->stack[i]].parent != NONE)
            unlink_node(to->nodes, s->stack[i]);
}

/* Parents first, and of their children the oldest first. */
static void attach(struct tree *s, struct tree_clock *to, const struct node *from)
{
    while (s->depth) {
        uint32_t thread = s->stack[--s->depth];

        to->nodes[thread].time = from[thread].time;
        if (from[thread].parent != NONE) {
            to->nodes[thread].attached = from[thread].attached;
            push_child(to->nodes, thread, from[thread].parent);
        }
    }
}

/* ---- which nodes are new ---- */

static void gather_for_join(struct tree *s, const struct node *to, const struct node *from,
                            uint32_t thread)
{
    for (uint32_t c = from[thread].child; c != NONE; c = from[c].next) {
        if (to[c].time < from[c].time)
            gather_for_join(s, to, from, c);
        else if (from[c].attached <= to[thread].time)
            break;
    }
    s->stack[s->depth++] = thread;
}

/* Where the old root is not new, it still gets another place. */
static void gather_for_copy(struct tree *s, const struct node *to, const struct node *from,
                            uint32_t thread, uint32_t old_root)
{
    for (uint32_t c = from[thread].child; c != NONE; c = from[c].next) {
        if (to[c].time < from[c].time) {
            gather_for_copy(s, to, from, c, old_root);
            continue;
        }
        if (c == old_root)
            s->stack[s->depth++] = c;
        if (from[c].attached <= to[thread].time)
            break;
    }
    s->stack[s->depth++] = thread;
}

/* ---- the operations ---- */

static void tree_learn(void *state, uint32_t thread, uint32_t object)
{
    struct tree *s = state;
    struct tree_clock *to = &s->clock[thread], *from = &s->clock[s->threads + object];

    if (!from->nodes || to->nodes[from->root].time >= from->nodes[from->root].time)
        return;
    gather_for_join(s, to->nodes, from->nodes, from->root);
    detach(s, to);
    attach(s, to, from->nodes);
    to->nodes[from->root].attached = to->nodes[to->root].time;
    push_child(to->nodes, from->root, to->root);
}

static void monotone_copy(struct tree *s, struct tree_clock *to, const struct tree_clock *from)
{
    gather_for_copy(s, to->nodes, from->nodes, from->root, to->root);
    detach(s, to);
    attach(s, to, from->nodes);
    to->root = from->root;
}

static void tree_publish(void *state, uint32_t thread, uint32_t object)
{
    struct tree *s = state;
    struct tree_clock *from = &s->clock[thread], *to = &s->clock[s->threads + object];

    if (!to->nodes) {
        to->nodes = new_nodes(s->threads);
        to->root = NONE;
    }
    monotone_copy(s, to, from);
    from->nodes[thread].time++;
}

/* CopyCheckMonotone: whether the copy is monotone shows in O(1); one that is not costs O(threads).
 */
static void tree_replace(void *state, uint32_t thread, uint32_t object)
{
    struct tree *s = state;
    struct tree_clock *from = &s->clock[thread], *to = &s->clock[s->threads + object];

    if (!to->nodes || from->nodes[to->root].time >= to->nodes[to->root].time) {
        tree_publish(state, thread, object);
        return;
    }
    memcpy(to->nodes, from->nodes, s->threads * sizeof(struct node));
    to->root = from->root;
    from->nodes[thread].time++;
}

static uint32_t tree_get(const void *state, uint32_t clock, uint32_t of_thread)
{
    const struct tree *s = state;

    return s->clock[clock].nodes ? s->clock[clock].nodes[of_thread].time : 0;
}

static void tree_close(void *state)
{
    struct tree *s = state;

    for (uint32_t i = 0; i < s->clocks; i++)
        free(s->clock[i].nodes);
    free(s->stack);
    free(s);
}

const struct clock_kind kind_tree = {
    .name = "tree",
    .open = tree_open,
    .learn = tree_learn,
    .publish = tree_publish,
    .replace = tree_replace,
    .get = tree_get,
    .close = tree_close,
};
