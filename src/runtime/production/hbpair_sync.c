/* hbpair_sync.c - litehb and fullhb: the program synchronises
 *
 * One function per kind of event: which object's clock the thread adds its own to, and which one it
 * learns from. Locks and the like are told after they are acquired and before they are released.
 * Atomics are told right before they happen: see hbpair.h for what that means.
 */
#include "runtime/production/hbpair.h"

#include <string.h>

/* An atomic read that was announced while nothing was followed: it may be done after that began. */
static _Thread_local uint64_t early_load __attribute__((tls_model("initial-exec")));

/* Operations that the control file does not know of yet: synchronisation, atomics. */
static _Thread_local uint32_t counted[2] __attribute__((tls_model("initial-exec")));
enum { COUNTED_AT_A_TIME = 64 };

void hb_flush_counts(void)
{
    __atomic_fetch_add(&rt_control->counter[HB_SYNCS], counted[0], __ATOMIC_RELAXED);
    __atomic_fetch_add(&rt_control->counter[HB_ATOMICS], counted[1], __ATOMIC_RELAXED);
    counted[0] = counted[1] = 0;
}

static void count(int which)
{
    if (++counted[which] == COUNTED_AT_A_TIME)
        hb_flush_counts();
}

void hb_forget_early_load(void)
{
    early_load = 0;
}

/* ---- edges ---- */

void hb_learn(struct hb_thread *t, enum hb_kind kind, uint64_t object)
{
    if (hb_object_learn(kind, object, &t->clock))
        hb_look_if_over(t);
}

void hb_release(struct hb_thread *t, enum hb_kind kind, uint64_t object)
{
    if (!hb_object_add(kind, object, &t->clock))
        hb_give_up();
    t->released = true;
}

void hb_settle(struct hb_thread *t)
{
    uint64_t address = t->pending ? t->pending : early_load;
    bool acquires = !t->pending || t->pending_acquires;

    early_load = t->pending = 0;
    if (!address)
        return;
    if (acquires)
        hb_learn(t, HB_ATOMIC, address);
    else
        hb_object_learn(HB_ATOMIC, address, &t->relaxed);
}

static void edge(struct hb_thread *t, enum op op, uint64_t object)
{
    switch (op) {
    case OP_ACQUIRE:
        hb_learn(t, HB_LOCK, object);
        hb_learn(t, HB_READERS, object);
        break;
    case OP_ACQUIRE_SHARED:
        hb_learn(t, HB_LOCK, object);
        break;
    case OP_RELEASE:
        hb_release(t, HB_LOCK, object);
        break;
    case OP_RELEASE_SHARED:
        hb_release(t, HB_READERS, object);
        break;
    case OP_BARRIER_ENTER:
        hb_release(t, HB_BARRIER, object);
        break;
    case OP_BARRIER_LEAVE:
        hb_learn(t, HB_BARRIER, object);
        break;
    case OP_SEM_POST:
        hb_release(t, HB_SEM, object);
        break;
    case OP_SEM_WAIT:
        hb_learn(t, HB_SEM, object);
        break;
    case OP_ONCE:
        hb_learn(t, HB_ONCE, object);
        hb_release(t, HB_ONCE, object);
        break;
    case OP_BEFORE:
        hb_release(t, HB_NOTE, object);
        break;
    case OP_AFTER:
        hb_learn(t, HB_NOTE, object);
        break;
    default:
        break;
    }
}

void hb_synchronised(enum op op, uint64_t object)
{
    int guard;
    struct hb_thread *t;

    if (!hb_is_tracking())
        return;
    guard = pair_guard_begin();
    t = hb_own();
    if (t) {
        count(0);
        hb_settle(t);
        edge(t, op, object);
    }
    pair_guard_end(guard);
}

/* ---- atomics ---- */

static bool acquires(unsigned order)
{
    return order == ORDER_CONSUME || order == ORDER_ACQUIRE || order >= ORDER_ACQ_REL;
}

static bool releases(unsigned order)
{
    return order == ORDER_RELEASE || order >= ORDER_ACQ_REL;
}

static void fence(struct hb_thread *t, unsigned order)
{
    if (acquires(order) && hb_clock_learn(&t->clock, &t->relaxed))
        hb_look_if_over(t);
    if (releases(order)) {
        memcpy(t->fence_at, t->clock_at, t->clock.n * sizeof(*t->clock_at));
        t->fence.n = t->clock.n;
        t->released = true;
    }
}

/* Its store will carry the thread's clock, or that of a fence before it. */
static void atomic_store(struct hb_thread *t, const struct prod_hit *h)
{
    if (releases(h->order))
        hb_release(t, HB_ATOMIC, h->address);
    else if (t->fence.n && !hb_object_add(HB_ATOMIC, h->address, &t->fence))
        hb_give_up();
}

void hb_atomic(const struct prod_hit *h)
{
    struct hb_thread *t;

    if (!hb_is_tracking()) {
        early_load = h->read ? h->address : 0; /* taken for an acquire, if it comes to that */
        return;
    }
    t = hb_own();
    if (!t)
        return;
    count(1);
    hb_settle(t);
    if (h->op == OP_FENCE)
        fence(t, h->order);
    if (h->op == OP_STORE || h->op == OP_RMW)
        atomic_store(t, h);
    if (h->op == OP_LOAD || h->op == OP_RMW) {
        t->pending = h->address;
        t->pending_acquires = acquires(h->order);
    }
}
