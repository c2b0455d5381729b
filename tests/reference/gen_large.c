/* gen_large.c - large traces as a stream, for benchmarks
 *
 * A static program is made from the seed: functions of units, a unit is a
 * loop over data that needs no lock, then a critical section. Threads call
 * functions at random; the scheduler lets a thread run a burst of events and
 * switches, or switches early at a lock that is held. Each instruction of the
 * program is one site with one operation and one size.
 *
 * Memory is one range of addresses cut into regions: one per thread slot, one
 * per lock, a constant one, one per heap block, shared counters, and the racy
 * variables. A region holds arrays of 8-, 4-, 2- and 1-byte elements, and a
 * site of size s only walks the array of that size, so that accesses overlap
 * exactly or not at all unless overlap_percent asks for more. Nested sections
 * take the lock with the higher number inside, so there is no deadlock.
 *
 * Why only the racy variables race: local regions belong to one thread slot
 * (a slot's next thread is forked after the last one was joined, by the main
 * thread), guarded ones are accessed under their lock only (shared sections
 * only read), constant ones are never written, heap blocks have one owner per
 * lifetime, counters are atomic only.
 */
#include "gen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "rng.h"

enum {
    BATCH = 8192,
    GUARD_BYTES = 64, /* smallest region: 4+4+4+8 elements */
    BLOCK_BYTES = 64,
    COUNTERS = 64
};

#define NO_THREAD   UINT32_MAX
#define MEMORY_BASE ((uint64_t)0x7f0000000000)

enum kind {
    K_LOCAL,
    K_GUARDED,
    K_CONSTANT,
    K_RACY,
    K_HEAP,
    K_COUNTER,
    K_ACQUIRE,
    K_RELEASE,
    K_ACQUIRE_INNER,
    K_RELEASE_INNER,
    K_INNER,
    K_ALLOC,
    K_FREE,
    K_BRANCH
};

/* One instruction: one site. */
struct insn {
    uint8_t kind, op, order, size;
    uint8_t array;  /* log2 of the element size: which array of the region */
    uint8_t repeat; /* last of a loop body: mean number of iterations, 0 = no loop */
    uint16_t back;  /* and the number of instructions to go back */
    uint32_t element, stride;
    uint32_t site;
};

struct function {
    uint32_t first, end;
    bool heap;
};

struct slot {
    uint32_t thread; /* current one in this slot */
    uint32_t pc, end;
    uint32_t iteration, left; /* of the current loop */
    uint32_t base;            /* where this call works */
    uint32_t lock, inner;
    bool holds_lock, holds_inner;
    uint32_t block;  /* heap block + 1 */
    int64_t life;    /* events left */
    uint32_t called; /* events up to the return of the call it is in; 0: in none */
};

struct region {
    uint64_t offset;
    uint32_t bytes; /* power of two */
};

struct gen {
    struct gen_large_options o;
    struct tables *tables;
    struct rng rng;
    struct insn *code;
    size_t ncode, code_cap;
    struct function *functions;
    uint32_t nfunctions;  /* ordinary ones; the racy ones follow */
    struct slot *slots;   /* slot 0 is the main thread */
    uint32_t running;     /* slots that have a thread */
    uint32_t *owner;      /* lock -> slot that holds it, or NO_THREAD */
    uint32_t *readers;    /* lock -> number of shared holders */
    uint32_t *free_block; /* stack of heap blocks */
    uint32_t nfree;
    uint32_t local_bytes, guard_bytes, constant_bytes;
    uint64_t guard_at, constant_at, heap_at, counter_at, racy_at, memory_bytes;
    uint64_t base;   /* address of the first byte */
    uint8_t *memory; /* values, where asked for */
    uint64_t done, windup;
    uint32_t current;
    int64_t burst_left;
    struct event events[BATCH];
    uint64_t *extra; /* D of the calls of a batch */
    size_t nextra, extra_cap;
};

