/* rvp.c - the source for binary traces of RV-Predict/C (docs/format/foreign.md)
 *
 * To exchange traces with the literature only: our own formats say more.
 *
 * Versions 2, 3 and 4 of the format are read, with pointers of 4 or 8 bytes
 * in either byte order. They differ in the operands of `enter` (version 2 has
 * no call site) and in the layout of the deltops: operations next to each
 * other in 2 and 3, jumps next to each other in 4.
 *
 * What happens in a signal handler belongs to the thread it interrupts; the
 * records about signals themselves are no events. A thread's handler keeps a
 * program counter of its own (the depth of nested handlers is its index).
 */
#include "trace/text/rvp.h"
#include "base/alloc.h"
#include "base/map.h"
#include "trace/text/input.h"
#include "trace/source.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH_EVENTS = 4096 };
enum { DEPTHS = 16 };           /* as the runtime has it */
enum { RECORD_MAX_BYTES = 48 }; /* word, address, two values of 16 bytes */

/* The operands of each operation: a address, 4 and 8 numbers of that many bytes, h 16 bytes. */
/* clang-format off */
static const char *const operands[RVP_OPS] = {
    [RVP_BEGIN] = "48",
    [RVP_END] = "",
    [RVP_LOAD1] = "a4", "a4", "a4", "a8", "ah",
    [RVP_STORE1] = "a4", "a4", "a4", "a8", "ah",
    [RVP_FORK] = "4",
    [RVP_JOIN] = "4",
    [RVP_ACQUIRE] = "a",
    [RVP_RELEASE] = "a",
    [RVP_ENTER] = "aa",
    [RVP_EXIT] = "",
    [RVP_SWITCH] = "4",
    [RVP_RMW1] = "a4", "a4", "a44", "a88", "ahh",
    [RVP_ATOMIC_LOAD1] = "a4", "a4", "a4", "a8", "ah",
    [RVP_ATOMIC_STORE1] = "a4", "a4", "a4", "a8", "ah",
    [RVP_GENERATION] = "8",
    [RVP_SIG_ESTABLISH] = "a44",
    [RVP_SIG_ENTER] = "a84",
    [RVP_SIG_EXIT] = "",
    [RVP_SIG_DISESTABLISH] = "4",
    [RVP_SIG_MASK_MEMO] = "844",
    [RVP_SIG_SET_MASK] = "4",
    [RVP_SIG_DEPTH] = "4",
    [RVP_SIG_BLOCK] = "4",
    [RVP_SIG_UNBLOCK] = "4",
    [RVP_SIG_GETSET_MASK] = "44",
    [RVP_SIG_GET_MASK] = "4",
};
/* clang-format on */

struct rvp_thread {
    uint32_t number;     /* in tables.threads */
    uint64_t pc[DEPTHS]; /* per depth of signal handlers */
    uint32_t *stack;     /* functions entered, for the names of exits */
    size_t depth, cap;
};

struct rvp {
    struct source base;
    struct input *in;
    const char *start, *p, *end; /* the window */
    bool eof;
    uint64_t offset; /* of `start` in the stream */
    /* The header */
    unsigned version, pointer_bytes;
    bool big_endian;
    uint64_t first_deltop; /* the word of the lowest deltop */
    uint64_t center;       /* the word for (0, begin) */
    /* Threads */
    struct rvp_thread *threads;
    size_t nthreads, threads_cap;
    struct map thread_of; /* tid -> index */
    size_t current;
    unsigned sig_depth;
    /* Program counters already named */
    struct map sites, functions;
    uint64_t position;
    struct event *events;
};

/* One record. */
struct record {
    enum rvp_op op;
    int jump;
    uint64_t v[3]; /* operands; of 16 bytes the lower 8 */
    size_t bytes;
};

static uint64_t here(const struct rvp *s)
{
    return s->offset + (uint64_t)(s->p - s->start);
}

/* Have `want` bytes at p, unless the stream ends before. */
static int need(struct rvp *s, size_t want, struct error *err)
{
    while ((size_t)(s->end - s->p) < want && !s->eof) {
        size_t used = (size_t)(s->p - s->start), len;
        int r = s->start ? input_more(s->in, used, &s->start, &len, &s->eof, err)
                         : input_peek(s->in, want, &s->start, &len, &s->eof, err);

        if (r)
            return -1;
        s->offset += used;
        s->p = s->start;
        s->end = s->start + len;
    }
    return 0;
}

