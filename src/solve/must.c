/* must.c - the clocks of must.h, for any question
 *
 * A node must come after its thread's earlier nodes, after what it needs, and
 * after what all writers that a right read of it may see need. Inside a
 * section it must come after the ends of the sections on that lock that began
 * before it. Each pass over the trace uses what the last one found; all of it
 * is implied step by step, so stopping early only loses strength.
 */
#include "solve/must.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* Two or three passes find nearly all; a pass costs about 0.1 us a node and thread. */
enum { PASSES_MAX = 6 };

struct open_list {
    uint32_t *sections;
    size_t count, cap;
};

struct maker {
    struct problem *p;
    struct rows rows; /* of right reads */
    uint32_t *meet;
    struct open_list *open; /* thread -> its open sections */
    bool changed;
    bool grew; /* the node's row did, by other things than its thread's last node */
};

static uint32_t *row_in(const struct maker *m, uint32_t node)
{
    return m->p->must + (size_t)node * m->p->nthreads;
}

static uint32_t *row_con(const struct maker *m, uint32_t node)
{
    return m->p->must_con + (size_t)node * m->p->nthreads;
}

static void raise_entry(struct maker *m, uint32_t *row, uint32_t thread, uint32_t to)
{
    if (row[thread] >= to)
        return;
    row[thread] = to;
    m->changed = m->grew = true;
}

static void join(struct maker *m, uint32_t *row, const uint32_t *other)
{
    for (uint32_t t = 0; t < m->p->nthreads; t++)
        raise_entry(m, row, t, other[t]);
}

/* The node of `other` comes before that of `row`. */
static void join_node(struct maker *m, uint32_t *row, uint32_t node, const uint32_t *other)
{
    join(m, row, other);
    raise_entry(m, row, m->p->thread[node], m->p->rank[node] + 1);
}

/* A thread that would have to execute more than it has. */
static void make_impossible(struct maker *m, uint32_t *row, uint32_t thread)
{
    raise_entry(m, row, thread, m->p->thread_first[thread + 1] - m->p->thread_first[thread] + 1);
}

/* ---- sections ---- */

/* What began on this lock before the node must have ended. */
static void close_others(struct maker *m, uint32_t *row, const struct problem_section *s)
{
    const struct problem *p = m->p;

    for (uint32_t i = p->lock_group_first[s->lock]; i < p->lock_group_first[s->lock + 1]; i++) {
        const struct problem_group *g = &p->lock_groups[i];
        uint32_t other;

        if (g->thread == s->thread || !row[g->thread])
            continue;
        other = group_excluding(p, g, row[g->thread], s);
        if (other == SOLVE_NONE)
            continue;
        if (p->sections[other].end == SOLVE_NONE)
            make_impossible(m, row, g->thread);
        else if (p->rank[p->sections[other].end] >= row[g->thread])
            join_node(m, row, p->sections[other].end, row_in(m, p->sections[other].end));
    }
}

static void begin_section(struct maker *m, uint32_t node)
{
    struct open_list *o = &m->open[m->p->thread[node]];

    if (m->p->section_of[node] == SOLVE_NONE)
        return;
    GROW(o->sections, o->cap, o->count + 1);
    o->sections[o->count++] = m->p->section_of[node];
}

static void end_sections(struct maker *m, uint32_t node)
{
    const struct problem *p = m->p;
    struct open_list *o = &m->open[p->thread[node]];

    for (uint32_t k = p->ends_first[node]; k < p->ends_first[node + 1]; k++)
        for (size_t i = 0; i < o->count; i++)
            if (o->sections[i] == p->ends[k])
                o->sections[i--] = o->sections[--o->count];
}

static void visit_sections(struct maker *m, uint32_t node, uint32_t *row)
{
    const struct problem *p = m->p;
    const struct open_list *o = &m->open[p->thread[node]];

    if (!m->grew && p->section_of[node] == SOLVE_NONE)
        return; /* as for the last node */
    for (size_t i = 0; i < o->count; i++)
        close_others(m, row, &p->sections[o->sections[i]]);
}

/* ---- nodes ---- */

