/* info.c - heddle info: what a trace holds
 *
 * One pass. Variables and locks are counted by their addresses (or names), so
 * memory that was freed and used again counts once.
 */
#include "cmd/commands.h"
#include "cmd/common.h"
#include "cmd/progress.h"
#include "base/map.h"
#include "report/emit.h"

#include <inttypes.h>
#include <string.h>

struct census {
    const struct trace *trace;
    const char *path;
    uint64_t operations[OP_COUNT];
    struct map variables, locks;
};

static void count_batch(struct census *c, const struct batch *b)
{
    for (size_t i = 0; i < b->count; i++) {
        const struct event *ev = &b->events[i];

        c->operations[ev->op]++;
        if (op_is_access(ev->op))
            map_put(&c->variables, ev->target, 0);
        else if (op_class_of(ev->op) == CLASS_LOCK)
            map_put(&c->locks, ev->target, 0);
    }
}

static double bytes_per_event(const struct trace_info *i)
{
    return i->events ? (double)i->bytes_total / (double)i->events : 0;
}

static void print_number(const char *label, uint64_t n)
{
    printf("%-16s %" PRIu64 "\n", label, n);
}

static void print_losses(const struct census *c)
{
    const struct trace_info *i = trace_info(c->trace);
    const struct diags *d = trace_diags(c->trace);

    if (i->loss[0])
        printf("%-16s %s\n", "lost", i->loss);
    else
        printf("%-16s nothing\n", "lost");
    print_number("repaired", diags_repaired(d));
    for (int k = 0; k < DIAG_KINDS; k++)
        if (d->total[k])
            printf("  %-18s %" PRIu64 "\n", diag_kind_name((enum diag_kind)k), d->total[k]);
}

static void print_text(const struct census *c)
{
    const struct trace_info *i = trace_info(c->trace);
    const struct tables *t = trace_tables(c->trace);

    printf("%-16s %s\n%-16s %s\n", "path", c->path, "format", i->format);
    print_number("events", i->events);
    for (int op = 0; op < OP_COUNT; op++)
        if (c->operations[op])
            printf("  %-18s %" PRIu64 "\n", op_table[op].name, c->operations[op]);
    print_number("threads", t->threads.count);
    print_number("variables", c->variables.count);
    print_number("locks", c->locks.count);
    print_number("sites", t->sites.count);
    print_number("functions", t->functions.count);
    printf("%-16s %s\n", "order", trace_order_names[i->order]);
    printf("%-16s %s\n", "values", i->values ? "yes" : "no");
    printf("%-16s %s\n", "branches", i->branches ? "yes" : "no");
    printf("%-16s %s\n", "untraced calls", i->calls ? "yes" : "no");
    printf("%-16s %" PRIu64 " (%.2f per event)\n", "bytes", i->bytes_total, bytes_per_event(i));
    print_losses(c);
}

static void print_json(const struct census *c)
{
    const struct trace_info *i = trace_info(c->trace);
    const struct tables *t = trace_tables(c->trace);
    struct emitter e = { .out = stdout };

    emit_open(&e, NULL, '{', false);
    emit_number(&e, "schema", 1);
    emit_string(&e, "path", c->path);
    emit_string(&e, "format", i->format);
    emit_number(&e, "events", i->events);
    emit_open(&e, "operations", '{', false);
    for (int op = 0; op < OP_COUNT; op++)
        if (c->operations[op])
            emit_number(&e, op_table[op].name, c->operations[op]);
    emit_close(&e);
    emit_number(&e, "threads", t->threads.count);
    emit_number(&e, "variables", c->variables.count);
    emit_number(&e, "locks", c->locks.count);
    emit_number(&e, "sites", t->sites.count);
    emit_number(&e, "functions", t->functions.count);
    emit_string(&e, "order", trace_order_names[i->order]);
    emit_bool(&e, "values", i->values);
    emit_bool(&e, "branches", i->branches);
    emit_bool(&e, "calls", i->calls);
    emit_number(&e, "bytes", i->bytes_total);
    if (i->loss[0]) {
        emit_open(&e, "lost", '{', true);
        emit_number(&e, "bytes", i->lost_bytes);
        emit_string(&e, "reason", i->loss);
        emit_close(&e);
    }
    emit_number(&e, "repaired", diags_repaired(trace_diags(c->trace)));
    emit_close(&e);
    putchar('\n');
}

static int take_census(const struct operand *in, struct trace *t, void *arg)
{
    struct census c = { .trace = t, .path = in->shown };
    const bool *json = arg;
    struct progress progress;
    struct error err;
    struct batch b;
    int r;

    progress_start(&progress, true, NULL);
    while ((r = progress_next(&progress, t, &b, &err)) > 0)
        count_batch(&c, &b);
    if (r == 0 && *json)
        print_json(&c);
    else if (r == 0)
        print_text(&c);
    map_release(&c.variables);
    map_release(&c.locks);
    return r < 0 ? operand_error(in, &err) : EXIT_NOTHING;
}

int cmd_info(const struct options *o)
{
    bool json = strcmp(o->texts[OPT_FORMAT], "json") == 0;

    return with_trace(o->arguments[0], take_census, &json);
}
