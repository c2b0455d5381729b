/* access.c - plain accesses: what the inline filter did not drop
 *
 * Called before the access, with clang's preserve_most convention, so that the
 * code around it keeps its registers. Each access that comes here is marked in
 * the filter and appended; the frames that changed since the last event go
 * before it. An access that crosses words is covered when all of its words are.
 */
#include "runtime/core/benign.h"
#include "runtime/core/filter.h"
#include "runtime/core/ignore.h"
#include "runtime/core/only.h"
#include "runtime/untraced/reach_log.h"
#include "runtime/steer/steer.h"

/* Values are 24 bytes a word: structures that a call fills in, not buffers. */
enum { WROTE_BYTES_MAX = 256 };

/* A longer row is marked anew without asking whether it is known. */
enum { ROW_ASKED = 4096 };

/* The same of ranges: strings and keys are compared again and again, buffers are not. */
enum { RANGE_ASKED = 256 };

#define ENTRY EXPORT __attribute__((preserve_most))

/* Room for an access, or NULL: it is lost, and counted. */
static inline uint64_t *access_room(struct rt_thread *t)
{
    uint64_t *w;

    frames_flush(t);
    w = room(t, false);
    if (unlikely(!w)) {
        t->lost++;
        __atomic_fetch_add(&rt.ring->lost, 1, __ATOMIC_RELAXED);
    } else if (unlikely(t->lost)) {
        w[0] = RING_WORD(R_LOST, 0, t->lost);
        t->lost = 0;
        commit(1);
        w = room(t, false);
    }
    return w;
}

/* Sites are numbers below 2^32, epochs stand above 2^40; a return address never makes a run. */
static inline uint64_t run_key(const struct rt_thread *t, uint64_t where)
{
    return where ^ tls.epoch ^ t->run_salt;
}

static inline struct run run_of(const struct rt_thread *t, uint64_t *record, uintptr_t a,
                                uint64_t where)
{
    return (struct run){ .record = record,
                         .key = run_key(t, where),
                         .stack = t->stack,
                         .from = a - STEP_BYTES,
                         .span = 2 * STEP_BYTES };
}

/* The record says more than it did. The thread may be killed between the two stores: a single
 * access has nothing to do with the upper half of the second word, and a run that begins earlier is
 * too short for a moment, not too long. */
static inline void rewrite(const struct run *r, unsigned arg, uintptr_t low, uint64_t word)
{
    uint64_t head = RING_WORD(R_ACCESS, arg, low);

    if (ring_arg(r->record[0]) & ACCESS_RUN) {
        __atomic_store_n(&r->record[0], head, __ATOMIC_RELEASE);
        __atomic_store_n(&r->record[1], word, __ATOMIC_RELEASE);
    } else {
        __atomic_store_n(&r->record[1], word, __ATOMIC_RELEASE);
        __atomic_store_n(&r->record[0], head, __ATOMIC_RELEASE);
    }
}

/* One more of several accesses at equal distances; it is the one that is expected. */
static bool lengthen_steps(struct run *r)
{
    uint64_t word = r->record[1];

    if (ring_steps(word) == STEPS_MAX)
        return false;
    word = ring_steps_word((uint32_t)word, ring_steps(word) + 1, r->step);
    __atomic_store_n(&r->record[1], word, __ATOMIC_RELEASE);
    r->from += (uintptr_t)r->step;
    return true;
}

/* An access that may lengthen the record, by where it is. */
static bool lengthen_near(struct rt_thread *t, struct run *r, uintptr_t a, unsigned arg,
                          uint64_t where)
{
    uint64_t head = r->record[0];
    uintptr_t bytes = (uintptr_t)1 << (arg >> ACCESS_SIZE_SHIFT), low = ring_low(head), high;
    bool several = ring_arg(head) & ACCESS_RUN;

    if (t->too_deep || r->stack != (frames_are_told(t) ? t->stack : frames_stack_now(t)))
        return false;
    if (r->step)
        return lengthen_steps(r);
    high = low + (several ? r->record[1] >> 32 : bytes);
    if (a > high || a + bytes < low) {
        if (several)
            return false;
        r->step = (int32_t)(a - low);
        r->from = a + (uintptr_t)r->step;
        r->span = 0;
        rewrite(r, arg | ACCESS_STEPS, low, ring_steps_word(where, 2, r->step));
        return true;
    }
    low = a < low ? a : low;
    high = a + bytes > high ? a + bytes : high;
    if (high - low > RUN_BYTES_MAX)
        return false;
    r->from = low - bytes;
    r->span = (uint32_t)(high - r->from);
    rewrite(r, arg | ACCESS_RUN, low, where | (uint64_t)(high - low) << 32);
    return true;
}

