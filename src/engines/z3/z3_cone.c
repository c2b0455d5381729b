/* z3_cone.c - which events a question is about
 *
 * Lower bounds: what the two accesses need, and what that needs, is executed.
 * Upper bounds: take what is executed for sure, then for everything taken what
 * it needs, the end of a section it begins, and every write that a read of it
 * may see, each with all that comes before in its thread. If a reordering
 * answers the question, the same without all other events does too: what was
 * taken needs none of them, sections in it end as before, its reads see the
 * same writes. So nothing else gets variables.
 *
 * Values are those of docs/design/proof.md, "Reads".
 */
#include "engines/z3/z3_question.h"

/* A thread's events from this rank on are out of the question: one of the two is there. */
static uint32_t limit(const struct z3_question *q, uint32_t thread)
{
    const struct view *v = q->v;

    if (v->events[q->a].thread == thread)
        return v->rank[q->a];
    if (v->events[q->b].thread == thread)
        return v->rank[q->b];
    return v->thread_first[thread + 1] - v->thread_first[thread];
}

/* ---- values ---- */

static uint64_t cell_part(const struct view_cell *c, const struct event *e, uint64_t value)
{
    uint64_t shift = 8 * (c->address - e->target);

    return c->bytes >= 8 ? value >> shift : value >> shift & (((uint64_t)1 << 8 * c->bytes) - 1);
}

static bool value_read(const struct z3_question *q, uint32_t r, uint32_t cell, uint64_t *value)
{
    const struct event *e = &q->v->events[r];

    if (!q->values || !op_is_access(e->op) || e->size > 8 || !event_saw(e, value))
        return false;
    *value = cell_part(&q->v->cells[cell], e, *value);
    return true;
}

static bool value_written(const struct z3_question *q, uint32_t w, uint32_t cell, uint64_t *value)
{
    const struct view_cell *c = &q->v->cells[cell];
    const struct event *e;

    if (w == VIEW_NONE) {
        *value = 0;
        return is_named(c->address) && !c->allocated;
    }
    e = &q->v->events[w];
    if (!q->values || !op_is_access(e->op) || e->size > 8 || !(e->flags & EV_VALUE))
        return false;
    *value = cell_part(c, e, e->value);
    return true;
}

bool cone_allows(const struct z3_question *q, uint32_t r, uint32_t k, uint32_t w)
{
    uint32_t cell = q->v->cell[k];
    uint64_t wanted, given;

    if (value_read(q, r, cell, &wanted) && value_written(q, w, cell, &given))
        return wanted == given;
    return q->v->writer[k] == w;
}

/* ---- bounds ---- */

/* The event and all before it in its thread; false where the limit does not let it. */
static bool z3_cone_take(struct z3_question *q, uint32_t *bounds, uint32_t e)
{
    uint32_t thread = q->v->events[e].thread, most = limit(q, thread);
    uint32_t wanted = q->v->rank[e] + 1;

    if (bounds[thread] < wanted)
        bounds[thread] = wanted < most ? wanted : most;
    return wanted <= most;
}

static bool take_needs(struct z3_question *q, uint32_t *bounds, uint32_t e)
{
    bool possible = true;

    for (uint32_t i = q->v->need_first[e]; i < q->v->need_first[e + 1]; i++)
        possible &= z3_cone_take(q, bounds, q->v->need[i]);
    return possible;
}

static bool visit_sure(struct z3_question *q, uint32_t e)
{
    return take_needs(q, q->lo, e);
}

static void take_writers(struct z3_question *q, uint32_t r, uint32_t k)
{
    const struct view *v = q->v;
    uint32_t cell = v->cell[k];

    for (uint32_t i = q->touch_first[cell]; i < q->touch_first[cell + 1]; i++) {
        uint32_t w = q->touch[i];

        if (w != r && z3_is_writer(&v->events[w]) && cone_allows(q, r, k, w))
            z3_cone_take(q, q->hi, w);
        q->work++;
    }
}

