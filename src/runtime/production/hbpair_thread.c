/* hbpair_thread.c - litehb and fullhb: the program's threads, and when to follow synchronisation
 *
 * A thread has a slot, which is used again for one whose creator knows the end of the slot's last.
 * A thread that we first hear of when it is already running is taken to come after all that was.
 *
 * litehb follows synchronisation only from an execution of s1 until every thread's clock knows all
 * of s1's. Starting late is harmless: what synchronisation before the start ordered came before s1.
 * A thread that will learn of s1 does so through synchronisation of the program, after which it
 * sees that tracking is on; only an atomic load is announced before it is done, and is therefore
 * remembered also while tracking is off (hbpair_sync.c).
 */
#include "runtime/production/hbpair.h"

#include <string.h>

bool hb_lite, hb_broken;
uint32_t hb_tracking;

static struct hb_thread *threads; /* by slot */
static uint32_t nthreads;         /* slots ever used */
static uint32_t live;             /* threads that are alive */
static uint32_t begun;            /* threads forked and not yet begun */
static struct pair_mutex threads_lock;
static uint64_t tracking_since;
static uint32_t phase; /* of tracking: releases between two were not seen */
/* litehb: the last epoch of each slot in which it executed s1, and how often that changed. */
static uint32_t last_s1[HB_SLOTS];
static uint32_t s1_version;

static _Thread_local struct hb_thread *self __attribute__((tls_model("initial-exec")));
static _Thread_local bool left_out __attribute__((tls_model("initial-exec")));

void hb_give_up(void)
{
    hb_broken = true;
    hb_count(HB_FORGOT);
}

/* ---- threads ---- */

static uint32_t epoch_of(const struct hb_thread *t)
{
    return __atomic_load_n(&t->clock.at[t->slot], __ATOMIC_ACQUIRE);
}

/* A slot whose thread ended before all that the new one does, or that no kept access is of. With
 * threads_lock. */
static struct hb_thread *hbpair_thread_find_slot(const struct hb_clock *knows)
{
    for (uint32_t i = 0; i < nthreads; i++) {
        struct hb_thread *t = &threads[i];

        if (!t->alive && (!hb_is_tracking() || hb_clock_get(knows, i) >= epoch_of(t)))
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
    t = hbpair_thread_find_slot(knows);
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
        __atomic_store_n(&live, live + 1, __ATOMIC_SEQ_CST);
    }
    pair_mutex_unlock(&threads_lock);
    if (!t) {
        left_out = true;
        hb_count(HB_NO_THREAD);
    }
    return t;
}

struct hb_thread *hb_own(void)
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

void hb_new_epoch(struct hb_thread *t)
{
    uint32_t now = __atomic_load_n(&phase, __ATOMIC_SEQ_CST);

    if (!t->released && t->phase == now)
        return;
    t->phase = now;
    if (t->clock.at[t->slot] == UINT32_MAX)
        hb_give_up();
    else
        __atomic_store_n(&t->clock.at[t->slot], t->clock.at[t->slot] + 1, __ATOMIC_RELEASE);
    t->released = false;
}

/* ---- litehb: when to start and to stop ---- */

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
    if (hb_is_tracking() && all_know_all(__atomic_load_n(&s1_version, __ATOMIC_SEQ_CST))) {
        __atomic_store_n(&hb_tracking, 0, __ATOMIC_SEQ_CST);
        __atomic_fetch_add(&rt_control->counter[HB_TRACKED_NS], prod_now_ns() - tracking_since,
                           __ATOMIC_RELAXED);
    }
    pair_mutex_unlock(&threads_lock);
}

void hb_look_if_over(struct hb_thread *t)
{
    uint32_t version = __atomic_load_n(&s1_version, __ATOMIC_SEQ_CST);

    if (!hb_lite || t->past == version || !knows_all(t))
        return;
    __atomic_store_n(&t->past, version, __ATOMIC_SEQ_CST);
    stop_if_over();
}

bool hb_is_alone(void)
{
    return !__atomic_load_n(&begun, __ATOMIC_SEQ_CST) &&
           __atomic_load_n(&live, __ATOMIC_SEQ_CST) == 1 && self;
}