static inline bool is_near(const struct rt_thread *t, const struct run *r, uintptr_t a,
                           uint64_t where)
{
    return r->key == run_key(t, where) && a - r->from <= r->span && !(where & WHERE_PC);
}

/* A thread-local variable of the system's thread. */
static inline bool is_own(const struct rt_thread *t, uintptr_t a)
{
    return unlikely(a - t->own_low < t->own_bytes);
}

static inline void append_access(struct rt_thread *t, uintptr_t a, unsigned arg, uint64_t where)
{
    struct run *r = &t->runs[where % RUN_CACHE];
    uint64_t *w;
    unsigned n;

    if (is_own(t, a))
        event_own(t, where);
    if (is_near(t, r, a, where) && lengthen_near(t, r, a, arg, where))
        return; /* without the filter there are no runs */
    w = access_room(t);
    if (!w)
        return;
    n = stamp_now_and_then(t, w);
    w[n] = RING_WORD(R_ACCESS, arg | (where & WHERE_PC ? ACCESS_PC : 0), a);
    w[n + 1] = where;
    commit(n + 2);
    if (likely(rt_options.filter))
        *r = run_of(t, w + n, a, where);
}

/* Consecutive accesses of the size in `arg`, as one record; it goes on with the site's last one if
 * that ends, or begins, where they begin or end. */
static void append_row(struct rt_thread *t, uintptr_t a, uint64_t bytes, unsigned arg,
                       uint64_t where)
{
    struct run *r = &t->runs[where % RUN_CACHE];
    uintptr_t size = (uintptr_t)1 << (arg >> ACCESS_SIZE_SHIFT), low = a, high = a + bytes;
    uint64_t *w;
    unsigned n;

    if (is_own(t, a))
        event_own(t, where);
    if (r->key == run_key(t, where) && !r->step && !t->too_deep && rt_options.filter &&
        r->stack == (frames_are_told(t) ? t->stack : frames_stack_now(t))) {
        uint64_t head = r->record[0];
        uintptr_t from = ring_low(head),
                  to = from + (ring_arg(head) & ACCESS_RUN ? r->record[1] >> 32 : size);

        low = from < low ? from : low;
        high = to > high ? to : high;
        if (a <= to && a + bytes >= from && high - low <= RUN_BYTES_MAX) {
            r->from = low - size;
            r->span = (uint32_t)(high - r->from);
            rewrite(r, arg | ACCESS_RUN, low, where | (uint64_t)(high - low) << 32);
            return;
        }
    }
    w = access_room(t);
    if (!w)
        return;
    n = stamp_now_and_then(t, w);
    w[n] = RING_WORD(R_ACCESS, arg | ACCESS_RUN, a);
    w[n + 1] = where | bytes << 32;
    commit(n + 2);
    if (rt_options.filter)
        *r = (struct run){ .record = w + n,
                           .key = run_key(t, where),
                           .stack = t->stack,
                           .from = a - size,
                           .span = (uint32_t)(bytes + size) };
}

static void append_range(struct rt_thread *t, uintptr_t a, uint64_t bytes, bool write,
                         uint64_t where)
{
    uint64_t *w;
    unsigned n;

    if (is_own(t, a))
        event_own(t, where);
    w = access_room(t);
    if (!w)
        return;
    n = stamp_now_and_then(t, w);
    w[n] = RING_WORD(R_RANGE, write ? ACCESS_WRITE : 0, a);
    w[n + 1] = where;
    w[n + 2] = bytes;
    commit(n + 3);
}

/* Mark all bytes of the range; true if every byte was covered before. Ranges larger than the
 * filter are not marked: they would only push everything else out. */
