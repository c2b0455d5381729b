/* rows.h - rows of work, shared out among threads, within a budget that does not depend on them
 *
 * Rows are taken in blocks of ROWS_A_BLOCK. Inside a block any thread takes any row, and a row
 * knows what rows of earlier blocks have found but not its neighbours; so what a row does, and what
 * that takes, is the same with any number of threads. A row counts if those before it have not used
 * up the budget: at the end of each block this is decided row by row, and what later ones have
 * found is dropped.
 */
#ifndef HEDDLE_ENGINES_ROWS_H
#define HEDDLE_ENGINES_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct whole;

enum { ROWS_A_BLOCK = 256 };

/* Units for a look at two lists of accesses that turn out to be known or protected: few, but there
 * are as many as the square of the threads at one variable. */
enum { UNITS_A_GLANCE = 5 };
/* So many pairs of lists that nobody came to are looked at, to count those that could have raced;
 * of others each counts. */
enum { GLANCES_LEFT = 16000000 };

struct rows {
    struct whole *whole;
    uint32_t count;
    uint64_t limit; /* units of work for all of them (effort.h), besides the effort */
    unsigned jobs;
    void *workers; /* one for each job */
    size_t worker_bytes;
    /* Do a row; may stop where it has used up `left` units. The units it took. Any thread. */
    uint64_t (*run)(void *worker, uint32_t row, uint64_t left);
    /* The rows [first, end) count, and none of the block behind them. (Where the user stopped it,
     * all of the block that are done.) */
    void (*use)(void *arg, uint32_t first, uint32_t end);
    void *arg;

    /* While it runs: */
    uint32_t first; /* of the block */
    bool stopped;   /* atomic; nobody needs the rows that are not done yet */
};

/* The number of rows that count, from the first one on: all, but for the budget and the user. */
uint32_t rows_run(struct rows *r);

/* For a row that is being done, now and then: no need to go on? */
static inline bool rows_is_stopped(const struct rows *r)
{
    return __atomic_load_n(&r->stopped, __ATOMIC_RELAXED);
}

#endif
