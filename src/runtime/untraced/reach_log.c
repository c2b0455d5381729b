/* reach_log.c - logging objects for calls of untraced code (reach_log.h)
 *
 * The idea is that of rdit.txt 3.2.1: an object's pointers are logged once. The paper recovers
 * later changes from recorded stores; here a store marks the piece (16 KiB at most) of a logged
 * object as dirty, which also covers copies and default builds, where stores have no values, and
 * the next call reads the piece again.
 *
 * Memory is read by process_vm_readv(): an object that another thread gives back, or unmaps,
 * meanwhile must not hurt. Small objects of malloc's are read directly, which is ten times as fast:
 * free() waits for the reader (objects.h). Nothing here calls malloc; the lists are mappings of our
 * own.
 *
 * Lock: reach_lock, held by a busy thread while it logs and until its call is recorded, so that
 * whoever finds an object logged finds it so in the trace before its own call. dirty_lock protects
 * the list of dirty pieces and __heddle_logged; it is taken inside, and by stores.
 * Bounds: a call looks at `calls_objects` objects and `calls_bytes` bytes, and all calls together
 * at CREDIT_START bytes and a part of what else is recorded. What is left stays on the list, and
 * while it is not empty calls say CALL_ALL.
 * Limits: a store that has not left the processor's buffer when the object is read is missed by
 * that call, and seen by the next only if the piece is dirty again.
 */
#include "runtime/untraced/reach_log.h"

#include "runtime/untraced/hidden.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    WORK_MAX = 1 << 20, /* objects of one call; dirty pieces */
    SEEN_MAX = 256,     /* loose ones of one call */
    PIECES_MAX = 64,
    /* Objects that calls may have stored pointers in are looked at again. These always: */
    SUSPECTS_NEAR = 16,   /* as many, passed or one step further */
    SUSPECT_BYTES = 4096, /* and no larger */
    /* Up to SUSPECTS of this size, however far away, while there is credit for it: half a
     * microsecond each, at every call. */
    SUSPECT_LARGE = 256 << 10,
    DEEP_START = 2 << 20,
    SLOTS_MAX = (RECORD_WORDS - 3) / 2,
    SLOTS_ZERO =
        256, /* objects up to this size tell their empty slots when they are logged again */
    BUFFER = PIECE_BYTES,
    REGIONS = 256, /* of PIECE_BYTES, direct-mapped */
    /* Credit, in bytes. A program that passes much fresh or changing memory to untraced code
     * (blocks to a compressor) else spends its time here: leveldb 60 % of it, for lists of which
     * the analysis gives up nine in ten. */
    CREDIT_START = 16 << 20,
    CREDIT_CHUNK = RING_CHUNK_BYTES / 32, /* for a chunk of records */
    CREDIT_CHUNKS = 64,                   /* paid at once */
    COST_OBJECT = 64,
    COST_POINTER = 64, /* its object has to be found: some 40 ns */
    COST_DIRTY = 32
};

struct piece {
    uintptr_t low, high;           /* to be read */
    uintptr_t object, object_high; /* it is a part of */
    bool again, own, direct;       /* own: the calling thread's stack */
};

static struct {
    struct piece *work; /* of the call at hand: a stack */
    uintptr_t *dirty;   /* pieces, by an address in them */
    uintptr_t *logged;  /* pieces that were logged, for fork and calls=exact */
    uint32_t nwork, ndirty, nlogged, nseen;
    uintptr_t seen[SEEN_MAX];
    const struct callee *callee;
    uint32_t pieces[PIECES_MAX]; /* that pointers lead to, to be looked at */
    uint32_t npieces;
    uint64_t objects, bytes; /* of the call at hand */
    uint64_t pointers;
    int64_t credit;                /* bytes that may be looked at; written under reach_lock */
    uint32_t paid;                 /* chunks that are in it */
    int64_t deep;                  /* the part of it for objects far away, in bytes */
    uint64_t generations[REGIONS]; /* grow when a piece there becomes logged: struct quiet */
    bool partial;                  /* it was too much */
    bool lost;                     /* something was forgotten: every call is CALL_ALL from now on */
    const struct rt_thread *owner; /* who logs */
    bool failed;                   /* no memory for the lists */
    uint64_t buffer[BUFFER / 8];
} reach;
uint32_t reach_lock;
static uint32_t dirty_lock;

