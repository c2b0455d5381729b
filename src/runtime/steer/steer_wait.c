/* steer_wait.c - threads that are held up, the meeting, and how every wait ends (steer.h)
 *
 * What a meeting proves: both threads are right before their accesses, have made neither, and hold
 * whatever locks they hold at the same time. So nothing orders the two: it is a race, whatever led
 * there. Atomic operations are a race with plain accesses only.
 *
 * Some races have no such moment: where a relaxed store that follows the first access lets the
 * second thread go on, say. So a thread that has waited in vain may "linger": it makes its access,
 * runs on, and waits again before the first thing it does that can order accesses. Who comes to the
 * other access until then comes behind the first, and still nothing orders the two. Lingering ends
 * before that operation, so it never outlasts the proof; where calls of untraced code are not
 * seen, there is none.
 *
 * How a wait ends otherwise:
 * - Its time is over, or that of the run.
 * - Nobody can come: no thread runs, all wait for each other (in a lock, a join, a condition ...,
 *   or here). When that has been so for a moment, the one goes on that has waited longest, those at
 *   gates first. Threads in poll(), read(), sleep() count as running, for somebody else may wake
 *   them.
 * - Two stand at the two sides, at different addresses: the one at the lower address goes on; loops
 *   mostly go upwards.
 *
 * The wait is a futex, made while busy, as in chase_mode.c: a signal ends it, its handler runs, and
 * the thread waits again for the rest of its time. A cancellation waits for the end of the wait. In
 * a sandbox the runtime has futex alone, which is all that is needed here; without it the values
 * that were there are not known (process_vm_readv).
 */
#include "runtime/untraced/hidden.h"
#include "runtime/production/prod.h"
#include "runtime/steer/steer.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum {
    PARKED_MOST = 64,
    RELEASED_MOST = 8,
    LOOK_NS = 5 * 1000 * 1000,         /* between looks at the other threads */
    STANDSTILL_NS = 100 * 1000 * 1000, /* a thread that was woken may need a while to run */
    FIRST_GOES_NS = 200 * 1000 * 1000, /* until the first of two has left us, */
    IDLE = 50,                         /* less than one part in so many of its time: it sleeps */
    FIRST_DOES_NS = 2 * 1000 * 1000,   /* and has made its access */
    THREADS_LOOKED_AT = 1 << 14
};

enum why { WAITING, MET, SENT_ON, OVER };

static struct parked {
    uint32_t woken; /* enum why; futex */
    uint32_t number;
    bool used, gone; /* gone: it has left after a meeting */
    bool lingers;    /* it has made its access, */
    bool freed;      /* and given memory back since, */
    uint32_t nreleased;
    uint64_t released[RELEASED_MOST]; /* and locks */
    unsigned sides;                   /* 0: at a gate */
    uint32_t gate;
    uint64_t since_ns, since_cpu_ns;
    struct steer_access access;
    struct prod_side seen;
} parked[PARKED_MOST];
static uint32_t park_lock, nparked, gates_waiting;
uint32_t steer_freed, steer_released;
_Thread_local bool steer_lingers;
static _Thread_local struct parked *lingering __attribute__((tls_model("initial-exec")));
static uint8_t dropped[STEER_GATES_MAX];
static uint64_t first_wait_ns, standstill_since;
static const struct parked *met; /* one of the two, and its side; behind the meeting */
static unsigned met_side;

