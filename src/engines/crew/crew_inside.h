/* crew_inside.h - what crew.c and crew_shift.c share */
#ifndef HEDDLE_ENGINES_CREW_CREW_INSIDE_H
#define HEDDLE_ENGINES_CREW_CREW_INSIDE_H

#include <pthread.h>
#include <stdbool.h>

#include "base/frame.h"
#include "engines/crew/crew.h"

/* Seconds a question takes, as long as nobody knows: its first share has 10. */
#define FIRST_PACE 0.005

/* A connection to a thread of another process. During a shift it belongs to the shift's thread,
 * else to who holds the crew's lock. */
struct seat {
    struct crew *crew;
    int fd;
    uint32_t rank;
    bool lost;          /* and closed */
    uint64_t refused;   /* the trace that it cannot help with; 0: none */
    uint64_t pending;   /* the share that it still answers, though nobody waits; 0: none */
    double pace;        /* seconds a question took in the last share */
    struct frame frame; /* what it is sending */
};

struct crew {
    int listener, leave; /* leave: an eventfd that ends the door */
    struct crew_secret secret;
    size_t expected;
    pthread_t door;
    bool has_door;
    pthread_mutex_t lock; /* protects all below; nothing nests in it */
    pthread_cond_t came;
    struct seat **seats;
    size_t nseats, seats_cap;
    uint64_t traces;         /* number of the present one, from 1 */
    struct buf open_message; /* about it */
    uint64_t shares;         /* handed out: ids */
    struct crew_stats stats;
};

/* With the lock held. */
void seat_lose(struct seat *s);

#endif
