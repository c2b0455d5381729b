/* dump.c - heddle dump: events as text, each with its position */
#include "cmd/commands.h"
#include "cmd/common.h"
#include "cmd/exclusion.h"
#include "trace/text.h"

#include <inttypes.h>
#include <string.h>

/* Which events to print. */
struct slice {
    uint64_t from, left;
    const char *thread_name;
    uint32_t thread; /* THREAD_NONE until the name was met */
    const struct options *options;
};

/* Names are added while the trace is read, so the thread may turn up late. */
static void find_thread(struct slice *s, const struct tables *t)
{
    if (s->thread_name && s->thread == THREAD_NONE)
        s->thread = intern_find(&t->threads, s->thread_name, strlen(s->thread_name));
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
        s->left--;
    }
    if (text->len)
        fwrite(text->data, 1, text->len, stdout);
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
    while (s->left > 0 && !ferror(stdout) && (r = trace_next(t, &b, &err)) > 0) {
        find_thread(s, trace_tables(t));
        if (b.first + b.count > s->from)
            dump_batch(s, &b, trace_tables(t), &text);
    }
    buf_release(&text);
    if (r < 0)
        return operand_error(in, &err);
    if (s->thread_name && s->thread == THREAD_NONE && s->left > 0)
        return bad_input("there is no thread '%s' in '%s'", s->thread_name, in->shown);
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
