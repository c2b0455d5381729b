/* relax_inside.h - inside of relax_values.c, relax_faults.c, relax_changes.c: a run */
#ifndef HEDDLE_ENGINES_VALUES_RELAX_INSIDE_H
#define HEDDLE_ENGINES_VALUES_RELAX_INSIDE_H

#include "engines/values/relax_values.h"

/* Conditions of faults: numbers of the execution's, or this. */
#define CONDITION_PIN UINT32_MAX

struct memo {
    struct value value;
    uint32_t stamp;
};

/* Of what is to be explained: an expression, or a read touch. */
struct cause {
    uint32_t item;
    bool is_touch;
};

/* A run over a schedule. */
struct eval {
    const struct relax_facts *f;
    const struct problem *p;
    const struct exprs *x;
    uint32_t stamp;       /* of this run */
    struct memo *exprs;   /* by expression */
    struct memo *touches; /* read touches that are not SAME */
    struct memo *writes;  /* writing touches: what they leave, where that is not as recorded */
    uint32_t *changed;    /* thread -> its first node with a read that is not SAME */
    uint32_t *changed_at; /* beside: stamp */
    struct value_run *run;
    struct value_faults *out;
    /* explaining */
    uint32_t mark;
    uint32_t *expr_mark, *touch_mark;
    struct cause *causes;
    size_t ncauses, causes_cap;
    expr *stack;
    size_t stack_cap;
};

/* Bytes of a read that a touch tells of. */
struct overlap {
    unsigned from, to; /* bytes of the leaf, [from, to) */
    unsigned cell_from;
};

static const struct value bad = { .state = VALUE_BAD };

/* ---- relax_values.c ---- */

void eval_next(struct eval *ev); /* a new run begins: all is SAME */
/* The first read of the thread, or of who forked it before that, that is not SAME and comes before
 * a position of the trace; SOLVE_NONE. */
uint32_t eval_changed_before(const struct eval *ev, uint32_t thread, uint64_t position);
bool eval_is_tainted(const struct eval *ev, uint32_t node);
/* What a writing touch left in its cell; what a read touch is worth when it sees that writer. */
struct value eval_written(const struct eval *ev, uint32_t writer, uint32_t cell);
struct value eval_seen(const struct eval *ev, uint32_t touch, uint32_t writer);
struct value eval_expr(struct eval *ev, expr e);
bool eval_holds(struct eval *ev, const struct execution_condition *c);
/* Of a READ leaf: its node, and whether a touch of it tells of its bytes. */
uint32_t eval_node_at(const struct eval *ev, const struct expr_node *n);
bool eval_overlaps(const struct eval *ev, const struct expr_node *n, uint32_t touch,
                   struct overlap *o);
unsigned eval_operands(const struct expr_node *n);
expr eval_operand(const struct expr_node *n, unsigned i);

/* ---- relax_faults.c ---- */

void eval_push_cause(struct eval *ev, uint32_t item, bool is_touch);

#endif
