/* as_observed.c - the reordering that keeps writers and lock order as observed
 *
 * The sync-preserving closure (Mathur, Pavlogiannis and Viswanathan 2021) of
 * what the two accesses need: reads that have to be right bring the writer of
 * the trace, and of the sections on a lock all but the latest have to be
 * closed. Executed in the order of the trace that is a correct reordering.
 * With shared sections the closure takes too little at times; the replay
 * decides.
 */
#include "base/alloc.h"
#include "solve/solver_inside.h"

#include <stdlib.h>

#include <string.h>

static bool close_section(struct solver *s, const struct problem_section *x)
{
    return x->end != SOLVE_NONE &&
           chains_raise(s, in_chain(x->thread), s->p->rank[x->end] + 1, LIT_NONE);
}

/* Of which order: the trace's or an answer's. */
static bool is_before(const struct solver *s, uint32_t section, uint32_t other, bool of_answer)
{
    const struct problem_section *x = s->p->sections;

    return of_answer ? s->when[x[section].acquire] < s->when[x[other].acquire] : section < other;
}

/* The section is in: it or the latest so far has to be closed, whichever is older. */
static bool take_section(struct solver *s, uint32_t section, bool of_answer)
{
    const struct problem_section *all = s->p->sections;
    uint32_t *latest = &s->latest[all[section].lock], other = *latest, older;

    if (!other) {
        *latest = section + 1;
        list_push(&s->locks, all[section].lock);
        return true;
    }
    other--;
    older = is_before(s, section, other, of_answer) ? section : other;
    *latest = (older == section ? other : section) + 1;
    if (all[section].thread == all[other].thread || (all[section].shared && all[other].shared))
        return true;
    return close_section(s, &all[older]);
}

/* Of the reads that have to be right where the chain covers them. */
static bool take_writers(struct solver *s, uint32_t chain, uint32_t node, bool of_answer)
{
    const struct problem *p = s->p;

    for (uint32_t k = p->touch_first[node]; k < p->touch_first[node + 1]; k++) {
        const struct problem_touch *t = &p->touches[k];
        uint32_t writer = of_answer ? s->saw[k] - 1 : t->writer;

        if (!(t->flags & TOUCH_READS) || chain_of_read(s, t) != chain)
            continue;
        if (!problem_allows(p, t, writer))
            return false;
        if (writer != SOLVE_NONE && !chains_raise_writer(s, writer, LIT_NONE))
            return false;
    }
    return true;
}

/* The nodes that a chain covers and that were not looked at yet. */
static bool scan_chain(struct solver *s, uint32_t chain, bool of_answer)
{
    const struct problem *p = s->p;
    uint32_t thread = chain < p->nthreads ? chain : chain - p->nthreads;
    const uint32_t *nodes = p->thread_node + p->thread_first[thread];

    for (; s->scanned[chain] < s->chains[chain].lo; s->scanned[chain]++) {
        uint32_t n = nodes[s->scanned[chain]];

        if (chain < p->nthreads && p->section_of[n] != SOLVE_NONE &&
            !take_section(s, p->section_of[n], of_answer))
            return false;
        if (!take_writers(s, chain, n, of_answer))
            return false;
    }
    return true;
}

static bool close_up(struct solver *s, bool of_answer)
{
    bool changed = true;

    memset(s->scanned, 0, s->nchains * sizeof(*s->scanned));
    while (changed) {
        changed = false;
        for (uint32_t c = 0; c < s->nchains; c++) {
            changed |= s->scanned[c] < s->chains[c].lo;
            if (!scan_chain(s, c, of_answer))
                return false;
        }
    }
    return true;
}

bool observed_close(struct solver *s, bool of_answer)
{
    bool fine = close_up(s, of_answer);

    for (size_t i = 0; i < s->locks.count; i++)
        s->latest[s->locks.items[i]] = 0;
    s->locks.count = 0;
    return fine;
}

bool observed_try(struct solver *s)
{
    size_t bounds = s->nbounds;
    bool fine = observed_close(s, false) && replay_run(s, false) && !s->nfaults;

    chains_undo(s, bounds);
    return fine;
}
