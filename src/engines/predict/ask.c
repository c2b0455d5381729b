/* ask.c - what questions to the ordering solver share */
#include "engines/predict/ask.h"
#include "base/alloc.h"

#include <string.h>

/* ---- may the two race at all? ---- */

static bool is_access(const struct event *e)
{
    return op_is_access(e->op) || e->op == OP_FREE;
}

/* A cell's accesses are in the order of the trace. */
static bool touches(const struct view *v, uint32_t event, uint32_t cell)
{
    uint32_t low = v->access_first[cell], high = v->access_first[cell + 1], end = high;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (v->access[middle] < event)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end && v->access[low] == event;
}

/* Of two ranges that overlap the first cell of one is mostly in the other. */
static bool share_cell(const struct view *v, uint32_t a, uint32_t b)
{
    if (v->cell_first[b] < v->cell_first[b + 1] && touches(v, a, v->cell[v->cell_first[b]]))
        return true;
    for (uint32_t i = v->cell_first[a]; i < v->cell_first[a + 1]; i++)
        if (touches(v, b, v->cell[i]))
            return true;
    return false;
}

bool ask_conflict(const struct view *v, uint32_t a, uint32_t b)
{
    const struct event *x = &v->events[a], *y = &v->events[b];

    return is_access(x) && is_access(y) && x->thread != y->thread &&
           (op_table[x->op].writes || op_table[y->op].writes) &&
           !(op_is_atomic(x->op) && op_is_atomic(y->op)) && share_cell(v, a, b);
}

/* ---- limits and counts ---- */

struct solve_budget ask_budget(const struct predict_budget *b, uint64_t nodes)
{
    return (struct solve_budget){ .seconds = b->seconds,
                                  .conflicts = b->conflicts,
                                  .nodes = nodes,
                                  .work = b->work,
                                  .unfrozen = b->unfrozen };
}

void ask_count(struct predict_stats *stats, const struct solver *s)
{
    enum solve_way way = solver_way(s);

    stats->by_needs += way == SOLVE_BY_NEEDS;
    stats->by_observed += way == SOLVE_BY_OBSERVED;
    stats->by_search += way == SOLVE_BY_SEARCH;
    stats->conflicts += solver_conflicts(s);
    stats->rounds += solver_rounds(s);
    stats->work += solver_work(s);
}

/* ---- the schedule ---- */

/* The thread's events up to rank `to`, exclusive. */
static size_t ask_emit(const struct view *v, uint32_t *next, uint64_t *list, size_t n,
                       uint32_t thread, uint32_t to)
{
    for (; next[thread] < to; next[thread]++)
        list[n++] = v->thread_event[v->thread_first[thread] + next[thread]];
    return n;
}

static size_t length(const struct model *m, uint32_t *next, const uint32_t *order, uint32_t count,
                     uint32_t a, uint32_t b)
{
    const struct view *v = m->view;
    size_t n = (size_t)v->rank[a] + v->rank[b] + 2;

    memset(next, 0, v->nthreads * sizeof(*next));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t e = m->event_of[order[i]];

        next[v->events[e].thread] = v->rank[e] + 1;
    }
    for (uint32_t t = 0; t < v->nthreads; t++) {
        if (t != v->events[a].thread && t != v->events[b].thread)
            n += next[t];
        next[t] = 0;
    }
    return n;
}

uint64_t *ask_schedule(const struct model *m, const struct solver *s, uint32_t *next, uint32_t a,
                       uint32_t b, uint64_t max, size_t *count)
{
    const struct view *v = m->view;
    uint32_t nodes;
    const uint32_t *order = solver_order(s, &nodes);
    size_t total = length(m, next, order, nodes, a, b), n = 0;
    uint64_t *list;

    if (max && total > max)
        return NULL;
    list = xmalloc(total * sizeof(*list));
    for (uint32_t i = 0; i < nodes; i++) {
        uint32_t e = m->event_of[order[i]];

        n = ask_emit(v, next, list, n, v->events[e].thread, v->rank[e] + 1);
    }
    n = ask_emit(v, next, list, n, v->events[a].thread, v->rank[a]);
    n = ask_emit(v, next, list, n, v->events[b].thread, v->rank[b]);
    list[n++] = a;
    list[n++] = b;
    *count = n;
    return list;
}
