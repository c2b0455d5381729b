/* hbpair.c - litehb and fullhb: happens-before for one pair of sites
 *
 * fullhb follows all synchronisation from start to end, keeps the accesses of both sites and finds
 * the pair in both orders. litehb (Kasikci et al., RaceMob, SOSP 2013, as in Biswas et al., CC
 * 2017, section 7.1, without its waiting) finds s1 before s2 only, and follows synchronisation only
 * while that can happen: from an execution of s1 until every thread's clock knows all of s1's.
 *
 * Starting late is harmless: what synchronisation before the start ordered came before s1. A thread
 * that will learn of s1 does so through synchronisation of the program, after which it sees that
 * tracking is on; only an atomic load is announced before it is done, and is therefore remembered
 * also while tracking is off.
 * A thread that we first hear of when it is already running is taken to come after all that was.
 */
#include "runtime/hbpair.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct hb_thread {
    struct hb_clock clock;   /* [slot] is its own epoch */
    struct hb_clock fence;   /* as its last release fence left it; n 0: there was none */
    struct hb_clock relaxed; /* what its relaxed loads may have seen: for an acquire fence */
    uint32_t clock_at[HB_SLOTS], fence_at[HB_SLOTS], relaxed_at[HB_SLOTS];
    uint32_t slot;
    bool released;    /* since its last access of the pair: the next one has a new epoch */
    bool alive;       /* with threads_lock */
    uint32_t phase;   /* of its last access */
    uint32_t past;    /* litehb: the s1's that it knows all of, as a version */
    uint64_t pending; /* an atomic it was about to read, 0: none */
    bool pending_acquires;
};

enum { HITS_AT_A_TIME = 64 };

static struct hb_thread *threads; /* by slot */
static uint32_t nthreads;         /* slots ever used */
static uint32_t begun;            /* threads forked and not yet begun */
static struct pair_mutex threads_lock;
static bool lite;
static uint32_t tracking; /* fullhb: always */
static bool broken;       /* memory ran out: nothing is reported any more */
static uint64_t tracking_since;
static uint32_t phase; /* of tracking: releases between two were not seen */
/* litehb: the last epoch of each slot in which it executed s1, and how often that changed. */
static uint32_t last_s1[HB_SLOTS];
static uint32_t s1_version;

static _Thread_local struct hb_thread *self __attribute__((tls_model("initial-exec")));
static _Thread_local bool left_out __attribute__((tls_model("initial-exec")));
static _Thread_local uint64_t early_load __attribute__((tls_model("initial-exec")));
static _Thread_local uint32_t own_tid __attribute__((tls_model("initial-exec")));
static _Thread_local uint32_t hits[2] __attribute__((tls_model("initial-exec")));

static void count(enum prod_hb_counter which)
{
    __atomic_fetch_add(&rt_control->counter[which], 1, __ATOMIC_RELAXED);
}

static bool is_tracking(void)
{
    return __atomic_load_n(&tracking, __ATOMIC_ACQUIRE);
}

/* An edge could not be kept: from now on pairs may look unordered that are not. */
static void give_up(void)
{
    broken = true;
    count(HB_FORGOT);
}

/* ---- threads ---- */

static uint32_t epoch_of(const struct hb_thread *t)
{
    return __atomic_load_n(&t->clock.at[t->slot], __ATOMIC_ACQUIRE);
}

/* A slot whose thread ended before all that the new one does, or that no kept access is of. With
 * threads_lock. */
static struct hb_thread *find_slot(const struct hb_clock *knows)
{
    for (uint32_t i = 0; i < nthreads; i++) {
        struct hb_thread *t = &threads[i];

        if (!t->alive && (!is_tracking() || hb_clock_get(knows, i) >= epoch_of(t)))
            return t;
    }
    if (nthreads == HB_SLOTS)
        return NULL;
    threads[nthreads].slot = nthreads;
    threads[nthreads].clock.at = threads[nthreads].clock_at;
    __atomic_store_n(&nthreads, nthreads + 1, __ATOMIC_RELEASE);
    return &threads[nthreads - 1];
}

