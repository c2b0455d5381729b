/* z3_question.h - what the parts of the Z3 backend share
 *
 * A question is about two accesses of a view. Ranks are places in a thread;
 * for each thread the events below `lo` are in every reordering that answers
 * it, those from `hi` on need not be in any (z3_cone.c). z3_encode.c turns
 * what lies between into clauses:
 *   in(e)        e is executed
 *   clean(e)     with branches: and the reads of its thread up to e are right
 *   order(e)     its place, an integer; free where e is not executed
 * z3_backend.c asks and makes the schedule.
 */
#ifndef HEDDLE_ENGINES_Z3_Z3_QUESTION_H
#define HEDDLE_ENGINES_Z3_Z3_QUESTION_H

#include "order/view.h"
#include "solve/z3_session.h"
#include "trace/trace.h"

enum { MARK_IN = 1, MARK_CLEAN = 2, MARK_ORDER = 4 };

struct z3_question {
    const struct view *v;
    bool values, branches, loose;
    uint32_t kept; /* so many events come first, as they are */
    struct z3 z;
    uint32_t a, b; /* positions */
    uint32_t *lo, *hi, *seen;
    uint32_t *touch_first, *touch; /* cell -> events that touch it, calls and returns too */
    uint8_t *mark;                 /* event -> which of its variables are in use */
    uint32_t choices;              /* variables "this read sees that write" */
    uint64_t work;                 /* of looking for the cone: writes looked at */
};

/* A clause takes about 0.6 KB and 5 us: with more than so many the question stays undecided instead
 * of filling the memory. Cones of some thousand events fit (docs/design/z3.md). */
enum { Z3_WORK_MAX = 1000000 };

/* ---- z3_cone.c ---- */

/* Fill lo and hi. False: one of the two needs the other, or itself done. */
bool cone_find(struct z3_question *q);
/* How many clauses it will make, about; more than Z3_WORK_MAX where that is clear already. */
uint64_t cone_clauses(struct z3_question *q);
/* May the read r, at its touch k (an index of view.cell), see the writer w (VIEW_NONE: what was
 * there first)? */
bool cone_allows(const struct z3_question *q, uint32_t r, uint32_t k, uint32_t w);

/* Calls and returns of untraced code have cells where they count (order/view.h): a call reads and
 * writes them, a return writes them. */
static inline bool z3_is_reader(const struct event *e)
{
    return op_table[e->op].reads || e->op == OP_CALL;
}

static inline bool z3_is_writer(const struct event *e)
{
    return op_table[e->op].writes || e->op == OP_ALLOC || op_class_of(e->op) == CLASS_CALL;
}

static inline bool z3_is_inside(const struct z3_question *q, uint32_t e)
{
    return q->v->rank[e] < q->hi[q->v->events[e].thread];
}

/* Looking for the cone took too long: a step is cheaper than a clause. */
static inline bool z3_is_hopeless(const struct z3_question *q)
{
    return q->work > 4 * (uint64_t)Z3_WORK_MAX;
}

/* ---- z3_encode.c ---- */

void encode_question(struct z3_question *q);
Z3_ast encode_in(struct z3_question *q, uint32_t e);
Z3_ast encode_order(struct z3_question *q, uint32_t e);

#endif
