/* atomic.c - the program's atomic operations, performed and numbered in one step
 *
 * While it records, the runtime performs an atomic operation under the lock of
 * its stripe, so that the numbers of the operations on a location are in the
 * order in which they happened. The operation itself stays atomic: code that is
 * not traced may act on the same location.
 *
 * Loads in a loop would fill the trace with nothing: a load is not recorded
 * when the thread has recorded one of the same location and order since its last
 * synchronisation, no atomic write on the stripe happened since, and the value is
 * the same (code that is not traced writes, too). It takes no lock then, either.
 * What it acquires starts no epoch: an access that repeats one before it has no race that
 * the first one has not (docs/design/recording.md, "Epochs").
 *
 * Memory orders are not relaxed below what the program asked for: all are
 * performed as sequentially consistent, which on x86 costs nothing for
 * read-modify-writes and loads. The recorded order is the program's.
 */
#include "runtime/core/hand.h"
#include "runtime/untraced/reach_log.h"
#include "runtime/steer/steer.h"
#include "runtime/core/mapped.h"
#include "runtime/core/stripe.h"

#include <sys/syscall.h>
#include <unistd.h>

typedef uint8_t u1;
typedef uint16_t u2;
typedef uint32_t u4;
typedef uint64_t u8;
typedef unsigned __int128 u16;
typedef int8_t s1;
typedef int16_t s2;
typedef int32_t s4;
typedef int64_t s8;
typedef __int128 s16;

/* ---- the record ---- */

static unsigned append_stamp(struct rt_thread *t, uint64_t *w, uint64_t stamp)
{
    if (!stamp)
        return stamp_now_and_then(t, w);
    w[0] = RING_WORD(R_STAMP, 0, t->stamp = stamp);
    t->since_stamp = 0;
    return 1;
}

/* `stamp`: 0 for one like an access's. */
static inline uint32_t stripe_of(const void *p)
{
    return ring_stripe(STRIPE_ATOMIC, mapped_object((uintptr_t)p));
}

static void append_atomic(const void *p, unsigned op, unsigned log2_bytes, unsigned order,
                          uint64_t where, uint64_t number, uint64_t stamp, unsigned values,
                          uint64_t value, uint64_t old)
{
    struct ring_chunk *c = tls.chunk;
    uint64_t *w = (uint64_t *)((char *)c + c->cursor);
    unsigned n = append_stamp(tls.self, w, stamp);

    w += n;
    w[0] = RING_WORD(R_ATOMIC, (op - OP_LOAD) | log2_bytes << 2 | values << 6,
                     mapped_object((uintptr_t)p));
    w[1] = where;
    w[2] = number << 8 | order;
    w[3] = value;
    w[4] = old;
    commit(n + 3 + values);
    steer_count(op, where);
    runs_forget(tls.self); /* what a load guards stays behind it, for those who reorder */
}

/* After a write: what was accessed before it is released, what comes now is not. */
static void write_epoch(unsigned order)
{
    if (order_releases(order))
        epoch_next(tls.self);
}

/* Frames, and room for the record: after this nothing can make the thread wait. */
static bool prepare(void)
{
    if (!rt_recording()) /* synchronisation counts also where accesses are ignored */
        return false;
    rt_busy_begin();
    frames_flush(tls.self);
    if (room(tls.self, true))
        return true;
    rt_busy_end();
    return false;
}

/* The same for a known place, where a controlled run may hold the thread up. */
static bool prepare_at(const void *p, uint64_t bytes, unsigned op, unsigned order, uint64_t where)
{
    if (unlikely(steer_on) && rt_recording()) {
        if (order_releases(order))
            steer_leaves();
        steer_before(op, where);
        steer_access(p, bytes, op, where);
    }
    return prepare();
}

/* ---- loads that need no record ---- */

static inline uint64_t load_key(const void *p, unsigned order)
{
    return (uintptr_t)p | (uint64_t)order << 56;
}