/* Sites of the main thread's own work, after those of the program. */
enum { SITE_FORK, SITE_JOIN, SITE_PAD, SITE_CALL, MAIN_SITES };

/* ---- the static program ---- */

static struct insn *code_add(struct gen *g, enum kind kind, enum op op)
{
    struct insn *in;

    GROW(g->code, g->code_cap, g->ncode + 1);
    in = &g->code[g->ncode];
    *in = (struct insn){ .kind = kind, .op = op, .site = (uint32_t)g->ncode };
    g->ncode++;
    return in;
}

static void set_access(struct gen *g, struct insn *in)
{
    static const uint8_t arrays[] = { 3, 3, 3, 3, 2, 2, 2, 1, 0, 0 };

    in->array = g->o.named ? 3 : arrays[rng_below(&g->rng, 10)];
    in->size = (uint8_t)(1 << in->array);
    if (in->array == 0 && rng_percent(&g->rng, g->o.overlap_percent))
        in->size = 8;
    in->element = rng_below(&g->rng, 1 << 16);
    in->stride = rng_percent(&g->rng, 70) ? 1 : rng_below(&g->rng, 4);
}

static enum op read_or_write(struct gen *g)
{
    return rng_percent(&g->rng, g->o.write_percent) ? OP_WRITE : OP_READ;
}

static void add_atomic(struct gen *g)
{
    static const struct {
        uint8_t op, order;
    } forms[] = { { OP_RMW, ORDER_RELAXED },   { OP_RMW, ORDER_ACQ_REL },
                  { OP_LOAD, ORDER_ACQUIRE },  { OP_LOAD, ORDER_RELAXED },
                  { OP_STORE, ORDER_RELEASE }, { OP_RMW, ORDER_SEQ_CST } };
    uint32_t f = rng_below(&g->rng, sizeof(forms) / sizeof(forms[0]));
    struct insn *in = code_add(g, K_COUNTER, forms[f].op);

    in->order = forms[f].order;
    in->size = 8;
    in->element = rng_below(&g->rng, COUNTERS);
}

/* An access that needs no lock: mostly local, sometimes constant. Returns sites added. */
static uint32_t add_free_access(struct gen *g, bool heap)
{
    size_t before = g->ncode;

    if (rng_percent(&g->rng, g->o.atomic_percent)) {
        add_atomic(g);
    } else if (heap && rng_percent(&g->rng, 50)) {
        set_access(g, code_add(g, K_HEAP, read_or_write(g)));
    } else if (rng_percent(&g->rng, 12)) {
        set_access(g, code_add(g, K_CONSTANT, OP_READ));
    } else {
        set_access(g, code_add(g, K_LOCAL, read_or_write(g)));
    }
    if (rng_percent(&g->rng, g->o.branch_percent))
        code_add(g, K_BRANCH, OP_BRANCH);
    return (uint32_t)(g->ncode - before);
}

static void add_guarded(struct gen *g, enum kind kind, bool shared, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        set_access(g, code_add(g, kind, shared ? OP_READ : read_or_write(g)));
}

/* A critical section; returns the number of its lock events. */
static uint32_t add_section(struct gen *g, uint32_t accesses)
{
    bool shared = rng_percent(&g->rng, g->o.shared_percent);
    bool nested = g->o.locks > 1 && rng_percent(&g->rng, g->o.nested_percent);

    code_add(g, K_ACQUIRE, shared ? OP_ACQUIRE_SHARED : OP_ACQUIRE);
    add_guarded(g, K_GUARDED, shared, accesses);
    if (nested) {
        code_add(g, K_ACQUIRE_INNER, OP_ACQUIRE);
        add_guarded(g, K_INNER, false, 2);
        code_add(g, K_RELEASE_INNER, OP_RELEASE);
    }
    code_add(g, K_RELEASE, shared ? OP_RELEASE_SHARED : OP_RELEASE);
    return nested ? 4 : 2;
}

