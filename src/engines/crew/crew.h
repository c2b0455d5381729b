/* crew.h - other processes that answer questions of the prover
 *
 * They connect to a listening socket, each of their threads once: a seat.
 * They may come at any time and go at any time; who wants in has to know the
 * job's secret. During a batch each seat is a thread here that takes shares
 * from the queue, sends them and waits (a shift). A seat whose connection
 * breaks is closed, and its share goes back.
 *
 * A machine that vanishes without a word is noticed by the system's keep-alive
 * after half a minute; nobody waits for that, see prove_queue.h.
 *
 * Concurrency: crew_new() to crew_free() by one thread; another one inside
 * lets newcomers in.
 */
#ifndef HEDDLE_ENGINES_CREW_CREW_H
#define HEDDLE_ENGINES_CREW_CREW_H

#include <stddef.h>
#include <stdint.h>

#include "engines/crew/remote.h"

/* What both sides know, from the outside (cmd/mpi.c). */
struct crew_secret {
    uint8_t job[16];   /* said by who listens, */
    uint8_t token[32]; /* then by who comes */
    uint64_t program;  /* hash of the executable: all must be the same */
};

struct crew_stats {
    size_t processes, seats; /* that ever came */
    size_t lost;             /* seats whose connection broke before the end */
    size_t refused;          /* came with another program */
    uint64_t answered;       /* questions */
    uint64_t returned;       /* questions that were with a seat when it was lost */
};

struct crew;
struct shift;

/* Takes over the listening socket. `expected`: processes that will come. */
struct crew *crew_new(int listener, const struct crew_secret *secret, size_t expected);
/* Closes all connections, which ends the others. */
void crew_free(struct crew *c);

/* Of all calls below the crew may be NULL: nobody. */

/* The trace that questions are about from now on. All who have come may read it already. */
void crew_set_trace(struct crew *c, const struct remote_trace *t);
/* Seats there are, or will be at least. */
size_t crew_seats(struct crew *c);
/* Wait until so many seconds have passed or each expected process has a seat; for tests. */
void crew_wait(struct crew *c, double seconds);
struct crew_stats crew_stats(struct crew *c);

/* Let all seats take from the queue; `locals` threads of this process do, too. Schedules have
 * positions below `limit`. */
struct shift *crew_begin(struct crew *c, const struct scope *scope, struct prove_queue *queue,
                         size_t locals, uint64_t limit);
/* The queue is over. */
void crew_end(struct shift *s);

/* The other side: introduce yourself on a connection. -1 and an error. */
int crew_join(int fd, const struct crew_secret *secret, uint32_t rank, struct error *err);

#endif
