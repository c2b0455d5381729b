/* flip.c - prints what a trace's branches would do that went the other way
 *
 *   program-flip [-s] TRACE
 *      -s  also put each path into the execution, and say where its events are then
 *
 * One block of lines for each path: its branch, its conditions and its events.
 */
#include "base/buf.h"
#include "execution/flip.h"
#include "trace/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_expr(const struct exprs *x, const char *before, expr e, const char *after)
{
    struct buf b = { 0 };

    expr_print(x, e, 8, &b);
    printf("%s%s%s", before, b.data ? b.data : "", after);
    buf_release(&b);
}

static void print_conditions(const struct exprs *x, const struct flip_path *p, size_t event)
{
    static const char *const kinds[] = { "branch", "address", "fixed" };

    for (size_t i = 0; i < p->nconditions; i++)
        if (p->conditions[i].event == event) {
            printf("    if %s ", kinds[p->conditions[i].kind]);
            print_expr(x, "", p->conditions[i].value, "");
            printf(" == %" PRIu64 "\n", (uint64_t)p->conditions[i].recorded);
        }
}

static void print_path(const struct execution *e, const struct tables *t, const struct flip_path *p)
{
    printf("flip T%u event %" PRIu64 " %s -> %" PRIu64 "%s, %zu events, %u joined, ends: %s\n",
           p->thread, p->branch, tables_location(t, e->trace->events[p->branch].site), p->outcome,
           p->never ? " (never)" : "", p->nevents, p->joined, flip_end_names[p->end]);
    for (size_t i = 0; i < p->nevents; i++) {
        const struct flip_event *ev = &p->events[i];

        print_conditions(e->x, p, i);
        printf("  %" PRIu64 " %s 0x%" PRIx64 ":%u", ev->id, op_table[ev->event.op].name,
               ev->event.target, ev->event.size);
        if (ev->event.flags & EV_VALUE)
            printf(" = %" PRIu64, ev->event.value);
        if (ev->value)
            print_expr(e->x, " ", ev->value, "");
        printf("  %s\n", tables_location(t, ev->event.site));
    }
}

/* Nothing of the trace is lost, and the new events stand behind their branch. */
static int check_splice(const struct execution *e, const struct flip_path *p)
{
    uint32_t *place = calloc(p->nevents + 1, sizeof(*place));
    struct execution *s = execution_flip(e, p, NULL, place, NULL);
    bool good = s->trace->count >= e->trace->count + p->nevents && place[0] == p->branch + 1;

    for (size_t i = 0; i < p->nevents; i++)
        good &= s->trace->events[place[i]].thread == p->thread &&
                s->trace->events[place[i]].op == p->events[i].event.op;
    good &= s->condition_first[s->trace->count] >= e->condition_first[e->trace->count];
    execution_flip_free(s);
    free(place);
    if (!good)
        printf("splice is wrong\n");
    return good ? 0 : 1;
}

int main(int argc, char **argv)
{
    bool splice = argc > 2 && strcmp(argv[1], "-s") == 0;
    struct error err = { 0 };
    struct trace *t = trace_open(argv[argc - 1], &err);
    struct trace_mem events = { 0 };
    struct flips *flips = NULL;
    struct execution *e = NULL;
    int code = 0;

    if (t && trace_load(t, 50000000, &events, &err) == 0)
        e = execution_with_flips(&events, (struct tables *)(uintptr_t)trace_tables(t), &flips,
                                 &err);
    if (!e) {
        fprintf(stderr, "program-flip: %s\n", err.text);
        return 2;
    }
    for (size_t i = 0; i < flips_count(flips); i++) {
        print_path(e, trace_tables(t), flips_get(flips, i));
        if (splice)
            code |= check_splice(e, flips_get(flips, i));
    }
    const struct flip_stats *s = flips_stats(flips);
    printf("outcomes %" PRIu64 " tried %" PRIu64 " paths %" PRIu64 " events %" PRIu64
           " dropped %" PRIu64,
           s->branches, s->tried, s->paths, s->events, s->dropped);
    for (size_t i = 0; i < FLIP_ENDS; i++)
        printf(" %s %" PRIu64, flip_end_names[i], s->ends[i]);
    printf("\n");
    flips_free(flips);
    execution_free(e);
    trace_mem_release(&events);
    trace_close(t);
    return code;
}
