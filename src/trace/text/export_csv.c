/* export_csv.c - writing the SSHB prototype's CSV (docs/format/foreign.md)
 *
 * Threads, variables and locks are numbers below 2^32 there. A name that is
 * such a number keeps it (so CSV survives a round trip); "T7" is thread 7;
 * everything else is numbered from 2^31 upwards in order of appearance.
 * fork and join become the pairs of signals the prototype uses for them.
 */
#include "trace/text/export_impl.h"
#include "trace/text/scan.h"

#include <inttypes.h>
#include <string.h>

enum { KIND_THREAD, KIND_VARIABLE, KIND_LOCK, KIND_SIGNAL, KIND_FORK, KIND_JOIN };
enum { STATE_WAITS = 1 }; /* forked, did nothing yet */
#define NUMBERED_FROM ((uint64_t)1 << 31)

static bool small_number(const char *text, uint64_t *out)
{
    return scan_decimal(text, strlen(text), out) && *out < NUMBERED_FROM;
}

static uint64_t thread_number(struct exporter *e, uint64_t thread)
{
    const char *name =
        thread < e->tables->threads.count ? intern_get(&e->tables->threads, (uint32_t)thread) : "";
    uint64_t n;

    if (*name == 'T' && small_number(name + 1, &n))
        return n;
    return NUMBERED_FROM + export_number(e, KIND_THREAD, thread);
}

static uint64_t variable_number(struct exporter *e, const struct event *ev)
{
    uint64_t n;

    if (is_named(ev->target) && named_variable(ev->target) < e->tables->variables.count &&
        small_number(intern_get(&e->tables->variables, named_variable(ev->target)), &n))
        return n;
    return NUMBERED_FROM + export_number(e, KIND_VARIABLE, ev->target);
}

/* `prefix` is the letter our reader puts before the numbers of signals, 0 for locks. */
static uint64_t object_number(struct exporter *e, unsigned kind, uint64_t target, char prefix)
{
    const char *name = "";
    uint64_t n;

    if (is_named(target) && named_object(target) < e->tables->objects.count)
        name = intern_get(&e->tables->objects, named_object(target));
    if (prefix && *name == prefix)
        name++;
    else if (prefix)
        name = "";
    if (small_number(name, &n))
        return n;
    return NUMBERED_FROM + export_number(e, kind, target);
}

static void add_line(struct exporter *e, uint64_t thread, const char *op, uint64_t object,
                     const char *location, uint64_t index)
{
    buf_addf(&e->out, "%" PRIu64 ",%s,%" PRIu64 ",", thread_number(e, thread), op, object);
    for (; *location; location++)
        buf_addch(&e->out, (unsigned char)*location < ' ' || *location == 0x7f ? '_' : *location);
    buf_addf(&e->out, ",%" PRIu64 "\n", index);
}

static void add_signal(struct exporter *e, uint64_t thread, const char *op, uint64_t number)
{
    add_line(e, thread, op, number, "nil", number);
}

/* The child's side of a fork comes with its first event. */
static void begin_thread(struct exporter *e, uint32_t thread)
{
    uint8_t *state = export_thread_state(e, thread);

    if (*state & STATE_WAITS)
        add_signal(e, thread, "WT", NUMBERED_FROM + export_number(e, KIND_FORK, thread));
    *state &= (uint8_t)~STATE_WAITS;
}

static void add_fork(struct exporter *e, const struct event *ev)
{
    add_signal(e, ev->thread, "SIG", NUMBERED_FROM + export_number(e, KIND_FORK, ev->target));
    *export_thread_state(e, ev->target) |= STATE_WAITS;
}

static void add_join(struct exporter *e, const struct event *ev)
{
    uint64_t number = NUMBERED_FROM + export_number(e, KIND_JOIN, ev->target);

    begin_thread(e, (uint32_t)ev->target);
    add_signal(e, ev->target, "SIG", number);
    add_signal(e, ev->thread, "WT", number);
}

/* A read-modify-write becomes an atomic read and an atomic write: the same edges. */
static void export_csv_add_access(struct exporter *e, const struct event *ev)
{
    static const char *const ops[] = {
        [OP_READ] = "RD", [OP_WRITE] = "WR", [OP_LOAD] = "ARD", [OP_STORE] = "AWR", [OP_RMW] = "AWR"
    };
    const char *location = tables_location(e->tables, ev->site);

    e->lost.values += (ev->flags & EV_VALUE) != 0;
    e->lost.orders += op_is_atomic(ev->op) && ev->order != ORDER_SEQ_CST;
    e->lost.ranges += !is_named(ev->target);
    if (ev->op == OP_RMW)
        add_line(e, ev->thread, ops[OP_LOAD], variable_number(e, ev), location, 1);
    add_line(e, ev->thread, ops[ev->op], variable_number(e, ev), location, 1);
}

static void csv_event(struct exporter *e, const struct event *ev, const uint64_t *extra)
{
    const char *location = tables_location(e->tables, ev->site);

    (void)extra;
    begin_thread(e, ev->thread);
    switch (ev->op) {
    case OP_READ:
    case OP_WRITE:
    case OP_LOAD:
    case OP_STORE:
    case OP_RMW:
        export_csv_add_access(e, ev);
        break;
    case OP_ACQUIRE:
        add_line(e, ev->thread, "LK", object_number(e, KIND_LOCK, ev->target, 0), location, 1);
        break;
    case OP_RELEASE:
        add_line(e, ev->thread, "UK", object_number(e, KIND_LOCK, ev->target, 0), location, 0);
        break;
    case OP_FORK:
        add_fork(e, ev);
        break;
    case OP_JOIN:
        add_join(e, ev);
        break;
    case OP_BEFORE:
        add_signal(e, ev->thread, "SIG", object_number(e, KIND_SIGNAL, ev->target, 's'));
        break;
    case OP_AFTER:
        add_signal(e, ev->thread, "WT", object_number(e, KIND_SIGNAL, ev->target, 's'));
        break;
    case OP_BRANCH:
        e->lost.values += (ev->flags & EV_VALUE) != 0;
        add_line(e, ev->thread, "PREBRANCH", 0, location, 0);
        break;
    default:
        e->lost.ops[ev->op]++;
    }
}

const struct export_ops export_csv = { .event = csv_event };