/* Everything that any thread did so far. */
static void learn_all(struct hb_clock *to)
{
    pair_mutex_lock(&threads_lock);
    for (uint32_t i = 0; i < nthreads; i++)
        to->at[i] = epoch_of(&threads[i]);
    to->n = nthreads;
    pair_mutex_unlock(&threads_lock);
}

static struct hb_thread *thread_new(struct hb_clock *knows)
{
    struct hb_thread *t;
    uint32_t epoch;

    pair_mutex_lock(&threads_lock);
    t = find_slot(knows);
    if (t) {
        epoch = t->clock.at[t->slot] + 1;
        memset(t->clock_at, 0, sizeof(t->clock_at));
        t->clock = (struct hb_clock){ t->slot + 1, HB_SLOTS, t->clock_at };
        t->fence = (struct hb_clock){ 0, HB_SLOTS, t->fence_at };
        t->relaxed = (struct hb_clock){ 0, HB_SLOTS, t->relaxed_at };
        __atomic_store_n(&t->clock.at[t->slot], epoch, __ATOMIC_RELEASE);
        knows->at[t->slot] = 0; /* its own is newer */
        hb_clock_learn(&t->clock, knows);
        t->released = false;
        t->pending = 0;
        t->past = 0;
        t->alive = true;
    }
    pair_mutex_unlock(&threads_lock);
    if (!t) {
        left_out = true;
        count(HB_NO_THREAD);
    }
    return t;
}

/* The calling thread's state; NULL: it is not tracked. */
static struct hb_thread *own(void)
{
    uint32_t room[HB_SLOTS];
    struct hb_clock knows = { 0, HB_SLOTS, room };

    if (likely(self != NULL) || left_out)
        return self;
    memset(room, 0, sizeof(room));
    learn_all(&knows);
    self = thread_new(&knows);
    return self;
}

/* ---- litehb: when to stop ---- */

static bool knows_all(const struct hb_thread *t)
{
    uint32_t n = __atomic_load_n(&nthreads, __ATOMIC_ACQUIRE);

    for (uint32_t i = 0; i < n; i++)
        if (i != t->slot &&
            hb_clock_get(&t->clock, i) < __atomic_load_n(&last_s1[i], __ATOMIC_ACQUIRE))
            return false;
    return true;
}

/* With threads_lock. */
static bool all_know_all(uint32_t version)
{
    for (uint32_t i = 0; i < nthreads; i++)
        if (threads[i].alive && __atomic_load_n(&threads[i].past, __ATOMIC_ACQUIRE) != version)
            return false;
    return !__atomic_load_n(&begun, __ATOMIC_SEQ_CST);
}

static void stop_if_over(void)
{
    pair_mutex_lock(&threads_lock);
    if (is_tracking() && all_know_all(__atomic_load_n(&s1_version, __ATOMIC_SEQ_CST))) {
        __atomic_store_n(&tracking, 0, __ATOMIC_SEQ_CST);
        __atomic_fetch_add(&rt_control->counter[HB_TRACKED_NS], prod_now_ns() - tracking_since,
                           __ATOMIC_RELAXED);
    }
    pair_mutex_unlock(&threads_lock);
}

/* The thread has learned something. */
static void look_if_over(struct hb_thread *t)
{
    uint32_t version = __atomic_load_n(&s1_version, __ATOMIC_SEQ_CST);

    if (!lite || t->past == version || !knows_all(t))
        return;
    __atomic_store_n(&t->past, version, __ATOMIC_SEQ_CST);
    stop_if_over();
}

static void start_tracking(void)
{
    pair_mutex_lock(&threads_lock);
    if (!is_tracking()) {
        hb_cells_forget(0, UINT64_MAX); /* all threads know of what was kept */
        memset(last_s1, 0, sizeof(last_s1));
        tracking_since = prod_now_ns();
        __atomic_fetch_add(&phase, 1, __ATOMIC_SEQ_CST);
        count(HB_STARTS);
        __atomic_store_n(&tracking, 1, __ATOMIC_SEQ_CST);
    }
    pair_mutex_unlock(&threads_lock);
}