static bool mark_range(uintptr_t a, uint64_t bytes, bool write)
{
    uintptr_t at = a, end = a + bytes;
    bool covered = true;

    if (!rt_options.filter || bytes > tls.line_mask >> (FILTER_LINES_SHIFT + 1)
                                                           << FILTER_BLOCK_SHIFT)
        return false;
    for (uint64_t take; at < end; at += take) {
        uintptr_t block_end = (at | ((1u << FILTER_BLOCK_SHIFT) - 1)) + 1;

        take = (end < block_end ? end : block_end) - at;
        covered &= filter_mark_block(at, (unsigned)take, write);
    }
    return covered;
}

/* A thread that is inside the runtime runs no code that appends. */
void ignore_tell(void)
{
    int saved = errno;
    bool recording = rt.full && rt_recording();
    uint64_t *w;

    errno = saved;
    if (!recording || tls.self->ignore_told == (tls.ignore > 0))
        return;
    rt_busy_begin();
    w = room(tls.self, true);
    if (w) {
        tls.self->ignore_told = tls.ignore > 0;
        w[0] = RING_WORD(R_IGNORE, 0, tls.ignore > 0);
        commit(1);
    }
    rt_busy_end();
}

/* False: the thread does not record now. */
static __attribute__((noinline)) bool access_begins_slow(void)
{
    int saved = errno;
    bool recording = rt_recording();

    errno = saved;
    if (!recording)
        return false;
    if (tls.ignore) {
        __atomic_fetch_add(&rt.ring->ignored, 1, __ATOMIC_RELAXED);
        return false;
    }
    return true;
}

static inline bool access_begins(void)
{
    return likely(tls.self && !(tls.busy | tls.ignore) && rt.mode == MODE_ON) ||
           access_begins_slow();
}

/* As mark_range(), but in one table only: that of the accesses which the row stands for. */
static bool mark_row(uintptr_t a, uint64_t bytes, bool units, bool write)
{
    uintptr_t end = a + bytes;
    uint64_t blocks = units ? tls.unit_mask >> (FILTER_UNITS_SHIFT + 1)
                            : tls.line_mask >> (FILTER_LINES_SHIFT + 1);
    bool covered = true;

    if (!rt_options.filter || bytes > blocks << FILTER_BLOCK_SHIFT)
        return false;
    for (uintptr_t next; a < end; a = next) {
        unsigned take;

        next = filter_block_end(a, end);
        take = (unsigned)(next - a);
        covered &= units ? filter_mark_units(a, filter_unit_bits(a, take), write)
                         : filter_mark_bytes(a, take, write);
    }
    return covered;
}

static bool mark(uintptr_t a, unsigned bytes, bool aligned, bool write)
{
    if (steer_watches(a, bytes))
        return false;
    return aligned && rt_options.filter ? filter_mark_units(a, filter_unit_bits(a, bytes), write)
                                        : mark_range(a, bytes, write);
}

/* It is not recorded, but marked: so that code does not come here again for it. */
static void lose_paused(struct rt_thread *t)
{
    t->lost++;
    __atomic_fetch_add(&rt.ring->lost, 1, __ATOMIC_RELAXED);
}

/* An access of any kind, in any state of the thread. `aligned`: by its size, 4 at least. */
static void note_access(const void *p, unsigned arg, bool aligned, uint64_t where)
{
    uintptr_t a = (uintptr_t)p;
    unsigned bytes = 1u << (arg >> ACCESS_SIZE_SHIFT);
    bool begins;

    if (only_leaves_out(where))
        return;
    begins = access_begins();
    if (!begins && (rt.mode != MODE_OFF || tls.self))
        return;
    if (begins && !is_benign(p, bytes))
        steer_access(p, bytes, arg & ACCESS_WRITE ? OP_WRITE : OP_READ, where);
    rt_busy_begin();
    if (begins && is_benign(p, bytes)) {
        __atomic_fetch_add(&rt.ring->ignored, 1, __ATOMIC_RELAXED);
    } else if (!mark(a, bytes, aligned, arg & ACCESS_WRITE) && begins) {
        if (unlikely(rt.paused))
            lose_paused(tls.self);
        else
            append_access(tls.self, a, arg, where);
    } /* where nothing records, the mark is all */
    rt_busy_end();
}