static void *pages(size_t bytes)
{
    void *m = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1L, 0L);

    return m == MAP_FAILED ? NULL : m;
}

static bool prepare(void)
{
    if (likely(reach.logged) || reach.failed)
        return !reach.failed;
    reach.work = pages(WORK_MAX * sizeof(*reach.work));
    reach.dirty = pages(WORK_MAX * sizeof(*reach.dirty));
    reach.logged = pages(WORK_MAX * sizeof(*reach.logged));
    reach.failed = !reach.work || !reach.dirty || !reach.logged;
    reach.credit = CREDIT_START;
    reach.deep = DEEP_START;
    return !reach.failed;
}

/* ---- credit ---- */

static uint32_t chunks_to_pay(void)
{
    return __atomic_load_n(&rt.ring->wake_writer, __ATOMIC_RELAXED) -
           __atomic_load_n(&reach.paid, __ATOMIC_RELAXED);
}

/* No credit, nor any to come at once. */
static bool is_broke(void)
{
    return rt_options.calls == CALLS_ONCE && reach.logged &&
           __atomic_load_n(&reach.credit, __ATOMIC_RELAXED) <= 0 && chunks_to_pay() < CREDIT_CHUNKS;
}

static void pay(void)
{
    uint32_t chunks = chunks_to_pay();
    int64_t credit = reach.credit + (int64_t)chunks * CREDIT_CHUNK;

    __atomic_store_n(&reach.paid, reach.paid + chunks, __ATOMIC_RELAXED);
    __atomic_store_n(&reach.credit, credit < CREDIT_START ? credit : CREDIT_START,
                     __ATOMIC_RELAXED);
    reach.deep += (int64_t)chunks * CREDIT_CHUNK / 8;
    reach.deep = reach.deep < DEEP_START ? reach.deep : DEEP_START;
}

static void charge(uint64_t bytes)
{
    __atomic_store_n(&reach.credit, reach.credit - (int64_t)bytes, __ATOMIC_RELAXED);
}

/* ---- states ---- */

static inline unsigned state_of(const uint8_t *s)
{
    return __atomic_load_n(s, __ATOMIC_RELAXED) & STATE_MASK;
}

