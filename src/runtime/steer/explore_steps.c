/* explore_steps.c - the steps of a run in which one thread goes at a time: what they are, and their
 * log
 *
 * A step is logged when its thread has the turn and is about to do it; what a write has written is
 * filled in at the next step of anybody, when it has happened. The log is in shared memory and so
 * survives whatever happens to the program.
 *
 * An update ("x++" in builds that record it at one place, ahead of its load) is two steps, a read
 * and a write. Where another thread has written in between, the load would see the new value, which
 * is not what happens when the update is torn apart: so the value of the first step is put back
 * before the update goes on. That is the same as if it had loaded earlier, as long as nobody sees
 * the memory until it has stored: so the thread keeps the turn until the value changes, or until it
 * synchronises, by when it has.
 *
 * Limits: EXPLORE_THREADS_MAX threads; steps beyond EXPLORE_STEPS_MAX are not logged.
 */
#include "runtime/steer/explore_steps.h"
#include "runtime/untraced/objects.h"
#include "runtime/production/prod.h"
#include "runtime/core/state.h"
#include "runtime/steer/steer.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

bool explore_on;
struct explore_plan *explore_plan;
_Thread_local int32_t turn_self; /* + 1; 0: not known yet */
enum { STALE_MOST = 24 };        /* repeated reads that make a thread one that spins */
static uint64_t tickets;
static struct explore_step *open_write; /* its value is not known yet */

/* ---- the plan ---- */

static void *map(size_t bytes, int flags, long fd)
{
    void *m = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0L);

    return m == MAP_FAILED ? NULL : m;
}

static bool map_plan(const char *path)
{
    struct stat s = { 0 };
    struct prod_control *c = NULL;
    long fd = syscall(SYS_open, path, O_RDWR | O_CLOEXEC);

    if (fd >= 0 && !fstat((int)fd, &s) && s.st_size >= (off_t)(sizeof(*c) + sizeof(*explore_plan)))
        c = map((size_t)s.st_size, MAP_SHARED, fd);
    if (fd >= 0)
        syscall(SYS_close, fd);
    if (!c)
        return false;
    explore_plan = (struct explore_plan *)(c + 1);
    if (memcmp(c->magic, PROD_MAGIC, 8) || memcmp(explore_plan->magic, EXPLORE_MAGIC, 8) ||
        explore_plan->version != EXPLORE_VERSION ||
        explore_plan->nsegments > EXPLORE_SEGMENTS_MAX) {
        syscall(SYS_munmap, c, s.st_size);
        explore_plan = NULL;
        return false;
    }
    rt_control = c;
    return true;
}

