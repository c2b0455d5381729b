/* export_rr.c - writing logs as RoadRunner's print tool does (docs/format/foreign.md)
 *
 * Blanks and commas end a field there, so they become '_' in names. Values,
 * memory orders and address ranges have no place in the format. An atomic
 * read-modify-write becomes a volatile read and a volatile write, which give
 * the same edges.
 */
#include "trace/text/export_impl.h"

#include <string.h>

static const char *const names[OP_COUNT] = {
    [OP_READ] = "Rd",   [OP_WRITE] = "Wr",        [OP_LOAD] = "VRd",        [OP_STORE] = "VWr",
    [OP_RMW] = "VWr",   [OP_ACQUIRE] = "Acquire", [OP_RELEASE] = "Release", [OP_FORK] = "Start",
    [OP_JOIN] = "Join", [OP_ENTER] = "Enter",     [OP_EXIT] = "Exit",
};

static void add_word(struct buf *b, const char *s)
{
    if (!*s)
        buf_addch(b, '?');
    for (; *s; s++)
        buf_addch(b, (unsigned char)*s <= ' ' || *s == ',' || *s == 0x7f ? '_' : *s);
}

/* "T7" is thread 7; what is not a number stays a name, which our reader takes. */
static void add_thread(struct exporter *e, uint64_t thread)
{
    const char *name =
        thread < e->tables->threads.count ? intern_get(&e->tables->threads, (uint32_t)thread) : "?";
    size_t n = strlen(name);

    if (n > 1 && *name == 'T' && strspn(name + 1, "0123456789") == n - 1 &&
        (name[1] != '0' || n == 2))
        name++;
    add_word(&e->out, name);
}

static void add_target(struct exporter *e, const struct event *ev)
{
    struct buf name = { 0 };

    switch (op_class_of(ev->op)) {
    case CLASS_THREAD:
        add_thread(e, ev->target);
        return;
    case CLASS_LOCK:
        tables_name_object(e->tables, ev->target, &name);
        break;
    case CLASS_STACK:
        buf_addstr(&name, intern_get(&e->tables->functions, (uint32_t)ev->target));
        break;
    default:
        tables_name_variable(e->tables, ev->target, ev->size, &name);
    }
    buf_addch(&name, 0);
    add_word(&e->out, name.data);
    buf_release(&name);
}

static void add_line(struct exporter *e, const struct event *ev, const char *op)
{
    buf_addstr(&e->out, "@   ");
    buf_addstr(&e->out, op);
    buf_addch(&e->out, '(');
    add_thread(e, ev->thread);
    buf_addch(&e->out, ',');
    add_target(e, ev);
    buf_addstr(&e->out, ")  -  ");
    add_word(&e->out, tables_location(e->tables, ev->site));
    buf_addch(&e->out, '\n');
}

static void rr_event(struct exporter *e, const struct event *ev, const uint64_t *extra)
{
    (void)extra;
    if (!names[ev->op]) {
        e->lost.ops[ev->op]++;
        return;
    }
    e->lost.values += op_is_access(ev->op) && ev->flags & EV_VALUE;
    e->lost.orders += op_is_atomic(ev->op) && ev->order != ORDER_SEQ_CST;
    e->lost.ranges += op_is_access(ev->op) && !is_named(ev->target);
    if (ev->op == OP_RMW)
        add_line(e, ev, names[OP_LOAD]);
    add_line(e, ev, names[ev->op]);
}

const struct export_ops export_rr = { .event = rr_event };
