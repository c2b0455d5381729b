/* prove_queue.h - who answers which question of a batch
 *
 * Hands out the questions of a batch, each once, in their order; a local
 * thread takes one at a time, another process (a seat, crew.h) a share. When
 * none is left, local threads take over what seats still have: the first
 * answer counts, the other is dropped, and since answers do not depend on who
 * gives them, nobody can tell. So a seat that is lost, stuck or slow holds
 * nobody up, and a local thread that gets nothing more to do is not needed any
 * more: all that is open is in the hands of other local threads.
 *
 * Schedules of a batch can fill the memory: beyond LISTS_EVENTS_MAX events no
 * further question is handed out, and the batch ends there.
 *
 * Concurrency: any thread; one lock inside, held for microseconds.
 */
#ifndef HEDDLE_ENGINES_PREDICT_PROVE_QUEUE_H
#define HEDDLE_ENGINES_PREDICT_PROVE_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "engines/predict/prove.h"

/* 128 MB. All schedules that a result keeps are an eighth of it (WITNESS_EVENTS_MAX). */
enum { LISTS_EVENTS_MAX = 16000000 };

/* What a seat gets at a time, at most. */
enum { SHARE_MAX = 256 };

struct prove_share {
    size_t count;
    size_t index[SHARE_MAX]; /* in the batch */
    struct question questions[SHARE_MAX];
};

struct prove_queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;     /* `open` became 0, or stopped */
    struct question *questions; /* borrowed */
    size_t count;               /* questions of the batch */
    size_t open;                /* of those, not answered yet */
    size_t next;                /* all before it were handed out */
    uint8_t *state;             /* question -> bits, see prove_queue.c */
    size_t state_cap;
    uint64_t held; /* events of the schedules so far */
    /* The first questions, those before `settled`, took `spent` units; at `left` it is over, and
     * answers to others do not count. */
    size_t settled;
    uint64_t spent, left;
    bool stopped;
    int news;                   /* an eventfd, readable when nothing is open, or stopped */
    struct predict_stats stats; /* of all answers that counted, over all batches */
};

void prove_queue_init(struct prove_queue *q);
void prove_queue_release(struct prove_queue *q);

/* A new batch, with so many units for it; nobody may be at work on the last one except seats, which
 * will not answer. */
void prove_queue_begin(struct prove_queue *q, struct question *questions, size_t n, uint64_t left);
/* Give up what is not handed out; what is open at the end is skipped. */
void prove_queue_stop(struct prove_queue *q);
/* Wait until all is answered or stopped, at most so many milliseconds: is it? */
bool prove_queue_wait(struct prove_queue *q, int milliseconds);
/* All threads are gone: the number of questions that have an answer now, the first ones of the
 * batch. */
size_t prove_queue_end(struct prove_queue *q);

/* For a local thread: a question's number and a copy of it to answer. False: there is nothing more
 * to do. */
bool prove_queue_take(struct prove_queue *q, size_t *i, struct question *copy);
/* For a seat: up to so many, but not more than every `among`-th of what is left, so that the last
 * ones are spread. False: nothing more. */
bool prove_queue_take_share(struct prove_queue *q, struct prove_share *share, size_t most,
                            size_t among);
/* The seat is lost: somebody else has to. */
void prove_queue_return(struct prove_queue *q, const struct prove_share *share);
/* An answer to question i: takes over its list, or frees it where another was faster. */
void prove_queue_answer(struct prove_queue *q, size_t i, const struct question *answer);

#endif