/* Enough unlocked accesses, in a loop, that the section's lock events have their share. */
static void add_loop(struct gen *g, uint32_t events, bool heap)
{
    uint32_t body = rng_between(&g->rng, 2, 6), sites = 0;

    if (!events)
        return;
    if (body > events)
        body = events;
    while (sites < body)
        sites += add_free_access(g, heap);
    g->code[g->ncode - 1].back = (uint16_t)(sites - 1);
    g->code[g->ncode - 1].repeat = (uint8_t)((events + sites / 2) / sites);
    if (g->code[g->ncode - 1].repeat > 120)
        g->code[g->ncode - 1].repeat = 120;
}

static void add_unit(struct gen *g, bool heap)
{
    uint32_t accesses = rng_between(&g->rng, 1, 6);
    size_t before = g->ncode;
    uint32_t lock_events, events;

    if (!g->o.lock_percent) {
        add_loop(g, 16, heap);
        return;
    }
    lock_events = add_section(g, accesses);
    events = lock_events * 100 / g->o.lock_percent;
    accesses = (uint32_t)(g->ncode - before);
    add_loop(g, events > accesses ? events - accesses : 0, heap);
}

static void add_function(struct gen *g, struct function *f)
{
    uint32_t units = rng_between(&g->rng, 1, 3);

    f->first = (uint32_t)g->ncode;
    f->heap = rng_percent(&g->rng, g->o.heap_percent);
    if (f->heap)
        code_add(g, K_ALLOC, OP_ALLOC);
    for (uint32_t i = 0; i < units; i++)
        add_unit(g, f->heap);
    if (f->heap)
        code_add(g, K_FREE, OP_FREE);
    f->end = (uint32_t)g->ncode;
}

/* Two functions per racy variable, one that writes and one that reads it. */
static void add_racy_function(struct gen *g, struct function *f, uint32_t n)
{
    struct insn *in;

    f->first = (uint32_t)g->ncode;
    in = code_add(g, K_RACY, n % 2 ? OP_READ : OP_WRITE);
    in->size = 8;
    in->element = n / 2;
    f->end = (uint32_t)g->ncode;
}

static void make_program(struct gen *g)
{
    uint32_t n = g->nfunctions + 2 * g->o.racy;
    char name[24];

    g->functions = xcalloc(n, sizeof(*g->functions));
    for (uint32_t i = 0; i < n; i++) {
        if (i < g->nfunctions)
            add_function(g, &g->functions[i]);
        else
            add_racy_function(g, &g->functions[i], i - g->nfunctions);
    }
    for (size_t i = 0; i < g->ncode + MAIN_SITES - !g->o.call_ppm; i++)
        intern_put(&g->tables->sites, name, (size_t)sprintf(name, "%zu", i + 1));
}

/* ---- memory ---- */

static uint32_t power_of_two_below(uint64_t n)
{
    uint32_t p = GUARD_BYTES;

    while (p * 2ull <= n && p < 1u << 30)
        p *= 2;
    return p;
}

/* 60 % of the variables are local, 30 % guarded, 10 % constant; sizes are powers of two. */
static void lay_out_memory(struct gen *g)
{
    uint64_t bytes = (uint64_t)g->o.variables * (g->o.named ? 8 : 16) / 5 * (g->o.named ? 5 : 1);
    uint32_t blocks = g->o.heap_percent ? 2 * g->o.threads + 16 : 0;
    uint64_t at;

    g->local_bytes = power_of_two_below(bytes * 6 / 10 / g->o.threads);
    g->guard_bytes = power_of_two_below(bytes * 3 / 10 / g->o.locks);
    g->constant_bytes = power_of_two_below(bytes / 10);
    at = (uint64_t)g->local_bytes * g->o.threads;
    g->guard_at = at;
    g->constant_at = at += (uint64_t)g->guard_bytes * g->o.locks;
    g->heap_at = at += g->constant_bytes;
    g->counter_at = at += (uint64_t)blocks * BLOCK_BYTES;
    g->racy_at = at += COUNTERS * 8;
    g->memory_bytes = at + 8 * (uint64_t)g->o.racy + 8;
    g->base = g->o.named ? NAMED_BASE : MEMORY_BASE;
    g->free_block = xcalloc(blocks + 1, sizeof(*g->free_block));
    while (g->nfree < blocks) {
        g->free_block[g->nfree] = blocks - 1 - g->nfree;
        g->nfree++;
    }
    if (g->o.values)
        g->memory = xcalloc(g->memory_bytes, 1);
}

