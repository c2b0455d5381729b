/* batches.h - many questions decided by several threads, their answers used in order
 *
 * Tasks 0 .. count - 1 are decided by any thread, in batches; after each batch its answers
 * are used, one after the other, by the calling thread. Answers do not pile up, and since
 * batches end at the same tasks however many threads there are, what a task can know of
 * those before it is always the same. Between tasks the calling thread asks whether to stop
 * (effort.h).
 */
#ifndef HEDDLE_ENGINES_BATCHES_H
#define HEDDLE_ENGINES_BATCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct whole;

struct batches {
    struct whole *whole;
    unsigned threads;
    size_t size;                                             /* of a batch, in tasks */
    void (*decide)(void *arg, unsigned thread, size_t task); /* any thread */
    uint64_t (*work)(void *arg, size_t task); /* units that it took, when it is decided */
    void (*use)(void *arg, size_t task);
    void *arg;
};

/* How many were used: fewer than `count` when the budget was used up, or it was told to stop. Of
 * the last batch some may not have been decided in that case; of those that were not used some may
 * have been. */
size_t batches_run(const struct batches *b, size_t count);

#endif
