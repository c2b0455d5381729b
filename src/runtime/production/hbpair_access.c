/* hbpair_access.c - litehb and fullhb: the program accesses the pair
 *
 * An access is kept, and compared with those that other threads made of the same bytes: fullhb
 * keeps both sides, litehb s1 only. A thread's access of an epoch that is already kept from the
 * same place says nothing new: whoever came between compared itself with the kept one, and nothing
 * of this thread was released meanwhile. What a thread does while it is alone comes before all that
 * threads do that it creates, and is not kept.
 */
#include "runtime/production/hbpair.h"

#include <sys/syscall.h>
#include <unistd.h>

enum { HITS_AT_A_TIME = 64 };

static _Thread_local uint32_t own_tid __attribute__((tls_model("initial-exec")));
static _Thread_local uint32_t hits[2] __attribute__((tls_model("initial-exec")));

/* An access about to be made; its stack is looked at when it is needed. */
struct coming {
    struct hb_access access;
    const struct prod_hit *hit;
    const struct hb_thread *thread;
};

static void fill_access(struct hb_access *a, const struct prod_hit *h, const struct pair_role *role,
                        const struct hb_thread *t)
{
    if (!own_tid)
        own_tid = (uint32_t)syscall(SYS_gettid);
    *a = (struct hb_access){ .span = { h->address,
                                       h->bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)h->bytes,
                                       h->write, h->atomic },
                             .op = h->op,
                             .role = *role,
                             .site = h->site,
                             .slot = t->slot,
                             .epoch = t->clock.at[t->slot],
                             .thread = prod_thread(),
                             .tid = own_tid,
                             .pc = h->pc };
}

static void find_stack(struct coming *c)
{
    if (!c->access.stack)
        c->access.stack = hb_stack_of(c->hit);
}

static void hbpair_access_fill_side(struct prod_side *out, const struct hb_access *a, unsigned side)
{
    out->site = a->role.number[side];
    out->tid = a->tid;
    out->thread = a->thread;
    out->address = a->span.address;
    out->bytes = a->span.bytes;
    out->write = a->span.write;
    out->atomic = a->span.atomic ? a->op : 0;
    patch_name(a->site, &out->name);
    out->frames = (uint16_t)hb_stack_get(a->stack, out->frame, PROD_FRAMES_MAX);
    if (!out->frames) {
        out->frames = 1;
        out->frame[0] = a->pc;
    }
}

/* A kept access that overlaps one that the thread is about to make. */
static void hbpair_access_meet(const struct hb_access *kept, void *arg)
{
    struct coming *c = arg;
    struct hb_access *now = &c->access;
    struct prod_side side[2];
    unsigned first; /* the side that the kept one is on */

    if (hb_clock_get(&c->thread->clock, kept->slot) >= kept->epoch || hb_broken)
        return;
    if (kept->role.is[0] && now->role.is[1])
        first = 0;
    else if (!hb_lite && kept->role.is[1] && now->role.is[0])
        first = 1;
    else
        return;
    if (pair_count_again(first ? now->role.number[0] : kept->role.number[0],
                         first ? kept->role.number[1] : now->role.number[1]))
        return;
    find_stack(c);
    hbpair_access_fill_side(&side[first], kept, first);
    hbpair_access_fill_side(&side[!first], now, !first);
    pair_report(&side[0], &side[1]);
}

/* ---- the access ---- */

void hb_flush_hits(void)
{
    for (int k = 0; k < 2; k++) {
        __atomic_fetch_add(&rt_control->hits[k], hits[k], __ATOMIC_RELAXED);
        hits[k] = 0;
    }
}

/* The control file is told of some at a time; of the rest when the thread ends. */
static void count_hit(const struct pair_role *role)
{
    hits[0] += role->is[0];
    hits[1] += role->is[1];
    if (hits[0] + hits[1] >= HITS_AT_A_TIME)
        hb_flush_hits();
}

/* fullhb: did the thread keep the same access in this epoch? Remembered as such from now on. */
static bool is_repeated(struct hb_thread *t, const struct prod_hit *h, const struct hb_access *a)
{
    uint64_t place = hb_hash(h->address * 31 + h->site);
    struct hb_recent *r = &t->recent[place % HB_RECENT];
    uint32_t version = __atomic_load_n(&hb_cells_version, __ATOMIC_ACQUIRE);

    if (r->address == h->address && r->site == h->site && r->epoch == a->epoch &&
        r->bytes == a->span.bytes && r->write == h->write && r->version == version)
        return true;
    *r = (struct hb_recent){ h->address, a->span.bytes, h->site, a->epoch, version, h->write };
    return false;
}

void hb_accessed(const struct prod_hit *h, const struct pair_role *role)
{
    struct hb_thread *t;
    struct coming c = { .hit = h };
    bool alone;

    count_hit(role);
    if (!hb_is_tracking() && (!role->is[0] || hb_broken || hb_is_alone()))
        return;
    t = hb_own();
    if (!t)
        return;
    if (!hb_is_tracking())
        hb_start_tracking();
    hb_settle(t);
    hb_new_epoch(t);
    c.thread = t;
    fill_access(&c.access, h, role, t);
    alone = !hb_lite && hb_is_alone();
    if (!hb_lite && !alone && is_repeated(t, h, &c.access))
        return;
    if ((role->is[0] || !hb_lite) && !alone && !hb_cells_has(&c.access)) {
        find_stack(&c);
        hb_cells_keep(&c.access);
    }
    if (role->is[1] || !hb_lite) /* kept before: of two at the same time one sees the other */
        hb_cells_meet(&c.access, hbpair_access_meet, &c);
    if (role->is[0] && hb_lite)
        hb_note_s1(t);
}

void hb_access_forked(void)
{
    own_tid = 0;
    hits[0] = hits[1] = 0;
}
