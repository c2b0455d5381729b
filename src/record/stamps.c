/* stamps.c - comparing the TSC with CLOCK_MONOTONIC */
#include "record/stamps.h"
#include "abi/rt_ring.h"

#include <stdbool.h>
#include <time.h>
#include <x86intrin.h>

/* A step of a stamp is 64 cycles: 6 to 640 ns for 0.1 to 10 GHz. */
static const uint64_t RATE_MIN = (uint64_t)6 << CLOCK_RATE_SHIFT,
                      RATE_MAX = (uint64_t)640 << CLOCK_RATE_SHIFT;
/* Reading both clocks is off by up to a microsecond: a shorter baseline says too little. */
static const uint64_t BASELINE_NS = 1000000;
enum { AHEAD_NS = 10000000 };

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Both clocks at one moment: the closest of a few tries. */
static void clock_compare(uint64_t *stamp, uint64_t *ns)
{
    uint64_t best = UINT64_MAX;

    *stamp = *ns = 0;
    for (int i = 0; i < 8; i++) {
        uint64_t before = __rdtsc(), t = now_ns(), after = __rdtsc();

        if (after - before >= best)
            continue;
        best = after - before;
        *stamp = (before + best / 2) >> RING_STAMP_SHIFT;
        *ns = t;
    }
}

/* Nanoseconds per step between two comparisons; 0: they say nothing. */
static uint64_t rate_between(uint64_t stamp, uint64_t ns, uint64_t stamp2, uint64_t ns2)
{
    uint64_t rate;

    if (stamp2 <= stamp || ns2 <= ns)
        return 0;
    rate = (uint64_t)(((unsigned __int128)(ns2 - ns) << CLOCK_RATE_SHIFT) / (stamp2 - stamp));
    return rate >= RATE_MIN && rate <= RATE_MAX ? rate : 0;
}

void clock_init(struct clock *c, uint64_t stamp, uint64_t ns)
{
    uint64_t now_stamp, now, rate;

    clock_compare(&now_stamp, &now);
    rate = now - ns >= BASELINE_NS ? rate_between(stamp, ns, now_stamp, now) : 0;
    if (!rate) { /* the other comparison is of no use: make one */
        const struct timespec nap = { 0, (long)(2 * BASELINE_NS) };

        stamp = now_stamp;
        ns = now;
        nanosleep(&nap, NULL);
        clock_compare(&now_stamp, &now);
        rate = rate_between(stamp, ns, now_stamp, now);
    }
    c->first_stamp = stamp;
    c->first_ns = ns;
    c->pieces[0] =
        (struct clock_piece){ stamp, ns, rate ? rate : (uint64_t)20 << CLOCK_RATE_SHIFT };
    c->next_ns = now + 50000000;
    __atomic_store_n(&c->count, 1, __ATOMIC_RELEASE);
}

void clock_tick(struct clock *c)
{
    uint64_t stamp, now, ns, interval, rate, target;
    uint32_t n = c->count;

    now = now_ns();
    if (now < c->next_ns || n == CLOCK_PIECES)
        return;
    clock_compare(&stamp, &now);
    interval = now - c->first_ns; /* the next comparison after as long again */
    rate = rate_between(c->first_stamp, c->first_ns, stamp, now);
    if (!rate)
        return;
    /* The piece begins a little in the future: no stamp from there was converted yet. It meets the
     * true time at the next comparison, but never turns back nor runs wild. */
    stamp += ((uint64_t)AHEAD_NS << CLOCK_RATE_SHIFT) / rate;
    now += AHEAD_NS;
    ns = clock_ns(c, stamp);
    target = now + interval;
    if (target > ns)
        rate = (uint64_t)((unsigned __int128)rate * (target - ns) / interval);
    rate = rate < RATE_MIN ? RATE_MIN : rate > RATE_MAX ? RATE_MAX : rate;
    c->pieces[n] = (struct clock_piece){ stamp, ns, rate };
    c->next_ns = target;
    __atomic_store_n(&c->count, n + 1, __ATOMIC_RELEASE);
}
