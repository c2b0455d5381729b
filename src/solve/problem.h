/* problem.h - a trace as the ordering solver sees it: plain arrays
 *
 * Nodes are the events that can make a difference, in the order of the trace:
 * those that need or are needed by others, begin or end a section on a lock
 * that several threads use, touch a cell that several threads share, or
 * (with branches) fix the values of the reads before them. What is no node
 * can come right before the next node of its thread in any reordering.
 * Lists are packed: the entries of item i are list[first[i]] ..
 * list[first[i + 1] - 1].
 *
 * Reads. A read touch is right when the cell's last writer is allowed: where
 * the read and the writer both have a known value these are equal, else the
 * writer is the one of the trace. docs/design/proof.md has the model.
 *
 * Ownership: of whoever fills it. Concurrency: read only for solvers.
 */
#ifndef HEDDLE_SOLVE_PROBLEM_H
#define HEDDLE_SOLVE_PROBLEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOLVE_NONE UINT32_MAX

enum touch_flag {
    TOUCH_READS = 1 << 0,
    TOUCH_WRITES = 1 << 1,
    TOUCH_WANTS = 1 << 2, /* `wants` is known */
    TOUCH_GIVES = 1 << 3, /* `gives` is known */
    TOUCH_ONE = 1 << 4,   /* only `writer` can satisfy the read: it is among needs, or in keep */
    TOUCH_LOOSE = 1 << 5  /* docs/design/marks.md */
};

/* A node touches a cell. */
struct problem_touch {
    uint64_t wants, gives; /* the value read, the value written */
    uint32_t node, cell;
    uint32_t writer; /* touch that wrote the cell last before, SOLVE_NONE: nobody */
    uint32_t flags;
};

struct problem_section {
    uint32_t acquire, end; /* nodes; end SOLVE_NONE: never */
    uint32_t thread, lock;
    bool shared;
};

/* What a cell holds at the beginning. */
struct problem_cell {
    uint64_t value;
    bool known;
};

/* What one thread does to a cell (its writing touches) or to a lock (its sections): entries
 * [first, first + count) of a list, in program order. */
struct problem_group {
    uint32_t thread, first, count;
};

struct problem {
    uint32_t nnodes, nthreads, ncells, nlocks, nsections;
    uint32_t start; /* nodes below it come first and as observed: what a window begins with */
    uint32_t *thread, *rank; /* node -> its thread, its place among that thread's nodes */
    uint32_t *thread_first, *thread_node;

    /* What a node needs before it: first what anybody who wants it to be next needs, then (from
     * soft_first[n] on, only without branches) the writers its reads cannot do without. All of
     * other threads, all earlier. */
    uint32_t *need_first, *soft_first, *need;
    /* The same edges the other way round: node -> who needs it. */
    uint32_t *out_first, *out;

    bool loose; /* some touch is; never with branches */
    bool branches;
    bool *decides;               /* a branch or call: the reads before it must be right */
    uint32_t *keep_first, *keep; /* with branches: writers a node's right reads cannot do without */

    uint32_t *touch_first; /* nnodes + 1 */
    struct problem_touch *touches;
    struct problem_cell *cells;
    uint32_t *writer_first, *writer; /* cell -> its writing touches in trace order */

    struct problem_section *sections; /* in the order of their acquires */
    uint32_t *section_of;             /* node -> the section it begins, or SOLVE_NONE */
    uint32_t *ends_first, *ends;      /* node -> the sections it ends */

    /* Made from the rest by problem_prepare(). */
    uint32_t *cell_group_first, *lock_group_first; /* cell, lock -> its groups */
    struct problem_group *cell_groups, *lock_groups;
    uint32_t *group_touch, *group_section;
    uint64_t rows_max;         /* entries of must at most; 0: must.h's limit */
    uint32_t *must, *must_con; /* must.c; NULL: would be too large */
    uint32_t unreachable;      /* threads whose last node is never executed: none in a true trace */
};

/* Fill what is made from the rest, and free that part again. */
void problem_prepare(struct problem *p);
void problem_unprepare(struct problem *p);

/* Row of a node in must or must_con. */
static inline const uint32_t *problem_row(const struct problem *p, const uint32_t *rows,
                                          uint32_t node)
{
    return rows + (size_t)node * p->nthreads;
}

/* May a read touch see this writer (SOLVE_NONE: the beginning)? */
static inline bool problem_allows(const struct problem *p, const struct problem_touch *r,
                                  uint32_t writer)
{
    const struct problem_cell *c = &p->cells[r->cell];
    bool known = writer == SOLVE_NONE ? c->known : p->touches[writer].flags & TOUCH_GIVES;

    if (known && r->flags & TOUCH_WANTS)
        return r->wants == (writer == SOLVE_NONE ? c->value : p->touches[writer].gives);
    return writer == r->writer;
}

#endif
