/* dump.c - heddle dump: events as text, each with its position
 *
 * With --expressions the execution is rebuilt from the program's bitcode (execution/execution.h),
 * and below an event is what it was computed from.
 */
#include "cmd/commands.h"
#include "cmd/common.h"
#include "cmd/exclusion.h"
#include "engines/whole.h"
#include "execution/execution.h"
#include "trace/text/event_text.h"

#include <inttypes.h>
#include <string.h>

/* Which events to print. */
struct slice {
    uint64_t from, left;
    const char *thread_name;
    uint32_t thread; /* THREAD_NONE until the name was met */
    const struct options *options;
    struct execution *execution; /* or NULL */
};

enum { DEPTH = 12 }; /* of expressions that are printed */

static void dump_expression(struct buf *text, const struct execution *e, const char *what, expr x)
{
    if (!x)
        return;
    buf_addf(text, "\t  %s ", what);
    expr_print(e->x, x, DEPTH, text);
    buf_addch(text, '\n');
}

static void dump_condition(struct buf *text, const struct execution *e,
                           const struct execution_condition *c)
{
    static const char *const kinds[] = { "branch", "address", "fixed" };

    buf_addf(text, "\t  needs %s ", kinds[c->kind]);
    expr_print(e->x, c->value, DEPTH, text);
    if (c->is_known)
        buf_addf(text, " = 0x%" PRIx64, (uint64_t)c->recorded);
    buf_addch(text, '\n');
}

/* What must hold before the event, and what it does. */
static void dump_expressions(struct buf *text, const struct execution *e, uint64_t i)
{
    const struct execution_event *x = &e->events[i];

    if (!x->known)
        buf_addstr(text, "\t  not followed\n");
    for (uint32_t k = e->condition_first[i]; k < e->condition_first[i + 1]; k++)
        dump_condition(text, e, &e->conditions[k]);
    dump_expression(text, e, "address", x->address);
    dump_expression(text, e, "old", x->old);
    dump_expression(text, e, "value", x->value);
}

/* Names are added while the trace is read, so the thread may turn up late. */
static void find_thread(struct slice *s, const struct tables *t)
{
    if (s->thread_name && s->thread == THREAD_NONE)
        s->thread = intern_find(&t->threads, s->thread_name, strlen(s->thread_name));
}

/* A name that is none is an error, not an empty list. */
static int check_thread(const struct slice *s, const struct operand *in)
{
    if (s->thread_name && s->thread == THREAD_NONE)
        return bad_input("there is no thread '%s' in '%s'", s->thread_name, in->shown);
    return EXIT_NOTHING;
}

static void dump_batch(struct slice *s, const struct batch *b, const struct tables *t,
                       struct buf *text)
{
    size_t i = s->from > b->first ? s->from - b->first : 0;

    text->len = 0;
    for (; i < b->count && s->left > 0; i++) {
        const struct event *ev = &b->events[i];

        if ((s->thread_name && ev->thread != s->thread) || ev->flags & EV_EXCLUDED)
            continue;
        buf_addf(text, "%" PRIu64 "\t", b->first + i);
        text_event(text, ev, b->extra, t);
        if (s->execution)
            dump_expressions(text, s->execution, b->first + i);
        s->left--;
    }
    if (text->len)
        fwrite(text->data, 1, text->len, stdout);
}

/* The whole trace at once: expressions reach back. */
static int dump_loaded(const struct operand *in, struct trace *t, struct slice *s)
{
    struct trace_mem mem = { 0 };
    struct buf text = { 0 };
    struct error err;
    int r = EXIT_NOTHING;

    if (trace_load_first(t, WHOLE_EVENTS_MAX, &mem, &err) < 0)
        return operand_error(in, &err);
    s->execution = execution_new(&mem, trace_tables(t), &err);
    if (s->execution) {
        find_thread(s, trace_tables(t));
        dump_batch(s, &(struct batch){ mem.events, mem.count, 0, mem.extra }, trace_tables(t),
                   &text);
        r = check_thread(s, in);
        execution_free(s->execution);
    } else {
        r = bad_input("there are no expressions for '%s': %s", in->shown, err.text);
    }
    buf_release(&text);
    trace_mem_release(&mem);
    return r;
}

static int dump_trace(const struct operand *in, struct trace *t, void *slice)
{
    struct slice *s = slice;
    struct buf text = { 0 };
    struct batch b;
    struct error err;
    int r = exclusion_apply(s->options, in, t);

    if (r)
        return r;
    if (option_is(s->options, OPT_EXPRESSIONS))
        return dump_loaded(in, t, s);
    while (s->left > 0 && !ferror(stdout) && (r = trace_next(t, &b, &err)) > 0) {
        find_thread(s, trace_tables(t));
        if (b.first + b.count > s->from)
            dump_batch(s, &b, trace_tables(t), &text);
    }
    buf_release(&text);
    if (r < 0)
        return operand_error(in, &err);
    if (s->left > 0 && (r = check_thread(s, in)))
        return r;
    if (trace_info(t)->loss[0])
        warn("warning", "lost a part of '%s': %s", in->shown, trace_info(t)->loss);
    return EXIT_NOTHING;
}

int cmd_dump(const struct options *o)
{
    struct slice s = {
        .from = o->numbers[OPT_FROM],
        .left = option_is(o, OPT_COUNT) ? o->numbers[OPT_COUNT] : UINT64_MAX,
        .thread_name = o->texts[OPT_THREAD],
        .thread = THREAD_NONE,
        .options = o,
    };

    return with_trace(o->arguments[0], dump_trace, &s);
}