static void visit_reads(struct maker *m, uint32_t node, uint32_t *row)
{
    const struct problem *p = m->p;

    for (uint32_t k = p->touch_first[node]; k < p->touch_first[node + 1]; k++) {
        struct candidates c;

        if ((p->touches[k].flags & (TOUCH_READS | TOUCH_ONE)) != TOUCH_READS ||
            (p->loose && p->touches[k].flags & TOUCH_LOOSE))
            continue;
        c = candidates_find(&m->rows, k, row, m->meet);
        if (!c.count)
            make_impossible(m, row, p->thread[node]);
        else if (c.gains)
            join(m, row, m->meet);
    }
}

/* What must come after itself cannot be. */
static void refuse_circle(struct maker *m, uint32_t node, uint32_t *row)
{
    if (row[m->p->thread[node]] > m->p->rank[node])
        make_impossible(m, row, m->p->thread[node]);
}

/* The same where the reads up to the node are right. */
static void visit_con(struct maker *m, uint32_t node, uint32_t before)
{
    const struct problem *p = m->p;
    uint32_t *row = row_con(m, node);

    join(m, row, row_in(m, node));
    if (before != SOLVE_NONE)
        join(m, row, row_con(m, before));
    m->grew = true;
    for (uint32_t k = p->keep_first[node]; k < p->keep_first[node + 1]; k++)
        join_node(m, row, p->keep[k], row_con(m, p->keep[k]));
    visit_reads(m, node, row);
    visit_sections(m, node, row);
    refuse_circle(m, node, row);
    if (p->decides[node])
        join(m, row_in(m, node), row);
}

static void must_visit(struct maker *m, uint32_t node)
{
    const struct problem *p = m->p;
    uint32_t rank = p->rank[node], thread = p->thread[node];
    uint32_t before = rank ? p->thread_node[p->thread_first[thread] + rank - 1] : SOLVE_NONE;
    uint32_t *row = row_in(m, node);

    if (before != SOLVE_NONE)
        join(m, row, row_in(m, before));
    raise_entry(m, row, thread, rank);
    m->grew = false;
    for (uint32_t k = p->need_first[node]; k < p->need_first[node + 1]; k++)
        join_node(m, row, p->need[k], row_in(m, p->need[k]));
    if (!p->branches)
        visit_reads(m, node, row);
    begin_section(m, node);
    visit_sections(m, node, row);
    refuse_circle(m, node, row);
    if (p->branches)
        visit_con(m, node, before);
    end_sections(m, node);
}

/* Rows grow along a thread. */
static bool is_last_unreachable(const struct problem *p, uint32_t thread)
{
    const uint32_t *first = p->thread_first;
    const uint32_t *row;
    bool unreachable = false;

    if (first[thread] == first[thread + 1])
        return false;
    row = problem_row(p, p->must, p->thread_node[first[thread + 1] - 1]);
    for (uint32_t t = 0; t < p->nthreads; t++)
        unreachable |= row[t] > first[t + 1] - first[t];
    return unreachable;
}

static void must_release(struct maker *m)
{
    for (uint32_t t = 0; t < m->p->nthreads; t++)
        free(m->open[t].sections);
    free(m->open);
    free(m->meet);
}

void must_make(struct problem *p)
{
    uint64_t entries = (uint64_t)p->nnodes * p->nthreads;
    struct maker m = { .p = p, .changed = true };

    if (entries > must_entries_max(p->rows_max))
        return;
    p->must = xcalloc(entries + 1, sizeof(*p->must));
    p->must_con = p->branches ? xcalloc(entries + 1, sizeof(*p->must_con)) : p->must;
    m.rows = (struct rows){ .p = p, .rest = p->must_con };
    m.meet = xcalloc((size_t)p->nthreads + 1, sizeof(*m.meet));
    m.open = xcalloc((size_t)p->nthreads + 1, sizeof(*m.open));
    for (int pass = 0; pass < PASSES_MAX && m.changed; pass++) {
        m.changed = false;
        for (uint32_t t = 0; t < p->nthreads; t++)
            m.open[t].count = 0;
        for (uint32_t n = 0; n < p->nnodes; n++)
            must_visit(&m, n);
    }
    for (uint32_t t = 0; t < p->nthreads; t++)
        p->unreachable += is_last_unreachable(p, t);
    must_release(&m);
}