/* Only the program itself: what it starts has other threads. */
bool explore_start(const char *path)
{
    if (!map_plan(path))
        return false;
    if (rt_options.pid && rt_options.pid != (uint32_t)syscall(SYS_getpid))
        return true;
    turn_threads = map(sizeof(*turn_threads) * EXPLORE_THREADS_MAX,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    if (!turn_threads)
        return true;
    turn_threads[0] = (struct turn_thread){ .path = STEER_ROOT, .state = EXPLORE_READY };
    turn_threads[0].tid = (int32_t)syscall(SYS_gettid);
    explore_plan->done.thread[0].path = STEER_ROOT;
    explore_plan->done.nthreads = turn_count = 1;
    explore_plan->done.taken_up = 1;
    turn_current = 0;
    rt_options.filter = false;
    explore_on = steer_on = true;
    return true;
}

void explore_module(const struct heddle_module *m)
{
    struct explore_done *d;

    if (!explore_on)
        return;
    d = &explore_plan->done;
    d->full |= m->flags & MODULE_FULL;
    if (d->nmodules < EXPLORE_MODULES_MAX)
        d->module[d->nmodules++] =
            (struct explore_module){ { m->id[0], m->id[1] }, m->base, m->sites };
}

void explore_forked(void)
{
    if (!explore_on)
        return;
    explore_on = steer_on = false;
    turn_forked();
}

/* The calling thread's slot; NOBODY: it is none of ours. The first thread is the first that comes.
 */
static int32_t self(void)
{
    if (likely(turn_self))
        return turn_self - 1;
    if (!tls.self || tls.self->number)
        return NOBODY;
    turn_self = 1;
    return 0;
}

/* ---- the log ---- */

/* Through the kernel: the program may be about to access what is not there. */
static uint64_t peek(uint64_t address, uint32_t bytes)
{
    uint64_t value = 0;
    struct iovec to = { &value, bytes }, from = { (void *)address, bytes };

    if (!bytes || bytes > 8 || rt_sandbox)
        return 0;
    syscall(SYS_process_vm_readv, syscall(SYS_getpid), &to, 1L, &from, 1L, 0L);
    return value;
}

static bool is_write(unsigned op)
{
    return op == EX_WRITE || op == EX_STORE || op == EX_RMW;
}

static bool is_access(unsigned op)
{
    return op <= EX_FREE;
}

static void close_write(void)
{
    if (open_write)
        open_write->after = peek(open_write->address, open_write->bytes);
    open_write = NULL;
}

/* With the lock. */
static struct explore_step *log_step(int32_t me, unsigned op, uint64_t address, uint32_t bytes,
                                     uint64_t where, unsigned flags)
{
    struct explore_done *d = &explore_plan->done;
    static struct explore_step unlogged;
    struct explore_step *s =
        d->nsteps < EXPLORE_STEPS_MAX ? &explore_plan->step[d->nsteps] : &unlogged;

    close_write();
    *s = (struct explore_step){ .address = address,
                                .where = where & ~WHERE_PC,
                                .bytes = bytes,
                                .thread = (uint16_t)me,
                                .op = (uint8_t)op,
                                .flags = (uint8_t)flags };
    if (where & WHERE_PC)
        s->flags |= EX_PLACE;
    if (is_access(op) && op != EX_FREE)
        s->before = peek(address, bytes);
    if (is_write(op) && s != &unlogged)
        open_write = s;
    __atomic_store_n(&d->nsteps, d->nsteps + 1, __ATOMIC_RELEASE);
    turn_progress++;
    return s;
}

/* The thread has the turn: it does what it wanted. With the lock. */
static struct explore_step *log_chosen(int32_t me, uint32_t bytes, unsigned flags)
{
    struct turn_thread *t = &turn_threads[me];

    explore_plan->done.chosen++;
    return log_step(me, t->op, t->address, bytes, t->where,
                    flags | EX_CHOSEN | (t->others ? EX_OTHERS : 0));
}

/* ---- threads ---- */

void explore_thread(uint32_t creator, uint32_t child, uint64_t where)
{
    int32_t me = self();

    if (!explore_on || me < 0 || child >= EXPLORE_THREADS_MAX || creator >= EXPLORE_THREADS_MAX)
        return;
    turn_lock();
    turn_threads[me].children++;
    turn_threads[child] =
        (struct turn_thread){ .path = steer_child(turn_threads[me].path, turn_threads[me].children),
                              .state = EXPLORE_READY,
                              .op = EX_BEGIN };
    explore_plan->done.thread[child] =
        (struct explore_thread){ .path = turn_threads[child].path, .parent = (uint32_t)me };
    log_step(me, EX_FORK, child, 1, where, 0);
    if (turn_count <= child)
        explore_plan->done.nthreads = turn_count = child + 1;
    turn_unlock();
}

void explore_thread_failed(uint32_t child)
{
    if (!explore_on || child >= EXPLORE_THREADS_MAX)
        return;
    turn_lock();
    turn_threads[child].state = EXPLORE_OVER;
    turn_unlock();
}

/* ---- turns ---- */

static void stop_keeping(struct turn_thread *t)
{
    t->keeps = false;
}

/* With the lock when it returns. A signal's handler may have run in between, and taken turns. */
static void wait_for_turn(int32_t me)
{
    for (;;) {
        rt_busy_begin();
        turn_await(me);
        rt_busy_end();
        turn_lock();
        if (!explore_on || turn_current == me)
            return;
        turn_unlock();
    }
}

static void set_next(struct turn_thread *t, unsigned op, uint64_t address, uint64_t where)
{
    t->op = (uint8_t)op;
    t->address = address;
    t->where = where;
}

/* Until the thread may take the step; then with the lock. */
static void take_turn(int32_t me, unsigned op, uint64_t address, uint64_t where, bool yields)
{
    struct turn_thread *t = &turn_threads[me];

    turn_lock();
    set_next(t, op, address, where);
    t->state = EXPLORE_READY;
    t->yields |= yields;
    t->by_plan = false;
    if (!is_access(op))
        stop_keeping(t);
    if (turn_current == me || turn_current == NOBODY)
        turn_pass(turn_current);
    turn_unlock();
    wait_for_turn(me);
    set_next(t, op, address, where);
}

/* Somebody may go on now. */
static void free_blocked(uint64_t object, unsigned kind, unsigned kind2)
{
    for (uint32_t i = 0; i < turn_count; i++) {
        struct turn_thread *t = &turn_threads[i];

        if (t->state == EXPLORE_BLOCKED && t->object == object &&
            (t->kind == kind || t->kind == kind2)) {
            t->state = EXPLORE_READY;
            t->timed = false;
            t->ticket = 0;
        }
    }
    if (turn_current == NOBODY)
        turn_pass(NOBODY);
}

/* The one that has waited longest. */
static void free_first(uint64_t object)
{
    struct turn_thread *first = NULL;

    for (uint32_t i = 0; i < turn_count; i++) {
        struct turn_thread *t = &turn_threads[i];

        if (t->state == EXPLORE_BLOCKED && t->kind == EX_WAIT && t->object == object &&
            (!first || t->ticket < first->ticket))
            first = t;
    }
    if (first) {
        first->state = EXPLORE_READY;
        first->timed = false;
        first->ticket = 0; /* it was woken */
    }
    if (turn_current == NOBODY)
        turn_pass(NOBODY);
}

/* Until somebody frees it; with the lock, which is free meanwhile. */
static void block(int32_t me, unsigned kind, uint64_t object, bool timed)
{
    struct turn_thread *t = &turn_threads[me];

    turn_unplan(me);
    t->state = EXPLORE_BLOCKED;
    t->kind = (uint8_t)kind;
    t->object = object;
    t->timed = timed;
    t->timed_out = false;
    if (turn_current == me)
        turn_pass(NOBODY);
    turn_unlock();
    wait_for_turn(me);
}

/* ---- accesses ---- */

static const uint8_t op_of[] = {
    [OP_READ] = EX_READ,   [OP_WRITE] = EX_WRITE, [OP_LOAD] = EX_LOAD,
    [OP_STORE] = EX_STORE, [OP_RMW] = EX_RMW,     [OP_FREE] = EX_FREE
};

static bool is_quiet(const struct steer_access *a)
{
    uint64_t site = a->where;

    return !(site & WHERE_PC) && site < EXPLORE_QUIET_WORDS * 64 &&
           (explore_plan->quiet[site / 64] >> (site % 64) & 1);
}

static uint64_t block_bytes(uintptr_t a)
{
    struct object o;

    return objects_on && objects_find(a, &o) && o.low == a ? o.high - a : 1;
}

static void note_repeated(struct turn_thread *t)
{
    turn_idle++;
    if (++t->stale >= STALE_MOST)
        t->yields = true;
}

/* A thread that only looks at what it has seen waits for somebody to change it. */
static void note_stale(struct turn_thread *t, const struct explore_step *s)
{
    uint64_t h = (s->address ^ s->before * UINT64_C(0x9e3779b97f4a7c15) ^ s->where << 40) | 1;

    if (s->op == EX_WRITE || s->op == EX_STORE) {
        t->stale = t->nrecent = 0;
        turn_idle = 0;
        return;
    }
    for (uint32_t i = 0; i < t->nrecent && i < EXPLORE_RECENT; i++)
        if (t->recent[i] == h) {
            note_repeated(t);
            return;
        }
    t->recent[t->nrecent++ % EXPLORE_RECENT] = h;
    t->stale = 0;
    turn_idle = 0;
}

/* The second half of an update whose memory has changed since the first (above). */
static void put_back(struct turn_thread *t, struct explore_step *s, const struct steer_access *a)
{
    uint64_t was = t->update_value;

    if (t->update_site != a->where || t->update_address != a->address || s->before == was ||
        s->bytes != t->update_bytes || s->bytes > 8)
        return;
    close_write();
    memcpy((void *)a->address, &was, a->bytes);
    open_write = s;
    t->keeps = true;
    t->keep_address = a->address;
    t->keep_bytes = (uint8_t)a->bytes;
    t->keep_value = was;
}

static void note_update(struct turn_thread *t, const struct explore_step *s,
                        const struct steer_access *a)
{
    t->update_site = s->op == EX_READ && !(a->where & WHERE_PC) ? a->where + 1 : 0;
    t->update_value = s->before;
    t->update_address = a->address;
    t->update_bytes = s->bytes;
}

void explore_access(const struct steer_access *a)
{
    int32_t me = self();
    int saved = errno;
    uint64_t bytes = a->bytes;
    struct explore_step *s;
    struct turn_thread *t;

    if (me < 0 || tls.busy || tls.ignore || !tls.self || is_quiet(a))
        return;
    if (a->op == OP_FREE && !bytes)
        bytes = block_bytes(a->address);
    t = &turn_threads[me];
    if (t->keeps && peek(t->keep_address, t->keep_bytes) != t->keep_value)
        stop_keeping(t);
    take_turn(me, op_of[a->op], a->address, a->where, false);
    s = log_chosen(me, bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes, 0);
    if (s->op == EX_WRITE && a->where == t->update_site && t->update_site)
        put_back(t, s, a);
    note_update(t, s, a);
    note_stale(t, s);
    turn_unlock();
    errno = saved;
}

/* ---- synchronisation ---- */

void explore_sync(enum op op, uint64_t object, uint64_t where)
{
    int32_t me = self();
    unsigned ex = op == OP_RELEASE          ? EX_UNLOCK
                  : op == OP_RELEASE_SHARED ? EX_UNLOCK_SHARED
                  : op == OP_SEM_POST       ? EX_SEM_POST
                  : op == OP_SIGNAL         ? EX_SIGNAL
                  : op == OP_BROADCAST      ? EX_BROADCAST
                                            : EX_OPS;

    if (me < 0 || ex == EX_OPS || tls.busy)
        return;
    if (ex == EX_SIGNAL || ex == EX_BROADCAST) {
        take_turn(me, ex, object, where, false);
        log_chosen(me, 1, 0);
    } else {
        turn_lock();
        log_step(me, ex, object, 1, where, 0);
    }
    if (ex == EX_SIGNAL)
        free_first(object);
    else if (ex == EX_BROADCAST)
        free_blocked(object, EX_WAIT, EX_WAIT);
    else if (ex == EX_SEM_POST)
        free_blocked(object, EX_SEM_WAIT, EX_SEM_WAIT);
    else
        free_blocked(object, EX_LOCK, EX_LOCK_SHARED);
    turn_unlock();
}

void explore_wants(enum explore_op op, const void *object, uint64_t where)
{
    int32_t me = self();
    int saved = errno;

    if (me >= 0) {
        take_turn(me, op, (uintptr_t)object, where, false);
        turn_threads[me].timed_out = false;
        turn_unlock();
    }
    errno = saved;
}

bool explore_blocked(bool timed)
{
    int32_t me = self();
    bool again;
    int saved = errno;

    if (me < 0 || !explore_on)
        return false;
    turn_lock();
    block(me, turn_threads[me].op, turn_threads[me].address, timed);
    again = explore_on && !turn_threads[me].timed_out;
    turn_unlock();
    errno = saved;
    return again;
}

void explore_did(bool failed)
{
    int32_t me = self();
    int saved = errno;

    if (me >= 0) {
        turn_lock();
        log_chosen(me, 1, failed ? EX_FAILED : 0);
        if (failed)
            note_repeated(&turn_threads[me]);
        turn_unlock();
    }
    errno = saved;
}

void explore_waits(const void *cond, uint64_t where)
{
    int32_t me = self();

    if (me < 0)
        return;
    take_turn(me, EX_WAIT, (uintptr_t)cond, where, false);
    log_chosen(me, 1, 0);
    turn_threads[me].by_plan = false;
    turn_threads[me].ticket = ++tickets;
    turn_unlock();
}

bool explore_asleep(const void *cond, bool timed, uint64_t where)
{
    int32_t me = self();
    struct turn_thread *t;

    if (me < 0)
        return true;
    t = &turn_threads[me];
    turn_lock();
    t->timed_out = false;
    while (explore_on && t->ticket && !t->timed_out) {
        block(me, EX_WAIT, (uintptr_t)cond, timed);
        turn_unlock();
        pthread_testcancel();
        turn_lock();
    }
    set_next(t, EX_WOKEN, (uintptr_t)cond, where);
    log_chosen(me, 1, t->timed_out ? EX_FAILED : 0);
    timed = t->timed_out;
    turn_unlock();
    return !timed;
}

/* ---- barriers ---- */

enum { BARRIERS = 256 };
static struct {
    const void *barrier;
    uint32_t came;
    uint64_t round;
} barriers[BARRIERS];

/* With the lock. */
static unsigned barrier_slot(const void *barrier)
{
    unsigned i = (uintptr_t)barrier / 8 % BARRIERS, n = 0;

    while (barriers[i].barrier && barriers[i].barrier != barrier && n++ < BARRIERS - 1)
        i = (i + 1) % BARRIERS;
    barriers[i].barrier = barrier;
    return i;
}

int explore_barrier(const void *barrier, unsigned count, uint64_t where)
{
    int32_t me = self();
    uint64_t round;
    unsigned b;
    bool last;

    take_turn(me, EX_BARRIER, (uintptr_t)barrier, where, false);
    log_chosen(me, 1, 0);
    b = barrier_slot(barrier);
    round = barriers[b].round;
    last = ++barriers[b].came >= count;
    if (last) {
        barriers[b].came = 0;
        barriers[b].round++;
        free_blocked((uintptr_t)barrier, EX_BARRIER, EX_BARRIER);
    }
    turn_threads[me].by_plan = false;
    while (explore_on && barriers[b].round == round)
        block(me, EX_BARRIER, (uintptr_t)barrier, false);
    if (!last) {
        set_next(&turn_threads[me], EX_WOKEN, (uintptr_t)barrier, where);
        log_chosen(me, 1, 0);
    }
    turn_unlock();
    return last ? PTHREAD_BARRIER_SERIAL_THREAD : 0;
}

/* ---- threads that end ---- */

void explore_join(uint32_t thread, uint64_t where)
{
    int32_t me = self();

    if (me < 0 || thread >= turn_count || (int32_t)thread == me)
        return;
    take_turn(me, EX_JOIN, thread, where, false);
    while (explore_on && turn_threads[thread].state != EXPLORE_OVER) {
        block(me, EX_JOIN, thread, false);
        turn_unlock();
        pthread_testcancel();
        turn_lock();
    }
    log_chosen(me, 1, 0);
    turn_unlock();
}

void explore_begin(void)
{
    int32_t me;

    if (!explore_on || !tls.self || tls.self->number >= turn_count || tls.busy)
        return;
    turn_self = (int32_t)tls.self->number + 1;
    me = turn_self - 1;
    turn_threads[me].tid = (int32_t)syscall(SYS_gettid);
    rt_busy_begin();
    turn_await(me);
    rt_busy_end();
    turn_lock();
    turn_threads[me].op = EX_BEGIN;
    turn_threads[me].where = 0;
    turn_threads[me].address = 0;
    log_chosen(me, 1, 0);
    turn_unlock();
}

void explore_end(void)
{
    int32_t me = self();

    if (!explore_on || me < 0)
        return;
    turn_lock();
    log_step(me, EX_END, (uint64_t)me, 1, 0, 0);
    turn_threads[me].state = EXPLORE_OVER;
    free_blocked((uint64_t)me, EX_JOIN, EX_JOIN);
    if (turn_current == me)
        turn_pass(NOBODY);
    turn_self = 0;
    turn_unlock();
}

bool explore_yield(uint64_t where)
{
    int32_t me = self();
    bool alone = true;

    if (me < 0)
        return true;
    take_turn(me, EX_YIELD, 0, where, true);
    alone = !turn_threads[me].others;
    turn_idle = 0; /* time may pass */
    log_chosen(me, 0, 0);
    turn_unlock();
    return alone;
}

void explore_exit(void)
{
    int32_t me = self();

    if (!explore_on || me < 0 || tls.busy)
        return;
    take_turn(me, EX_EXIT, 0, WHERE_PC, true);
    log_chosen(me, 0, 0);
    turn_unlock();
}