static inline struct load_seen *load_slot(const struct rt_thread *t, const void *p)
{
    return &t->loads[ring_stripe_hash(STRIPE_ATOMIC, (uintptr_t)p) >> 24 & t->load_mask];
}

/* A thread that waits for another by loading again and again takes the processor from it, and loads
 * last longer than they would: it gives way. Six locations in turn at most: their number divides
 * SPIN_LOADS. A list that is walked is none of this. */
enum { SPIN_LOADS = 1020 };
static __attribute__((noinline, preserve_most)) void load_spins(struct rt_thread *t,
                                                                const struct load_seen *l)
{
    int saved = errno; /* a sandbox may refuse */

    t->loads_known = 0;
    if (t->load_sampled == l)
        sched_yield();
    t->load_sampled = l;
    errno = saved;
}

/* The value was loaded just now: has the thread recorded a load of it that says the same? Who
 * writes changes the version before the value, so if the version is the one of the record, the
 * value is, too. */
static inline bool load_is_known(const void *p, unsigned order, uint64_t value)
{
    const struct stripe *s = &rt_stripes[stripe_of(p)];
    struct rt_thread *t = tls.self;
    const struct load_seen *l;

    if (unlikely(!t))
        return false;
    l = load_slot(t, p);
    if (l->key != load_key(p, order) || l->epoch != tls.epoch || l->value != value ||
        l->version != __atomic_load_n(&s->version, __ATOMIC_SEQ_CST))
        return false;
    if (unlikely(++t->loads_known == SPIN_LOADS))
        load_spins(t, l);
    return true;
}

/* A table that keeps pushing out what the epoch may ask for again is doubled. Entries stay where
 * they are: those that are not found there any more are made again. */
static void load_remember(const void *p, unsigned order, uint64_t version, uint64_t value)
{
    struct rt_thread *t = tls.self;
    uint64_t key = load_key(p, order);
    struct load_seen *l = load_slot(t, p);

    if (!rt_options.filter)
        return;
    if (l->epoch == tls.epoch && l->key != key && t->load_mask < LOADS_MOST - 1 &&
        ++t->loads_gone > t->load_mask / 4) {
        t->loads_gone = 0;
        t->load_mask = 2 * t->load_mask + 1;
        l = load_slot(t, p);
    }
    *l = (struct load_seen){ key, version, tls.epoch, value };
}

/* Nothing follows from a load in another thread, so the time of one is neither asked nor published:
 * threads that only read would take the cache line from each other, and stamp every access behind.
 * It comes after what it acquires, which was published under the lock, as an access does. Full
 * builds, whose accesses carry few stamps, stamp it. */
static inline uint64_t load_stamp(void)
{
    return rt.full ? clock_publish() : 0;
}

/* A compare-and-swap that fails is a load, and a thread that spins on one makes many: those that
 * find nothing new need no record either. Full builds have one record for each operation. */
static inline bool cas_would_fail(bool differs)
{
    return differs && !rt.full;
}

/* ---- operations ---- */

/* A value as one word. */
#define WORD(v) ((uint64_t)(u16)(v) + (uint64_t)((u16)(v) >> 64) * UINT64_C(0x9e3779b97f4a7c15))

#define NOINLINE static __attribute__((noinline))

#define LOG2(n) ((n) == 1 ? 0u : (n) == 2 ? 1u : (n) == 4 ? 2u : (n) == 8 ? 3u : 4u)

/* How many values a record carries. */
#define VALUES(n, most) (!rt.full || (n) > 8 ? 0u : (most))

#define DO_LOAD(n)  __atomic_load_n(p, __ATOMIC_SEQ_CST)
#define DO_STORE(n) __atomic_store_n(p, v, __ATOMIC_SEQ_CST)

