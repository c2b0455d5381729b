/* explore_turn.c - whose turn it is (explore_steps.h)
 *
 * At most one thread has the turn. It gives it away ahead of a step, when it has to wait, and at
 * its end; all others wait in a futex of their own. What the plan says goes first; where it says
 * nothing, or asks for a thread that cannot go on, the policy decides. Threads that only look again
 * at what they have looked at, that sleep or yield, and waits that may time out, come after all
 * others, by turns.
 *
 * Who has the turn and sleeps in the kernel in two looks at /proc, 20 ms apart, is "outside": the
 * others go on, and it takes its place among them when it comes to its next step. Without /proc (a
 * sandbox) nobody is.
 *
 * When nobody is ready or outside, that is a deadlock, unless a signal may come, or untraced code
 * has threads of its own: then it is one after a second. Threads that may have been cancelled look
 * once.
 */
#include "runtime/steer/explore_steps.h"
#include "runtime/core/state.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MS UINT64_C(1000000)
enum {
    LOOK_MS = 20,
    LOOKS = 2,
    LOOKS_JOIN = 25,      /* the one it joins has its last step behind it, and may take a moment */
    COMPUTES_MS = 200,    /* of processor time without a step: the others need not wait for it */
    REST_MS = 200,        /* between looks of a thread that cannot go on */
    STUCK_MS = 50,        /* nobody can go on: until that is a deadlock, */
    STUCK_LONG_MS = 1000, /* and where a signal may change it */
    SPIN_MS = 2000,       /* all spin: until that is a livelock, at least, */
    SPIN_READS = 4000,    /* and so many reads */
    MISSES_MOST = 1000,   /* decisions that a segment's thread may be blocked */
    DEADLOCK_CODE = 66
};

struct turn_thread *turn_threads;
uint32_t turn_count;
int32_t turn_current = NOBODY;
uint64_t turn_progress, turn_idle;

static uint32_t lock_word;
static uint32_t segment, segment_done, misses;
static int32_t planned;                    /* whom the plan chose last */
static uint64_t stuck_since, stuck_looked; /* progress at which cancelled threads were asked */
static uint64_t idle_since, random_state;
static uint64_t looked_at, looked_progress;
static int32_t looked_thread = NOBODY;
static uint32_t looks;

void turn_lock(void)
{
    rt_busy_begin();
    spin_lock(&lock_word);
}

void turn_unlock(void)
{
    spin_unlock(&lock_word);
    rt_busy_end();
}

void turn_forked(void)
{
    lock_word = 0;
}

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t next_random(void)
{
    if (!random_state)
        random_state = explore_plan->seed * UINT64_C(0x9e3779b97f4a7c15) + 0x123456789;
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state * UINT64_C(0x2545f4914f6cdd1d);
}

/* ---- who may go ---- */

static bool is_ready(const struct turn_thread *t)
{
    return t->state == EXPLORE_READY || (t->state == EXPLORE_BLOCKED && t->timed);
}

/* Others come first. */
static bool is_late(const struct turn_thread *t)
{
    return t->yields || t->state == EXPLORE_BLOCKED;
}

static bool is_first(const struct turn_thread *t)
{
    return is_ready(t) && !is_late(t);
}

void turn_unplan(int32_t me)
{
    if (turn_threads[me].by_plan && segment_done)
        segment_done--;
    turn_threads[me].by_plan = false;
}

static int32_t slot_of(uint64_t path)
{
    for (uint32_t i = 0; i < turn_count; i++)
        if (turn_threads[i].path == path)
            return (int32_t)i;
    return NOBODY;
}

/* The plan's next thread; NOBODY: it has nothing to say now. */
static int32_t by_plan(void)
{
    const struct explore_plan *p = explore_plan;

    while (segment < p->nsegments) {
        int32_t t = slot_of(p->segment[segment].thread);
        bool over = segment_done >= p->segment[segment].steps ||
                    (t >= 0 && turn_threads[t].state == EXPLORE_OVER);

        if (!over && t >= 0 && is_ready(&turn_threads[t])) {
            segment_done++;
            turn_threads[t].by_plan = true;
            planned = t;
            return t;
        }
        if (!over && misses++ < MISSES_MOST && segment_done == 0)
            return NOBODY;
        if (segment_done < p->segment[segment].steps && !explore_plan->done.diverged++)
            explore_plan->done.diverged_first = segment;
        segment++;
        segment_done = misses = 0;
    }
    return NOBODY;
}

