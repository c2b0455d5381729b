/* info.c - heddle info: what a trace holds
 *
 * One pass. Variables and locks are counted by their addresses (or names), so
 * memory that was freed and used again counts once.
 */
#include "cmd/commands.h"
#include "cmd/common.h"
#include "cmd/progress.h"
#include "base/map.h"
#include "base/plural.h"
#include "report/json_emit.h"

#include <inttypes.h>
#include <string.h>

struct census {
    const struct trace *trace;
    const char *path;
    uint64_t operations[OP_COUNT];
    uint64_t entries, largest, all; /* of lists of calls: together, the longest; how many say all */
    struct map variables, locks;
};

static void count_list(struct census *c, const struct event *call, const uint64_t *extra)
{
    c->entries += call->old;
    if (call->old > c->largest)
        c->largest = call->old;
    for (uint64_t i = 0; i < call->old; i++)
        if (D_KIND(extra[call->value + 2 * i]) == D_ALL_KIND) {
            c->all++;
            break;
        }
}

static void count_batch(struct census *c, const struct batch *b)
{
    for (size_t i = 0; i < b->count; i++) {
        const struct event *ev = &b->events[i];

        c->operations[ev->op]++;
        if (op_is_access(ev->op))
            map_put(&c->variables, ev->target, 0);
        else if (op_class_of(ev->op) == CLASS_LOCK)
            map_put(&c->locks, ev->target, 0);
        else if (ev->op == OP_CALL)
            count_list(c, ev, b->extra);
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

/* ---- recorded traces ---- */

static const char *mode_name(uint64_t mode)
{
    return mode == 1 ? "record" : mode == 2 ? "full" : "unknown";
}

static void print_images(const struct tables *t, bool traced)
{
    size_t n = 0;

    for (size_t i = 0; i < t->nimages; i++)
        n += t->images[i].traced == traced;
    print_number(traced ? "modules traced" : "modules not", n);
    for (size_t i = 0; i < t->nimages; i++) {
        const struct image *m = &t->images[i];

        if (m->traced && traced)
            printf("  %s (%u file%s, %u site%s)\n", m->path, m->modules, plural(m->modules),
                   m->sites, plural(m->sites));
        else if (m->traced == traced)
            printf("  %s\n", m->path);
    }
}

static void print_process(const struct tables *t)
{
    const struct process *p = &t->process;
    char text[64];
    const char *end = process_end_text(p, text, sizeof(text));

    if (!p->known)
        return;
    printf("%-16s %" PRIu64 ", %s\n", "process", p->numbers[PROCESS_PID],
           end ? end : "was running when this was written");
    printf("%-16s %s\n", "command", p->command ? p->command : "unknown");
    printf("%-16s %s, filter %s\n", "mode", mode_name(p->numbers[PROCESS_MODE]),
           p->numbers[PROCESS_FILTER] ? "on" : "off");
    print_images(t, true);
    print_images(t, false);
    for (int i = PROCESS_LOST; i < PROCESS_LOSSES_END; i++)
        if (p->numbers[i] || i == PROCESS_LOST)
            print_number(process_number_names[i], p->numbers[i]);
    for (size_t i = 0; i < p->nthreads; i++)
        if (p->threads[i].name)
            printf("  %-18s T%u, %u\n", p->threads[i].name, p->threads[i].thread,
                   p->threads[i].tid);
    for (size_t i = 0; i < p->nnotes; i++)
        printf("%-16s %s\n", "note", p->notes[i]);
}

static void emit_images(struct emitter *e, const struct tables *t)
{
    emit_open(e, "images", '[', false);
    for (size_t i = 0; i < t->nimages; i++) {
        const struct image *m = &t->images[i];

        emit_open(e, NULL, '{', true);
        emit_string(e, "path", m->path);
        emit_bool(e, "traced", m->traced);
        emit_number(e, "files", m->modules);
        emit_number(e, "sites", m->sites);
        emit_close(e);
    }
    emit_close(e);
}

static void emit_process(struct emitter *e, const struct tables *t)
{
    const struct process *p = &t->process;
    char text[64];
    const char *end = process_end_text(p, text, sizeof(text));

    if (!p->known)
        return;
    emit_open(e, "process", '{', false);
    emit_number(e, "pid", p->numbers[PROCESS_PID]);
    emit_string(e, "command", p->command ? p->command : "");
    emit_string(e, "mode", mode_name(p->numbers[PROCESS_MODE]));
    emit_bool(e, "filter", p->numbers[PROCESS_FILTER] != 0);
    emit_string(e, "end", end ? end : "");
    emit_open(e, "counters", '{', false);
    for (int i = PROCESS_LOST; i < PROCESS_LOSSES_END; i++)
        emit_number(e, process_number_names[i], p->numbers[i]);
    emit_close(e);
    emit_open(e, "notes", '[', true);
    for (size_t i = 0; i < p->nnotes; i++)
        emit_string(e, NULL, p->notes[i]);
    emit_close(e);
    emit_images(e, t);
    emit_close(e);
}

/* ---- calls of untraced code ---- */

static double mean_list(const struct census *c)
{
    uint64_t calls = c->operations[OP_CALL];

    return calls ? (double)c->entries / (double)calls : 0;
}

static void print_lists(const struct census *c)
{
    const struct trace_info *i = trace_info(c->trace);

    if (!c->operations[OP_CALL])
        return;
    if (i->objects)
        printf("  %-18s %" PRIu64 " at most at one time\n", "objects followed", i->objects);
    printf("  %-18s %.1f entries on average, at most %" PRIu64 "\n", "may touch", mean_list(c),
           c->largest);
    if (c->all)
        printf("  %-18s %" PRIu64 " call%s, %" PRIu64
               " of them because finding out costs too much\n",
               "may touch all", c->all, plural(c->all), i->lists_given_up);
}

static void emit_lists(struct emitter *e, const struct census *c)
{
    const struct trace_info *i = trace_info(c->trace);

    if (!c->operations[OP_CALL])
        return;
    emit_open(e, "lists", '{', true);
    emit_number(e, "entries", c->entries);
    emit_number(e, "largest", c->largest);
    emit_number(e, "all", c->all);
    emit_number(e, "given_up", i->lists_given_up);
    emit_number(e, "objects", i->objects);
    emit_close(e);
}

/* ---- the whole ---- */

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
    if (i->value_mismatches)
        printf("%-16s %" PRIu64 " reads saw another value than the order says\n", "contradictions",
               i->value_mismatches);
    printf("%-16s %s\n", "values", i->values ? "yes" : "no");
    printf("%-16s %s\n", "branches", i->branches ? "yes" : "no");
    printf("%-16s %s\n", "untraced calls", i->calls ? "yes" : "no");
    print_lists(c);
    printf("%-16s %" PRIu64 " (%.2f per event)\n", "bytes", i->bytes_total, bytes_per_event(i));
    print_losses(c);
    print_process(t);
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
    if (i->value_mismatches)
        emit_number(&e, "value_mismatches", i->value_mismatches);
    emit_bool(&e, "values", i->values);
    emit_bool(&e, "branches", i->branches);
    emit_bool(&e, "calls", i->calls);
    emit_lists(&e, c);
    emit_number(&e, "bytes", i->bytes_total);
    if (i->loss[0]) {
        emit_open(&e, "lost", '{', true);
        emit_number(&e, "bytes", i->lost_bytes);
        emit_string(&e, "reason", i->loss);
        emit_close(&e);
    }
    emit_number(&e, "repaired", diags_repaired(trace_diags(c->trace)));
    emit_process(&e, t);
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