/* Where element e of the array of a site lies in a region. Arrays of 8, 4, 2, 1 bytes take
 * a half, a quarter, an eighth and an eighth; named variables are all 8 bytes wide. */
static uint64_t in_region(const struct gen *g, const struct insn *in, uint64_t at, uint32_t bytes,
                          uint32_t e)
{
    static const uint8_t start_eighths[4] = { 7, 6, 4, 0 }, size_shift[4] = { 3, 3, 2, 1 };
    uint32_t length, offset;

    if (g->o.named)
        return at + 8 * (e & (bytes / 8 - 1));
    length = bytes >> size_shift[in->array] >> in->array;
    offset = (e & (length - 1)) << in->array;
    if (in->size > 1u << in->array)
        offset &= ~7u;
    return at + bytes / 8 * start_eighths[in->array] + offset;
}

static uint64_t place(const struct gen *g, const struct slot *s, const struct insn *in)
{
    uint32_t e = in->element + s->base + s->iteration * in->stride;

    switch (in->kind) {
    case K_LOCAL:
        return in_region(g, in, (uint64_t)(s - g->slots) * g->local_bytes, g->local_bytes, e);
    case K_GUARDED:
        return in_region(g, in, g->guard_at + (uint64_t)s->lock * g->guard_bytes, g->guard_bytes,
                         e);
    case K_INNER:
        return in_region(g, in, g->guard_at + (uint64_t)s->inner * g->guard_bytes, g->guard_bytes,
                         e);
    case K_CONSTANT:
        return in_region(g, in, g->constant_at, g->constant_bytes, e);
    case K_HEAP:
        return in_region(g, in, g->heap_at + (uint64_t)(s->block - 1) * BLOCK_BYTES, BLOCK_BYTES,
                         e);
    case K_COUNTER:
        return g->counter_at + 8 * (uint64_t)in->element;
    default:
        return g->racy_at + 8 * (uint64_t)in->element;
    }
}

static void set_values(struct gen *g, struct event *e, uint64_t at)
{
    uint64_t before = 0, after = g->done & 0xffff;

    memcpy(&before, g->memory + at, e->size); /* x86 and ARM: little-endian */
    e->value = before;
    if (e->op == OP_RMW) {
        e->old = before;
        e->flags |= EV_OLD;
        after = before + 1;
    }
    if (op_table[e->op].writes) {
        if (e->size < 8)
            after &= (1ull << (8 * e->size)) - 1;
        memcpy(g->memory + at, &after, e->size);
        e->value = after;
    }
    e->flags |= EV_VALUE;
}

/* ---- threads and the scheduler ---- */

static uint32_t new_thread(struct gen *g)
{
    char name[24];

    return intern_put(&g->tables->threads, name,
                      (size_t)sprintf(name, "T%u", g->tables->threads.count));
}

/* Mostly one of a few locks of the thread's own neighbourhood, else any. */
static uint32_t pick_lock(struct gen *g, uint32_t slot)
{
    uint32_t n = g->o.locks;

    if (n > 8 && rng_percent(&g->rng, 70))
        return (slot * 5 + rng_below(&g->rng, 8)) % n;
    return rng_below(&g->rng, n);
}