/* The first behind `from`, in a circle, for which `is` holds. */
static int32_t next_behind(int32_t from, bool (*is)(const struct turn_thread *))
{
    uint32_t n = turn_count;

    for (uint32_t i = 1; i <= n; i++) {
        uint32_t t = ((uint32_t)(from + (int32_t)n) + i) % n;

        if (is(&turn_threads[t]))
            return (int32_t)t;
    }
    return NOBODY;
}

static int32_t newest(void)
{
    for (uint32_t t = turn_count; t-- > 0;)
        if (is_first(&turn_threads[t]))
            return (int32_t)t;
    return NOBODY;
}

static int32_t at_random(void)
{
    uint32_t n = 0;
    uint64_t pick;

    for (uint32_t t = 0; t < turn_count; t++)
        n += (uint32_t)is_first(&turn_threads[t]);
    if (!n)
        return NOBODY;
    pick = (next_random() >> 33) % n;
    for (uint32_t t = 0;; t++)
        if (is_first(&turn_threads[t]) && !pick--)
            return (int32_t)t;
}

/* At depth - 1 steps, chosen beforehand, the running thread's priority falls below all others. */
static void change_priority(int32_t me)
{
    uint64_t length = explore_plan->length ? explore_plan->length : 1000, h;

    for (uint32_t i = 1; i < explore_plan->depth; i++) {
        h = (explore_plan->seed ^ i * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xff51afd7ed558ccd);
        h ^= h >> 33;
        if (me >= 0 && explore_plan->done.chosen == h % length + 1)
            turn_threads[me].priority = explore_plan->depth - i;
    }
}

static uint64_t priority_of(struct turn_thread *t)
{
    uint64_t h = (t->path ^ explore_plan->seed * UINT64_C(0x9e3779b97f4a7c15)) *
                 UINT64_C(0xc4ceb9fe1a85ec53);

    if (!t->priority)
        t->priority = (h ^ h >> 29) | UINT64_C(1) << 32;
    return t->priority;
}

static int32_t by_priority(int32_t me)
{
    int32_t best = NOBODY;

    change_priority(me);
    for (uint32_t t = 0; t < turn_count; t++)
        if (is_first(&turn_threads[t]) &&
            (best < 0 || priority_of(&turn_threads[t]) > priority_of(&turn_threads[best])))
            best = (int32_t)t;
    return best;
}

/* Did the thread's last step change what others see? */
static bool has_written(int32_t me)
{
    uint64_t n = explore_plan->done.nsteps;
    const struct explore_step *s;

    if (!n || n > EXPLORE_STEPS_MAX)
        return false;
    s = &explore_plan->step[n - 1];
    return (int32_t)s->thread == me && s->op != EX_READ && s->op != EX_LOAD && s->op != EX_LOCK &&
           s->op != EX_LOCK_SHARED && s->op != EX_FORK && s->op != EX_BEGIN;
}

static bool has_unlocked(int32_t me)
{
    uint64_t n = explore_plan->done.nsteps;
    const struct explore_step *s = &explore_plan->step[n ? n - 1 : 0];

    return n && n <= EXPLORE_STEPS_MAX && (int32_t)s->thread == me &&
           (s->op == EX_UNLOCK || s->op == EX_UNLOCK_SHARED || s->op == EX_SEM_POST);
}

static bool is_first_child(const struct turn_thread *t)
{
    return t != turn_threads && is_first(t);
}

static int32_t by_sections(int32_t me)
{
    int32_t t;

    if (me > 0 && is_first(&turn_threads[me]) && !has_unlocked(me))
        return me;
    t = next_behind(me, is_first_child);
    return t >= 0 ? t : next_behind(NOBODY, is_first);
}

static int32_t by_policy(int32_t me)
{
    bool can = me >= 0 && is_first(&turn_threads[me]);

    switch (explore_plan->policy) {
    case EXPLORE_NEWEST:
        return newest();
    case EXPLORE_ALTERNATE:
        return can && !has_written(me) ? me : next_behind(me, is_first);
    case EXPLORE_SECTIONS:
        return by_sections(me);
    case EXPLORE_RANDOM:
        return at_random();
    case EXPLORE_PCT:
        return by_priority(me);
    default:
        return can ? me : next_behind(NOBODY, is_first);
    }
}

static bool another_is_ready(int32_t t)
{
    for (uint32_t i = 0; i < turn_count; i++)
        if ((int32_t)i != t && is_ready(&turn_threads[i]))
            return true;
    return false;
}

/* Is it the turn of the thread by the plan, too? */
static bool is_planned(int32_t t)
{
    const struct explore_plan *p = explore_plan;

    return segment < p->nsegments && p->segment[segment].thread == turn_threads[t].path &&
           segment_done < p->segment[segment].steps;
}

