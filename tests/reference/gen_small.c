/* gen_small.c - small random traces with every operation of the model
 *
 * One step: the scheduler picks a thread, the thread tries operations drawn
 * by weight until one is possible in the simulated state. Memory is simulated
 * byte by byte, so recorded values are what the trace implies. Use-after-free
 * and wrong values are the only inconsistencies, and only when asked for.
 */
#include "gen.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "rng.h"
#include "trace/text/event_text.h"

enum {
    LITERAL_BASE = 0x1000, /* literal addresses: 16 bytes that overlap in all ways */
    HEAP_BASE = 0x2000,    /* heap: 32 bytes, allocated in units of 8 */
    HEAP_UNITS = 4,
    MAX_HELD = 8
};

enum state { UNBORN, RUNNING, IN_WAIT, WOKEN, REACQUIRE, IN_BARRIER, STUCK, ENDED, JOINED };

struct gthread {
    enum state state;
    bool begun, seen;  /* seen: it has events */
    uint32_t object;   /* condition variable or barrier it is blocked on */
    uint32_t mutex;    /* lock a wait gave up */
    uint32_t round;    /* of the barrier */
    uint32_t function; /* call in progress + 1 */
    uint32_t depth;    /* enter / exit */
    uint32_t excl[GEN_MAX_NAMES], shared[GEN_MAX_NAMES]; /* how often held */
};

struct gbarrier {
    uint32_t parties, entered, round;
    bool full; /* all entered, nobody left yet */
};

struct sim {
    const struct gen_small_options *o;
    struct rng rng;
    struct gen_trace *out;
    size_t cap;
    size_t extra_cap;
    struct gthread thread[GEN_MAX_THREADS];
    struct gbarrier barrier[GEN_MAX_NAMES];
    uint32_t sem[GEN_MAX_NAMES];
    uint32_t total_weight;
    uint8_t named[GEN_MAX_NAMES][8];
    uint8_t literal[32];
    uint8_t heap[HEAP_UNITS * 8];
    uint8_t block[HEAP_UNITS]; /* unit -> bytes of the live block that starts there, else 0 */
};

/* Objects are numbered by class: "L0" .. first, then "C0" ... */
enum object_kind { LOCKS, CONDS, BARRIERS, SEMS, ONCES, MARKS, OBJECT_KINDS };

static uint64_t object(const struct sim *s, enum object_kind kind, uint32_t n)
{
    return NAMED_OBJECT(kind * s->o->locks + n);
}

static struct event *emit(struct sim *s, uint32_t t, enum op op, uint64_t target)
{
    struct trace_mem *m = &s->out->mem;
    struct event *e;

    GROW(m->events, s->cap, m->count + 1);
    e = &m->events[m->count];
    *e = (struct event){ .target = target, .thread = t, .site = (uint32_t)m->count, .op = op };
    m->count++;
    s->thread[t].seen = true;
    return e;
}

/* ---- memory ---- */

static uint8_t *memory_at(struct sim *s, uint64_t address)
{
    if (is_named(address))
        return s->named[named_variable(address)];
    if (address >= HEAP_BASE)
        return s->heap + (address - HEAP_BASE);
    return s->literal + (address - LITERAL_BASE);
}