/* ---- loose accesses ----
 *
 * They stand for none that is not loose: who reads what a loose write left is recorded, and so is a
 * loose write behind what was read. So that order is kept, too: no record that stands before a
 * loose write is made longer behind it. docs/design/marks.md says why that is enough.
 */

static void append_loose(struct rt_thread *t, uintptr_t a, unsigned arg, uint32_t site)
{
    if (unlikely(rt.paused)) {
        lose_paused(t);
        return;
    }
    if (arg & ACCESS_WRITE)
        runs_forget(t);
    append_access(t, a, arg, site);
}

static bool leaves_loose_out(uintptr_t a, unsigned bytes, bool write)
{
    struct filter_known known;

    if (!rt_options.filter)
        return false;
    known = filter_look(a, bytes);
    return write ? known.written && !known.some_read : known.all;
}

/* ---- the entries ---- */

enum { BLOCK_REST = (1 << FILTER_BLOCK_SHIFT) - 1 };
#define ASIDE __attribute__((preserve_most, noinline))

static ASIDE void access_aside(const void *p, unsigned arg, bool aligned, uint32_t site)
{
    note_access(p, arg, aligned, site);
}

static ASIDE void append_aside(struct rt_thread *t, uintptr_t a, unsigned arg, uint32_t site)
{
    append_access(t, a, arg, site);
}

static ASIDE bool lengthen_aside(struct rt_thread *t, struct run *r, uintptr_t a, unsigned arg,
                                 uint32_t site)
{
    return lengthen_near(t, r, a, arg, site);
}

static ASIDE void signals_aside(void)
{
    rt_signals_run_pending();
}

static ASIDE void frames_aside(struct rt_thread *t)
{
    frames_flush_slow(t);
}

/* lengthen_near() of what most loops do: the next access at the same distance, or the bytes right
 * behind or before those of a run. */
static inline __attribute__((always_inline)) bool lengthen_usual(struct rt_thread *t, struct run *r,
                                                                 uintptr_t a, unsigned arg)
{
    uint64_t *record = r->record, head = record[0], word = record[1];
    uint64_t bytes = UINT64_C(1) << (arg >> ACCESS_SIZE_SHIFT), length = word >> 32;

    if (unlikely(t->too_deep || !frames_are_told(t) || r->stack != t->stack))
        return false;
    if (r->step) {
        if (unlikely(ring_steps(word) == STEPS_MAX))
            return false;
        __atomic_store_n(&record[1], word + (UINT64_C(1) << 32), __ATOMIC_RELEASE);
        r->from += (uintptr_t)r->step;
        return true;
    }
    if (!(ring_arg(head) & ACCESS_RUN) || length + bytes > RUN_BYTES_MAX)
        return false;
    if (a + bytes == ring_low(head)) {
        __atomic_store_n(&record[0], head - bytes, __ATOMIC_RELEASE);
        r->from -= bytes;
    } else if (a != ring_low(head) + length) {
        return false;
    }
    __atomic_store_n(&record[1], word + (bytes << 32), __ATOMIC_RELEASE);
    r->span += (uint32_t)bytes;
    return true;
}

/* append_access() where there is room, and no stamp is due. */
static inline __attribute__((always_inline)) bool append_usual(struct rt_thread *t, uintptr_t a,
                                                               unsigned arg, uint32_t site)
{
    struct run *r = &t->runs[site % RUN_CACHE];
    struct ring_chunk *c;
    uint64_t *w;

    if (is_near(t, r, a, site) &&
        (lengthen_usual(t, r, a, arg) || lengthen_aside(t, r, a, arg, site)))
        return true;
    if (unlikely(!frames_are_told(t)))
        frames_aside(t);
    c = tls.chunk;
    if (unlikely(c->cursor >= c->limit || t->lost || t->since_stamp + 1 >= STAMP_EVERY ||
                 __atomic_load_n(&__heddle_newest.stamp, __ATOMIC_ACQUIRE) >= t->stamp ||
                 is_own(t, a)))
        return false;
    stack_note();
    t->since_stamp++;
    w = (uint64_t *)((char *)c + c->cursor);
    w[0] = RING_WORD(R_ACCESS, arg, a);
    w[1] = site;
    __atomic_store_n(&c->cursor, c->cursor + 16, __ATOMIC_RELEASE);
    *r = run_of(t, w, a, site);
    return true;
}

