/* naive.h - happens-before straight from the definitions, for small traces
 *
 * Every function here is a transcription: of docs/design/proof.md for the orders, of
 * the SSHB paper, appendix C, for the two algorithms. An
 * order is a matrix of bits; memory is looked at byte by byte; nothing is
 * clever. Cost: up to O(N^3), meant for at most a few hundred events.
 * docs/design/proof.md states the rules in words.
 */
#ifndef HEDDLE_TESTS_NAIVE_H
#define HEDDLE_TESTS_NAIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/trace.h"

/* a relation over positions: bit (a, b) says a comes before b. */
struct relation {
    size_t n, words;
    uint64_t *bits;
};

void relation_init(struct relation *r, size_t n);
void relation_copy(struct relation *to, const struct relation *from);
void relation_release(struct relation *r);

static inline bool relation_has(const struct relation *r, size_t a, size_t b)
{
    return r->bits[a * r->words + b / 64] >> (b % 64) & 1;
}

static inline void relation_add(struct relation *r, size_t a, size_t b)
{
    r->bits[a * r->words + b / 64] |= (uint64_t)1 << (b % 64);
}

static inline void relation_remove(struct relation *r, size_t a, size_t b)
{
    r->bits[a * r->words + b / 64] &= ~((uint64_t)1 << (b % 64));
}

/* Transitive closure; all pairs must go forward in the trace. */
void relation_close(struct relation *r);

/* Each adds its edges to r. */
void naive_program_order(const struct trace_mem *t, struct relation *r);
void naive_hard_edges(const struct trace_mem *t, struct relation *r); /* without the next three */
void naive_posts(const struct trace_mem *t, struct relation *r); /* every post -> later waits */
void naive_taken(const struct trace_mem *t, struct relation *r); /* a post -> the wait it lets on */
void naive_lifetimes(const struct trace_mem *t, struct relation *r); /* alloc -> its uses */
void naive_lock_edges(const struct trace_mem *t, struct relation *r);
void naive_reads_from(const struct trace_mem *t, struct relation *r); /* last writer -> read */

enum naive_order {
    NAIVE_MUST, /* program order, hard edges, posts that are taken, lifetimes: what engines keep */
    NAIVE_COUNTED, /* without the posts: what every reordering keeps besides the counts */
    NAIVE_HB,      /* program order, hard edges, posts, locks */
    NAIVE_HB_HARD, /* the same with posts that are taken: for cp and wcp */
    NAIVE_SHB      /* NAIVE_HB, lifetimes and reads-from */
};
/* A closed order; release it. */
void naive_order(const struct trace_mem *t, enum naive_order which, struct relation *r);

/* Could the two race, whatever their order: threads, bytes, lifetimes, kinds of access? */
bool naive_conflict(const struct trace_mem *t, size_t a, size_t b);
/* Does a lock protect the two from each other? */
bool naive_common_lock(const struct trace_mem *t, size_t a, size_t b);

/* A set of pairs of positions, the earlier first. */
struct pair_set {
    struct relation has;
    size_t count;
};

void pair_set_init(struct pair_set *p, size_t n);
void pair_set_release(struct pair_set *p);
void pair_set_add(struct pair_set *p, size_t a, size_t b);
static inline bool pair_set_has(const struct pair_set *p, size_t a, size_t b)
{
    return a < b ? relation_has(&p->has, a, b) : relation_has(&p->has, b, a);
}
/* A pair that is in p but not in q; false if there is none. */
bool pair_set_minus(const struct pair_set *p, const struct pair_set *q, size_t *a, size_t *b);

/* All conflicting pairs that a closed order leaves unordered. */
void naive_unordered(const struct trace_mem *t, const struct relation *r, struct pair_set *out);
/* All conflicting pairs without a common lock. */
void naive_lockset(const struct trace_mem *t, struct pair_set *out);
/* Algorithm 3 (HBP) and Algorithm 4 (SHBP). */
void naive_hbp(const struct trace_mem *t, struct pair_set *out);
void naive_shbp(const struct trace_mem *t, struct pair_set *out);

#endif