/* ---- edges ---- */

static void learn(struct hb_thread *t, enum hb_kind kind, uint64_t object)
{
    if (hb_object_learn(kind, object, &t->clock))
        look_if_over(t);
}

static void release(struct hb_thread *t, enum hb_kind kind, uint64_t object)
{
    if (!hb_object_add(kind, object, &t->clock))
        give_up();
    t->released = true;
}

/* The atomic load that was announced has been done by now. */
static void settle(struct hb_thread *t)
{
    uint64_t address = t->pending ? t->pending : early_load;
    bool acquires = !t->pending || t->pending_acquires;

    early_load = t->pending = 0;
    if (!address)
        return;
    if (acquires)
        learn(t, HB_ATOMIC, address);
    else
        hb_object_learn(HB_ATOMIC, address, &t->relaxed);
}

static void edge(struct hb_thread *t, enum op op, uint64_t object)
{
    switch (op) {
    case OP_ACQUIRE:
        learn(t, HB_LOCK, object);
        learn(t, HB_READERS, object);
        break;
    case OP_ACQUIRE_SHARED:
        learn(t, HB_LOCK, object);
        break;
    case OP_RELEASE:
        release(t, HB_LOCK, object);
        break;
    case OP_RELEASE_SHARED:
        release(t, HB_READERS, object);
        break;
    case OP_WAIT:
        learn(t, HB_COND, object);
        break;
    case OP_SIGNAL:
    case OP_BROADCAST:
        release(t, HB_COND, object);
        break;
    case OP_BARRIER_ENTER:
        release(t, HB_BARRIER, object);
        break;
    case OP_BARRIER_LEAVE:
        learn(t, HB_BARRIER, object);
        break;
    case OP_SEM_POST:
        release(t, HB_SEM, object);
        break;
    case OP_SEM_WAIT:
        learn(t, HB_SEM, object);
        break;
    case OP_ONCE:
        learn(t, HB_ONCE, object);
        release(t, HB_ONCE, object);
        break;
    case OP_BEFORE:
        release(t, HB_NOTE, object);
        break;
    case OP_AFTER:
        learn(t, HB_NOTE, object);
        break;
    default:
        break;
    }
}

