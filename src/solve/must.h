/* must.h - what any reordering that executes a node must execute before it
 *
 * Rows of clocks: row[t] is the number of nodes of thread t that must be
 * executed before the node (its own thread: its rank). must says so for nodes
 * that are executed, must_con for nodes whose thread's reads up to it are
 * right as well; without branches they are the same (and then know nothing of loose reads). A row
 * may ask for more nodes than a thread has: then the node can never be executed. Rows grow along a
 * thread. Memory: 4 bytes a node and thread.
 */
#ifndef HEDDLE_SOLVE_MUST_H
#define HEDDLE_SOLVE_MUST_H

#include "solve/problem.h"

/* Entries of a table of rows at most, 512 MB; beyond that there is none. 1 million nodes of 128
 * threads fit. */
#define MUST_ENTRIES_MAX ((uint64_t)1 << 27)

/* Clocks of nodes, for a question or for any. */
struct rows {
    const struct problem *p;
    uint32_t *pair;                /* of nodes that are in, or NULL */
    const uint32_t *rest;          /* of the others */
    const uint32_t *in, *possible; /* thread -> nodes that are in, that may be; NULL: 0, all */
};

static inline const uint32_t *rows_of(const struct rows *r, uint32_t node)
{
    const struct problem *p = r->p;

    if (r->pair && p->rank[node] < r->in[p->thread[node]])
        return r->pair + (size_t)node * p->nthreads;
    return r->rest + (size_t)node * p->nthreads;
}

/* The writers that a right read may see, given what must come before it. */
struct candidates {
    uint32_t count;  /* 0, 1, or 2 for more */
    uint32_t writer; /* touch; where count is 1, SOLVE_NONE: the beginning */
    bool gains;      /* `meet` says something */
};

/* Fills `meet` (nthreads) with what must come before the read whichever it sees. */
struct candidates candidates_find(const struct rows *r, uint32_t touch, const uint32_t *row,
                                  uint32_t *meet);
/* Can the read see this writer (not the beginning)? False only where that is certain. */
bool candidates_allow(const struct rows *r, uint32_t touch, const uint32_t *row, uint32_t writer);

/* How many of a group's writes (sections: acquires) come before a rank of its thread. */
uint32_t group_writes_before(const struct problem *p, const struct problem_group *g, uint32_t rank);
uint32_t group_acquires_before(const struct problem *p, const struct problem_group *g,
                               uint32_t rank);
/* Of the group's sections that begin before a rank, the last one that excludes s; SOLVE_NONE. */
uint32_t group_excluding(const struct problem *p, const struct problem_group *g, uint32_t rank,
                         const struct problem_section *s);

static inline uint64_t must_entries_max(uint64_t rows_max)
{
    return rows_max && rows_max < MUST_ENTRIES_MAX ? rows_max : MUST_ENTRIES_MAX;
}

/* Fills p->must and p->must_con, unless they would be too large. */
void must_make(struct problem *p);

#endif