static void call_function(struct gen *g, struct slot *s)
{
    const struct function *f;
    uint64_t r = rng_next(&g->rng);

    if (g->o.racy && rng_below(&g->rng, 1000000) < g->o.racy_ppm)
        f = &g->functions[g->nfunctions + rng_below(&g->rng, 2 * g->o.racy)];
    else
        f = &g->functions[rng_below(&g->rng, g->nfunctions)];
    s->pc = f->first;
    s->end = f->end;
    s->iteration = s->left = 0;
    s->base = (uint32_t)(r & 0xff) * 16; /* calls come back to the same data now and then */
    s->lock = pick_lock(g, (uint32_t)(s - g->slots));
    s->inner = s->lock + 1 < g->o.locks ? s->lock + 1 + rng_below(&g->rng, g->o.locks - s->lock - 1)
                                        : s->lock;
}

static bool take_lock(struct gen *g, uint32_t lock, uint32_t slot, bool shared)
{
    if (g->owner[lock] != NO_THREAD || (!shared && g->readers[lock]))
        return false;
    if (shared)
        g->readers[lock]++;
    else
        g->owner[lock] = slot;
    return true;
}

static void drop_lock(struct gen *g, uint32_t lock, bool shared)
{
    if (shared)
        g->readers[lock]--;
    else
        g->owner[lock] = NO_THREAD;
}

/* The last lock has no lock above it to nest; its inner section is recursive. */
static bool do_lock(struct gen *g, struct slot *s, const struct insn *in, struct event *e)
{
    uint32_t me = (uint32_t)(s - g->slots);
    bool inner = in->kind == K_ACQUIRE_INNER || in->kind == K_RELEASE_INNER;
    uint32_t lock = inner ? s->inner : s->lock;
    bool shared = in->op == OP_ACQUIRE_SHARED || in->op == OP_RELEASE_SHARED;

    e->target = NAMED_OBJECT(lock);
    if (inner && lock == s->lock)
        return false;
    if (in->kind == K_ACQUIRE || in->kind == K_ACQUIRE_INNER) {
        if (!take_lock(g, lock, me, shared))
            return false;
        *(inner ? &s->holds_inner : &s->holds_lock) = true;
    } else {
        drop_lock(g, lock, shared);
        *(inner ? &s->holds_inner : &s->holds_lock) = false;
    }
    return true;
}

static void do_heap(struct gen *g, struct slot *s, struct event *e)
{
    if (e->op == OP_ALLOC)
        s->block = 1 + g->free_block[--g->nfree];
    e->target = g->base + g->heap_at + (uint64_t)(s->block - 1) * BLOCK_BYTES;
    e->value = BLOCK_BYTES;
    if (e->op == OP_FREE) {
        g->free_block[g->nfree++] = s->block - 1;
        s->block = 0;
    }
}

static void do_access(struct gen *g, struct slot *s, const struct insn *in, struct event *e)
{
    uint64_t at = place(g, s, in);

    e->target = g->base + at;
    e->size = in->size;
    e->order = in->order;
    if (g->memory)
        set_values(g, e, at);
}

/* Go on to the next instruction, around the loop if there is one. */
static void advance(struct gen *g, struct slot *s, const struct insn *in)
{
    if (!in->repeat) {
        s->pc++;
        return;
    }
    if (!s->left) /* first time at the end of this loop */
        s->left = rng_between(&g->rng, 1, 2u * in->repeat - 1);
    s->iteration++;
    if (--s->left) {
        s->pc -= in->back;
    } else {
        s->pc++;
        s->iteration = 0;
    }
}

static bool skip_recursive_inner(const struct slot *s, const struct insn *in)
{
    return s->inner == s->lock && (in->kind == K_ACQUIRE_INNER || in->kind == K_RELEASE_INNER);
}

