/* chase_mode.c - RaceChaser: wait before s1, and see who comes to s2 (docs/design/production.md)
 *
 * Implements Biswas, Cao, Zhang, Bond, Wood, "Lightweight Data Race Detection for Production
 * Runs" (CC 2017), section 4; the budget is chase_core.c's. A thread that is about to execute s1
 * may stop for t_delay with its address published. One that is about to execute s2 looks whether
 * somebody waits on an overlapping address, and has then met a true race: both threads are right
 * before their accesses, have executed neither, and nothing between now and then synchronises.
 *
 * Where it differs from the paper:
 * - A sighting ends the wait: what is left of it goes back to the budget.
 * - Half of the waits are up to a half shorter: threads that wait together do not wake together.
 * - Two that come at the same time do not both wait: the second meets the first.
 * - Rare sites are sampled more often than by P_freq (chase_core.h): they can be afforded.
 * - Very hot sites (the paper leaves that open): s1 is unpatched for a while, s2 is patched for the
 *   time of waits only.
 * - Several processes of a run share one budget.
 * - The budget also pays for what we cost otherwise: the command's start, patching, the hits.
 *
 * The host: a wait is a futex with a time limit, made while busy. So a handler never runs inside:
 * its signal ends the wait and is delivered right after (signal.c). A cancellation waits for the
 * end of the wait, too. Fork: the child has no waiters. Nothing waits for a waiter.
 */
#include "runtime/production/chase_company.h"
#include "runtime/production/chase_constant.h"
#include "runtime/production/chase_core.h"
#include "runtime/production/chase_pair.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* What the budget is charged for: a hit (13 to 20 ns in a loop, 40 to 75 in programs that have
 * their own use for the caches); for one of a call of the C library that takes another way and is
 * looked at before (strlen, to know what printf reads) some more; and at most for a start, where
 * the sites come with a library that the program opens late. */
enum { HIT_NS = 60, CALL_NS = 40, CALL_BYTES_PER_NS = 32, START_MOST_NS = 50 * 1000 * 1000 };
/* A side on whose hits a thread spends more than one part in HOT of its time (0.25 percent; 42,000
 * a second) is too hot. They are looked at when BATCH hits' cost has come together. */
enum { BATCH = 256, HOT = 400 };
/* How long s1 then stays unpatched, in ticks of 100 ms. With the defaults (5 %, 10 ms) a wait can
 * be afforded every 200 ms, and BATCH hits of each thread are more than enough to get it. */
enum { REST_TICKS = 2 };
/* A thread's waits are set against the time since it first came to a site, in ticks: reading the
 * clock at each hit would double its cost. Short of 2^32 of the product in chase_draw_freq(). */
enum { TICK_NS = 100 * 1000 * 1000, TICKS_MOST = 65536 };
/* What a call accesses on its thread's own stack, so near, is waited for once in so many times. */
enum { NEAR_ON_STACK = 64 << 10, OWN_STACK = 8 };
enum { MET = 1, SENT_ON }; /* why a wait ends early */

static struct pair_mutex chase_lock; /* protects core; patch.c's is taken inside */
static struct chase_core core;
static bool both; /* orders: each side is s1 and s2 */
static bool hot[2];
static uint32_t rest_left[2];                 /* in ticks; 0: for the time of waits only */
static uint32_t ticks;                        /* since the start */
static uint64_t had_ns[2][PROD_SITES_MAX];    /* that threads of this process waited at a site */
static uint64_t affordable;                   /* waits in a tick, in 2^16ths */
static uint64_t refused_until;                /* by the budget, whatever is drawn; 0: not known */
enum { REFUSED_MOST_NS = 100 * 1000 * 1000 }; /* other processes may give back */

static _Thread_local struct {
    uint32_t generation;
    bool came_to_s2;
    uint32_t pending[2]; /* hits that the control file does not know yet */
    uint64_t hits, since_ns;
    uint64_t cost_ns, batch_from; /* since since_ns; hits until then */
    uint64_t random;
    uint16_t sampled[2][PROD_SITES_MAX];
    uint32_t came[2][PROD_SITES_MAX];  /* hits */
    uint32_t first[2][PROD_SITES_MAX]; /* tick of the first of them */
} self __attribute__((tls_model("initial-exec")));

/* ---- time ---- */

static uint64_t total_ns(uint64_t now)
{
    return now - __atomic_load_n(&rt_control->counter[CHASE_START_NS], __ATOMIC_RELAXED);
}