static void synchronised(enum op op, uint64_t object)
{
    int guard;
    struct hb_thread *t;

    if (!is_tracking())
        return;
    guard = pair_guard_begin();
    t = own();
    if (t) {
        count(HB_SYNCS);
        settle(t);
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
        look_if_over(t);
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
        release(t, HB_ATOMIC, h->address);
    else if (t->fence.n && !hb_object_add(HB_ATOMIC, h->address, &t->fence))
        give_up();
}

static void atomic(const struct prod_hit *h)
{
    struct hb_thread *t;

    if (!is_tracking()) {
        early_load = h->read ? h->address : 0; /* taken for an acquire, if it comes to that */
        return;
    }
    t = own();
    if (!t)
        return;
    count(HB_ATOMICS);
    settle(t);
    if (h->op == OP_FENCE)
        fence(t, h->order);
    if (h->op == OP_STORE || h->op == OP_RMW)
        atomic_store(t, h);
    if (h->op == OP_LOAD || h->op == OP_RMW) {
        t->pending = h->address;
        t->pending_acquires = acquires(h->order);
    }
}

/* ---- accesses ---- */

/* An access about to be made; its stack is looked at when it is needed. */
struct coming {
    struct hb_access access;
    const struct prod_hit *hit;
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
    uint64_t frames[PROD_FRAMES_MAX];

    if (!c->access.stack)
        c->access.stack = hb_stack_put(frames, prod_backtrace(c->hit, frames, PROD_FRAMES_MAX));
}

static void fill_side(struct prod_side *out, const struct hb_access *a, unsigned side)
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
static void meet(const struct hb_access *kept, void *arg)
{
    struct coming *c = arg;
    struct hb_access *now = &c->access;
    struct prod_side side[2];
    unsigned first; /* the side that the kept one is on */

    if (hb_clock_get(&self->clock, kept->slot) >= kept->epoch || broken)
        return;
    if (kept->role.is[0] && now->role.is[1])
        first = 0;
    else if (!lite && kept->role.is[1] && now->role.is[0])
        first = 1;
    else
        return;
    if (pair_count_again(first ? now->role.number[0] : kept->role.number[0],
                         first ? kept->role.number[1] : now->role.number[1]))
        return;
    find_stack(c);
    fill_side(&side[first], kept, first);
    fill_side(&side[!first], now, !first);
    pair_report(&side[0], &side[1]);
}

static void new_epoch(struct hb_thread *t)
{
    uint32_t now = __atomic_load_n(&phase, __ATOMIC_SEQ_CST);

    if (!t->released && t->phase == now)
        return;
    t->phase = now;
    if (t->clock.at[t->slot] == UINT32_MAX)
        give_up();
    else
        __atomic_store_n(&t->clock.at[t->slot], t->clock.at[t->slot] + 1, __ATOMIC_RELEASE);
    t->released = false;
}

/* litehb: others must learn of this before tracking can stop. */
static void note_s1(struct hb_thread *t)
{
    uint32_t epoch = t->clock.at[t->slot];

    if (last_s1[t->slot] == epoch)
        return;
    __atomic_store_n(&last_s1[t->slot], epoch, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&s1_version, 1, __ATOMIC_SEQ_CST);
    look_if_over(t);
}

static void accessed(const struct prod_hit *h, const struct pair_role *role)
{
    struct hb_thread *t;
    struct coming c = { .hit = h };

    if (!is_tracking() && (!role->is[0] || broken))
        return;
    t = own();
    if (!t)
        return;
    if (!is_tracking())
        start_tracking();
    settle(t);
    new_epoch(t);
    fill_access(&c.access, h, role, t);
    if (role->is[1] || !lite)
        hb_cells_meet(&c.access, meet, &c);
    if ((role->is[0] || !lite) && !hb_cells_has(&c.access)) {
        find_stack(&c);
        hb_cells_keep(&c.access);
    }
    if (role->is[0] && lite)
        note_s1(t);
}

static void flush_hits(void)
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
        flush_hits();
}

static void hit(const struct prod_hit *h)
{
    struct pair_role role = pair_role(h->site);
    int saved = errno, guard = pair_guard_begin();

    if ((role.is[0] || role.is[1]) && h->bytes) {
        count_hit(&role);
        accessed(h, &role);
    }
    if (h->atomic)
        atomic(h);
    pair_guard_end(guard);
    errno = saved;
}

/* ---- the program's threads and memory ---- */

static void thread_fork(uint32_t child)
{
    struct hb_thread *t = is_tracking() ? own() : NULL;

    __atomic_fetch_add(&begun, 1, __ATOMIC_SEQ_CST);
    if (t) {
        settle(t);
        release(t, HB_FORK, child);
    }
}

/* It knows what its creator knew, and its stack is new memory. */
static void thread_begin(uint32_t thread, uint64_t stack, uint64_t bytes)
{
    uint32_t room[HB_SLOTS];
    struct hb_clock knows = { 0, HB_SLOTS, room };

    self = NULL;
    left_out = false;
    early_load = 0;
    memset(room, 0, sizeof(room));
    if (is_tracking())
        hb_object_learn(HB_FORK, thread, &knows);
    hb_object_drop(HB_FORK, thread);
    self = thread_new(&knows);
    hb_cells_forget(stack, bytes);
    __atomic_fetch_sub(&begun, 1, __ATOMIC_SEQ_CST);
    if (self && is_tracking())
        look_if_over(self);
}