/* Where a call may be: in the thread's own memory, or now and then anywhere. */
static void list_range(struct gen *g, const struct slot *s)
{
    uint64_t from = (uint64_t)(s - g->slots) * g->local_bytes, bytes = g->local_bytes;

    if (rng_percent(&g->rng, 10)) {
        from = 0;
        bytes = g->memory_bytes;
    }
    GROW(g->extra, g->extra_cap, g->nextra + 2);
    g->extra[g->nextra++] = g->base + from + rng_next(&g->rng) % (bytes / 64) * 64;
    g->extra[g->nextra++] = 64;
}

/* Begin or end a call of untraced code; false: neither now. */
static bool run_call(struct gen *g, struct slot *s, struct event *e)
{
    bool begins = !s->called && g->o.call_ppm && rng_below(&g->rng, 1000000) < g->o.call_ppm;

    *e = (struct event){ .thread = s->thread, .site = (uint32_t)g->ncode + SITE_CALL };
    if (s->called && --s->called == 0) {
        e->op = OP_RETURN;
        return true;
    }
    if (!begins)
        return false;
    e->op = OP_CALL;
    e->value = g->nextra;
    e->old = g->o.call_ranges;
    for (uint32_t i = 0; i < g->o.call_ranges; i++)
        list_range(g, s);
    s->called = rng_between(&g->rng, 1, 3);
    return true;
}

/* One event of a slot, or false when it is blocked. */
static bool run_slot(struct gen *g, struct slot *s, struct event *e)
{
    const struct insn *in;

    if (run_call(g, s, e))
        return true;
    for (;;) {
        if (s->pc == s->end)
            call_function(g, s);
        in = &g->code[s->pc];
        if (!skip_recursive_inner(s, in))
            break;
        s->pc++;
    }
    *e = (struct event){ .thread = s->thread, .site = in->site, .op = in->op };
    if (in->kind <= K_COUNTER || in->kind == K_INNER) {
        do_access(g, s, in, e);
    } else if (in->kind <= K_RELEASE_INNER) {
        if (!do_lock(g, s, in, e))
            return false;
    } else if (in->kind != K_BRANCH) {
        do_heap(g, s, e);
    }
    advance(g, s, in);
    return true;
}

/* The event with which a slot lets go of what it holds, or false. */
static bool unwind_slot(struct gen *g, struct slot *s, struct event *e)
{
    while (s->holds_lock || s->holds_inner || s->block) {
        const struct insn *in = &g->code[s->pc];
        bool gives = in->kind == K_RELEASE || in->kind == K_RELEASE_INNER || in->kind == K_FREE;

        if (gives && !skip_recursive_inner(s, in))
            return run_slot(g, s, e);
        if (in->kind == K_ACQUIRE_INNER && !skip_recursive_inner(s, in)) /* leave all of it out */
            while (g->code[s->pc].kind != K_RELEASE_INNER)
                s->pc++;
        if (in->kind == K_ACQUIRE)
            while (g->code[s->pc].kind != K_RELEASE)
                s->pc++;
        s->pc++;
    }
    return false;
}

static struct event main_event(const struct gen *g, enum op op, uint32_t site, uint64_t target)
{
    return (
        struct event){ .thread = 0, .op = op, .target = target, .site = (uint32_t)g->ncode + site };
}

static void start_thread(struct gen *g, struct slot *s, struct event *e)
{
    uint32_t t = new_thread(g);

    *e = main_event(g, OP_FORK, SITE_FORK, t);
    s->thread = t;
    s->pc = s->end = s->called = 0;
    s->life = g->o.lifetime ? rng_between(&g->rng, 1, 2 * g->o.lifetime) : INT64_MAX;
}

