/* chase_core.c - who waits where, when to wait, and what waiting has cost
 *
 * Intervals in which threads wait overlap. The union of those under way is one
 * interval, up to the latest end: one number per process says what is charged already.
 */
#include "runtime/production/chase_core.h"

#include <stddef.h>

enum { MILLION = 1000000 };

uint64_t chase_p_budget(const struct chase_limits *l, uint64_t waited_ns, uint64_t total_ns)
{
    uint64_t base = total_ns > l->least_ns ? total_ns : l->least_ns;
    unsigned __int128 spent = (unsigned __int128)(waited_ns + l->delay_ns) * MILLION,
                      allowed = (unsigned __int128)(base + l->delay_ns) * l->max_ppm;

    if (spent >= allowed) /* also where r_max is 0 */
        return 0;
    /* 2^32 * (allowed - spent) / allowed. 32 bits of each are enough, and no 128-bit division. */
    while (allowed >> 32) {
        allowed >>= 1;
        spent >>= 1;
    }
    return ((uint64_t)(allowed - spent) << 32) / (uint64_t)allowed;
}

bool chase_may_wait(const struct chase_limits *l, uint64_t waited, uint64_t own, uint64_t passed,
                    uint32_t random)
{
    uint64_t spent = waited + own, total = passed > spent ? passed - spent : 0;

    return random < chase_p_budget(l, waited, total) &&
           (!waited || chase_p_budget(l, spent, total));
}

uint64_t chase_refused_for(const struct chase_limits *l, uint64_t waited, uint64_t own,
                           uint64_t passed)
{
    uint64_t counted = waited ? waited + own : waited, spent = waited + own;
    unsigned __int128 base;

    if (!l->max_ppm)
        return UINT64_MAX;
    base = (unsigned __int128)(counted + l->delay_ns) * MILLION / l->max_ppm;
    if (base <= l->least_ns + l->delay_ns || base - l->delay_ns + spent <= passed)
        return 0;
    return (uint64_t)(base - l->delay_ns) + spent - passed;
}

bool chase_is_fair(const struct chase_limits *l, uint64_t had_ns, uint32_t sites,
                   uint64_t waited_ns, uint64_t total_ns)
{
    uint64_t base = total_ns > l->least_ns ? total_ns : l->least_ns;
    uint64_t budget = base / MILLION * l->max_ppm;

    return had_ns * sites < budget || 2 * (waited_ns + l->delay_ns) <= budget;
}

/* What the account says that is still to come, and what has passed uncharged since waiters are
 * late. One of them is 0. */
struct overlap {
    uint64_t ahead, behind;
};

static struct overlap overlap_at(const struct chase_core *c, uint64_t now)
{
    uint64_t end = __atomic_load_n(&c->end_ns, __ATOMIC_RELAXED);

    if (!__atomic_load_n(&c->waiting, __ATOMIC_RELAXED))
        return (struct overlap){ 0, 0 };
    return end > now ? (struct overlap){ end - now, 0 } : (struct overlap){ 0, now - end };
}

static uint64_t waited_until(uint64_t sum, struct overlap o)
{
    return sum + o.behind - (sum < o.ahead ? sum : o.ahead);
}

uint64_t chase_waited(const struct chase_core *c, uint64_t now)
{
    return waited_until(__atomic_load_n(c->waited_ns, __ATOMIC_RELAXED), overlap_at(c, now));
}

/* The whole delay half of the time, and the first time, else up to a half less: accesses that are
 * just t_delay apart are met, and threads that wait together do not always wake together. */
static uint64_t length_of(const struct chase_core *c, uint32_t random)
{
    bool whole = !__atomic_load_n(c->waited_ns, __ATOMIC_RELAXED);

    return c->limits.delay_ns -
           (whole || (random & 0x100) ? 0 : c->limits.delay_ns / 2 * (random & 0xff) >> 8);
}

/* Charge a wait of so long from now on if the budget's draw says so. */
static bool charge(struct chase_core *c, uint64_t now, uint64_t total, uint32_t random,
                   uint64_t delay)
{
    struct overlap o = overlap_at(c, now);
    uint64_t more = delay > o.ahead ? delay - o.ahead : 0;
    uint64_t sum = __atomic_load_n(c->waited_ns, __ATOMIC_RELAXED);

    do {
        if (!chase_may_wait(&c->limits, waited_until(sum, o), chase_own_ns(c, total), total,
                            random))
            return false;
    } while (!__atomic_compare_exchange_n(c->waited_ns, &sum, sum + o.behind + more, false,
                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    __atomic_fetch_add(c->late_ns, o.behind, __ATOMIC_RELAXED);
    if (more || !c->waiting)
        __atomic_store_n(&c->end_ns, now + delay, __ATOMIC_RELAXED);
    return true;
}

static struct chase_waiter *free_place(struct chase_core *c)
{
    for (int i = 0; i < CHASE_WAITERS; i++)
        if (!c->waiter[i].used)
            return &c->waiter[i];
    return NULL;
}

struct chase_waiter *chase_begin(struct chase_core *c, const struct chase_access *a, uint64_t now,
                                 uint64_t total, uint32_t random, bool *full)
{
    struct chase_waiter *w = free_place(c);
    uint64_t length = length_of(c, random);

    *full = !w;
    if (!w || !charge(c, now, total, random, length))
        return NULL;
    w->until_ns = now + length;
    w->used = true;
    w->woken = 0;
    w->access.write = a->write;
    w->access.atomic = a->atomic;
    __atomic_store_n(&w->access.address, a->address, __ATOMIC_RELAXED);
    __atomic_store_n(&w->access.bytes, a->bytes, __ATOMIC_RELAXED);
    if (w >= c->waiter + c->used)
        __atomic_store_n(&c->used, (uint32_t)(w - c->waiter) + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&c->waiting, c->waiting + 1, __ATOMIC_SEQ_CST);
    return w;
}

void chase_end(struct chase_core *c, struct chase_waiter *w, uint64_t now)
{
    struct overlap o = overlap_at(c, now);

    w->used = false;
    __atomic_store_n(&w->access.bytes, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&c->waiting, c->waiting - 1, __ATOMIC_SEQ_CST);
    if (c->waiting)
        return;
    __atomic_fetch_sub(c->waited_ns, o.ahead, __ATOMIC_RELAXED);
    __atomic_fetch_add(c->waited_ns, o.behind, __ATOMIC_RELAXED);
    __atomic_fetch_add(c->late_ns, o.behind, __ATOMIC_RELAXED);
}

bool chase_may_meet(const struct chase_core *c, const struct chase_access *a)
{
    uint32_t n = __atomic_load_n(&c->used, __ATOMIC_RELAXED);

    for (uint32_t i = 0; i < n; i++) {
        const struct chase_access *w = &c->waiter[i].access;
        uint64_t at = __atomic_load_n(&w->address, __ATOMIC_RELAXED);

        if (at < a->address + a->bytes &&
            a->address < at + __atomic_load_n(&w->bytes, __ATOMIC_RELAXED))
            return true;
    }
    return false;
}

struct chase_waiter *chase_meet(struct chase_core *c, const struct chase_access *a,
                                struct chase_waiter *after)
{
    for (struct chase_waiter *w = after ? after + 1 : c->waiter; w < c->waiter + c->used; w++)
        if (w->used && chase_conflict(&w->access, a))
            return w;
    return NULL;
}
