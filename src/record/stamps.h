/* stamps.h - stamps of raw records (TSC >> RING_STAMP_SHIFT) to nanoseconds
 *
 * One function for all threads: piecewise linear, continuous, never
 * decreasing, and what it says of a stamp never changes, so that the order of
 * stamps of different threads is kept whenever they are converted. Its pieces
 * begin where the writer compared the two clocks, at growing intervals; each
 * piece steers towards CLOCK_MONOTONIC.
 *
 * Concurrency: any thread converts while one adds pieces.
 */
#ifndef HEDDLE_RECORD_STAMPS_H
#define HEDDLE_RECORD_STAMPS_H

#include <stdint.h>

enum { CLOCK_PIECES = 48 };

struct clock_piece {
    uint64_t stamp, ns; /* where it begins */
    uint64_t rate;      /* nanoseconds per step, << CLOCK_RATE_SHIFT */
};
enum { CLOCK_RATE_SHIFT = 24 };

struct clock {
    struct clock_piece pieces[CLOCK_PIECES];
    uint32_t count;
    uint64_t first_stamp, first_ns; /* the oldest comparison */
    uint64_t next_ns;               /* when to compare again */
};

/* `stamp` and `ns`: the process's own comparison, used where it is plausible. */
void clock_init(struct clock *c, uint64_t stamp, uint64_t ns);
/* Compare again where it is time to. */
void clock_tick(struct clock *c);

static inline uint64_t clock_ns(const struct clock *c, uint64_t stamp)
{
    uint32_t n = __atomic_load_n(&c->count, __ATOMIC_ACQUIRE);
    const struct clock_piece *p = &c->pieces[n - 1];

    while (stamp < p->stamp && p > c->pieces)
        p--;
    if (stamp < p->stamp)
        return p->ns;
    return p->ns + (uint64_t)((unsigned __int128)(stamp - p->stamp) * p->rate >> CLOCK_RATE_SHIFT);
}

#endif