/* Next event of the whole program. */
static void step(struct gen *g, struct event *e)
{
    struct slot *s = &g->slots[g->current];

    if (g->running < g->o.threads) {
        start_thread(g, &g->slots[g->running++], e);
        return;
    }
    if (s->thread == NO_THREAD) {
        start_thread(g, s, e);
        return;
    }
    for (;;) {
        if (g->burst_left-- > 0 && s->life-- > 0 && run_slot(g, s, e))
            return;
        if (s->life <= 0) { /* ends: lets go, is joined, and its slot gets a new thread */
            if (unwind_slot(g, s, e))
                return;
            *e = main_event(g, OP_JOIN, SITE_JOIN, s->thread);
            s->thread = NO_THREAD;
            return;
        }
        g->current = rng_below(&g->rng, g->o.threads);
        s = &g->slots[g->current];
        g->burst_left = rng_between(&g->rng, 1, 2 * g->o.burst - 1);
    }
}

/* At the end every slot lets go and is joined; false when that is done. */
static bool wind_up(struct gen *g, struct event *e)
{
    while (g->windup < g->o.threads) {
        struct slot *s = &g->slots[g->windup];

        if (s->thread != NO_THREAD && unwind_slot(g, s, e))
            return true;
        g->windup++;
        if (s->thread != NO_THREAD && s->thread != 0 && g->windup <= g->running) {
            *e = main_event(g, OP_JOIN, SITE_JOIN, s->thread);
            return true;
        }
    }
    return false;
}

/* What fills the trace up to its exact length after everything ended. */
static void pad(struct gen *g, struct event *e)
{
    *e = main_event(g, OP_READ, SITE_PAD, g->base);
    e->size = 8;
    if (g->memory) {
        memcpy(&e->value, g->memory, e->size);
        e->flags |= EV_VALUE;
    }
}

bool gen_next(struct gen *g, struct batch *out)
{
    /* Up to two releases, a free and a join per slot; none of it if the trace is too short. */
    uint64_t reserve = 4ull * g->o.threads;
    uint64_t stop = g->o.events > 2 * reserve ? g->o.events - reserve : g->o.events;
    size_t n = 0;

    *out = (struct batch){ .events = g->events, .first = g->done };
    g->nextra = 0;
    while (n < BATCH && g->done < g->o.events) {
        struct event *e = &g->events[n++];

        if (g->done < stop)
            step(g, e);
        else if (!wind_up(g, e))
            pad(g, e);
        g->done++;
    }
    out->count = n;
    out->extra = g->extra;
    return n > 0;
}

/* ---- life cycle ---- */

static void name_objects(struct gen *g)
{
    char name[24];

    for (uint32_t i = 0; i < g->o.locks; i++)
        intern_put(&g->tables->objects, name, (size_t)sprintf(name, "L%u", i));
    if (g->o.named)
        for (uint64_t i = 0; i < g->memory_bytes / 8; i++)
            intern_put(&g->tables->variables, name,
                       (size_t)sprintf(name, "V%llu", (unsigned long long)i));
}

struct gen *gen_open(const struct gen_large_options *o, struct tables *tables)
{
    struct gen *g = xcalloc(1, sizeof(*g));

    g->o = *o;
    g->tables = tables;
    g->o.threads = o->threads ? o->threads : 1;
    g->o.locks = o->locks ? o->locks : 1;
    g->o.burst = o->burst ? o->burst : 1;
    g->nfunctions = o->functions ? o->functions : 1;
    rng_init(&g->rng, o->seed);
    lay_out_memory(g);
    make_program(g);
    name_objects(g);
    if (g->o.call_ppm)
        intern_put(&tables->functions, "untraced", 8);
    g->slots = xcalloc(g->o.threads, sizeof(*g->slots));
    g->owner = xcalloc(g->o.locks, sizeof(*g->owner));
    g->readers = xcalloc(g->o.locks, sizeof(*g->readers));
    memset(g->owner, 0xff, g->o.locks * sizeof(*g->owner));
    new_thread(g);
    g->slots[0].life = INT64_MAX;
    g->running = 1;
    return g;
}

void gen_close(struct gen *g)
{
    free(g->code);
    free(g->functions);
    free(g->slots);
    free(g->owner);
    free(g->readers);
    free(g->free_block);
    free(g->memory);
    free(g->extra);
    free(g);
}