static inline __attribute__((always_inline)) void append_usually(struct rt_thread *t, uintptr_t a,
                                                                 unsigned arg, uint32_t site)
{
    if (!append_usual(t, a, arg, site))
        append_aside(t, a, arg, site);
}

/* Recording, in a default build, with nothing else asked for: one look. The thread is not inside
 * the runtime and ignores nothing: another. */
static inline bool is_usual(void)
{
    uint64_t process, thread;

    _Static_assert(offsetof(struct heddle_tls, ignore) == offsetof(struct heddle_tls, busy) + 4,
                   "one look");
    __builtin_memcpy(&process, &rt, sizeof(process));
    __builtin_memcpy(&thread, &tls.busy, sizeof(thread));
    return process == MODE_ON && !thread && tls.self;
}

/* Both halves at once: a look at two words of which one has just been stored has to wait until it
 * is in the cache. */
static inline void set_usual_busy(uint64_t busy)
{
    __builtin_memcpy(&tls.busy, &busy, sizeof(busy));
}

/* What most calls come to. It saves no registers that it does not need: whatever else there is to
 * do is done aside, by functions that keep all of them. */
static inline __attribute__((always_inline)) void
access_usual(const void *p, unsigned log2_bytes, bool write, bool aligned, uint32_t site)
{
    uintptr_t a = (uintptr_t)p;
    unsigned bytes = 1u << log2_bytes, arg = write | log2_bytes << ACCESS_SIZE_SHIFT;
    bool covered;

    if (write) /* it comes from memory while this is recorded, not afterwards */
        __builtin_prefetch(p, 1);
    else
        __builtin_prefetch(p);
    /* it may have been told wrongly that the access is aligned */
    if (unlikely(
            !is_usual() ||
            (aligned ? a & (bytes - 1) : bytes > 8 || (a & BLOCK_REST) + bytes > BLOCK_REST + 1))) {
        access_aside(p, arg, aligned && !(a & (bytes - 1)), site);
        return;
    }
    set_usual_busy(1);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    covered = aligned ? filter_mark_units(a, filter_unit_bits(a, bytes), write)
                      : filter_mark(a, ((1u << bytes) - 1) << (a & 7), write);
    if (!covered)
        append_usually(tls.self, a, arg, site);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    set_usual_busy(0);
    if (unlikely(rt_signals_pending))
        signals_aside();
}

static void steer_loose(const void *p, unsigned bytes, bool read, bool write, uint32_t site)
{
    if (read && write) {
        steer_update(p, bytes, OP_READ, site);
        steer_update(p, bytes, OP_WRITE, site + 1);
    } else {
        steer_access(p, bytes, read ? OP_READ : OP_WRITE, site);
    }
}

/* A read, a write, or both, at `site` and the next one. */
static ASIDE void note_loose(const void *p, unsigned log2_bytes, bool read, bool write,
                             uint32_t site)
{
    uintptr_t a = (uintptr_t)p;
    unsigned bytes = 1u << log2_bytes, arg = log2_bytes << ACCESS_SIZE_SHIFT;
    bool begins;

    if (only_leaves_out(site))
        return;
    begins = access_begins();
    if (!begins && (rt.mode != MODE_OFF || tls.self))
        return;
    if (begins && unlikely(steer_on) && !is_benign(p, bytes))
        steer_loose(p, bytes, read, write, site);
    rt_busy_begin();
    if (begins && is_benign(p, bytes)) {
        __atomic_fetch_add(&rt.ring->ignored, 1, __ATOMIC_RELAXED);
    } else if (steer_watches(a, bytes) || !leaves_loose_out(a, bytes, write)) {
        if (begins && read)
            append_loose(tls.self, a, arg, site);
        if (begins && write)
            append_loose(tls.self, a, arg | ACCESS_WRITE, site + read);
        if (write && rt_options.filter)
            filter_mark_loose(a, bytes);
    }
    rt_busy_end();
}

