/* export_rvp.c - writing binary traces of RV-Predict/C, version 3 (docs/format/foreign.md)
 *
 * Everything is an address there. What has only a name gets one where no
 * program can be: variables, objects and sites each in a region of their own
 * between 2^47 and 2^57. A site or function named "0x4005d0" (as our reader
 * names them) keeps that address. Threads are numbered from 1.
 */
#include "trace/text/export_impl.h"
#include "trace/text/rvp.h"
#include "trace/text/scan.h"

#include <string.h>

enum { STATE_BEGUN = 1 };
enum { KIND_THREAD };

#define CENTER       ((uint64_t)1 << 54) /* the word for (0, begin) */
#define VARIABLES_AT ((uint64_t)1 << 55)
#define OBJECTS_AT   (VARIABLES_AT + ((uint64_t)1 << 52))
#define SITES_AT     ((uint64_t)1 << 53)
#define FUNCTIONS_AT (SITES_AT + ((uint64_t)1 << 50))

static void add_number(struct buf *b, uint64_t v, unsigned bytes)
{
    uint64_t little = htole64(v);

    buf_add(b, &little, bytes);
}

static void rvp_start(struct exporter *e)
{
    static const char header[RVP_HEADER_BYTES] = { 'R', 'V', 'P', '_', 0, 0, 0, RVP_VERSION_WRITTEN,
                                                   '0', '1', '2', '3', 8, 4, 0, 0 };

    buf_add(&e->out, header, sizeof(header));
    e->current = THREAD_NONE;
}

static uint64_t address_of_name(const char *name, uint64_t otherwise)
{
    uint64_t v;

    return scan_hex(name, strlen(name), &v) && v < (uint64_t)1 << 48 ? v : otherwise;
}

static uint64_t site_pc(const struct exporter *e, uint32_t site)
{
    if (site >= e->tables->sites.count)
        return SITES_AT - 16;
    return address_of_name(intern_get(&e->tables->sites, site), SITES_AT + 16 * (uint64_t)site);
}

static uint64_t function_pc(const struct exporter *e, uint64_t function)
{
    if (function >= e->tables->functions.count)
        return FUNCTIONS_AT - 16;
    return address_of_name(intern_get(&e->tables->functions, (uint32_t)function),
                           FUNCTIONS_AT + 16 * function);
}

static uint32_t tid_of(struct exporter *e, uint64_t thread)
{
    return export_number(e, KIND_THREAD, thread) + 1;
}

static uint64_t deltop(int jump, enum rvp_op op)
{
    return CENTER + (uint64_t)((int64_t)jump * RVP_OPS) + (uint64_t)op;
}

static uint64_t *last_pc(struct exporter *e, uint32_t thread)
{
    GROW(e->pc, e->pc_cap, (size_t)thread + 1);
    return &e->pc[thread];
}

/* The word(s) that start a record of the current thread at pc. */
static void add_op(struct exporter *e, uint64_t pc, enum rvp_op op)
{
    uint64_t *last = last_pc(e, e->current);
    int64_t jump = (int64_t)(pc - *last);

    if (jump < -RVP_JUMPS / 2 || jump >= RVP_JUMPS / 2) {
        add_number(&e->out, pc, 8);
        jump = 0;
    }
    *last = pc;
    add_number(&e->out, deltop((int)jump, op), 8);
}

static void add_begin(struct exporter *e, uint32_t thread)
{
    add_number(&e->out, deltop(0, RVP_BEGIN), 8);
    add_number(&e->out, tid_of(e, thread), 4);
    add_number(&e->out, 1, 8); /* the generation: one for all */
    *last_pc(e, thread) = CENTER;
    *export_thread_state(e, thread) |= STATE_BEGUN;
    e->current = thread;
}

/* Make the event's thread the current one. True where that wrote its begin. */
static bool select_thread(struct exporter *e, uint32_t thread)
{
    if (!(*export_thread_state(e, thread) & STATE_BEGUN)) {
        add_begin(e, thread);
        return true;
    }
    if (e->current != thread) {
        add_number(&e->out, deltop(0, RVP_SWITCH), 8);
        add_number(&e->out, tid_of(e, thread), 4);
        e->current = thread;
    }
    return false;
}

static uint64_t memory_address(const struct event *ev)
{
    return is_named(ev->target) ? VARIABLES_AT + (ev->target - NAMED_BASE) : ev->target;
}

