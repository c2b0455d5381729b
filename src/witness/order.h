/* order.h - does happens-before order two accesses? The checker's own answer
 *
 * An `observed` race needs no schedule: it is one where no synchronisation of the recording orders
 * two conflicting accesses (docs/design/actual.md). Who doubts it follows the trace once with
 * what is here. The first access of a question is like dye: its thread carries it from
 * then on, and hands it on with all it releases, forks, posts and stores. If the thread of the
 * second access has it by then, there is an order. Nothing is shared with the clocks of order/.
 *
 *     struct witness_order *o = witness_order_new(questions, n);
 *     for each piece of the trace: witness_order_events(o, events, count);
 *     witness_order_free(o);          the questions hold their answers
 *
 * Where calls of untraced code may order accesses, the same with those (CALLS_PAIRS), over events
 * in memory: witness_order_with_calls().
 *
 * Cost: O(events), more for each 64 questions; memory: 8 bytes for each object of a question.
 */
#ifndef HEDDLE_WITNESS_ORDER_H
#define HEDDLE_WITNESS_ORDER_H

#include "trace/trace.h"
#include "witness/witness.h"

enum { ORDER_QUESTIONS = 64 }; /* at a time */

enum order_answer {
    ANSWER_OPEN,        /* the second access was not reached */
    ANSWER_NO_CONFLICT, /* one thread, two reads, two atomics; no byte, or of another lifetime */
    ANSWER_ORDERED,     /* happens-before leads from the first to the second */
    ANSWER_UNORDERED    /* nothing does: a data race of this execution */
};

struct order_question {
    uint64_t first, second; /* positions, in ascending order */
    enum order_answer answer;
    /* inside: the first access, and what of it the second may still meet */
    struct event event;
    uint64_t from, to;
};

struct witness_order;

/* At most ORDER_QUESTIONS; borrowed. */
struct witness_order *witness_order_new(struct order_question *questions, size_t n);
void witness_order_free(struct witness_order *o);
/* The next events of the trace, from its first one on. */
void witness_order_events(struct witness_order *o, const struct event *events, size_t n);

/* All events of a checker at once, with what it asks of calls (witness_trace_set_calls()). */
void witness_order_with_calls(const struct witness_trace *w, struct order_question *questions,
                              size_t n);

#endif