/* Always true: what cannot be executed then is a matter for the clauses. */
static bool visit_possible(struct z3_question *q, uint32_t e)
{
    const struct view *v = q->v;
    uint32_t s = v->section_of[e];

    take_needs(q, q->hi, e);
    if (s != VIEW_NONE && v->sections[s].acquire == e && v->sections[s].end != VIEW_NONE)
        z3_cone_take(q, q->hi, v->sections[s].end);
    if (e >= q->kept && z3_is_reader(&v->events[e]))
        for (uint32_t k = v->cell_first[e]; k < v->cell_first[e + 1]; k++)
            take_writers(q, e, k);
    return true;
}

/* Visit what is below the bounds, which visits raise. */
static bool close_bounds(struct z3_question *q, const uint32_t *bounds,
                         bool (*visit)(struct z3_question *q, uint32_t e))
{
    const struct view *v = q->v;
    bool possible = true, changed = true;

    for (uint32_t t = 0; t < v->nthreads; t++)
        q->seen[t] = 0;
    while (changed && possible && !z3_is_hopeless(q)) {
        changed = false;
        for (uint32_t t = 0; t < v->nthreads; t++)
            for (; q->seen[t] < bounds[t] && !z3_is_hopeless(q); changed = true)
                possible &= visit(q, v->thread_event[v->thread_first[t] + q->seen[t]++]);
    }
    return possible;
}

bool cone_find(struct z3_question *q)
{
    const struct view *v = q->v;
    const uint32_t pair[] = { q->a, q->b };
    bool possible = true;

    for (uint32_t t = 0; t < v->nthreads; t++)
        q->lo[t] = 0;
    for (uint32_t e = 0; e < q->kept; e++)
        z3_cone_take(q, q->lo, e);
    for (int i = 0; i < 2; i++) {
        q->lo[v->events[pair[i]].thread] = v->rank[pair[i]]; /* behind what is kept */
        possible &= take_needs(q, q->lo, pair[i]);
    }
    possible = possible && close_bounds(q, q->lo, visit_sure);
    for (uint32_t t = 0; t < v->nthreads; t++)
        q->hi[t] = q->lo[t];
    return possible && close_bounds(q, q->hi, visit_possible);
}

/* ---- how much it is ---- */

/* Each write that the read may see makes a clause with every other one. */
static uint64_t read_clauses(const struct z3_question *q, uint32_t r, uint32_t k)
{
    const struct view *v = q->v;
    uint32_t cell = v->cell[k];
    uint64_t writers = 0, choices = 1;

    for (uint32_t i = q->touch_first[cell]; i < q->touch_first[cell + 1]; i++) {
        uint32_t w = q->touch[i];

        if (!z3_is_inside(q, w) || !z3_is_writer(&v->events[w]))
            continue;
        writers++;
        choices += w != r && cone_allows(q, r, k, w);
    }
    return choices * (writers + 4);
}

static uint64_t lock_clauses(const struct z3_question *q, uint32_t lock)
{
    const struct view *v = q->v;
    uint64_t sections = 0;

    for (uint32_t i = v->lock_first[lock]; i < v->lock_first[lock + 1]; i++)
        sections += z3_is_inside(q, v->sections[v->lock_section[i]].acquire);
    return sections * sections / 2;
}

uint64_t cone_clauses(struct z3_question *q)
{
    const struct view *v = q->v;
    uint64_t n = z3_is_hopeless(q) ? q->work : 0;

    for (uint32_t lock = 0; lock < v->nlocks; lock++)
        n += lock_clauses(q, lock);
    for (uint32_t t = 0; t < v->nthreads && n <= Z3_WORK_MAX; t++)
        for (uint32_t i = 0; i < q->hi[t] && n <= Z3_WORK_MAX; i++) {
            uint32_t e = v->thread_event[v->thread_first[t] + i];

            n += 4;
            if (e >= q->kept && z3_is_reader(&v->events[e]))
                for (uint32_t k = v->cell_first[e]; k < v->cell_first[e + 1]; k++)
                    n += read_clauses(q, e, k);
        }
    return n;
}