/* What most of them come to (see access_usual()). */
static inline __attribute__((always_inline)) void loose_usual(const void *p, unsigned log2_bytes,
                                                              bool read, bool write, uint32_t site)
{
    uintptr_t a = (uintptr_t)p;
    unsigned bytes = 1u << log2_bytes, arg = log2_bytes << ACCESS_SIZE_SHIFT;

    if (unlikely(!is_usual())) {
        note_loose(p, log2_bytes, read, write, site);
        return;
    }
    set_usual_busy(1);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (!leaves_loose_out(a, bytes, write)) {
        if (read)
            append_usually(tls.self, a, arg, site);
        if (write) {
            runs_forget(tls.self);
            append_usually(tls.self, a, arg | ACCESS_WRITE, site + read);
            filter_mark_loose(a, bytes);
        }
    }
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    set_usual_busy(0);
    if (unlikely(rt_signals_pending))
        signals_aside();
}

#define LOOSE_ENTRIES(name, log2)                                                                  \
    ENTRY void __heddle_read##name##_loose(void *p, uint32_t site);                                \
    ENTRY void __heddle_write##name##_loose(void *p, uint32_t site);                               \
    ENTRY void __heddle_update##name##_loose(void *p, uint32_t site);                              \
    ENTRY void __heddle_read##name##_loose(void *p, uint32_t site)                                 \
    {                                                                                              \
        loose_usual(p, log2, true, false, site);                                                   \
    }                                                                                              \
    ENTRY void __heddle_write##name##_loose(void *p, uint32_t site)                                \
    {                                                                                              \
        loose_usual(p, log2, false, true, site);                                                   \
    }                                                                                              \
    ENTRY void __heddle_update##name##_loose(void *p, uint32_t site)                               \
    {                                                                                              \
        loose_usual(p, log2, true, true, site);                                                    \
    }

LOOSE_ENTRIES(1, 0)
LOOSE_ENTRIES(2, 1)
LOOSE_ENTRIES(4, 2)
LOOSE_ENTRIES(8, 3)
LOOSE_ENTRIES(16, 4)

/* What code asks where it does not do so inline. */
static inline __attribute__((always_inline)) bool is_known(const void *p, unsigned log2_bytes,
                                                           bool write, bool aligned)
{
    uintptr_t a = (uintptr_t)p;
    unsigned bytes = 1u << log2_bytes;
    const struct heddle_filter_units *u = filter_units(a);
    uint32_t bits = filter_unit_bits(a, bytes);

    if (!aligned)
        return filter_hit(p, bytes, write);
    return u->tag == filter_tag(a) && ((write ? u->written : u->read) & bits) == bits;
}

/* A controlled run must know that neither half has been done yet. */
static ASIDE void update_aside(const void *p, unsigned arg, bool aligned, uint32_t site)
{
    bool fits = aligned && !((uintptr_t)p & ((1u << (arg >> ACCESS_SIZE_SHIFT)) - 1));

    steer_updates = true;
    note_access(p, arg, fits, site);
    note_access(p, arg | ACCESS_WRITE, fits, site + 1);
    steer_updates = false;
}

#define ENTRIES(name, log2, aligned)                                                               \
    ENTRY void __heddle_read##name(void *p, uint32_t site);                                        \
    ENTRY void __heddle_write##name(void *p, uint32_t site);                                       \
    ENTRY void __heddle_update##name(void *p, uint32_t site);                                      \
    ENTRY void __heddle_read##name(void *p, uint32_t site)                                         \
    {                                                                                              \
        access_usual(p, log2, false, aligned, site);                                               \
    }                                                                                              \
    ENTRY void __heddle_write##name(void *p, uint32_t site)                                        \
    {                                                                                              \
        access_usual(p, log2, true, aligned, site);                                                \
    }                                                                                              \
    ENTRY void __heddle_update##name(void *p, uint32_t site)                                       \
    {                                                                                              \
        if (unlikely(!is_usual())) {                                                               \
            update_aside(p, (log2) << ACCESS_SIZE_SHIFT, aligned, site);                           \
            return;                                                                                \
        }                                                                                          \
        __heddle_read##name(p, site);                                                              \
        __heddle_write##name(p, site + 1);                                                         \
    }                                                                                              \
    ENTRY void __heddle_ask_read##name(void *p, uint32_t site);                                    \
    ENTRY void __heddle_ask_write##name(void *p, uint32_t site);                                   \
    ENTRY void __heddle_ask_update##name(void *p, uint32_t site);                                  \
    ENTRY void __heddle_ask_read##name(void *p, uint32_t site)                                     \
    {                                                                                              \
        if (!is_known(p, log2, false, aligned)) __attribute__                                      \
            ((musttail)) return __heddle_read##name(p, site);                                      \
    }                                                                                              \
    ENTRY void __heddle_ask_write##name(void *p, uint32_t site)                                    \
    {                                                                                              \
        if (!is_known(p, log2, true, aligned)) __attribute__                                       \
            ((musttail)) return __heddle_write##name(p, site);                                     \
    }                                                                                              \
    ENTRY void __heddle_ask_update##name(void *p, uint32_t site)                                   \
    {                                                                                              \
        if (!is_known(p, log2, true, aligned)) __attribute__                                       \
            ((musttail)) return __heddle_update##name(p, site);                                    \
    }