/* An expression for the new value, applied by compare-and-swap where no builtin exists. */
#define LOOP(n, expr)                                                                              \
    ({                                                                                             \
        u##n was = __atomic_load_n(p, __ATOMIC_SEQ_CST), now;                                      \
        do                                                                                         \
            now = (u##n)(expr);                                                                    \
        while (!__atomic_compare_exchange_n(p, &was, now, false, __ATOMIC_SEQ_CST,                 \
                                            __ATOMIC_SEQ_CST));                                    \
        was;                                                                                       \
    })

#define RMW(n, name, perform, expr)                                                                \
    HIDDEN u##n rt_atomic_##name##_##n(u##n *p, u##n v, unsigned order, uint64_t where);           \
    u##n rt_atomic_##name##_##n(u##n *p, u##n v, unsigned order, uint64_t where)                   \
    {                                                                                              \
        uint32_t stripe = stripe_of(p);                                                            \
        uint64_t stamp, number;                                                                    \
        u##n was;                                                                                  \
                                                                                                   \
        if (!prepare_at(p, n, OP_RMW, order, where))                                               \
            return perform;                                                                        \
        stripe_lock(tls.self, stripe, true);                                                       \
        was = perform;                                                                             \
        stamp = clock_publish();                                                                   \
        number = stripe_unlock(tls.self, stripe, true);                                            \
        append_atomic(p, OP_RMW, LOG2(n), order, where, number, stamp, VALUES(n, 2),               \
                      (uint64_t)(u##n)(expr), (uint64_t)was);                                      \
        if ((n) >= 8)                                                                              \
            reach_stored(p, n);                                                                    \
        write_epoch(order);                                                                        \
        rt_busy_end();                                                                             \
        return was;                                                                                \
    }                                                                                              \
    EXPORT u##n __heddle_atomic_##name##_##n(u##n *p, u##n v, uint32_t order, uint32_t site);      \
    EXPORT u##n __heddle_atomic_##name##_##n(u##n *p, u##n v, uint32_t order, uint32_t site)       \
    {                                                                                              \
        return rt_atomic_##name##_##n(p, v, order, site);                                          \
    }

#define ATOMICS_OF(n)                                                                              \
    NOINLINE u##n load_recorded_##n(u##n *p, unsigned order, uint64_t where)                       \
    {                                                                                              \
        uint32_t stripe = stripe_of(p);                                                            \
        uint64_t version, stamp, number;                                                           \
        u##n was;                                                                                  \
                                                                                                   \
        if (!prepare_at(p, n, OP_LOAD, order, where))                                              \
            return DO_LOAD(n);                                                                     \
        stripe_lock(tls.self, stripe, false);                                                      \
        was = DO_LOAD(n);                                                                          \
        version = rt_stripes[stripe].version;                                                      \
        stamp = load_stamp();                                                                      \
        number = stripe_unlock(tls.self, stripe, false);                                           \
        append_atomic(p, OP_LOAD, LOG2(n), order, where, number, stamp, VALUES(n, 1),              \
                      (uint64_t)was, 0);                                                           \
        load_remember(p, order, version, WORD(was));                                               \
        rt_busy_end();                                                                             \
        return was;                                                                                \
    }                                                                                              \
    HIDDEN u##n rt_atomic_load_##n(u##n *p, unsigned order, uint64_t where);                       \
    u##n rt_atomic_load_##n(u##n *p, unsigned order, uint64_t where)                               \
    {                                                                                              \
        u##n was = DO_LOAD(n);                                                                     \
                                                                                                   \
        return likely(load_is_known(p, order, WORD(was))) ? was                                    \
                                                          : load_recorded_##n(p, order, where);    \
    }                                                                                              \
    EXPORT u##n __heddle_atomic_load_##n(u##n *p, uint32_t order, uint32_t site);                  \
    EXPORT u##n __heddle_atomic_load_##n(u##n *p, uint32_t order, uint32_t site)                   \
    {                                                                                              \
        return rt_atomic_load_##n(p, order, site);                                                 \
    }                                                                                              \
                                                                                                   \
    HIDDEN void rt_atomic_store_##n(u##n *p, u##n v, unsigned order, uint64_t where);              \
    void rt_atomic_store_##n(u##n *p, u##n v, unsigned order, uint64_t where)                      \
    {                                                                                              \
        uint32_t stripe = stripe_of(p);                                                            \
        uint64_t stamp, number;                                                                    \
                                                                                                   \
        if (!prepare_at(p, n, OP_STORE, order, where)) {                                           \
            DO_STORE(n);                                                                           \
            return;                                                                                \
        }                                                                                          \
        stripe_lock(tls.self, stripe, true);                                                       \
        DO_STORE(n);                                                                               \
        stamp = clock_publish();                                                                   \
        number = stripe_unlock(tls.self, stripe, true);                                            \
        append_atomic(p, OP_STORE, LOG2(n), order, where, number, stamp, VALUES(n, 1),             \
                      (uint64_t)v, 0);                                                             \
        if ((n) >= 8)                                                                              \
            reach_stored(p, n);                                                                    \
        write_epoch(order);                                                                        \
        rt_busy_end();                                                                             \
    }                                                                                              \
    EXPORT void __heddle_atomic_store_##n(u##n *p, u##n v, uint32_t order, uint32_t site);         \
    EXPORT void __heddle_atomic_store_##n(u##n *p, u##n v, uint32_t order, uint32_t site)          \
    {                                                                                              \
        rt_atomic_store_##n(p, v, order, site);                                                    \
    }                                                                                              \
                                                                                                   \
    HIDDEN u##n rt_atomic_cas_##n(u##n *p, u##n expected, u##n desired, unsigned order,            \
                                  unsigned failure, uint64_t where);                               \
    u##n rt_atomic_cas_##n(u##n *p, u##n expected, u##n desired, unsigned order, unsigned failure, \
                           uint64_t where)                                                         \
    {                                                                                              \
        uint32_t stripe = stripe_of(p);                                                            \
        uint64_t stamp, number;                                                                    \
        u##n was = expected;                                                                       \
        bool done;                                                                                 \
                                                                                                   \
        if (cas_would_fail(DO_LOAD(n) != expected)) {                                              \
            was = rt_atomic_load_##n(p, failure, where);                                           \
            if (was != expected)                                                                   \
                return was;                                                                        \
        }                                                                                          \
        if (!prepare_at(p, n, OP_RMW, order, where)) {                                             \
            __atomic_compare_exchange_n(p, &was, desired, false, __ATOMIC_SEQ_CST,                 \
                                        __ATOMIC_SEQ_CST);                                         \
            return was;                                                                            \
        }                                                                                          \
        stripe_lock(tls.self, stripe, true);                                                       \
        done = __atomic_compare_exchange_n(p, &was, desired, false, __ATOMIC_SEQ_CST,              \
                                           __ATOMIC_SEQ_CST);                                      \
        stamp = clock_publish();                                                                   \
        number = stripe_unlock(tls.self, stripe, true);                                            \
        if (done)                                                                                  \
            append_atomic(p, OP_RMW, LOG2(n), order, where, number, stamp, VALUES(n, 2),           \
                          (uint64_t)desired, (uint64_t)was);                                       \
        else                                                                                       \
            append_atomic(p, OP_LOAD, LOG2(n), failure, where, number, stamp, VALUES(n, 1),        \
                          (uint64_t)was, 0);                                                       \
        if ((n) >= 8 && done)                                                                      \
            reach_stored(p, n);                                                                    \
        write_epoch(done ? order : ORDER_RELAXED);                                                 \
        rt_busy_end();                                                                             \
        return was;                                                                                \
    }                                                                                              \
    EXPORT u##n __heddle_atomic_cas_##n(u##n *p, u##n expected, u##n desired, uint32_t order,      \
                                        uint32_t failure, uint32_t site);                          \
    EXPORT u##n __heddle_atomic_cas_##n(u##n *p, u##n expected, u##n desired, uint32_t order,      \
                                        uint32_t failure, uint32_t site)                           \
    {                                                                                              \
        return rt_atomic_cas_##n(p, expected, desired, order, failure, site);                      \
    }                                                                                              \
    RMW(n, exchange, __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST), v)                               \
    RMW(n, add, __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST), was + v)                               \
    RMW(n, sub, __atomic_fetch_sub(p, v, __ATOMIC_SEQ_CST), was - v)                               \
    RMW(n, and, __atomic_fetch_and(p, v, __ATOMIC_SEQ_CST), was &v)                                \
    RMW(n, or, __atomic_fetch_or(p, v, __ATOMIC_SEQ_CST), was | v)                                 \
    RMW(n, xor, __atomic_fetch_xor(p, v, __ATOMIC_SEQ_CST), was ^ v)                               \
    RMW(n, nand, LOOP(n, ~(was & v)), ~(was & v))                                                  \
    RMW(n, max, LOOP(n, (s##n)was > (s##n)v ? was : v), (s##n)was > (s##n)v ? was : v)             \
    RMW(n, min, LOOP(n, (s##n)was < (s##n)v ? was : v), (s##n)was < (s##n)v ? was : v)             \
    RMW(n, umax, LOOP(n, was > v ? was : v), was > v ? was : v)                                    \
    RMW(n, umin, LOOP(n, was < v ? was : v), was < v ? was : v)

ATOMICS_OF(1)
ATOMICS_OF(2)
ATOMICS_OF(4)
ATOMICS_OF(8)
ATOMICS_OF(16)

/* ---- operations that the program performs itself, between these two ---- */

EXPORT void __heddle_atomic_begin(void *p);
EXPORT void __heddle_atomic_begin(void *p)
{
    if (!tls.busy)
        steer_leaves();
    if (prepare())
        stripe_lock(tls.self, stripe_of(p), true);
}

EXPORT void __heddle_atomic_end(void *p, uint32_t bytes, uint32_t order, uint32_t site)
{
    uint32_t stripe = stripe_of(p);
    unsigned log2_bytes = bytes ? 31u - (unsigned)__builtin_clz(bytes) : 0;
    uint64_t stamp, number;

    if (!tls.self || tls.self->held != stripe + 1)
        return;
    stamp = clock_publish();
    number = stripe_unlock(tls.self, stripe, true);
    append_atomic(p, OP_RMW, log2_bytes > 4 ? 4 : log2_bytes, order, site, number, stamp, 0, 0, 0);
    write_epoch(order);
    rt_busy_end();
}

/* ---- locks made by hand (hand.c) ---- */

void rt_hand_load(void *p, uint32_t bytes, uint64_t where)
{
    if (bytes == 8)
        rt_atomic_load_8(p, ORDER_ACQUIRE, where);
    else if (bytes == 4)
        rt_atomic_load_4(p, ORDER_ACQUIRE, where);
    else if (bytes == 2)
        rt_atomic_load_2(p, ORDER_ACQUIRE, where);
    else
        rt_atomic_load_1(p, ORDER_ACQUIRE, where);
}

void rt_hand_store(void *p, uint32_t bytes, uint64_t where)
{
    uint32_t stripe = stripe_of(p);
    uint64_t stamp, number;

    if (!prepare_at(p, bytes, OP_STORE, ORDER_RELEASE, where))
        return;
    stripe_lock(tls.self, stripe, true);
    stamp = clock_publish();
    number = stripe_unlock(tls.self, stripe, true);
    append_atomic(p, OP_STORE, 31u - (unsigned)__builtin_clz(bytes), ORDER_RELEASE, where, number,
                  stamp, 0, 0, 0);
    write_epoch(ORDER_RELEASE);
    rt_busy_end();
}