static uint64_t get_number(const struct rvp *s, const char *p, unsigned bytes)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < bytes; i++)
        v |= (uint64_t)(unsigned char)p[s->big_endian ? bytes - 1 - i : i] << 8 * i;
    return v;
}

static uint64_t pointer_mask(const struct rvp *s)
{
    return s->pointer_bytes == 8 ? UINT64_MAX : UINT32_MAX;
}

/* The header and the word that is (0, begin). */
static int read_header(struct rvp *s, struct error *err)
{
    const char *h;

    if (need(s, RVP_HEADER_BYTES + 8, err))
        return -1;
    h = s->p;
    if (s->end - s->p < RVP_HEADER_BYTES || memcmp(h, "RVP_", 4))
        return error_set(err, "no RV-Predict/C header");
    if (h[4] || h[5] || h[6] || h[7] < 2 || h[7] > 4)
        return error_set(
            err, "RV-Predict/C format version %d.%d.%d.%d, expected 0.0.0.2 to 0.0.0.4",
            (unsigned char)h[4], (unsigned char)h[5], (unsigned char)h[6], (unsigned char)h[7]);
    if (memcmp(h + 8, "0123", 4) && memcmp(h + 8, "3210", 4))
        return error_set(err, "byte 8: unknown byte order");
    if (h[12] != 4 && h[12] != 8)
        return error_set(err, "byte 12: pointers of %d bytes, expected 4 or 8",
                         (unsigned char)h[12]);
    if (h[13] != 4)
        return error_set(err, "byte 13: data of %d bytes, expected 4", (unsigned char)h[13]);
    s->version = (unsigned)h[7];
    s->big_endian = h[8] == '3';
    s->pointer_bytes = (unsigned)h[12];
    s->p += RVP_HEADER_BYTES;
    if ((size_t)(s->end - s->p) < s->pointer_bytes)
        return s->p == s->end ? 0 : error_set(err, "byte 16: the trace ends inside a record");
    s->center = get_number(s, s->p, s->pointer_bytes);
    s->first_deltop = s->center - (s->version >= 4 ? RVP_JUMPS / 2 : RVP_JUMPS / 2 * RVP_OPS);
    return 0;
}

static bool is_deltop(const struct rvp *s, uint64_t word)
{
    return ((word - s->first_deltop) & pointer_mask(s)) < RVP_JUMPS * RVP_OPS;
}

static void split_deltop(const struct rvp *s, uint64_t word, struct record *r)
{
    unsigned n = (unsigned)((word - s->first_deltop) & pointer_mask(s));

    if (s->version >= 4) {
        r->op = (enum rvp_op)(n / RVP_JUMPS);
        r->jump = (int)(n % RVP_JUMPS) - RVP_JUMPS / 2;
    } else {
        r->op = (enum rvp_op)(n % RVP_OPS);
        r->jump = (int)(n / RVP_OPS) - RVP_JUMPS / 2;
    }
}

static size_t operand_bytes(const struct rvp *s, char kind)
{
    return kind == 'a' ? s->pointer_bytes : kind == 'h' ? 16 : (size_t)(kind - '0');
}

/* Read the operands of the deltop at p; the record is used up. */
static int read_operands(struct rvp *s, struct record *r, struct error *err)
{
    const char *kinds = s->version == 2 && r->op == RVP_ENTER ? "a" : operands[r->op];
    const char *p = s->p + s->pointer_bytes;

    for (int i = 0; kinds[i]; i++) {
        size_t bytes = operand_bytes(s, kinds[i]);

        if ((size_t)(s->end - p) < bytes)
            return error_set(err, "byte %" PRIu64 ": the trace ends inside a record", here(s));
        r->v[i] = get_number(s, bytes == 16 && s->big_endian ? p + 8 : p,
                             bytes > 8 ? 8 : (unsigned)bytes);
        p += bytes;
    }
    r->bytes = (size_t)(p - s->p);
    return 0;
}

/* Threads and program counters. */

static uint32_t thread_number(struct rvp *s, uint64_t tid)
{
    char name[16];
    int n = snprintf(name, sizeof(name), "T%" PRIu32, (uint32_t)tid);

    return intern_put(&s->base.tables->threads, name, (size_t)n);
}

/* The thread of a tid; a new one starts at the center, which is no real place. */
static size_t thread_index(struct rvp *s, uint64_t tid)
{
    uint32_t *slot = map_put(&s->thread_of, tid, (uint32_t)s->nthreads);
    struct rvp_thread *th;

    if (*slot < s->nthreads)
        return *slot;
    GROW(s->threads, s->threads_cap, s->nthreads + 1);
    th = &s->threads[s->nthreads++];
    *th = (struct rvp_thread){ .number = thread_number(s, tid) };
    for (int i = 0; i < DEPTHS; i++)
        th->pc[i] = s->center;
    return s->nthreads - 1;
}