static int32_t choose(int32_t me)
{
    int32_t t = NOBODY;

    if (me >= 0 && turn_threads[me].keeps && is_ready(&turn_threads[me])) {
        t = me;
        segment_done += is_planned(me);
    }
    if (t < 0)
        t = by_plan();
    if (t < 0)
        t = by_policy(me);
    if (t < 0)
        t = next_behind(me, is_ready);
    return t;
}

/* ---- nobody gets on ---- */

static bool others_may_come(void);

static void end_with(uint32_t failure)
{
    struct explore_done *d = &explore_plan->done;

    for (uint32_t i = 0; i < turn_count; i++) {
        d->thread[i].state = turn_threads[i].state;
        d->thread[i].op =
            turn_threads[i].state == EXPLORE_BLOCKED ? turn_threads[i].kind : turn_threads[i].op;
        d->thread[i].address = turn_threads[i].address;
        d->thread[i].where = turn_threads[i].where;
    }
    __atomic_store_n(&d->failure, failure, __ATOMIC_RELEASE);
    syscall(SYS_exit_group, DEADLOCK_CODE);
}

/* All only look at what they have seen: somebody outside may change it, so it takes its time until
 * that is a failure. */
static void look_for_livelock(void)
{
    if (turn_idle < SPIN_READS) {
        idle_since = 0;
        return;
    }
    if (!idle_since)
        idle_since = now_ns();
    if (turn_idle % 256 || now_ns() - idle_since < (uint64_t)SPIN_MS * MS)
        return;
    for (uint32_t i = 0; i < turn_count; i++)
        if (turn_threads[i].state == EXPLORE_OUTSIDE || turn_threads[i].timed)
            return;
    if (!others_may_come())
        end_with(EXPLORE_LIVELOCK);
}

static bool somebody_is(uint8_t state)
{
    for (uint32_t i = 0; i < turn_count; i++)
        if (turn_threads[i].state == state)
            return true;
    return false;
}

static void wake(int32_t t)
{
    __atomic_fetch_add(&turn_threads[t].turn, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &turn_threads[t].turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0L);
}

static void give(int32_t t)
{
    struct turn_thread *to = &turn_threads[t];

    look_for_livelock();
    to->others = another_is_ready(t);
    to->timed_out = to->state == EXPLORE_BLOCKED;
    to->state = EXPLORE_READY;
    to->timed = false;
    if (to->yields)
        to->stale = 0;
    to->yields = false;
    to->by_plan = to->by_plan && t == planned;
    __atomic_store_n(&turn_current, t, __ATOMIC_SEQ_CST);
}

void turn_pass(int32_t me)
{
    int32_t t = choose(me);

    if (t >= 0) {
        give(t);
        stuck_since = 0;
        if (t != me)
            wake(t);
        return;
    }
    __atomic_store_n(&turn_current, NOBODY, __ATOMIC_SEQ_CST);
    if (!somebody_is(EXPLORE_OUTSIDE))
        stuck_since = now_ns();
}

/* ---- /proc ---- */

static long read_file(const char *path, char *to, size_t room)
{
    long fd = syscall(SYS_open, path, O_RDONLY | O_CLOEXEC), n = -1;

    if (fd >= 0) {
        n = syscall(SYS_read, fd, to, room - 1);
        syscall(SYS_close, fd);
    }
    if (n >= 0)
        to[n] = 0;
    return n;
}

static char *put_number(char *to, uint64_t n)
{
    char digits[24];
    int i = 0;

    do
        digits[i++] = (char)('0' + n % 10);
    while (n /= 10);
    while (i)
        *to++ = digits[--i];
    return to;
}

static bool is_asleep(int32_t tid)
{
    char path[64] = "/proc/self/task/", text[512], *p;

    if (tid <= 0 || rt_sandbox)
        return false;
    p = put_number(path + strlen(path), (uint64_t)tid);
    memcpy(p, "/stat", 6);
    if (read_file(path, text, sizeof(text)) <= 0 || !(p = strrchr(text, ')')) || !p[1])
        return false;
    return p[2] == 'S' || p[2] == 'D';
}

/* May something that we do not see wake a thread? Handlers of signals, threads of libraries. */
static bool others_may_come(void)
{
    char text[4096], *p;
    uint64_t caught, living = 0;

    if (rt_sandbox || read_file("/proc/self/status", text, sizeof(text)) <= 0)
        return true;
    p = strstr(text, "\nSigCgt:");
    caught = p ? strtoull(p + 8, NULL, 16) : 0;
    caught &= ~(UINT64_C(3) << 31); /* 32 and 33 are the C library's own */
    for (uint32_t i = 0; i < turn_count; i++)
        living += turn_threads[i].state != EXPLORE_NONE && turn_threads[i].state != EXPLORE_OVER;
    p = strstr(text, "\nThreads:");
    return caught || (p && strtoull(p + 9, NULL, 10) > living);
}

