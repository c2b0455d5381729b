/* public.c - include/heddle-trace.h, over trace.h
 *
 * The shared library libheddle-trace exports these functions and nothing else. Numbers that the
 * caller gives are looked up with care: they may come from anywhere.
 */
#include <heddle-trace.h>
#include "base/alloc.h"
#include "trace/trace.h"

#include <stdio.h>
#include <stdlib.h>

struct heddle_trace {
    struct trace *trace; /* owned */
    struct batch batch;
    size_t at; /* next event of the batch */
    struct buf name;
};

static void put_error(char *error, size_t room, const struct error *err)
{
    if (room)
        snprintf(error, room, "%s", err->text);
}

struct heddle_trace *heddle_trace_open(const char *path, char *error, size_t error_bytes)
{
    struct error err;
    struct heddle_trace *t = xcalloc(1, sizeof(*t));

    t->trace = trace_open(path, &err);
    if (t->trace)
        return t;
    put_error(error, error_bytes, &err);
    free(t);
    return NULL;
}

void heddle_trace_close(struct heddle_trace *t)
{
    if (!t)
        return;
    trace_close(t->trace);
    buf_release(&t->name);
    free(t);
}

static unsigned public_flags(const struct event *ev)
{
    return (ev->flags & EV_VALUE ? HEDDLE_EVENT_VALUE : 0) |
           (ev->flags & EV_OLD ? HEDDLE_EVENT_OLD : 0) |
           (ev->flags & EV_IGNORED ? HEDDLE_EVENT_IGNORED : 0);
}

static bool value_is_bytes(unsigned op)
{
    return op_class_of(op) == CLASS_MEMORY || op == OP_OBJECT;
}

int heddle_trace_next(struct heddle_trace *t, struct heddle_event *e, char *error,
                      size_t error_bytes)
{
    struct error err;
    const struct event *ev;
    int r = 1;

    while (t->at == t->batch.count && r > 0) {
        t->at = 0;
        t->batch.count = 0;
        r = trace_next(t->trace, &t->batch, &err);
    }
    if (r < 0)
        put_error(error, error_bytes, &err);
    if (r <= 0)
        return r;
    ev = &t->batch.events[t->at];
    *e = (struct heddle_event){ .position = t->batch.first + t->at,
                                .op = op_table[ev->op].name,
                                .order = order_names[ev->order],
                                .thread = ev->thread,
                                .site = ev->site,
                                .target = ev->target,
                                .bytes = value_is_bytes(ev->op) ? ev->value : ev->size,
                                .value = ev->value,
                                .old = ev->old,
                                .flags = public_flags(ev) };
    t->at++;
    return 1;
}

void heddle_trace_count(const struct heddle_trace *t, struct heddle_trace_counts *counts)
{
    const struct trace_info *info = trace_info(t->trace);

    *counts = (struct heddle_trace_counts){ info->events, trace_tables(t->trace)->threads.count,
                                            info->lost_bytes };
}

static const char *named(const struct intern *names, uint64_t number)
{
    return number < names->count ? intern_get(names, (uint32_t)number) : "?";
}

const char *heddle_trace_thread(const struct heddle_trace *t, uint32_t thread)
{
    return named(&trace_tables(t->trace)->threads, thread);
}

const char *heddle_trace_location(const struct heddle_trace *t, uint32_t site)
{
    return named(&trace_tables(t->trace)->sites, site);
}

const char *heddle_trace_function(const struct heddle_trace *t, uint32_t site)
{
    const struct tables *tables = trace_tables(t->trace);

    return site < tables->sites.count ? tables_site_function(tables, site) : NULL;
}

const char *heddle_trace_format(const struct heddle_trace *t)
{
    return trace_info(t->trace)->format;
}

/* The operation's number; heddle_trace_next() gave out the table's own string. */
static unsigned op_of(const struct heddle_event *e)
{
    unsigned op = 1;

    while (op < OP_COUNT && op_table[op].name != e->op)
        op++;
    return op;
}

const char *heddle_trace_target(struct heddle_trace *t, const struct heddle_event *e)
{
    const struct tables *tables = trace_tables(t->trace);
    unsigned op = op_of(e);

    t->name.len = 0;
    buf_addstr(&t->name, "");
    if (op == OP_COUNT || op == OP_BEGIN || op == OP_END)
        return t->name.data;
    switch (op_class_of(op)) {
    case CLASS_ACCESS:
    case CLASS_ATOMIC:
    case CLASS_MEMORY:
    case CLASS_LINK:
        tables_name_variable(tables, e->target, e->bytes, &t->name);
        break;
    case CLASS_THREAD:
        buf_addstr(&t->name, named(&tables->threads, e->target));
        break;
    case CLASS_CALL:
    case CLASS_STACK:
        buf_addstr(&t->name, named(&tables->functions, e->target));
        break;
    case CLASS_NONE:
    case CLASS_FENCE:
    case CLASS_BRANCH:
        break;
    default:
        tables_name_object(tables, e->target, &t->name);
    }
    return t->name.data;
}