ENTRIES(1, 0, false)
ENTRIES(2, 1, false)
ENTRIES(2_unaligned, 1, false)
ENTRIES(4_unaligned, 2, false)
ENTRIES(8_unaligned, 3, false)
ENTRIES(16_unaligned, 4, false)
ENTRIES(4, 2, true)
ENTRIES(8, 3, true)
ENTRIES(16, 4, true)

/* As code asks inline, so that what is asked again and again costs half. Of no bytes there is
 * nothing to know. A controlled run may have to stop at any access. */
static inline bool range_is_known(const void *p, uint64_t bytes, bool write)
{
    return bytes <= RANGE_ASKED && likely(!steer_on) &&
           filter_covers_bytes((uintptr_t)p, bytes, write);
}

static void range(const void *p, uint64_t bytes, bool write, uint64_t where)
{
    if (range_is_known(p, bytes, write) || only_leaves_out(where) || !access_begins())
        return;
    if (!is_benign(p, bytes))
        steer_access(p, bytes, write ? OP_WRITE : OP_READ, where);
    rt_busy_begin();
    if (is_benign(p, bytes) ||
        (!steer_watches((uintptr_t)p, bytes) && mark_range((uintptr_t)p, bytes, write)))
        ;
    else if (unlikely(rt.paused))
        lose_paused(tls.self);
    else
        append_range(tls.self, (uintptr_t)p, bytes, write, where);
    rt_busy_end();
}

/* All that a loop accesses at one site, before it begins: consecutive elements (pass/loops.cpp).
 * The size in `arg` is that of 4 bytes or of one: the filter's. */
static ASIDE void row_aside(uintptr_t a, uint64_t bytes, unsigned arg, uint32_t site)
{
    bool write = arg & ACCESS_WRITE, units = arg >> ACCESS_SIZE_SHIFT && !(a & 3);

    if (!bytes || only_leaves_out(site) || !access_begins())
        return;
    if (!is_benign((void *)a, bytes))
        steer_access((void *)a, bytes, write ? OP_WRITE : OP_READ, site);
    rt_busy_begin();
    if (is_benign((void *)a, bytes) ||
        (!steer_watches(a, bytes) && mark_row(a, bytes, units, write)))
        ;
    else if (unlikely(rt.paused))
        lose_paused(tls.self);
    else if (bytes <= RUN_BYTES_MAX)
        append_row(tls.self, a, bytes, arg, site);
    else
        append_range(tls.self, a, bytes, write, site);
    rt_busy_end();
}

#define ROWS(name, write, units)                                                                   \
    ENTRY void __heddle_##name(void *p, uint64_t bytes, uint32_t site);                            \
    ENTRY void __heddle_##name(void *p, uint64_t bytes, uint32_t site)                             \
    {                                                                                              \
        if (bytes > ROW_ASKED || !((units) ? filter_covers_units((uintptr_t)p, bytes, write)       \
                                           : filter_covers_bytes((uintptr_t)p, bytes, write)))     \
            row_aside((uintptr_t)p, bytes,                                                         \
                      ((write) ? ACCESS_WRITE : 0) | ((units) ? 2 << ACCESS_SIZE_SHIFT : 0),       \
                      site);                                                                       \
    }