uint64_t steer_now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* What the process has used of the processors; not known in a sandbox. */
static uint64_t cpu_ns(void)
{
    struct timespec t = { 0 };

    if (!rt_sandbox)
        syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void wake(struct parked *p, enum why why)
{
    uint32_t waiting = WAITING;

    __atomic_compare_exchange_n(&p->woken, &waiting, why, false, __ATOMIC_SEQ_CST,
                                __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &p->woken, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* With park_lock. */
static void wake_all(enum why why)
{
    for (struct parked *p = parked; p < parked + PARKED_MOST; p++)
        if (p->used)
            wake(p, why);
}

void steer_wait_forked(void)
{
    memset(parked, 0, sizeof(parked));
    memset(dropped, 0, sizeof(dropped));
    park_lock = nparked = gates_waiting = steer_freed = steer_released = 0;
    first_wait_ns = standstill_since = 0;
    lingering = NULL;
    steer_lingers = false;
}

static void note(enum steer_note_kind kind, uint32_t number, uint64_t a, uint64_t b)
{
    struct steer_done *d = &steer_plan->done;
    uint32_t i = __atomic_fetch_add(&d->notes, 1, __ATOMIC_RELAXED);

    if (i < STEER_NOTES_MAX)
        d->note[i] = (struct steer_note){ kind, number, { a, b } };
}

/* ---- places ---- */

/* With park_lock; NULL: too many wait. */
static struct parked *take_place(const struct steer_access *a, unsigned sides, uint32_t gate)
{
    struct parked *p = parked;

    while (p < parked + PARKED_MOST && p->used)
        p++;
    if (p == parked + PARKED_MOST)
        return NULL;
    *p = (struct parked){ .used = true,
                          .number = tls.self->number,
                          .sides = sides,
                          .gate = gate,
                          .since_ns = steer_now_ns(),
                          .since_cpu_ns = cpu_ns() };
    if (a)
        p->access = *a;
    __atomic_fetch_add(&nparked, 1, __ATOMIC_SEQ_CST);
    if (!first_wait_ns)
        first_wait_ns = p->since_ns;
    return p;
}

static void leave_place(struct parked *p)
{
    spin_lock(&park_lock);
    __atomic_fetch_sub(&nparked, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&steer_plan->done.waited_ns, steer_now_ns() - p->since_ns, __ATOMIC_RELAXED);
    standstill_since = 0;
    if (p->freed)
        __atomic_fetch_sub(&steer_freed, 1, __ATOMIC_SEQ_CST);
    if (p->nreleased)
        __atomic_fetch_sub(&steer_released, 1, __ATOMIC_SEQ_CST);
    p->nreleased = 0;
    p->used = p->lingers = p->freed = false;
    spin_unlock(&park_lock);
}

/* ---- nobody can come ---- */

static bool is_parked(uint32_t number)
{
    for (const struct parked *p = parked; p < parked + PARKED_MOST; p++)
        if (p->used && p->number == number)
            return p->woken == WAITING;
    return false;
}

static bool somebody_runs(void)
{
    uint32_t n = __atomic_load_n(&rt.ring->threads, __ATOMIC_RELAXED);

    if (n > THREADS_LOOKED_AT)
        return true;
    for (uint32_t i = 0; i < n; i++) {
        const struct ring_thread *r = ring_thread_at(i);

        if (__atomic_load_n(&r->state, __ATOMIC_RELAXED) != THREAD_ENDED &&
            !(__atomic_load_n(&r->reserved[1], __ATOMIC_RELAXED) & (RING_FIBER | RING_ASLEEP)) &&
            !is_parked(i))
            return true;
    }
    return false;
}

static bool is_before(const struct parked *a, const struct parked *b)
{
    if (!a->sides != !b->sides)
        return !a->sides;
    return a->since_ns < b->since_ns;
}

/* With park_lock. */
static void send_longest_on(void)
{
    struct parked *longest = NULL;

    for (struct parked *p = parked; p < parked + PARKED_MOST; p++)
        if (p->used && p->woken == WAITING && (!longest || is_before(p, longest)))
            longest = p;
    if (!longest)
        return;
    if (longest->sides)
        note(STEER_NOTE_BLOCKED, longest->sides >> 1, longest->access.address, 0);
    else
        note(STEER_NOTE_GATE, longest->gate, 0, 0);
    wake(longest, SENT_ON);
}

static void look_for_standstill(void)
{
    uint64_t now = steer_now_ns();

    spin_lock(&park_lock);
    if (somebody_runs()) {
        standstill_since = 0;
    } else if (!standstill_since) {
        standstill_since = now;
    } else if (now - standstill_since > STANDSTILL_NS) {
        standstill_since = 0;
        send_longest_on();
    }
    spin_unlock(&park_lock);
}

/* ---- waiting ---- */

/* The time for all waits is over: the program runs on as it would. */
static bool is_over(uint64_t now)
{
    if (now - first_wait_ns < steer_plan->budget_ns)
        return false;
    spin_lock(&park_lock);
    __atomic_store_n(&steer_on, false, __ATOMIC_SEQ_CST);
    wake_all(OVER);
    spin_unlock(&park_lock);
    return true;
}

/* On a busy machine the others have got little done in that time. They have had theirs when they
 * have computed for as long, or when they do not want to. */
static bool had_their_time(const struct parked *p, uint64_t waited, uint64_t patience)
{
    uint64_t used = cpu_ns() - p->since_cpu_ns;

    return waited >= patience && (used >= patience || used < waited / IDLE);
}

static bool time_is_up(struct parked *p, uint64_t patience)
{
    uint64_t now = steer_now_ns();

    if (is_over(now))
        return true;
    if (!had_their_time(p, now - p->since_ns, patience))
        return false;
    if (p->sides)
        note(STEER_NOTE_SIDE, p->sides >> 1, p->access.address, 0);
    else
        note(STEER_NOTE_GATE, p->gate, 0, 0);
    return true;
}

static bool is_waiting(const struct parked *p)
{
    return __atomic_load_n(&p->woken, __ATOMIC_SEQ_CST) == WAITING && steer_searches() &&
           (p->sides || !steer_gate_is_open(p->gate));
}

/* Until it is woken, its time is up, or a signal comes: then true. */
static bool wait_once(struct parked *p, uint64_t patience)
{
    const struct timespec look = { 0, LOOK_NS };

    while (is_waiting(p)) {
        if (rt_signals_pending)
            return true;
        if (time_is_up(p, patience)) {
            uint32_t waiting = WAITING;

            __atomic_compare_exchange_n(&p->woken, &waiting, OVER, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST);
            break;
        }
        syscall(SYS_futex, &p->woken, FUTEX_WAIT_PRIVATE, WAITING, &look, NULL, 0);
        look_for_standstill();
    }
    return false;
}

static uint64_t patience_ns(void)
{
    return steer_plan->flags & STEER_PATIENT ? 3 * steer_plan->patience_ns
                                             : steer_plan->patience_ns;
}

void steer_wake(void)
{
    if (!__atomic_load_n(&gates_waiting, __ATOMIC_SEQ_CST))
        return;
    for (struct parked *p = parked; p < parked + PARKED_MOST; p++)
        if (p->used && !p->sides)
            syscall(SYS_futex, &p->woken, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static struct parked *begin_gate(uint32_t gate)
{
    struct parked *p;

    spin_lock(&park_lock);
    p = take_place(NULL, 0, gate);
    spin_unlock(&park_lock);
    if (p)
        __atomic_fetch_add(&gates_waiting, 1, __ATOMIC_SEQ_CST);
    return p;
}

/* The same wait goes on after a signal's handler: `left` is what remains of its time. */
static bool wait_at_gate(uint32_t gate, uint64_t left)
{
    struct parked *p;
    bool again = false;

    rt_busy_begin();
    p = begin_gate(gate);
    if (p) {
        again = wait_once(p, left);
        __atomic_fetch_sub(&gates_waiting, 1, __ATOMIC_SEQ_CST);
        if (!again && !steer_gate_is_open(gate))
            dropped[gate] = 1;
        leave_place(p);
    }
    rt_busy_end();
    return again;
}

void steer_gate_wait(uint32_t gate)
{
    uint64_t from = steer_now_ns(), patience = patience_ns(), spent = 0;
    bool again = true;

    if (dropped[gate])
        return;
    while (again && steer_searches() && !steer_gate_is_open(gate) && spent < patience) {
        again = wait_at_gate(gate, patience - spent);
        spent = steer_now_ns() - from;
    }
    __atomic_fetch_add(dropped[gate] ? &steer_plan->done.gates_left
                                     : &steer_plan->done.gates_passed,
                       1, __ATOMIC_RELAXED);
}

/* ---- what was seen ---- */

bool steer_is_write(const struct steer_access *a)
{
    return a->op == OP_WRITE || a->op == OP_FREE || a->op == OP_STORE || a->op == OP_RMW;
}

static bool is_atomic(const struct steer_access *a)
{
    return a->op == OP_LOAD || a->op == OP_STORE || a->op == OP_RMW;
}

/* The frames of the shadow stack: where each function returns to. */
static void fill_frames(struct prod_side *s, uint64_t where)
{
    uint32_t depth = tls.depth < SHADOW_MASK ? tls.depth : SHADOW_MASK;

    s->frame[0] = where & WHERE_PC ? (where & ~WHERE_PC) - 1 : 0; /* behind a call */
    s->frames = 1;
    for (uint32_t i = 1; i <= depth && s->frames < PROD_FRAMES_MAX; i++)
        s->frame[s->frames++] = tls.shadow[(tls.depth - i) & SHADOW_MASK].return_address;
}

/* Of the calling thread. */
static void fill_side(struct prod_side *s, const struct steer_access *a, unsigned side)
{
    const struct steer_side *plan = &steer_plan->side[side];

    memset(s, 0, sizeof(*s));
    s->site = side;
    s->tid = (uint32_t)syscall(SYS_gettid);
    s->thread = tls.self->number;
    s->address = a->address;
    s->bytes = a->bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)a->bytes;
    s->write = steer_is_write(a);
    s->atomic = is_atomic(a) ? a->op : 0;
    fill_frames(s, a->where);
    if (a->where & WHERE_PC)
        return;
    s->name = (struct prod_site){ { plan->module[0], plan->module[1] }, plan->index, 0 };
}

/* Through the kernel: what the program is about to access may not be there. */
static bool read_value(uint64_t *value)
{
    struct steer_done *d = &steer_plan->done;
    uint64_t bytes = d->bytes < 8 ? d->bytes : 8, got = 0;
    struct iovec to = { &got, bytes }, from = { (void *)d->address, bytes };

    if (syscall(SYS_process_vm_readv, syscall(SYS_getpid), &to, 1L, &from, 1L, 0L) != (long)bytes)
        return false;
    *value = got;
    return true;
}

static void note_images(void)
{
    const struct prod_sighting *s = &rt_control->sighting[0];

    for (unsigned k = 0; k < 2; k++) {
        prod_note_images(s->side[k].frame, s->side[k].frames);
        prod_note_images(&s->side[k].address, 1);
    }
}

/* ---- meeting ---- */

/* Together they are the race: one is at each side. */
static bool are_sides(unsigned a, unsigned b)
{
    return (a & 1 && b & 2) || (a & 2 && b & 1);
}

static bool overlap(const struct steer_access *a, const struct steer_access *b)
{
    return a->address < b->address + b->bytes && b->address < a->address + a->bytes;
}

static bool conflict(const struct steer_access *a, const struct steer_access *b)
{
    return overlap(a, b) && (steer_is_write(a) || steer_is_write(b)) &&
           !(is_atomic(a) && is_atomic(b));
}

/* With park_lock: who stands at the other side, here or elsewhere. */
static struct parked *partner(const struct steer_access *a, unsigned sides, bool here)
{
    for (struct parked *p = parked; p < parked + PARKED_MOST; p++)
        if (p->used && p->sides && (p->lingers ? here : p->woken == WAITING) &&
            p->number != tls.self->number && are_sides(p->sides, sides) &&
            (!here || conflict(&p->access, a)))
            return p;
    return NULL;
}

static void set_bytes(const struct steer_access *a, const struct steer_access *b)
{
    struct steer_done *d = &steer_plan->done;
    uintptr_t high = a->address + a->bytes < b->address + b->bytes ? a->address + a->bytes
                                                                   : b->address + b->bytes;

    d->address = a->address > b->address ? a->address : b->address;
    d->bytes = high - d->address;
    d->values = read_value(&d->before);
}

static bool put_in_order(const struct parked *p, const struct steer_access *a,
                         const struct prod_sighting *s, unsigned theirs)
{
    const struct steer_access *access[2] = { a, a };
    const uint32_t tid[2] = { s->side[0].tid, s->side[1].tid };

    access[theirs] = &p->access;
    return steer_order_begin(access, tid, p->lingers ? (int)theirs : -1);
}

/* With park_lock: both stand there. The one that waited goes first, if nobody asks for an order. */
static void meet(struct parked *p, const struct steer_access *a, unsigned sides)
{
    unsigned theirs = p->sides & 1 && sides & 2 ? 0 : 1;
    struct prod_sighting *s = prod_sighting();

    if (!s)
        return;
    s->side[theirs] = p->seen;
    s->side[theirs].site = theirs;
    fill_side(&s->side[!theirs], a, !theirs);
    s->count = 1;
    set_bytes(&p->access, a);
    if (p->lingers)
        steer_plan->done.values = 0; /* it is the value behind the first access */
    steer_plan->done.first = theirs;
    __atomic_store_n(&s->ready, 1, __ATOMIC_RELEASE);
    if (!put_in_order(p, a, s, theirs))
        __atomic_store_n(&steer_on, false, __ATOMIC_SEQ_CST);
    __atomic_store_n(&steer_plan->done.met, p->lingers ? STEER_BEHIND : STEER_TOGETHER,
                     __ATOMIC_RELEASE);
    met = p;
    met_side = theirs;
    wake_all(MET);
}

/* Let the first of the two make its access before ours; what stands there then. */
static void follow(const struct parked *first, unsigned sides)
{
    const struct timespec moment = { 0, 50 * 1000 };
    uint64_t from = steer_now_ns();
    uint32_t never = 0;

    note_images(); /* not under the lock: the loader has one, too */
    if (steer_met) {
        steer_order_go(!((first->sides & 1 && sides & 2) ? 0 : 1));
        return;
    }
    if (steer_plan->done.met == STEER_BEHIND)
        return;
    while (!__atomic_load_n(&first->gone, __ATOMIC_ACQUIRE) &&
           steer_now_ns() - from < FIRST_GOES_NS)
        syscall(SYS_futex, &never, FUTEX_WAIT_PRIVATE, 0, &moment, NULL, 0);
    for (from = steer_now_ns(); steer_now_ns() - from < FIRST_DOES_NS;) {
        struct steer_done *d = &steer_plan->done;

        if (read_value(&d->after) && d->values & 1)
            d->values |= 2;
        if (d->values & 2 && d->after != d->before)
            break;
        syscall(SYS_futex, &never, FUTEX_WAIT_PRIVATE, 0, &moment, NULL, 0);
    }
}

/* Both are at the two sides, at different addresses; does the one that comes wait there? With
 * park_lock. */
static bool let_lower_go(const struct steer_access *a, unsigned sides)
{
    struct parked *p = partner(a, sides, false);

    if (!p)
        return true;
    note(STEER_NOTE_ELSEWHERE, p->sides >> 1, p->access.address, a->address);
    if (a->address <= p->access.address)
        return false;
    wake(p, SENT_ON);
    return true;
}

static bool may_wait(unsigned sides)
{
    if (steer_plan->flags & STEER_FIRST_WAITS)
        return sides & 1;
    return !(steer_plan->flags & STEER_SECOND_WAITS) || sides & 2;
}

enum arrival { ARRIVED_TO_WAIT, ARRIVED_SECOND, ARRIVED_FOR_NOTHING };

static enum arrival arrive(const struct steer_access *a, unsigned sides, struct parked **p)
{
    enum arrival r = ARRIVED_FOR_NOTHING;

    spin_lock(&park_lock);
    if (steer_searches() && (*p = partner(a, sides, true))) {
        meet(*p, a, sides);
        r = ARRIVED_SECOND;
    } else if (steer_searches() && let_lower_go(a, sides) && may_wait(sides) &&
               (*p = take_place(a, sides, 0))) {
        fill_side(&(*p)->seen, a, sides >> 1);
        r = ARRIVED_TO_WAIT;
    }
    spin_unlock(&park_lock);
    return r;
}

/* Untraced code that has called back, or runs threads, may release after what it called. */
static bool may_linger(void)
{
    return !hidden_threads && !hidden_calls && !tls.self->nopen && steer_searches() && !lingering &&
           rt_options.calls != CALLS_NONE && images_tell_calls();
}

/* The place stays taken. With the time that is left for waiting before the release. */
static void linger(struct parked *p)
{
    spin_lock(&park_lock);
    p->lingers = true;
    standstill_since = 0;
    spin_unlock(&park_lock);
    lingering = p;
    steer_lingers = true;
}

static void end_lingering(void)
{
    leave_place(lingering);
    lingering = NULL;
    steer_lingers = false;
}

/* Before a release: whoever comes to the other access still comes in time. */
void steer_leaves_slow(void)
{
    uint64_t from = steer_now_ns(), patience = patience_ns(), spent = 0;
    int saved = errno;
    bool again = true;

    if (unlikely(steer_met && !lingering)) {
        steer_order_again();
        return;
    }
    if (!lingering || tls.busy)
        return;
    while (again && steer_searches() && lingering->lingers && spent < patience) {
        rt_busy_begin();
        lingering->since_ns = steer_now_ns();
        lingering->since_cpu_ns = cpu_ns();
        __atomic_store_n(&lingering->woken, WAITING, __ATOMIC_SEQ_CST);
        again = wait_once(lingering, patience - spent);
        rt_busy_end();
        spent = steer_now_ns() - from;
    }
    rt_busy_begin();
    end_lingering();
    rt_busy_end();
    errno = saved;
}

/* What a lingering thread did before is ordered before what this one does from now on. Its place
 * stays taken until it comes by. With park_lock. */
static void forget(struct parked *p)
{
    p->sides = 0;
    p->lingers = false;
    wake(p, OVER);
}

static bool has_released(const struct parked *p, uint64_t object)
{
    for (uint32_t i = 0; i < p->nreleased; i++)
        if (p->released[i] == object)
            return true;
    return false;
}

enum order_by { BY_ALL, BY_FREE, BY_OBJECT };

static void order_lingering(enum order_by by, uint64_t object)
{
    if (!tls.self)
        return;
    rt_busy_begin();
    spin_lock(&park_lock);
    for (struct parked *p = parked; p < parked + PARKED_MOST; p++)
        if (p->lingers && p->number != tls.self->number &&
            (by == BY_ALL || (by == BY_FREE && p->freed) ||
             (by == BY_OBJECT && has_released(p, object))))
            forget(p);
    spin_unlock(&park_lock);
    rt_busy_end();
}

void steer_ordered_all(void)
{
    order_lingering(BY_ALL, 0);
}

void steer_frees_slow(void)
{
    if (unlikely(steer_met && !lingering))
        return;
    if (!rt_options.malloc_events) { /* who gets it is not told */
        steer_leaves_slow();
        return;
    }
    if (!lingering || lingering->freed)
        return;
    rt_busy_begin();
    spin_lock(&park_lock);
    lingering->freed = true;
    __atomic_fetch_add(&steer_freed, 1, __ATOMIC_SEQ_CST);
    spin_unlock(&park_lock);
    rt_busy_end();
}

static bool note_released(uint64_t object)
{
    bool noted = false;

    rt_busy_begin();
    spin_lock(&park_lock);
    if (has_released(lingering, object)) {
        noted = true;
    } else if (lingering->nreleased < RELEASED_MOST) {
        if (!lingering->nreleased)
            __atomic_fetch_add(&steer_released, 1, __ATOMIC_SEQ_CST);
        lingering->released[lingering->nreleased++] = object;
        noted = true;
    }
    spin_unlock(&park_lock);
    rt_busy_end();
    return noted;
}

void steer_releases_slow(unsigned op, uint64_t object)
{
    bool lock = op == OP_RELEASE || op == OP_RELEASE_SHARED || op == OP_SEM_POST;

    if (!lock || !lingering || tls.busy || !note_released(object))
        steer_leaves_slow();
}

void steer_acquires_slow(unsigned op, uint64_t object)
{
    if (op == OP_ACQUIRE || op == OP_ACQUIRE_SHARED || op == OP_SEM_WAIT)
        order_lingering(BY_OBJECT, object);
}

void steer_allocates_slow(void)
{
    order_lingering(BY_FREE, 0);
}

/* As wait_at_gate(). */
static bool stand_once(const struct steer_access *a, unsigned sides, uint64_t left)
{
    struct parked *p = NULL;
    enum arrival arrival;
    bool again = false;

    rt_busy_begin();
    arrival = arrive(a, sides, &p);
    if (arrival == ARRIVED_SECOND) {
        follow(p, sides);
    } else if (arrival == ARRIVED_TO_WAIT) {
        again = wait_once(p, left);
        if (!again && p->woken != MET && may_linger()) {
            linger(p);
        } else {
            if (p->woken == MET && p == met)
                steer_order_go(met_side);
            leave_place(p);
            __atomic_store_n(&p->gone, true, __ATOMIC_RELEASE);
        }
    }
    rt_busy_end();
    return again;
}

void steer_stand(const struct steer_access *a, unsigned sides)
{
    /* behind the access it has its time again */
    bool hasty = steer_plan->flags & STEER_HASTY && may_linger();
    uint64_t from = steer_now_ns(), patience = patience_ns() / (hasty ? 5 : 1), spent = 0;
    struct steer_done *d = &steer_plan->done;
    bool again = true;

    for (unsigned s = 0; s < 2; s++)
        if (sides >> s & 1)
            __atomic_fetch_add(&d->came[s], 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&d->waits, 1, __ATOMIC_RELAXED);
    while (again && steer_searches() && spent < patience) {
        again = stand_once(a, sides, patience - spent);
        spent = steer_now_ns() - from;
    }
}
