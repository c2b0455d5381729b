/* lives.h - one name for each use of a variable's number
 *
 * Numbers of variables are used again (STEP_FRESH), and variables split. A
 * life is one use of a number; lives that splits parted are one family, since
 * what happened to the old variable happened to all of them. Lives are numbered
 * in the order they begin, so two passes over a trace give the same numbers:
 * the first learns something about families, the second can use it from the
 * first step of a life on.
 * Cost: O(1) a step, 4 bytes a life. A zeroed struct is empty.
 */
#ifndef HEDDLE_ORDER_LIVES_H
#define HEDDLE_ORDER_LIVES_H

#include "base/alloc.h"
#include "order/step.h"

struct lives {
    uint32_t *of_variable; /* its present life */
    size_t variables_cap;
    uint32_t *parent; /* life -> a life of its family; the root is its own */
    size_t parent_cap;
    uint32_t begun; /* in this pass */
    uint32_t known; /* in all passes */
};

void lives_release(struct lives *l);
/* Before another pass over the same trace. */
void lives_restart(struct lives *l);

/* Before the steps of a span are looked at. */
static inline void lives_begin_span(struct lives *l, const struct span *span)
{
    GROW(l->of_variable, l->variables_cap, span->variables);
}

/* A life that begins; of the family of `of`, or (UINT32_MAX) of its own. */
uint32_t lives_new(struct lives *l, uint32_t of);

/* The root of the family. */
static inline uint32_t lives_family(struct lives *l, uint32_t life)
{
    while (l->parent[life] != life)
        life = l->parent[life] = l->parent[l->parent[life]];
    return life;
}

/* The life that an access or a split (its new variable) is about. To be called once for each such
 * step, in their order. */
static inline uint32_t lives_of(struct lives *l, const struct step *s)
{
    if (s->op == OP_SPLIT)
        l->of_variable[s->id] = lives_new(l, l->of_variable[s->from]);
    else if (s->flags & STEP_FRESH)
        l->of_variable[s->id] = lives_new(l, UINT32_MAX);
    return l->of_variable[s->id];
}

#endif