void hb_start_tracking(void)
{
    pair_mutex_lock(&threads_lock);
    if (!hb_is_tracking()) {
        hb_cells_forget(0, UINT64_MAX); /* all threads know of what was kept */
        memset(last_s1, 0, nthreads * sizeof(*last_s1));
        tracking_since = prod_now_ns();
        __atomic_fetch_add(&phase, 1, __ATOMIC_SEQ_CST);
        hb_count(HB_STARTS);
        __atomic_store_n(&hb_tracking, 1, __ATOMIC_SEQ_CST);
    }
    pair_mutex_unlock(&threads_lock);
}

/* litehb: others must learn of this before tracking can stop. */
void hb_note_s1(struct hb_thread *t)
{
    uint32_t epoch = t->clock.at[t->slot];

    if (last_s1[t->slot] == epoch)
        return;
    __atomic_store_n(&last_s1[t->slot], epoch, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&s1_version, 1, __ATOMIC_SEQ_CST);
    hb_look_if_over(t);
}

void hb_tracking_ends(void)
{
    if (hb_lite && hb_is_tracking())
        __atomic_fetch_add(&rt_control->counter[HB_TRACKED_NS], prod_now_ns() - tracking_since,
                           __ATOMIC_RELAXED);
}

/* ---- their lives ---- */

void hb_thread_fork(uint32_t child)
{
    int guard = pair_guard_begin();
    struct hb_thread *t = hb_is_tracking() ? hb_own() : NULL;

    __atomic_fetch_add(&begun, 1, __ATOMIC_SEQ_CST);
    if (t) {
        hb_settle(t);
        hb_release(t, HB_FORK, child);
    }
    pair_guard_end(guard);
}

/* It knows what its creator knew, and its stack is new memory. */
void hb_thread_begin(uint32_t thread, uint64_t stack, uint64_t bytes)
{
    uint32_t room[HB_SLOTS];
    struct hb_clock knows = { 0, HB_SLOTS, room };

    if (!threads)
        return;
    self = NULL;
    left_out = false;
    hb_forget_early_load();
    prod_stack_is(stack, bytes);
    memset(room, 0, sizeof(room));
    if (hb_is_tracking())
        hb_object_learn(HB_FORK, thread, &knows);
    hb_object_drop(HB_FORK, thread);
    self = thread_new(&knows);
    hb_cells_forget(stack, bytes);
    __atomic_fetch_sub(&begun, 1, __ATOMIC_SEQ_CST);
    if (self && hb_is_tracking())
        hb_look_if_over(self);
}

void hb_thread_end(void)
{
    struct hb_thread *t = self;

    hb_flush_hits();
    hb_flush_counts();
    if (!t)
        return;
    if (hb_is_tracking()) {
        hb_settle(t);
        hb_release(t, HB_END, prod_thread());
    }
    pair_mutex_lock(&threads_lock);
    t->alive = false;
    __atomic_store_n(&live, live - 1, __ATOMIC_SEQ_CST);
    pair_mutex_unlock(&threads_lock);
    self = NULL;
    left_out = true; /* what still comes of it is not tracked */
    if (hb_lite && hb_is_tracking())
        stop_if_over();
}

void hb_thread_join(uint32_t child)
{
    int guard = pair_guard_begin();
    struct hb_thread *t = hb_is_tracking() ? hb_own() : NULL;

    if (t) {
        hb_settle(t);
        hb_learn(t, HB_END, child);
    }
    if (threads)
        hb_object_drop(HB_END, child);
    pair_guard_end(guard);
}

bool hb_threads_are_kept(void)
{
    return threads != NULL;
}

bool hb_threads_init(void)
{
    threads_lock.state = 0;
    nthreads = live = begun = 0;
    memset(last_s1, 0, sizeof(last_s1));
    s1_version = 0;
    self = NULL;
    left_out = false;
    if (threads)
        hb_pages_clear(threads, HB_SLOTS * sizeof(*threads));
    else
        threads = hb_pages(HB_SLOTS * sizeof(*threads));
    return threads != NULL;
}