static bool change(uint8_t *s, unsigned from, unsigned to)
{
    uint8_t was = __atomic_load_n(s, __ATOMIC_RELAXED);

    while ((was & STATE_MASK) == from)
        if (__atomic_compare_exchange_n(s, &was, (uint8_t)((was & ~STATE_MASK) | to), false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
            return true;
    return false;
}

static void set(uint8_t *s, unsigned to)
{
    uint8_t was = __atomic_load_n(s, __ATOMIC_RELAXED);

    while (!__atomic_compare_exchange_n(s, &was, (uint8_t)((was & ~STATE_MASK) | to), false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
        ;
}

static uint64_t *generation_at(uintptr_t a)
{
    return &reach.generations[a / PIECE_BYTES % REGIONS];
}

/* Logged first, read later: a store in between makes it dirty again. */
static void set_logged(uint8_t *s, uintptr_t low, uintptr_t high)
{
    uintptr_t last = (high - 1) / PIECE_BYTES, n = last - low / PIECE_BYTES;

    for (uintptr_t i = 0; i <= n && i < REGIONS; i++)
        __atomic_fetch_add(generation_at((last - i) * PIECE_BYTES), 1, __ATOMIC_SEQ_CST);
    set(s, STATE_LOGGED);
}

static uint8_t *state_at(uintptr_t a)
{
    struct object o;

    if (objects_state(a))
        return objects_state(a);
    return statics_find(a, &o) && o.kind == OBJECT_VARIABLE ? o.state : NULL;
}

/* ---- stores ---- */

/* The block that an entry of __heddle_logged is about, + 1; SHARED: several. */
static uint64_t owners[LOGGED_BLOCKS];
#define SHARED UINT64_MAX

static inline uint32_t entry_of(uint64_t block)
{
    return block & (LOGGED_BLOCKS - 1);
}

/* From now on stores here call. dirty_lock is held. */
static void watch(uintptr_t low, uintptr_t high)
{
    if (rt_options.calls != CALLS_ONCE)
        return;
    for (uint64_t block = low >> LOGGED_SHIFT; block <= (high - 1) >> LOGGED_SHIFT; block++) {
        uint64_t *owner = &owners[entry_of(block)];

        *owner = *owner == 0 || *owner == block + 1 ? block + 1 : SHARED;
        __atomic_store_n(&__heddle_logged[entry_of(block)], 1, __ATOMIC_RELAXED);
    }
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Further stores to the block need not call until its piece, which is dirty, is logged again: if
 * nothing else is in the block, and no other block has its entry. */
static void hush(uintptr_t a, const uint8_t *s)
{
    uint64_t block = a >> LOGGED_SHIFT;
    uintptr_t low = block << LOGGED_SHIFT, high = low + (1u << LOGGED_SHIFT);
    struct object o;

    if (owners[entry_of(block)] == block + 1 && state_of(s) == STATE_DIRTY && object_at(a, &o) &&
        o.state == s && o.low <= low && high <= o.high)
        __atomic_store_n(&__heddle_logged[entry_of(block)], 0, __ATOMIC_RELAXED);
}

/* The piece of the object that `a` lies in. */
static struct quiet piece_of(const struct object *o, uintptr_t a)
{
    struct quiet q = { o->low, o->high, 0 };
    uintptr_t low = o->piece ? a & ~(uintptr_t)(o->piece - 1) : o->low;

    if (low > q.low)
        q.low = low;
    if (o->piece && low + o->piece < q.high)
        q.high = low + o->piece;
    return q;
}

/* What of it is in the region of `a`, for which there is one generation. */
static struct quiet part_of(struct quiet q, uintptr_t a)
{
    uintptr_t low = a & -(uintptr_t)PIECE_BYTES, high = low + PIECE_BYTES;

    return (struct quiet){ q.low > low ? q.low : low, q.high < high ? q.high : high, 0 };
}

static struct quiet *quiet_slot(uintptr_t a)
{
    return &tls.self->quiet[(a >> LOGGED_SHIFT) % QUIET];
}

/* Up to where nothing needs to be done from `a` on; `a` itself if it may. */
static uintptr_t quiet_until(uintptr_t a)
{
    const struct quiet *q = quiet_slot(a);

    return a - q->low < q->high - q->low &&
                   q->generation == __atomic_load_n(generation_at(a), __ATOMIC_RELAXED)
               ? q->high
               : a;
}

/* The piece is dirty, or was never logged, or there is none: that holds until something becomes
 * logged. An object that comes in its place meanwhile was not logged either. */
static void be_quiet(uintptr_t a, const struct object *o, uint64_t generation)
{
    struct quiet q = { a & -(uintptr_t)(1 << LOGGED_SHIFT), (a | ((1 << LOGGED_SHIFT) - 1)) + 1,
                       0 };

    if (!tls.self || (o && state_of(o->state) == STATE_LOGGED))
        return;
    if (o)
        q = part_of(piece_of(o, a), a);
    q.generation = generation;
    *quiet_slot(a) = q;
}

/* Stacks have no state. */
static bool is_own_stack(uintptr_t a)
{
    return tls.self && a - tls.self->stack_low < tls.self->stack_bytes;
}

static void make_dirty(uintptr_t a)
{
    uint64_t generation = __atomic_load_n(generation_at(a), __ATOMIC_SEQ_CST);
    struct object o;
    bool found = (objects_find(a, &o) || statics_find(a, &o)) && o.state;
    uint8_t *s = found ? o.state : NULL;

    if (!s || state_of(s) == STATE_FRESH) {
        be_quiet(a, found ? &o : NULL, generation);
        return;
    }
    spin_lock(&dirty_lock);
    if (change(s, STATE_LOGGED, STATE_DIRTY)) {
        if (reach.ndirty < WORK_MAX)
            reach.dirty[__atomic_fetch_add(&reach.ndirty, 1, __ATOMIC_RELEASE)] = a;
        else
            reach.lost = true;
    }
    hush(a, s);
    spin_unlock(&dirty_lock);
    be_quiet(a, &o, generation);
}

void reach_stored_slow(uintptr_t a, uint64_t bytes)
{
    if (rt_options.calls != CALLS_ONCE || !reach.logged)
        return;
    rt_busy_begin();
    for (uintptr_t at = a, end = a + bytes; at < end;) {
        uintptr_t next = tls.self ? quiet_until(at) : at;

        if (next == at) {
            next = (at | ((1u << LOGGED_SHIFT) - 1)) + 1;
            if (__heddle_logged[at >> LOGGED_SHIFT & (LOGGED_BLOCKS - 1)] && !is_own_stack(at))
                make_dirty(at);
        }
        at = next;
    }
    rt_busy_end();
}

EXPORT __attribute__((preserve_most)) void __heddle_stored(void *p, uint64_t bytes);
EXPORT __attribute__((preserve_most)) void __heddle_stored(void *p, uint64_t bytes)
{
    if (objects_on && rt.mode == MODE_ON && !tls.busy)
        reach_stored_slow((uintptr_t)p, bytes);
}

/* ---- the list of work ---- */

static void push(uintptr_t low, uintptr_t high, const struct object *o, bool again, bool own)
{
    if (reach.nwork == WORK_MAX) {
        reach.lost = true;
        return;
    }
    reach.work[reach.nwork++] = (struct piece){ low, high, o->low, o->high, again, own, o->direct };
}

static void note_logged(uintptr_t a)
{
    uint32_t kept = 0;

    if (reach.nlogged == WORK_MAX) /* those that were given back since */
        for (uint32_t i = 0; i < WORK_MAX; i++) {
            uint8_t *s = state_at(reach.logged[i]);

            if (s && state_of(s) != STATE_FRESH)
                reach.logged[kept++] = reach.logged[i];
        }
    if (reach.nlogged == WORK_MAX)
        reach.nlogged = kept;
    if (reach.nlogged < WORK_MAX)
        reach.logged[reach.nlogged++] = a;
    else
        reach.lost = true;
}

/* All pieces of an object. */
static void push_object(const struct object *o)
{
    uintptr_t at = o->high, end;

    while (at > o->low) { /* backwards: the first piece is to be on top */
        uint8_t *s;

        end = at;
        at = o->piece ? (end - 1) & ~(uintptr_t)(o->piece - 1) : o->low;
        at = at > o->low ? at : o->low;
        s = o->piece ? objects_state(at) : o->state;
        if (!o->plain) {
            spin_lock(&dirty_lock);
            watch(at, end);
            spin_unlock(&dirty_lock);
        }
        if (s) {
            set_logged(s, at, end);
            note_logged(at);
        }
        push(at, o->plain ? at : end, o, false, false);
    }
    reach.objects++;
}

/* Loose memory was met in this call? */
static bool is_seen(uintptr_t low)
{
    for (uint32_t i = 0; i < reach.nseen; i++)
        if (reach.seen[i] == low)
            return true;
    if (reach.nseen < SEEN_MAX)
        reach.seen[reach.nseen++] = low;
    else
        reach.partial = true;
    return reach.partial;
}

/* A piece of an untraced image's data: the set that leads there has it from now on, too. */
static bool meet_piece(uintptr_t a)
{
    const struct callee *c = reach.callee;
    uint32_t piece = c && c->count ? effects_number(c->table, a) : UINT32_MAX;

    if (piece == UINT32_MAX)
        return false;
    if (reach.npieces == PIECES_MAX || !effects_add_member(c, piece))
        reach.partial = true;
    else
        reach.pieces[reach.npieces++] = piece;
    return true;
}

/* An address that leads somewhere: its object is logged from now on. */
static void meet(const struct object *o)
{
    if (o->kind == OBJECT_LOOSE) {
        if (!is_seen(o->low) && !meet_piece(o->low))
            push(o->low, o->high, o, false, false);
    } else if (o->state && state_of(o->state) == STATE_FRESH) {
        push_object(o);
    }
}

/* ---- reading ---- */

/* A small object of malloc's: who frees it waits, or has taken it off the map before. */
static size_t copy_direct(uintptr_t object, uintptr_t from, size_t bytes)
{
    struct object o;
    bool there;

    __atomic_store_n(&objects_reading, object, __ATOMIC_SEQ_CST);
    there = objects_find(object, &o) && o.low == object && o.direct && from + bytes <= o.high;
    if (there)
        memcpy(reach.buffer, (const void *)from, bytes);
    __atomic_store_n(&objects_reading, 0, __ATOMIC_SEQ_CST);
    return there ? bytes : 0;
}

static size_t copy(const struct piece *p, uintptr_t from, size_t bytes)
{
    struct iovec here = { reach.buffer, bytes }, there = { (void *)from, bytes };
    long n;

    if (p->own) {
        memcpy(reach.buffer, (const void *)from, bytes);
        return bytes;
    }
    if (p->direct)
        return copy_direct(p->object, from, bytes);
    n = syscall(SYS_process_vm_readv, (long)rt.ring->pid, &here, 1L, &there, 1L, 0L);
    reach.partial |= n < 0 && errno == EPERM; /* a sandbox */
    return n > 0 ? (size_t)n : 0;
}

struct out {
    struct rt_thread *t;
    const struct piece *piece;
    uint64_t slots[2 * SLOTS_MAX];
    unsigned n;
    bool more;
};

static void flush(struct out *o)
{
    uint64_t *w = room(o->t, true);

    if (!w)
        return;
    w[0] = RING_WORD(R_OBJECT, o->more ? OBJECT_MORE : 0, o->piece->object);
    w[1] = o->piece->object_high - o->piece->object;
    w[2] = o->n;
    memcpy(w + 3, o->slots, 16 * o->n);
    commit(3 + 2 * o->n);
    o->n = 0;
    o->more = true;
}

static void add_slot(struct out *o, uintptr_t slot, uint64_t pointer)
{
    if (o->n == SLOTS_MAX)
        flush(o);
    o->slots[2 * o->n] = slot;
    o->slots[2 * o->n++ + 1] = pointer;
}

static void look_at(struct out *out, uintptr_t slot, uint64_t word, bool tell_empty)
{
    struct object o;

    if (!word) {
        if (tell_empty)
            add_slot(out, slot, 0);
    } else if (object_at(word, &o) && !(o.low <= slot && slot < o.high)) {
        add_slot(out, slot, word);
        reach.pointers++;
        if (o.kind != OBJECT_LOOSE || !reach_is_thread(word))
            meet(&o);
    }
}

static void log_piece(struct rt_thread *t, const struct piece *p)
{
    struct out out = { .t = t, .piece = p, .more = p->again || p->low > p->object };
    bool tell_empty = p->again && p->object_high - p->object <= SLOTS_ZERO;
    uintptr_t at = (p->low + 7) & ~(uintptr_t)7;

    while (at + 8 <= p->high) {
        size_t want = p->high - at < BUFFER ? (p->high - at) & ~(size_t)7 : BUFFER;
        size_t got = copy(p, at, want) & ~(size_t)7;

        for (size_t i = 0; i < got / 8; i++)
            look_at(&out, at + 8 * i, reach.buffer[i], tell_empty);
        reach.bytes += got;
        if (got < want)
            break;
        at += got;
    }
    if (out.n || !out.more)
        flush(&out);
}

/* ---- data of untraced images ---- */

static bool copy_piece(const struct piece_state *s, uintptr_t from, size_t bytes)
{
    struct piece p = { .own = s->stays, .object = from };

    return copy(&p, from, bytes) == bytes;
}

static void look_at_word(struct out *out, uintptr_t slot, uint64_t was, uint64_t word)
{
    unsigned before = out->n;

    look_at(out, slot, word, false);
    if (was >= 1 << 16 && was >> 47 == 0 && out->n == before)
        add_slot(out, slot, 0);
}

/* What changed since the last look. */
static void log_words(struct out *out, const struct piece_state *s, uintptr_t low, uintptr_t high)
{
    low = (uintptr_t)piece_words(low);
    for (uintptr_t at = low, next; at + 8 <= high; at = next) {
        size_t bytes = high - at < BUFFER ? (high - at) & ~(size_t)7 : BUFFER;
        uint64_t *kept = s->copy + (at - low) / 8;

        next = at + bytes;
        if (!copy_piece(s, at, bytes)) {
            reach.partial = true;
            continue;
        }
        for (size_t i = 0; i < bytes / 8; i++) {
            uint64_t was = kept[i];

            if (was == reach.buffer[i])
                continue;
            kept[i] = reach.buffer[i];
            look_at_word(out, at + 8 * i, was, kept[i]);
        }
    }
}

static void log_untraced(struct rt_thread *t, uint32_t number)
{
    struct piece p = { 0 };
    struct out out = { .t = t, .piece = &p };
    uintptr_t low, high;
    struct piece_state *s = effects_piece(reach.callee->table, number, &low, &high);
    struct object o;

    if (object_at(low, &o) && o.kind == OBJECT_VARIABLE) { /* of a traced module */
        meet(&o);
        return;
    }
    out.more = s->copy;
    if (!s->copy)
        s->copy = effects_new_copy(high - low);
    p.object = low;
    p.object_high = high;
    reach.partial |= !s->copy;
    if (s->copy)
        log_words(&out, s, low, high);
    if (out.n || !out.more)
        flush(&out);
}

/* The pieces of the call's set; they stand in an object of ours, which is the root. */
static void log_set(struct rt_thread *t, const struct callee *c)
{
    uint32_t n = effects_members(c);
    struct piece p = { 0 };
    struct out out = { .t = t, .piece = &p };
    const uint64_t *slots;
    bool *told;

    if (!n)
        return;
    slots = effects_slots(c, &told);
    for (uint32_t i = 0; i < n; i++)
        log_untraced(t, effects_member(c, i));
    if (*told)
        return;
    p.object = (uintptr_t)slots;
    p.object_high = (uintptr_t)(slots + c->count);
    for (uint32_t i = 0; i < c->count; i++)
        add_slot(&out, (uintptr_t)&slots[i], slots[i]);
    flush(&out);
    __atomic_store_n(told, true, __ATOMIC_RELEASE);
}

/* ---- what calls store ---- */

/* How many, and how large. */
struct bound {
    uint32_t objects;
    uint64_t bytes;
};

static void suspect(struct rt_thread *t, uintptr_t a, struct bound b)
{
    struct object o;

    if (t->nsuspects >= b.objects || !object_at(a, &o) || !o.state || o.plain ||
        o.high - o.low >= b.bytes)
        return;
    for (uint32_t i = 0; i < t->nsuspects; i++)
        if (t->suspects[i] == o.low)
            return;
    t->suspects[t->nsuspects++] = o.low;
}

/* Words of memory that may be read; objects on the heap go at any time, so they are copied. */
static void suspect_words(struct rt_thread *t, const uint64_t *words, size_t n, struct bound b)
{
    for (size_t i = 0; i < n && t->nsuspects < b.objects; i++)
        if (words[i] >= 1 << 16 && words[i] >> 47 == 0)
            suspect(t, words[i], b);
}

/* The bytes that were looked at. */
static uint64_t suspect_behind(struct rt_thread *t, uintptr_t a, struct bound b)
{
    struct piece p = { 0 };
    struct object o;
    uint64_t seen = 0;

    if (!object_at(a, &o) || o.kind != OBJECT_HEAP)
        return 0;
    p.object = o.low;
    p.direct = o.direct;
    while (o.low + seen + 8 <= o.high) {
        uint64_t left = (o.high - o.low - seen) & ~UINT64_C(7),
                 want = left < BUFFER ? left : BUFFER,
                 got = copy(&p, o.low + seen, want) & ~UINT64_C(7);

        suspect_words(t, reach.buffer, got / 8, b);
        seen += got;
        if (got < want)
            break;
    }
    return seen;
}

/* The objects that the call gets, and those that statics lead to. */
static void list_near(struct rt_thread *t, const struct call *c, struct bound b)
{
    for (unsigned i = 0; i < c->nroots; i++)
        if (c->roots[i].own)
            suspect_words(t, (const uint64_t *)((c->roots[i].object.low + 7) & ~(uintptr_t)7),
                          (c->roots[i].object.high - c->roots[i].object.low) / 16, b);
        else
            suspect(t, c->roots[i].pointer, b);
    for (uint32_t i = 0; i < effects_members(&c->callee); i++) {
        uintptr_t low, high;
        const struct piece_state *s =
            effects_piece(c->callee.table, effects_member(&c->callee, i), &low, &high);

        if (s->copy)
            suspect_words(t, s->copy, piece_count(low, high), b);
    }
}

/* ... and those that they lead to: one step, or all the way. */
static void list_suspects(struct rt_thread *t, const struct call *c)
{
    bool deep = reach.deep > 0;
    struct bound near = { SUSPECTS_NEAR, SUSPECT_BYTES }, far = { SUSPECTS, SUSPECT_LARGE };
    uint32_t first = t->nsuspects, n;

    list_near(t, c, deep ? far : near);
    n = t->nsuspects;
    for (uint32_t i = first; i < (deep ? t->nsuspects : n); i++) {
        uint64_t seen = suspect_behind(t, t->suspects[i], deep ? far : near);

        if (deep)
            reach.deep -= (int64_t)(2 * (seen + COST_OBJECT));
    }
}

/* Each piece of it. */
static void make_object_dirty(uintptr_t a)
{
    struct object o;
    uintptr_t step;

    if (!objects_find(a, &o) || !o.piece) {
        make_dirty(a);
        return;
    }
    for (uintptr_t at = o.low; at < o.high; at = step) {
        step = (at & ~(uintptr_t)(o.piece - 1)) + o.piece;
        make_dirty(at);
    }
}

void reach_returned(struct rt_thread *t)
{
    for (uint32_t i = 0; i < t->nsuspects; i++)
        make_object_dirty(t->suspects[i]);
    if (!hidden_calls)
        t->nsuspects = 0;
}

/* ---- a call ---- */

static bool is_over(void)
{
    return reach.objects > rt_options.calls_objects || reach.bytes > (uint64_t)rt_options.calls_kib
                                                                         << 10;
}

/* What there is no time for is done at the next call. */
static void put_off(const struct piece *p)
{
    uint8_t *s = state_at(p->low);

    if (s && state_of(s) != STATE_FRESH) {
        set_logged(s, p->low, p->high);
        make_dirty(p->low);
    }
}

static void take_dirty(void)
{
    struct object o;
    uint32_t n;

    spin_lock(&dirty_lock);
    n = reach.ndirty;
    for (uint32_t i = 0; i < n; i++) {
        uintptr_t a = reach.dirty[i];
        struct quiet q;

        if (!object_at(a, &o) || !o.state || state_of(o.state) != STATE_DIRTY)
            continue; /* given back, or another by now */
        q = piece_of(&o, a);
        set_logged(o.state, q.low, q.high);
        watch(q.low, q.high);
        push(q.low, q.high, &o, true, false);
    }
    charge((uint64_t)n * COST_DIRTY);
    reach.ndirty = 0;
    spin_unlock(&dirty_lock);
}

static void take_roots(const struct call *c)
{
    for (unsigned i = 0; i < c->nroots; i++) {
        const struct object *o = &c->roots[i].object;

        if (c->roots[i].own)
            push(o->low, o->plain ? o->low : o->high, o, false, true);
        else if (o->kind != OBJECT_NONE)
            meet(o);
    }
}

/* calls=exact: nothing stays logged. */
static void unlog(void)
{
    for (uint32_t i = 0; i < reach.nlogged; i++) {
        uint8_t *s = state_at(reach.logged[i]);

        if (s)
            set(s, STATE_FRESH);
    }
    reach.nlogged = 0;
}

/* Is there anything to log? If not, all that the roots lead to is in the trace. */
static bool is_known(const struct call *c)
{
    if (rt_options.calls != CALLS_ONCE || __atomic_load_n(&reach_lock, __ATOMIC_ACQUIRE) ||
        __atomic_load_n(&reach.ndirty, __ATOMIC_ACQUIRE) || reach.lost || !reach.logged ||
        !effects_are_known(&c->callee) || c->callee.does & EFFECTS_STORES)
        return false;
    for (unsigned i = 0; i < c->nroots; i++) {
        const struct object *o = &c->roots[i].object;

        if (c->roots[i].own || o->kind == OBJECT_LOOSE ||
            (o->state && state_of(o->state) != STATE_LOGGED))
            return false;
    }
    return true;
}

/* True if all was looked at. */
static bool log_all(struct rt_thread *t, const struct call *c)
{
    bool all;

    reach.objects = reach.bytes = reach.pointers = reach.nseen = 0;
    reach.npieces = 0;
    reach.partial = false;
    reach.callee = &c->callee;
    pay();
    take_dirty();
    take_roots(c);
    log_set(t, &c->callee);
    while ((reach.nwork || reach.npieces) && !is_over()) {
        struct piece p;

        if (reach.npieces) {
            log_untraced(t, reach.pieces[--reach.npieces]);
            continue;
        }
        p = reach.work[--reach.nwork];
        log_piece(t, &p);
    }
    if (c->callee.does & EFFECTS_STORES)
        list_suspects(t, c);
    reach.callee = NULL;
    all = !reach.nwork && !reach.npieces && !reach.lost && !reach.partial;
    while (reach.nwork)
        put_off(&reach.work[--reach.nwork]);
    charge(reach.bytes + reach.objects * COST_OBJECT + reach.pointers * COST_POINTER);
    if (rt_options.calls == CALLS_EXACT)
        unlog();
    return all;
}

void reach_call(struct rt_thread *t, const struct call *c)
{
    bool all;

    if (c->callee.does & EFFECTS_ALL) {
        call_record(t, c, CALL_ALL);
        return;
    }
    if (is_known(c)) {
        call_record(t, c, 0);
        return;
    }
    if (is_broke()) {
        call_record(t, c, CALL_ALL);
        return;
    }
    spin_lock(&reach_lock);
    reach.owner = t;
    call_stamp(t);
    all = prepare() && log_all(t, c);
    call_record(t, c, all ? 0 : CALL_ALL);
    reach.owner = NULL;
    spin_unlock(&reach_lock);
}

/* ---- threads, fork ---- */

HIDDEN uint32_t thread_number_of(pthread_t thread);

/* Handles are multiples of 64. */
bool reach_is_thread(uintptr_t a)
{
    return (a & 63) == 0 && thread_number_of((pthread_t)a) != UINT32_MAX;
}

void reach_let_go(void)
{
    if (!reach.owner || reach.owner != tls.self)
        return;
    reach.lost = true; /* the call was in the middle of something */
    __atomic_store_n(&objects_reading, 0, __ATOMIC_SEQ_CST);
    reach.owner = NULL;
    spin_unlock(&reach_lock);
}

void reach_fork_before(void)
{
    spin_lock(&reach_lock);
    spin_lock(&dirty_lock);
}

void reach_fork_after(bool child)
{
    for (uint32_t i = 0; child && i < reach.nlogged; i++) {
        uint8_t *s = objects_state(reach.logged[i]);

        if (s)
            set(s, STATE_FRESH);
    }
    if (child) {
        reach.nlogged = reach.ndirty = reach.nwork = 0;
        reach.lost = false;
        reach.credit = CREDIT_START;
        reach.deep = DEEP_START;
        reach.paid = 0; /* of a ring of its own */
        effects_forget();
        objects_forget();
        statics_forget();
    }
    spin_unlock(&dirty_lock);
    spin_unlock(&reach_lock);
}