static uint64_t load_bytes(const uint8_t *p, uint32_t size)
{
    uint64_t v = 0;

    for (uint32_t i = 0; i < size && i < 8; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

static void store_bytes(uint8_t *p, uint32_t size, uint64_t v)
{
    for (uint32_t i = 0; i < size; i++)
        p[i] = i < 8 ? (uint8_t)(v >> (8 * i)) : 0;
}

static bool unit_is_live(const struct sim *s, uint32_t unit)
{
    for (uint32_t u = 0; u <= unit; u++)
        if (s->block[u] > 8 * (unit - u))
            return true;
    return false;
}

/* An address in a live heap block, or anywhere in the heap when lifetimes do not matter. */
static bool pick_heap(struct sim *s, uint32_t size, uint64_t *address)
{
    uint32_t at = rng_below(&s->rng, HEAP_UNITS * 8 / size) * size;

    for (uint32_t u = at / 8; u <= (at + size - 1) / 8; u++)
        if (!unit_is_live(s, u) && !rng_percent(&s->rng, s->o->use_after_free))
            return false;
    *address = HEAP_BASE + at;
    return true;
}

static bool pick_memory(struct sim *s, bool atomic, uint64_t *address, uint32_t *size)
{
    static const uint8_t sizes[] = { 1, 1, 2, 4, 4, 8, 8, 16 };

    if (!rng_percent(&s->rng, s->o->addresses)) {
        *address = NAMED_ADDRESS(rng_below(&s->rng, s->o->variables));
        *size = 8;
        return true;
    }
    *size = sizes[rng_below(&s->rng, atomic ? 7 : 8)];
    if (s->o->weight[OP_ALLOC] && rng_percent(&s->rng, 50) && pick_heap(s, *size, address))
        return true;
    /* unaligned now and then; atomics stay aligned */
    *address = LITERAL_BASE + rng_below(&s->rng, 16 / *size) * *size;
    if (!atomic && *size > 1 && rng_percent(&s->rng, 20))
        *address += 1;
    return true;
}

/* Small values make equal writes frequent, which is where value-based prediction differs. */
static uint64_t pick_value(struct sim *s, uint32_t size)
{
    uint64_t v = rng_below(&s->rng, 3);

    if (size >= 2 && rng_percent(&s->rng, 15))
        v |= (uint64_t)rng_below(&s->rng, 2) << 8;
    return v;
}

static bool records_value(struct sim *s, uint32_t size)
{
    return size <= 8 && rng_percent(&s->rng, s->o->values);
}

static uint64_t maybe_wrong(struct sim *s, uint64_t value)
{
    return rng_percent(&s->rng, s->o->wrong_values) ? value ^ 1 : value;
}

static enum memory_order pick_order(struct sim *s, enum op op)
{
    static const uint8_t loads[] = { ORDER_RELAXED, ORDER_CONSUME, ORDER_ACQUIRE, ORDER_SEQ_CST };
    static const uint8_t stores[] = { ORDER_RELAXED, ORDER_RELEASE, ORDER_SEQ_CST };

    if (op == OP_LOAD)
        return loads[rng_below(&s->rng, 4)];
    if (op == OP_STORE)
        return stores[rng_below(&s->rng, 3)];
    if (op == OP_FENCE)
        return rng_between(&s->rng, ORDER_ACQUIRE, ORDER_SEQ_CST);
    return rng_between(&s->rng, ORDER_RELAXED, ORDER_SEQ_CST);
}

static bool do_access(struct sim *s, uint32_t t, enum op op)
{
    bool atomic = op_is_atomic(op);
    uint64_t address, before, after;
    struct event *e;
    uint32_t size;
    uint8_t *p;

    if (!pick_memory(s, atomic, &address, &size))
        return false;
    p = memory_at(s, address);
    before = load_bytes(p, size);
    after = pick_value(s, size);
    e = emit(s, t, op, address);
    e->size = size;
    if (atomic)
        e->order = pick_order(s, op);
    if (op_table[op].writes)
        store_bytes(p, size, after);
    if (records_value(s, size)) {
        e->flags |= EV_VALUE;
        e->value = op_table[op].writes ? after : maybe_wrong(s, before);
    }
    if (op == OP_RMW && records_value(s, size)) {
        e->flags |= EV_OLD;
        e->old = maybe_wrong(s, before);
    }
    if (s->o->loose && rng_percent(&s->rng, s->o->loose))
        e->flags |= EV_LOOSE;
    return true;
}

/* Take a few bytes off a block's ends, so that accesses cross them and frees miss some. */
static void cut_block(struct sim *s, struct event *e)
{
    uint32_t front, back;

    if (!s->o->odd_blocks || !rng_percent(&s->rng, s->o->odd_blocks))
        return;
    front = rng_below(&s->rng, 4);
    back = rng_below(&s->rng, 4);
    e->target += front;
    e->value -= front + back;
}

static bool do_alloc(struct sim *s, uint32_t t)
{
    uint32_t units = rng_between(&s->rng, 1, 2);
    uint32_t at = rng_below(&s->rng, HEAP_UNITS - units + 1);
    struct event *e;

    for (uint32_t u = at; u < at + units; u++)
        if (unit_is_live(s, u))
            return false;
    s->block[at] = (uint8_t)(8 * units);
    e = emit(s, t, OP_ALLOC, HEAP_BASE + 8 * at);
    e->value = 8 * units;
    cut_block(s, e);
    for (uint32_t i = 0; i < e->value; i++) /* whatever the memory holds now */
        s->heap[e->target - HEAP_BASE + i] = (uint8_t)rng_below(&s->rng, 2);
    return true;
}

static bool do_free(struct sim *s, uint32_t t)
{
    uint32_t at = rng_below(&s->rng, HEAP_UNITS), bytes = s->block[at];
    struct event *e;

    if (!bytes && !rng_percent(&s->rng, s->o->use_after_free / 4))
        return false;
    e = emit(s, t, OP_FREE, HEAP_BASE + 8 * at);
    e->value = bytes ? bytes : 8;
    cut_block(s, e);
    s->block[at] = 0;
    return true;
}

/* ---- locks ---- */

static bool others_hold(const struct sim *s, uint32_t me, uint32_t lock, bool also_shared)
{
    for (uint32_t t = 0; t < s->o->threads; t++)
        if (t != me && (s->thread[t].excl[lock] || (also_shared && s->thread[t].shared[lock])))
            return true;
    return false;
}

static void drop_locks(struct gthread *th)
{
    memset(th->excl, 0, sizeof(th->excl));
    memset(th->shared, 0, sizeof(th->shared));
}

static bool do_acquire(struct sim *s, uint32_t t, enum op op)
{
    uint32_t lock = rng_below(&s->rng, s->o->locks);
    bool shared = op == OP_ACQUIRE_SHARED;
    uint32_t *mine = shared ? s->thread[t].shared : s->thread[t].excl;
    uint32_t *other = shared ? s->thread[t].excl : s->thread[t].shared;

    if (other[lock] && !rng_percent(&s->rng, s->o->recursive)) /* upgrade, downgrade */
        return false;
    if (mine[lock]) {
        if (!rng_percent(&s->rng, s->o->recursive))
            return false;
        emit(s, t, op, object(s, LOCKS, lock))->flags |= EV_NESTED;
    } else {
        if (others_hold(s, t, lock, !shared))
            return false;
        emit(s, t, op, object(s, LOCKS, lock));
    }
    mine[lock]++;
    return true;
}

/* For a lock that is not to be had: nothing more comes of the thread. */
static bool do_request(struct sim *s, uint32_t t, enum op op)
{
    uint32_t lock = rng_below(&s->rng, s->o->locks);
    bool shared = op == OP_REQUEST_SHARED;

    if (!others_hold(s, t, lock, !shared) && !s->thread[t].excl[lock] &&
        (shared || !s->thread[t].shared[lock]))
        return false;
    emit(s, t, op, object(s, LOCKS, lock));
    s->thread[t].state = STUCK;
    return true;
}

static bool do_release(struct sim *s, uint32_t t, enum op op)
{
    uint32_t lock = rng_below(&s->rng, s->o->locks);
    bool shared = op == OP_RELEASE_SHARED;
    uint32_t *mine = shared ? s->thread[t].shared : s->thread[t].excl;
    struct event *e;

    if (!mine[lock])
        return false;
    e = emit(s, t, op, object(s, LOCKS, lock));
    if (--mine[lock])
        e->flags |= EV_NESTED;
    return true;
}

static bool holds_any(const struct gthread *th)
{
    for (int i = 0; i < GEN_MAX_NAMES; i++)
        if (th->excl[i] || th->shared[i])
            return true;
    return false;
}

/* ---- threads ---- */

static bool do_fork(struct sim *s, uint32_t t)
{
    uint32_t child = rng_below(&s->rng, s->o->threads);

    if (s->thread[child].state != UNBORN)
        return false;
    emit(s, t, OP_FORK, child);
    s->thread[child].state = RUNNING;
    return true;
}

static bool do_join(struct sim *s, uint32_t t)
{
    uint32_t child = rng_below(&s->rng, s->o->threads);

    if (s->thread[child].state != ENDED)
        return false;
    emit(s, t, OP_JOIN, child);
    s->thread[child].state = JOINED;
    drop_locks(&s->thread[child]);
    return true;
}

/* Half of the ends are events, the others are implied. A lock still held is given up at the
 * end or, where that is no event, when the thread is joined. */
static bool do_end(struct sim *s, uint32_t t)
{
    struct gthread *th = &s->thread[t];

    if (th->function || !th->seen)
        return false;
    if (holds_any(th) && !rng_percent(&s->rng, s->o->abandon))
        return false;
    if (rng_percent(&s->rng, 50)) {
        emit(s, t, OP_END, 0);
        drop_locks(th);
    }
    th->state = ENDED;
    return true;
}

/* ---- other synchronisation ---- */

static bool do_wait(struct sim *s, uint32_t t)
{
    uint32_t lock = rng_below(&s->rng, s->o->locks);
    struct gthread *th = &s->thread[t];

    if (th->excl[lock] != 1)
        return false;
    emit(s, t, OP_RELEASE, object(s, LOCKS, lock));
    th->excl[lock] = 0;
    th->state = IN_WAIT;
    th->mutex = lock;
    th->object = rng_below(&s->rng, s->o->locks);
    return true;
}

static bool do_wake(struct sim *s, uint32_t t, enum op op)
{
    uint32_t cond = rng_below(&s->rng, s->o->locks);

    emit(s, t, op, object(s, CONDS, cond));
    for (uint32_t i = 0; i < s->o->threads; i++) {
        if (s->thread[i].state != IN_WAIT || s->thread[i].object != cond)
            continue;
        s->thread[i].state = WOKEN;
        if (op == OP_SIGNAL)
            break;
    }
    return true;
}

static bool do_barrier_enter(struct sim *s, uint32_t t)
{
    uint32_t n = rng_below(&s->rng, s->o->locks);
    struct gbarrier *b = &s->barrier[n];

    if (b->full)
        return false;
    emit(s, t, OP_BARRIER_ENTER, object(s, BARRIERS, n));
    s->thread[t].state = IN_BARRIER;
    s->thread[t].object = n;
    s->thread[t].round = b->round;
    if (++b->entered == b->parties)
        b->full = true;
    return true;
}

static bool do_barrier_leave(struct sim *s, uint32_t t)
{
    struct gbarrier *b = &s->barrier[s->thread[t].object];

    if (s->thread[t].round == b->round) {
        if (!b->full)
            return false;
        b->round++;
        b->entered = 0;
        b->full = false;
    }
    emit(s, t, OP_BARRIER_LEAVE, object(s, BARRIERS, s->thread[t].object));
    s->thread[t].state = RUNNING;
    return true;
}

static bool do_sem(struct sim *s, uint32_t t, enum op op)
{
    uint32_t n = rng_below(&s->rng, s->o->locks);

    if (op == OP_SEM_WAIT && !s->sem[n])
        return false;
    if (op == OP_SEM_POST && rng_percent(&s->rng, 15)) { /* a new one */
        emit(s, t, op, object(s, SEMS, n))->flags |= EV_BARE;
        s->sem[n] = 0;
        return true;
    }
    s->sem[n] += op == OP_SEM_POST ? 1 : -1;
    emit(s, t, op, object(s, SEMS, n));
    return true;
}

/* ---- control flow ---- */

static bool do_call(struct sim *s, uint32_t t)
{
    struct trace_mem *m = &s->out->mem;
    uint32_t n = rng_below(&s->rng, 3);
    struct event *e;

    if (s->thread[t].function)
        return false;
    s->thread[t].function = 1 + rng_below(&s->rng, 2);
    e = emit(s, t, OP_CALL, s->thread[t].function - 1);
    e->value = m->nextra;
    e->old = n;
    GROW(m->extra, s->extra_cap, m->nextra + 2 * n);
    for (uint32_t i = 0; i < n; i++) {
        bool thread = rng_percent(&s->rng, 20);

        m->extra[m->nextra++] = thread ? D_THREAD(rng_below(&s->rng, s->o->threads))
                                       : NAMED_ADDRESS(rng_below(&s->rng, s->o->variables));
        m->extra[m->nextra++] = thread ? 0 : 8;
    }
    return true;
}

static bool do_return(struct sim *s, uint32_t t)
{
    if (!s->thread[t].function)
        return false;
    emit(s, t, OP_RETURN, s->thread[t].function - 1);
    s->thread[t].function = 0;
    return true;
}

static bool do_stack(struct sim *s, uint32_t t, enum op op)
{
    if (op == OP_EXIT && !s->thread[t].depth)
        return false;
    s->thread[t].depth += op == OP_ENTER ? 1 : -1;
    emit(s, t, op, s->thread[t].depth % 2);
    return true;
}

static bool do_branch(struct sim *s, uint32_t t)
{
    struct event *e = emit(s, t, OP_BRANCH, 0);

    if (rng_percent(&s->rng, s->o->values / 2)) {
        e->flags |= EV_VALUE;
        e->value = rng_below(&s->rng, 2);
    }
    return true;
}

/* ---- the machine ---- */

static bool do_op(struct sim *s, uint32_t t, enum op op)
{
    switch (op) {
    case OP_READ:
    case OP_WRITE:
    case OP_LOAD:
    case OP_STORE:
    case OP_RMW:
        return do_access(s, t, op);
    case OP_FENCE:
        emit(s, t, op, 0)->order = pick_order(s, op);
        return true;
    case OP_ACQUIRE:
    case OP_ACQUIRE_SHARED:
        return do_acquire(s, t, op);
    case OP_RELEASE:
    case OP_RELEASE_SHARED:
        return do_release(s, t, op);
    case OP_REQUEST:
    case OP_REQUEST_SHARED:
        return do_request(s, t, op);
    case OP_FORK:
        return do_fork(s, t);
    case OP_JOIN:
        return do_join(s, t);
    case OP_END:
        return do_end(s, t);
    case OP_WAIT:
        return do_wait(s, t);
    case OP_SIGNAL:
    case OP_BROADCAST:
        return do_wake(s, t, op);
    case OP_BARRIER_ENTER:
        return do_barrier_enter(s, t);
    case OP_SEM_POST:
    case OP_SEM_WAIT:
        return do_sem(s, t, op);
    case OP_ONCE:
        emit(s, t, op, object(s, ONCES, rng_below(&s->rng, s->o->locks)));
        return true;
    case OP_BEFORE:
    case OP_AFTER:
        emit(s, t, op, object(s, MARKS, rng_below(&s->rng, s->o->locks)));
        return true;
    case OP_ALLOC:
        return do_alloc(s, t);
    case OP_FREE:
        return do_free(s, t);
    case OP_CALL:
        return do_call(s, t);
    case OP_RETURN:
        return do_return(s, t);
    case OP_BRANCH:
        return do_branch(s, t);
    case OP_ENTER:
    case OP_EXIT:
        return do_stack(s, t, op);
    default: /* begin and leave are not chosen but follow from the state */
        return false;
    }
}

static enum op pick_op(struct sim *s)
{
    uint32_t at = rng_below(&s->rng, s->total_weight);

    for (int op = 1; op < OP_COUNT; op++) {
        if (at < s->o->weight[op])
            return op;
        at -= s->o->weight[op];
    }
    return OP_READ;
}

static bool run_blocked(struct sim *s, uint32_t t)
{
    struct gthread *th = &s->thread[t];

    switch (th->state) {
    case IN_WAIT: /* a spurious wake-up is possible */
        if (!rng_percent(&s->rng, 5))
            return false;
        /* fall through */
    case WOKEN:
        emit(s, t, OP_WAIT, object(s, CONDS, th->object));
        th->state = REACQUIRE;
        return true;
    case REACQUIRE:
        if (others_hold(s, t, th->mutex, true))
            return false;
        emit(s, t, OP_ACQUIRE, object(s, LOCKS, th->mutex));
        th->excl[th->mutex] = 1;
        th->state = RUNNING;
        return true;
    case IN_BARRIER:
        return do_barrier_leave(s, t);
    default:
        return false;
    }
}

static bool run_thread(struct sim *s, uint32_t t)
{
    struct gthread *th = &s->thread[t];

    if (th->state != RUNNING)
        return run_blocked(s, t);
    if (!th->begun) {
        th->begun = true;
        if (rng_percent(&s->rng, s->o->weight[OP_BEGIN])) {
            emit(s, t, OP_BEGIN, 0);
            return true;
        }
    }
    for (int attempt = 0; attempt < 12; attempt++)
        if (do_op(s, t, pick_op(s)))
            return true;
    return false;
}

static void name_all(struct sim *s)
{
    static const char *const prefixes[OBJECT_KINDS] = { "L", "C", "B", "S", "O", "A" };
    struct tables *tb = &s->out->tables;
    char name[24];

    for (uint32_t i = 0; i < s->o->threads; i++)
        intern_put(&tb->threads, name, (size_t)sprintf(name, "T%u", i));
    for (uint32_t i = 0; i < s->o->variables; i++)
        intern_put(&tb->variables, name, (size_t)sprintf(name, "V%u", i));
    for (int k = 0; k < OBJECT_KINDS; k++)
        for (uint32_t i = 0; i < s->o->locks; i++)
            intern_put(&tb->objects, name, (size_t)sprintf(name, "%s%u", prefixes[k], i));
    for (uint32_t i = 0; i < 2; i++)
        intern_put(&tb->functions, name, (size_t)sprintf(name, "f%u", i));
    for (size_t i = 0; i < s->out->mem.count; i++)
        intern_put(&tb->sites, name, (size_t)sprintf(name, "%zu", i));
}

static void fill_info(struct gen_trace *g)
{
    g->info.format = "gen";
    g->info.events = g->mem.count;
    g->info.order = TRACE_EXACT;
    for (size_t i = 0; i < g->mem.count; i++) {
        const struct event *e = &g->mem.events[i];

        /* a branch's outcome is no value a read could be compared with */
        if (op_is_access(e->op) && e->flags & (EV_VALUE | EV_OLD))
            g->info.values = true;
        if (e->flags & EV_LOOSE)
            g->info.loose = true;
        if (e->op == OP_BRANCH)
            g->info.branches = true;
        if (e->op == OP_CALL)
            g->info.calls = true;
    }
}

static void sim_start(struct sim *s)
{
    for (int op = 0; op < OP_COUNT; op++)
        s->total_weight += s->o->weight[op];
    for (uint32_t i = 0; i < s->o->locks; i++) {
        s->barrier[i].parties = rng_between(&s->rng, 2, s->o->threads > 2 ? s->o->threads : 2);
        s->sem[i] = rng_below(&s->rng, 2);
    }
    for (size_t i = 0; i < sizeof(s->literal); i++)
        s->literal[i] = (uint8_t)rng_below(&s->rng, 2);
    s->thread[0].state = RUNNING;
    for (uint32_t t = 1; t < s->o->threads; t++)
        if (!s->o->weight[OP_FORK] || rng_percent(&s->rng, s->o->roots))
            s->thread[t].state = RUNNING;
}

void gen_small(const struct gen_small_options *o, struct gen_trace *out)
{
    struct sim s = { .o = o, .out = out };
    uint32_t t = 0, idle = 0;

    memset(out, 0, sizeof(*out));
    rng_init(&s.rng, o->seed);
    sim_start(&s);
    while (out->mem.count < o->events && idle < 100) {
        size_t before = out->mem.count;

        if (!rng_percent(&s.rng, o->burst))
            t = rng_below(&s.rng, o->threads);
        if (run_thread(&s, t) && out->mem.count > before)
            idle = 0;
        else
            idle++, t = rng_below(&s.rng, o->threads);
    }
    name_all(&s);
    fill_info(out);
}

void gen_trace_release(struct gen_trace *t)
{
    tables_release(&t->tables);
    trace_mem_release(&t->mem);
}

void gen_trace_text(const struct gen_trace *t, struct buf *b)
{
    for (size_t i = 0; i < t->mem.count; i++)
        text_event(b, &t->mem.events[i], t->mem.extra, &t->tables);
}
