/* cp_reduce.h - inside of the cp engine: which events count in the reduced trace
 *
 * The paper's reduction: an access is dropped where its thread has accessed
 * the same variable in the same way (reading or writing, plain or atomic) and
 * has not synchronised since. What stays is significant; its number in the
 * reduced trace is its rank, and windows are measured in ranks. Synchronising
 * events, atomics and frees always stay; enter, exit, call, return, branch,
 * begin, end and alloc do not count.
 */
#ifndef HEDDLE_ENGINES_STREAMING_CP_REDUCE_H
#define HEDDLE_ENGINES_STREAMING_CP_REDUCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "order/step.h"

struct cp_reduce {
    uint32_t rank;    /* significant events so far */
    uint32_t *epochs; /* per thread: synchronisations so far */
    size_t epochs_cap;
    struct cp_touched {
        struct cp_touch {
            uint32_t thread, epoch;
            uint32_t kinds; /* bit 0: read, bit 1: written, in that epoch */
        } last;             /* of the thread that came by last */
        uint32_t count, cap;
        struct cp_touch *others;
    } *vars;
    size_t vars_cap;
};

void cp_reduce_release(struct cp_reduce *r);
void cp_reduce_begin(struct cp_reduce *r, const struct span *span);
/* The steps of one event; true where it is significant. */
bool cp_reduce_event(struct cp_reduce *r, const struct step *s, size_t n);

/* Locks (not recursive ones), threads, condition variables, barriers, semaphores, once,
 * annotations, fences, atomics. */
static inline bool cp_synchronises(const struct step *s)
{
    return s->op > OP_WRITE && s->op <= OP_AFTER && s->op != OP_BEGIN && s->op != OP_END &&
           !(s->flags & STEP_NESTED);
}

#endif