/* The number of a program counter in a table of names. */
static uint32_t name_pc(const struct rvp *s, struct map *known, struct intern *names, uint64_t pc)
{
    uint32_t *slot = map_put(known, pc, UINT32_MAX);
    char text[24] = "?";

    if (*slot == UINT32_MAX) {
        if (!is_deltop(s, pc))
            snprintf(text, sizeof(text), "0x%" PRIx64, pc);
        *slot = intern_put(names, text, strlen(text));
    }
    return *slot;
}

static void enter_function(struct rvp *s, struct rvp_thread *th, uint64_t pc, struct event *ev)
{
    ev->op = OP_ENTER;
    ev->target = name_pc(s, &s->functions, &s->base.tables->functions, pc);
    GROW(th->stack, th->cap, th->depth + 1);
    th->stack[th->depth++] = (uint32_t)ev->target;
}

/* An exit has a program counter of its own; the function is the one entered last. */
static void exit_function(struct rvp *s, struct rvp_thread *th, uint64_t pc, struct event *ev)
{
    ev->op = OP_EXIT;
    if (th->depth)
        ev->target = th->stack[--th->depth];
    else
        ev->target = name_pc(s, &s->functions, &s->base.tables->functions, pc);
}

/* Events. */

/* A load, store or rmw; `first` is the operation for one byte. */
static void make_access(struct event *ev, const struct record *r, enum rvp_op first, uint8_t op)
{
    unsigned width = (unsigned)(r->op - first); /* log2 of the bytes */
    uint64_t mask = width >= 3 ? UINT64_MAX : ((uint64_t)1 << (8u << width)) - 1;

    ev->op = op;
    ev->order = op >= OP_LOAD ? ORDER_SEQ_CST : ORDER_NONE;
    ev->target = r->v[0];
    ev->size = 1u << width;
    if (width == 4) /* no room for 16 bytes */
        return;
    ev->flags = EV_VALUE;
    ev->value = r->v[1] & mask;
    if (op == OP_RMW) {
        ev->flags |= EV_OLD;
        ev->old = ev->value;
        ev->value = (width < 2 ? r->v[1] >> 16 : r->v[2]) & mask;
    }
}

static void make_sync(struct rvp *s, struct event *ev, const struct record *r)
{
    static const uint8_t ops[] = { OP_FORK, OP_JOIN, OP_ACQUIRE, OP_RELEASE };

    ev->op = ops[r->op - RVP_FORK];
    ev->target = r->op <= RVP_JOIN ? thread_number(s, r->v[0]) : r->v[0];
}

/* What the record says about memory, threads and locks; op 0 where it says nothing. */
static void make_event(struct rvp *s, struct event *ev, const struct record *r)
{
    struct rvp_thread *th = &s->threads[s->current];
    uint64_t pc = th->pc[s->sig_depth];

    *ev = (struct event){ .thread = th->number };
    if (r->op == RVP_BEGIN)
        ev->op = OP_BEGIN;
    else if (r->op == RVP_END)
        ev->op = OP_END;
    else if (r->op < RVP_STORE1)
        make_access(ev, r, RVP_LOAD1, OP_READ);
    else if (r->op < RVP_FORK)
        make_access(ev, r, RVP_STORE1, OP_WRITE);
    else if (r->op < RVP_ENTER)
        make_sync(s, ev, r);
    else if (r->op == RVP_ENTER)
        enter_function(s, th, pc, ev);
    else if (r->op == RVP_EXIT)
        exit_function(s, th, pc, ev);
    else if (r->op == RVP_SWITCH || r->op >= RVP_GENERATION)
        return;
    else if (r->op < RVP_ATOMIC_LOAD1)
        make_access(ev, r, RVP_RMW1, OP_RMW);
    else if (r->op < RVP_ATOMIC_STORE1)
        make_access(ev, r, RVP_ATOMIC_LOAD1, OP_LOAD);
    else
        make_access(ev, r, RVP_ATOMIC_STORE1, OP_STORE);
    ev->site = name_pc(s, &s->sites, &s->base.tables->sites, pc);
}