/* ---- waiting ---- */

/* What a thread has used of the processors. */
static uint64_t cpu_ms(int32_t tid)
{
    struct timespec t = { 0 };
    int clock = (~tid << 3) | 6; /* of one thread, by its number: linux/posix-timers.h */

    if (tid <= 0 || rt_sandbox || syscall(SYS_clock_gettime, clock, &t))
        return 0;
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / MS;
}

/* It goes on without a step for long: it computes, or waits in a loop whose reads are no steps. */
static bool computes(int32_t tid, bool first)
{
    static uint64_t before;
    uint64_t now = cpu_ms(tid);

    if (first)
        before = now;
    return now - before >= COMPUTES_MS;
}

/* Has the one whose turn it is gone to sleep elsewhere, or does it compute? With the lock. */
static void look_after(void)
{
    uint64_t now = now_ns();
    int32_t t = turn_current;
    bool first = looked_thread != t || looked_progress != turn_progress, over;

    if (t < 0 || now - looked_at < (uint64_t)LOOK_MS * MS)
        return;
    looks = first || !is_asleep(turn_threads[t].tid) ? 0 : looks + 1;
    over = computes(turn_threads[t].tid, first);
    looked_at = now;
    looked_thread = t;
    looked_progress = turn_progress;
    if (!over && looks < (turn_threads[t].op == EX_JOIN ? LOOKS_JOIN : LOOKS))
        return;
    looks = 0;
    turn_threads[t].state = EXPLORE_OUTSIDE;
    explore_plan->done.outside++;
    turn_pass(NOBODY);
}

/* A thread that was cancelled while it waits here has to hear of that. With the lock. */
static bool ask_cancelled(void)
{
    bool any = false;

    if (stuck_looked == turn_progress + 1)
        return false;
    stuck_looked = turn_progress + 1;
    for (uint32_t i = 0; i < turn_count; i++) {
        struct turn_thread *t = &turn_threads[i];

        if (t->state != EXPLORE_BLOCKED ||
            (t->kind != EX_WAIT && t->kind != EX_JOIN && t->kind != EX_SEM_WAIT))
            continue;
        t->state = EXPLORE_READY;
        any = true;
    }
    if (any)
        turn_pass(NOBODY);
    return any;
}

/* With the lock. */
static void look_for_end(void)
{
    uint64_t stuck = stuck_since ? now_ns() - stuck_since : 0;

    if (turn_current != NOBODY || !stuck_since || somebody_is(EXPLORE_READY) ||
        somebody_is(EXPLORE_OUTSIDE) || !somebody_is(EXPLORE_BLOCKED))
        return;
    if (stuck < (uint64_t)STUCK_MS * MS ||
        (stuck < (uint64_t)STUCK_LONG_MS * MS && others_may_come()))
        return;
    if (!ask_cancelled())
        end_with(EXPLORE_DEADLOCK);
}

static void look(void)
{
    if (__atomic_exchange_n(&lock_word, 1, __ATOMIC_ACQUIRE))
        return;
    look_after();
    look_for_end();
    spin_unlock(&lock_word);
}

static void sleep_once(int32_t me)
{
    struct turn_thread *t = &turn_threads[me];
    uint32_t turn = __atomic_load_n(&t->turn, __ATOMIC_ACQUIRE);
    long ms = t->state == EXPLORE_READY || turn_current == NOBODY ? LOOK_MS : REST_MS;
    const struct timespec slice = { 0, ms * (long)MS };

    if (__atomic_load_n(&turn_current, __ATOMIC_SEQ_CST) == me || !explore_on)
        return;
    syscall(SYS_futex, &t->turn, FUTEX_WAIT_PRIVATE, turn, &slice, NULL, 0L);
    if (__atomic_load_n(&turn_current, __ATOMIC_SEQ_CST) != me)
        look();
}

/* A signal's handler runs in between, and may take turns itself. What the thread waits for it then
 * tries again, as after a wake-up without reason. */
void turn_await(int32_t me)
{
    while (explore_on && __atomic_load_n(&turn_current, __ATOMIC_SEQ_CST) != me) {
        sleep_once(me);
        if (unlikely(rt_signals_pending) && tls.busy == 1) {
            rt_busy_end();
            rt_busy_begin();
            spin_lock(&lock_word);
            if (turn_threads[me].state == EXPLORE_BLOCKED)
                turn_threads[me].state = EXPLORE_READY;
            if (turn_current == NOBODY)
                turn_pass(NOBODY);
            spin_unlock(&lock_word);
        }
    }
}