static void count(enum prod_chase_counter which)
{
    __atomic_fetch_add(&rt_control->counter[which], 1, __ATOMIC_RELAXED);
}

/* We have spent that much, other than by waiting. */
static void charge(uint64_t ns)
{
    __atomic_fetch_add(&rt_control->counter[CHASE_OWN_NS], ns, __ATOMIC_RELAXED);
}

static void note_time(uint64_t now)
{
    uint64_t *ran = &rt_control->counter[CHASE_RAN_NS], total = total_ns(now),
             old = __atomic_load_n(ran, __ATOMIC_RELAXED);

    while (total > old &&
           !__atomic_compare_exchange_n(ran, &old, total, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

/* ---- the thread ---- */

static uint32_t next_random(void)
{
    self.random ^= self.random << 13;
    self.random ^= self.random >> 7;
    self.random ^= self.random << 17;
    return (uint32_t)(self.random * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

/* A new pair: nothing of it has been sampled. */
static void self_start(uint32_t generation)
{
    uint64_t seed = rt_control->seed ? rt_control->seed : prod_now_ns();

    self.random = (seed + prod_thread()) * UINT64_C(0xbf58476d1ce4e5b9) | 1;
    next_random();
    memset(self.sampled, 0, sizeof(self.sampled));
    memset(self.came, 0, sizeof(self.came));
    self.came_to_s2 = false;
    self.since_ns = prod_now_ns();
    self.generation = generation;
    company_came();
}

static void flush_hits(uint64_t now)
{
    charge(self.cost_ns);
    self.cost_ns = 0;
    self.batch_from = self.hits;
    for (int k = 0; k < 2; k++)
        if (self.pending[k])
            __atomic_fetch_add(&rt_control->hits[k], self.pending[k], __ATOMIC_RELAXED);
    self.pending[0] = self.pending[1] = 0;
    self.since_ns = now;
    note_time(now);
}

/* ---- hot sites ---- */

/* s2 must be patched while somebody waits, s1 only if it is part of s2. The time is the caller's to
 * charge: that of a waiter is charged already. */
static void patch_as_needed(void)
{
    bool waiting = __atomic_load_n(&core.waiting, __ATOMIC_SEQ_CST) != 0;

    for (unsigned k = 0; k < 2; k++) {
        bool on = !__atomic_load_n(&hot[k], __ATOMIC_SEQ_CST) || waiting;

        if (on != pair_is_patched(k))
            pair_patch(k, on);
    }
}

static void patch_and_charge(void)
{
    uint64_t start = prod_now_ns();

    patch_as_needed();
    charge(prod_now_ns() - start);
}

static bool some_hot(void)
{
    return __atomic_load_n(&hot[0], __ATOMIC_RELAXED) || __atomic_load_n(&hot[1], __ATOMIC_RELAXED);
}

static void cool_down(unsigned side)
{
    if (__atomic_exchange_n(&hot[side], true, __ATOMIC_SEQ_CST))
        return;
    __atomic_store_n(&rest_left[side], side == 0 || both ? REST_TICKS : 0, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&rt_control->unpatched_hot, 1, __ATOMIC_RELAXED);
    patch_and_charge();
}

/* A batch is full: is one of the sides that has half of its hits too hot? */
static void look_for_hot(uint64_t now)
{
    uint64_t hits = self.hits - self.batch_from;

    if (now - self.since_ns >= self.cost_ns * HOT)
        return;
    for (unsigned k = 0; k < 2; k++)
        if (2 * self.pending[k] >= hits)
            cool_down(k);
}

/* Exact for the first hits, so that rare sites are counted. */
static void count_hit(const struct prod_hit *h, const struct pair_role *role)
{
    uint64_t now;
    bool batch;

    self.pending[0] += role->is[0];
    self.pending[1] += role->is[1];
    self.came_to_s2 |= role->is[1];
    self.hits++;
    self.cost_ns += HIT_NS;
    if (unlikely(h->call))
        self.cost_ns += CALL_NS + h->bytes / CALL_BYTES_PER_NS;
    batch = self.cost_ns >= BATCH * HIT_NS;
    if (likely(!batch && (self.hits > BATCH || self.hits & (self.hits - 1))))
        return;
    now = prod_now_ns();
    if (batch)
        look_for_hot(now);
    flush_hits(now);
}

/* ---- s1: wait ---- */

static void chase_look(const struct prod_hit *h, const struct pair_role *role);

static struct chase_access access_of(const struct prod_hit *h)
{
    return (struct chase_access){ .address = h->address,
                                  .bytes = h->bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)h->bytes,
                                  .write = h->write,
                                  .atomic = h->atomic };
}

/* Until the deadline, a sighting, or a signal. EINTR alone (a stop, a signal of libc's own) is no
 * reason; an error that will not go away (a filter of system calls) is. */
static void sleep_until(struct chase_waiter *w, uint64_t deadline)
{
    const struct timespec at = { (time_t)(deadline / 1000000000), (long)(deadline % 1000000000) };
    long r = 0;

    while (!__atomic_load_n(&w->woken, __ATOMIC_ACQUIRE) && !rt_signals_pending &&
           (r == 0 || errno == EINTR || errno == EAGAIN))
        r = syscall(SYS_futex, &w->woken, FUTEX_WAIT_BITSET_PRIVATE, 0, &at, NULL,
                    FUTEX_BITSET_MATCH_ANY);
}

/* With chase_lock. */
static void end_wait(struct chase_waiter *w, uint32_t why)
{
    __atomic_store_n(&w->woken, why, __ATOMIC_RELEASE);
    syscall(SYS_futex, &w->woken, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* The side as which a site's thread waits: s2 only where both orders are chased. */
static unsigned side_to_wait(const struct pair_role *role)
{
    return role->is[0] ? 0 : 1;
}

/* Which side of the pair the waiter is when this site meets it: 0, 1, or -1: they are no pair. */
static int side_of_waiter(const struct chase_waiter *w, const struct pair_role *role)
{
    if (w->is[0] && role->is[1])
        return 0;
    return both && w->is[1] && role->is[0] ? 1 : -1;
}

/* Who waits for this access and makes a pair with this site; NULL: nobody. With chase_lock. */
static struct chase_waiter *waiter_for(const struct chase_access *a, const struct pair_role *role)
{
    struct chase_waiter *w = NULL;

    while ((w = chase_meet(&core, a, w)))
        if (!w->woken && side_of_waiter(w, role) >= 0) /* else met already, and on its way */
            break;
    return w;
}

/* Where both orders are chased: while all wait, nobody comes. Those who could come to the new
 * waiter's site, and wait for something else, go on. */
static void send_others(const struct chase_waiter *mine, const struct pair_role *role)
{
    for (struct chase_waiter *w = core.waiter; w < core.waiter + core.used; w++)
        if (w != mine && w->used && !w->woken && side_of_waiter(w, role) >= 0)
            end_wait(w, SENT_ON);
}

static struct chase_waiter *take_place(const struct prod_hit *h, const struct pair_role *role,
                                       uint64_t now, uint32_t random, bool *meets)
{
    struct chase_access a = access_of(h);
    struct chase_waiter *w = NULL;
    bool full = false;

    pair_mutex_lock(&chase_lock);
    *meets = waiter_for(&a, role); /* came at the same time as we, after our chase_look() */
    if (!*meets)
        w = chase_begin(&core, &a, now, total_ns(now), random, &full);
    if (w) {
        /* Takes a while, but it is known already that we wait: who meets us waits for the lock. */
        pair_side(&w->side, h, role, side_to_wait(role));
        w->is[0] = role->is[0];
        w->is[1] = role->is[1];
        if (both)
            send_others(w, role);
    }
    pair_mutex_unlock(&chase_lock);
    if (full)
        count(CHASE_NO_PLACE);
    return w;
}

static void wait_at(struct chase_waiter *w, unsigned side, uint64_t from)
{
    if (some_hot()) {
        count(CHASE_ON_DEMAND);
        patch_as_needed();
    }
    sleep_until(w, w->until_ns);
    __atomic_fetch_add(&had_ns[side][w->side.site % PROD_SITES_MAX], prod_now_ns() - from,
                       __ATOMIC_RELAXED);
    if (__atomic_load_n(&w->woken, __ATOMIC_RELAXED) == MET)
        count(CHASE_MET);
    else if (rt_signals_pending)
        count(CHASE_SIGNALS);
    pair_mutex_lock(&chase_lock);
    chase_end(&core, w, prod_now_ns());
    pair_mutex_unlock(&chase_lock);
    __atomic_store_n(&refused_until, 0, __ATOMIC_RELAXED);
    if (some_hot())
        patch_and_charge();
    note_time(prod_now_ns());
}

/* By a clock that is cheap and some milliseconds slow: where a hot site has used up what may be
 * waited, nearly all hits end here. */
static bool is_refused(void)
{
    uint64_t until = __atomic_load_n(&refused_until, __ATOMIC_RELAXED);

    return until && prod_clock_ns(CLOCK_MONOTONIC_COARSE) < until;
}

static bool budget_allows(uint64_t now, uint32_t random)
{
    uint64_t waited = chase_waited(&core, now), total = total_ns(now),
             own = chase_own_ns(&core, total),
             refused = chase_refused_for(&core.limits, waited, own, total);

    if (!refused)
        return chase_may_wait(&core.limits, waited, own, total, random);
    refused = refused < REFUSED_MOST_NS ? refused : REFUSED_MOST_NS;
    __atomic_store_n(&refused_until, now + refused, __ATOMIC_RELAXED);
    return false;
}

/* A hot site does not take the budget from a rare one of the same run. */
static bool is_fair(unsigned side, unsigned number, uint64_t now)
{
    uint32_t sites = rt_control->nsites[0] + (both ? rt_control->nsites[1] : 0);

    return chase_is_fair(&core.limits, __atomic_load_n(&had_ns[side][number], __ATOMIC_RELAXED),
                         sites, __atomic_load_n(core.waited_ns, __ATOMIC_RELAXED), total_ns(now));
}

/* A call that has hidden state (strtok) is told what it reads of the caller's own buffers first. */
static bool is_on_own_stack(uint64_t address)
{
    return address - (uintptr_t)__builtin_frame_address(0) < NEAR_ON_STACK;
}

/* The thread's own draw was for it; now the budget's. A refusal by the budget is no sample. */
static void sample(const struct prod_hit *h, const struct pair_role *role)
{
    unsigned side = side_to_wait(role);
    uint16_t *sampled = &self.sampled[side][role->number[side]];
    uint32_t random = next_random();
    struct chase_waiter *w;
    uint64_t now;
    bool meets;
    int guard;

    if ((both || self.came_to_s2) && *sampled && __atomic_load_n(&core.waiting, __ATOMIC_RELAXED))
        return; /* who has waited before rather goes to meet those who wait now */
    if (is_refused())
        return;
    now = prod_now_ns();
    if (!budget_allows(now, random))
        return;
    if (!company_is_there() || !is_fair(side, role->number[side], now))
        return;
    if (h->call && !h->write && constant_is(h->address))
        return;
    if (h->call && is_on_own_stack(h->address) && next_random() % OWN_STACK)
        return;
    guard = pair_guard_begin();
    w = take_place(h, role, now, random, &meets);
    if (w) {
        *sampled += *sampled < UINT16_MAX;
        __atomic_fetch_add(&rt_control->waits, 1, __ATOMIC_RELAXED);
        wait_at(w, side, now);
    }
    pair_guard_end(guard);
    if (meets)
        chase_look(h, role);
}

/* ---- s2: look who waits ---- */

/* The waiter's part of a sighting, if one waits for this; its wait is over then. -1: none. */
static int meet_in_chase(const struct chase_access *a, const struct pair_role *role,
                         struct prod_side *one)
{
    struct chase_waiter *w;
    int side = -1;

    pair_mutex_lock(&chase_lock);
    w = waiter_for(a, role);
    if (w) {
        side = side_of_waiter(w, role);
        *one = w->side;
        end_wait(w, MET);
    }
    pair_mutex_unlock(&chase_lock);
    return side;
}

static void chase_look(const struct prod_hit *h, const struct pair_role *role)
{
    struct chase_access a = access_of(h);
    struct prod_side waiter, own;
    int guard, side;

    if (!chase_may_meet(&core, &a))
        return;
    guard = pair_guard_begin();
    while ((side = meet_in_chase(&a, role, &waiter)) >= 0) {
        if (side == 0 ? pair_count_again(waiter.site, role->number[1])
                      : pair_count_again(role->number[0], waiter.site))
            continue; /* its stacks are known */
        pair_side(&own, h, role, (unsigned)!side);
        if (side == 0)
            pair_report(&waiter, &own);
        else
            pair_report(&own, &waiter);
    }
    pair_guard_end(guard);
}

/* ---- the mode ---- */

static bool draw(const struct pair_role *role)
{
    unsigned side = side_to_wait(role), number = role->number[side];
    uint32_t now = __atomic_load_n(&ticks, __ATOMIC_RELAXED);
    uint32_t *came = &self.came[side][number], *first = &self.first[side][number];

    if (!*came)
        *first = now;
    *came += *came < UINT32_MAX;
    return chase_draw_freq(1u + self.sampled[side][number], *came,
                           (now - *first < TICKS_MOST ? now - *first : TICKS_MOST) *
                               __atomic_load_n(&affordable, __ATOMIC_RELAXED),
                           next_random());
}

static bool is_worth_a_wait(const struct pair_role *role)
{
    return (role->is[0] && !role->vain[0]) || (both && role->is[1] && !role->vain[1]);
}

static void chase_hit(const struct prod_hit *h)
{
    struct pair_role role = pair_role(h->site);
    uint32_t generation = __atomic_load_n(&rt_control->generation, __ATOMIC_RELAXED);
    int saved = errno;

    if (unlikely(!(role.is[0] | role.is[1]) || !h->bytes)) /* a fence has none */
        return;
    if (unlikely(self.generation != generation))
        self_start(generation);
    count_hit(h, &role);
    if ((role.is[1] || both) && unlikely(__atomic_load_n(&core.waiting, __ATOMIC_ACQUIRE)))
        chase_look(h, &role);
    if (is_worth_a_wait(&role) && core.limits.max_ppm && draw(&role))
        sample(h, &role);
    errno = saved;
}

static void take_limits(const struct prod_control *c)
{
    pair_mutex_lock(&chase_lock);
    core.limits = (struct chase_limits){ c->delay_ns, c->least_ns, c->max_ppm,
                                         chase_reserve_ppm(c->max_ppm) };
    for (int i = 0; i < CHASE_WAITERS; i++) /* the pair may be another */
        if (core.waiter[i].used)
            end_wait(&core.waiter[i], SENT_ON);
    both = c->flags & CHASE_BOTH_ORDERS;
    memset(had_ns, 0, sizeof(had_ns));
    __atomic_store_n(&refused_until, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&affordable, chase_affordable(&core.limits, TICK_NS), __ATOMIC_RELAXED);
    pair_mutex_unlock(&chase_lock);
    hot[0] = hot[1] = false;
    rest_left[0] = rest_left[1] = 0;
}

static void changed(struct prod_control *c)
{
    take_limits(c);
    pair_take_up(c);
}

/* The tables were read and sorted before we came here, and the program has done little else. */
static uint64_t start_cost_ns(void)
{
    uint64_t ns = prod_clock_ns(CLOCK_PROCESS_CPUTIME_ID);

    return ns < START_MOST_NS ? ns : START_MOST_NS;
}

static void chase_start(struct prod_control *c)
{
    uint64_t none = 0;

    __atomic_compare_exchange_n(&c->counter[CHASE_START_NS], &none, prod_now_ns(), false,
                                __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    core.waited_ns = &c->waited_ns;
    core.late_ns = &c->counter[CHASE_LATE_NS];
    core.own_ns = &c->counter[CHASE_OWN_NS];
    changed(c);
    charge(start_cost_ns());
    note_time(prod_now_ns());
}

static void images(void)
{
    pair_take_up(rt_control);
}

/* Another process of the run may have been faster to say that a change was taken up. */
static void chase_tick(void)
{
    uint32_t generation = __atomic_load_n(&rt_control->generation, __ATOMIC_ACQUIRE);
    bool rested = false;

    __atomic_fetch_add(&ticks, 1, __ATOMIC_RELAXED);
    note_time(prod_now_ns());
    if (!(generation & 1) && generation != pair_generation())
        changed(rt_control);
    for (unsigned k = 0; k < 2; k++)
        if (__atomic_load_n(&rest_left[k], __ATOMIC_SEQ_CST) &&
            !__atomic_sub_fetch(&rest_left[k], 1, __ATOMIC_SEQ_CST)) {
            __atomic_store_n(&hot[k], false, __ATOMIC_SEQ_CST);
            rested = true;
        }
    if (rested)
        patch_and_charge();
}

static void chase_flush(void)
{
    flush_hits(prod_now_ns());
}

static void thread_fork(uint32_t child)
{
    (void)child;
    company_made();
}

static void thread_end(void)
{
    chase_flush();
    company_ended();
}

/* Waiters and the owner of a lock are threads of the parent. */
static void chase_forked(void)
{
    chase_lock.state = 0;
    core.waiting = core.used = 0;
    company_forked();
    for (int i = 0; i < CHASE_WAITERS; i++)
        core.waiter[i].used = false;
    self.pending[0] = self.pending[1] = 0;
    pair_forked();
}

const struct rt_mode mode_chase = { .name = "chase",
                                    .start = chase_start,
                                    .changed = changed,
                                    .hit = chase_hit,
                                    .images = images,
                                    .thread_fork = thread_fork,
                                    .thread_end = thread_end,
                                    .forked = chase_forked,
                                    .tick = chase_tick,
                                    .end = chase_flush };
