/* remote.h - what processes that decide together say to each other
 *
 * The asking process (crew.h) and the serving ones (serve.h) are the same
 * program on the same trace; a message is a frame (base/frame.h) of one of
 * these kinds. Numbers are varints.
 *
 *   OPEN    trace: path, bytes, hash                     no reply
 *   ASK     id, scope, questions                         ANSWER or REFUSE with the same id
 *   ANSWER  id, for each question its answer, instance, schedule, statistics
 *   REFUSE  id, reason: not with this trace, or not on this thread
 *
 * Readers check everything: a broken message is refused as a whole, whatever
 * its numbers say, and takes no more memory than some times its length.
 */
#ifndef HEDDLE_ENGINES_CREW_REMOTE_H
#define HEDDLE_ENGINES_CREW_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "engines/predict/prove_queue.h"

enum remote_kind { REMOTE_OPEN = 1, REMOTE_ASK, REMOTE_ANSWER, REMOTE_REFUSE };

/* Which trace: the file as the asking process names it, and what is in it. */
struct remote_trace {
    char *path; /* owned */
    uint64_t bytes, hash;
};

/* Fill in bytes and hash from the file itself; -1 and an error. */
int remote_trace_read(struct remote_trace *t, const char *path, struct error *err);
void remote_trace_release(struct remote_trace *t);

void remote_put_open(struct buf *b, const struct remote_trace *t);
bool remote_get_open(const struct buf *b, struct remote_trace *t);

/* Share: what the questions ask. Getting one makes an array of instances, the caller's. */
void remote_put_ask(struct buf *b, uint64_t id, const struct scope *scope,
                    const struct prove_share *share);
bool remote_get_ask(const struct buf *b, uint64_t *id, struct scope *scope,
                    struct prove_share *share, struct instance **instances);

/* Answers to a share, which the reader must have: positions are below `limit`. */
void remote_put_answer(struct buf *b, uint64_t id, const struct prove_share *share);
bool remote_get_answer(const struct buf *b, struct prove_share *share, uint64_t limit);

void remote_put_refuse(struct buf *b, uint64_t id, const char *why);
/* The id of an ANSWER or REFUSE; 0: broken. */
uint64_t remote_get_id(const struct buf *b);

#endif