ROWS(read_units, false, true)
ROWS(write_units, true, true)
ROWS(read_bytes, false, false)
ROWS(write_bytes, true, false)

void rt_read(const void *p, uint64_t bytes, uint64_t where)
{
    if (rt_is_library(where) || range_is_known(p, bytes, false))
        return;
    if (bytes && bytes <= 16 && !(bytes & (bytes - 1)))
        note_access(p, (unsigned)__builtin_ctzll(bytes) << ACCESS_SIZE_SHIFT, false, where);
    else
        range(p, bytes, false, where);
}

void rt_write(const void *p, uint64_t bytes, uint64_t where)
{
    if (rt_is_library(where))
        return;
    if (bytes >= 8)
        reach_stored(p, bytes);
    if (range_is_known(p, bytes, true))
        return;
    if (bytes && bytes <= 16 && !(bytes & (bytes - 1)))
        note_access(p, ACCESS_WRITE | (unsigned)__builtin_ctzll(bytes) << ACCESS_SIZE_SHIFT, false,
                    where);
    else
        range(p, bytes, true, where);
}

/* Plain pieces of at most 8 bytes, each at a multiple of its size. */
static void append_values(struct rt_thread *t, uintptr_t a, uint64_t bytes, uint64_t where)
{
    for (uint64_t take; bytes; a += take, bytes -= take) {
        uint64_t value = 0, *w = access_room(t);
        unsigned log = 3, n;

        while ((take = UINT64_C(1) << log) > bytes || a & (take - 1))
            log--;
        if (!w)
            return;
        __builtin_memcpy(&value, (const void *)a, take);
        n = stamp_now_and_then(t, w);
        w[n] = RING_WORD(R_ACCESS,
                         ACCESS_WRITE | log << ACCESS_SIZE_SHIFT | ACCESS_VALUE64 |
                             (where & WHERE_PC ? ACCESS_PC : 0),
                         a);
        w[n + 1] = where;
        w[n + 2] = value;
        commit(n + 3);
    }
}

void rt_wrote(const void *p, uint64_t bytes, uint64_t where)
{
    if (!rt.full || bytes > WROTE_BYTES_MAX || rt_is_library(where)) {
        rt_write(p, bytes, where);
        return;
    }
    if (bytes >= 8)
        reach_stored(p, bytes);
    if (only_leaves_out(where) || !access_begins())
        return;
    rt_busy_begin();
    if (!is_benign(p, bytes))
        append_values(tls.self, (uintptr_t)p, bytes, where);
    rt_busy_end();
}

EXPORT void __heddle_read_range(void *p, uint64_t bytes, uint32_t site);
EXPORT void __heddle_read_range(void *p, uint64_t bytes, uint32_t site)
{
    range(p, bytes, false, site);
}

EXPORT void __heddle_write_range(void *p, uint64_t bytes, uint32_t site);
EXPORT void __heddle_write_range(void *p, uint64_t bytes, uint32_t site)
{
    range(p, bytes, true, site);
}

/* ---- full builds ---- */

/* Another thread has synchronised: what comes now is later. */
static void stamp_after_newest(struct rt_thread *t)
{
    uint64_t newest = __atomic_load_n(&__heddle_newest.stamp, __ATOMIC_ACQUIRE), *w;

    tls.seen_stamp = newest;
    if (newest < t->stamp || !(w = room(t, true)))
        return;
    t->stamp = newest + 1;
    w[0] = RING_WORD(R_STAMP, 0, t->stamp);
    commit(1);
}

/* The chunk is full (or none yet): get another; or the time has moved on. When nothing records,
 * the chunk that nobody reads is made ready again. */
ENTRY void __heddle_full(void);
ENTRY void __heddle_full(void)
{
    int saved = errno;

    if (access_begins()) {
        rt_busy_begin();
        if (tls.chunk->cursor >= tls.chunk->limit && !ring_next_chunk(tls.self, true))
            ring_reset_thread();
        else if (tls.seen_stamp != __heddle_newest.stamp)
            stamp_after_newest(tls.self);
        rt_busy_end();
    } else {
        ring_reset_thread();
    }
    errno = saved;
}