/* log2 of 1, 2, 4, 8, 16 bytes; -1 for what the format has no record for. */
static int width_of(const struct event *ev)
{
    return ev->size && ev->size <= 16 && !(ev->size & (ev->size - 1)) ? __builtin_ctz(ev->size)
                                                                      : -1;
}

static void add_value(struct exporter *e, uint64_t value, int width)
{
    unsigned bytes = width < 2 ? 4 : 1u << width;

    if (width < 3)
        value &= ((uint64_t)1 << (8u << width)) - 1;
    add_number(&e->out, value, bytes > 8 ? 8 : bytes);
    if (bytes == 16)
        add_number(&e->out, 0, 8);
}

static void export_rvp_add_access(struct exporter *e, const struct event *ev)
{
    static const enum rvp_op first[] = { [OP_READ] = RVP_LOAD1,
                                         [OP_WRITE] = RVP_STORE1,
                                         [OP_LOAD] = RVP_ATOMIC_LOAD1,
                                         [OP_STORE] = RVP_ATOMIC_STORE1,
                                         [OP_RMW] = RVP_RMW1 };
    int width = width_of(ev);
    uint64_t value = ev->flags & EV_VALUE ? ev->value : 0;
    uint64_t old = ev->flags & EV_OLD ? ev->old : 0;

    if (width == 4)
        e->lost.values += (ev->flags & EV_VALUE) != 0;
    else
        e->lost.invented_values +=
            !(ev->flags & EV_VALUE) || (ev->op == OP_RMW && !(ev->flags & EV_OLD));
    e->lost.orders += op_is_atomic(ev->op) && ev->order != ORDER_SEQ_CST;
    add_op(e, site_pc(e, ev->site), (enum rvp_op)(first[ev->op] + width));
    add_number(&e->out, memory_address(ev), 8);
    if (ev->op == OP_RMW && width < 2) {
        uint64_t mask = width ? 0xffff : 0xff;

        add_number(&e->out, (old & mask) | (value & mask) << 16, 4);
        return;
    }
    if (ev->op == OP_RMW)
        add_value(e, old, width);
    add_value(e, value, width);
}

static void add_sync(struct exporter *e, const struct event *ev, enum rvp_op op)
{
    add_op(e, site_pc(e, ev->site), op);
    if (op == RVP_FORK || op == RVP_JOIN)
        add_number(&e->out, tid_of(e, ev->target), 4);
    else
        add_number(&e->out,
                   is_named(ev->target) ? OBJECTS_AT + 8 * (ev->target - NAMED_BASE) : ev->target,
                   8);
}

/* enter carries a frame address and a call site; the function is the program counter. */
static void add_enter(struct exporter *e, const struct event *ev)
{
    add_op(e, function_pc(e, ev->target), RVP_ENTER);
    add_number(&e->out, 0, 8);
    add_number(&e->out, site_pc(e, ev->site), 8);
}

static bool can_say(const struct event *ev)
{
    switch (ev->op) {
    case OP_BEGIN:
    case OP_END:
    case OP_FORK:
    case OP_JOIN:
    case OP_ACQUIRE:
    case OP_RELEASE:
    case OP_ENTER:
    case OP_EXIT:
        return true;
    default:
        return op_is_access(ev->op) && width_of(ev) >= 0;
    }
}

static void rvp_event(struct exporter *e, const struct event *ev, const uint64_t *extra)
{
    (void)extra;
    if (!can_say(ev)) {
        e->lost.ops[ev->op]++;
        return;
    }
    if (select_thread(e, ev->thread) && ev->op == OP_BEGIN)
        return;
    switch (ev->op) {
    case OP_BEGIN: /* the thread already ran */
        e->lost.ops[OP_BEGIN]++;
        break;
    case OP_END:
        add_op(e, site_pc(e, ev->site), RVP_END);
        break;
    case OP_FORK:
        add_sync(e, ev, RVP_FORK);
        break;
    case OP_JOIN:
        add_sync(e, ev, RVP_JOIN);
        break;
    case OP_ACQUIRE:
        add_sync(e, ev, RVP_ACQUIRE);
        break;
    case OP_RELEASE:
        add_sync(e, ev, RVP_RELEASE);
        break;
    case OP_ENTER:
        add_enter(e, ev);
        break;
    case OP_EXIT:
        add_op(e, site_pc(e, ev->site), RVP_EXIT);
        break;
    default:
        export_rvp_add_access(e, ev);
    }
}

const struct export_ops export_rvp = { .start = rvp_start, .event = rvp_event };