static void thread_end(void)
{
    struct hb_thread *t = self;

    flush_hits();
    if (!t)
        return;
    if (is_tracking()) {
        settle(t);
        release(t, HB_END, prod_thread());
    }
    pair_mutex_lock(&threads_lock);
    t->alive = false;
    pair_mutex_unlock(&threads_lock);
    self = NULL;
    left_out = true; /* what still comes of it is not tracked */
    if (lite && is_tracking())
        stop_if_over();
}

static void thread_join(uint32_t child)
{
    struct hb_thread *t = is_tracking() ? own() : NULL;

    if (t) {
        settle(t);
        learn(t, HB_END, child);
    }
    hb_object_drop(HB_END, child);
}

static void allocated(uint64_t address, uint64_t bytes)
{
    int guard;

    if (!is_tracking())
        return;
    guard = pair_guard_begin();
    hb_cells_forget(address, bytes);
    pair_guard_end(guard);
}

/* ---- the mode ---- */

/* All atomics of the program synchronise. (patch_all() would ask while it holds its lock.) */
static void patch_atomics(void)
{
    enum { AT_A_TIME = 64 };
    uint32_t n = patch_count(), list[AT_A_TIME], found = 0;
    struct prod_hit h;

    for (uint32_t site = 0; site < n; site++) {
        if (patch_look(site, &h) && h.atomic)
            list[found++] = site;
        if (found == AT_A_TIME || (found && site + 1 == n)) {
            patch_sites(list, found, true);
            found = 0;
        }
    }
}

static void take_up(struct prod_control *c)
{
    pair_take_up(c);
    patch_atomics();
}

static void images(void)
{
    take_up(rt_control);
}

static bool init(void)
{
    bool done = hb_objects_init() && hb_cells_init();

    threads_lock.state = 0;
    nthreads = begun = 0;
    memset(last_s1, 0, sizeof(last_s1));
    s1_version = 0;
    if (threads)
        hb_pages_clear(threads, HB_SLOTS * sizeof(*threads));
    else
        threads = hb_pages(HB_SLOTS * sizeof(*threads));
    return done && threads;
}

static void start(struct prod_control *c)
{
    if (!init()) {
        count(HB_NO_THREAD);
        return; /* nothing is patched, nothing happens */
    }
    c->counter[HB_START_NS] = prod_now_ns();
    take_up(c);
}

static void start_lite(struct prod_control *c)
{
    lite = true;
    start(c);
}

static void start_full(struct prod_control *c)
{
    tracking = 1;
    start(c);
}

/* litehb: what was not over yet. */
static void ended(void)
{
    flush_hits();
    if (lite && is_tracking())
        __atomic_fetch_add(&rt_control->counter[HB_TRACKED_NS], prod_now_ns() - tracking_since,
                           __ATOMIC_RELAXED);
}

/* One thread is left, and all that was is before what it does. */
static void forked(void)
{
    pair_forked();
    init();
    self = NULL;
    left_out = false;
    early_load = 0;
    own_tid = 0;
    hits[0] = hits[1] = 0;
    tracking = !lite;
}

const struct rt_mode mode_litehb = { .name = "litehb",
                                     .start = start_lite,
                                     .changed = take_up,
                                     .hit = hit,
                                     .sync = synchronised,
                                     .alloc = allocated,
                                     .thread_fork = thread_fork,
                                     .thread_begin = thread_begin,
                                     .thread_end = thread_end,
                                     .thread_join = thread_join,
                                     .images = images,
                                     .forked = forked,
                                     .end = ended };
const struct rt_mode mode_fullhb = { .name = "fullhb",
                                     .start = start_full,
                                     .changed = take_up,
                                     .hit = hit,
                                     .sync = synchronised,
                                     .alloc = allocated,
                                     .thread_fork = thread_fork,
                                     .thread_begin = thread_begin,
                                     .thread_end = thread_end,
                                     .thread_join = thread_join,
                                     .images = images,
                                     .forked = forked,
                                     .end = ended };