static int check_event(const struct rvp *s, const struct event *ev, struct error *err)
{
    uint64_t bytes = op_is_access(ev->op) ? ev->size : ev->op == OP_ACQUIRE || ev->op == OP_RELEASE;

    if (bytes && (ev->target >= ADDRESS_LIMIT || bytes > ADDRESS_LIMIT - ev->target))
        return error_set(err, "byte %" PRIu64 ": address 0x%" PRIx64 " is out of range", here(s),
                         ev->target);
    return 0;
}

/* What the record changes for the records after it. */
static int rvp_follow(struct rvp *s, const struct record *r, struct error *err)
{
    if (r->op == RVP_SWITCH) {
        s->current = thread_index(s, r->v[0]);
        s->sig_depth = 0;
    } else if (r->op == RVP_SIG_DEPTH) {
        if (r->v[0] >= DEPTHS)
            return error_set(err, "byte %" PRIu64 ": signal depth %" PRIu64 ", at most %d", here(s),
                             r->v[0], DEPTHS - 1);
        s->sig_depth = (unsigned)r->v[0];
    }
    return 0;
}

/* One record: 1 and an event, 0 where it is none, -1. */
static int read_record(struct rvp *s, struct event *ev, struct error *err)
{
    struct record r = { 0 };
    struct rvp_thread *th;
    uint64_t word;

    if ((size_t)(s->end - s->p) < s->pointer_bytes)
        return error_set(err, "byte %" PRIu64 ": the trace ends inside a record", here(s));
    word = get_number(s, s->p, s->pointer_bytes);
    if (!is_deltop(s, word)) {
        s->threads[s->current].pc[s->sig_depth] = word;
        s->p += s->pointer_bytes;
        return 0;
    }
    split_deltop(s, word, &r);
    if (read_operands(s, &r, err))
        return -1;
    if (r.op == RVP_BEGIN) {
        s->current = thread_index(s, r.v[0]);
        s->sig_depth = 0;
        for (int i = 0; i < DEPTHS; i++)
            s->threads[s->current].pc[i] = s->center;
    }
    th = &s->threads[s->current];
    th->pc[s->sig_depth] = (th->pc[s->sig_depth] + (uint64_t)r.jump) & pointer_mask(s);
    make_event(s, ev, &r);
    if (check_event(s, ev, err) || rvp_follow(s, &r, err))
        return -1;
    s->p += r.bytes;
    return ev->op != 0;
}

static int rvp_next(struct source *base, struct batch *out, struct error *err)
{
    struct rvp *s = (struct rvp *)base;
    size_t count = 0;

    if (!s->start && read_header(s, err))
        return -1;
    while (count < BATCH_EVENTS) {
        int r;

        if (need(s, RECORD_MAX_BYTES, err))
            return -1;
        if (s->p == s->end)
            break;
        r = read_record(s, &s->events[count], err);
        if (r < 0)
            return -1;
        base->info->values |= r && s->events[count].flags & EV_VALUE;
        count += (size_t)r;
    }
    *out = (struct batch){ s->events, count, s->position, NULL };
    s->position += count;
    base->info->bytes_read = input_consumed(s->in);
    return count > 0;
}

static void forget_threads(struct rvp *s)
{
    for (size_t i = 0; i < s->nthreads; i++)
        free(s->threads[i].stack);
    s->nthreads = 0;
    map_clear(&s->thread_of);
}

static int rvp_rewind(struct source *base, struct error *err)
{
    struct rvp *s = (struct rvp *)base;

    forget_threads(s);
    s->start = s->p = s->end = NULL;
    s->eof = false;
    s->offset = s->position = 0;
    s->sig_depth = 0;
    return input_rewind(s->in, err);
}

static void rvp_close(struct source *base)
{
    struct rvp *s = (struct rvp *)base;

    forget_threads(s);
    free(s->threads);
    map_release(&s->thread_of);
    map_release(&s->sites);
    map_release(&s->functions);
    input_close(s->in);
    free(s->events);
    free(s);
}

static const struct source_ops rvp_source = {
    .format = "rvp",
    .next = rvp_next,
    .rewind = rvp_rewind,
    .close = rvp_close,
};

struct source *rvp_open(struct input *in, struct tables *t, struct trace_info *i, struct error *err)
{
    struct rvp *s = xcalloc(1, sizeof(*s));

    (void)err; /* the header is read with the first batch */
    s->base = (struct source){ &rvp_source, t, i };
    s->in = in;
    s->events = xcalloc(BATCH_EVENTS, sizeof(*s->events));
    i->format = rvp_source.format;
    i->order = TRACE_UNKNOWN;
    i->bytes_total = input_size(in);
    return &s->base;
}
