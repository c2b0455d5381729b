/* fuzz_format.h - what the fuzz targets of the byte-stream formats share
 *
 * Reads the input twice and prints every event; the two passes must agree.
 * For the text format the printed text must also read as itself.
 */
#ifndef HEDDLE_FUZZ_FORMAT_H
#define HEDDLE_FUZZ_FORMAT_H

#include "base/buf.h"
#include "trace/input.h"
#include "trace/source.h"
#include "trace/text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct source *fuzz_open(struct input *, struct tables *, struct trace_info *,
                                 struct error *);

/* The well-formedness that source.h promises. */
static void fuzz_check_event(const struct event *ev, const struct tables *t)
{
    if (!op_is_known(ev->op) || ev->thread >= t->threads.count || ev->order >= ORDER_COUNT ||
        ev->site >= t->sites.count || (ev->flags & ~EV_STORED_FLAGS))
        abort();
    if (op_is_access(ev->op) && !is_named(ev->target) &&
        (!ev->size || ev->target + ev->size > ADDRESS_LIMIT))
        abort();
    if ((ev->op == OP_FORK || ev->op == OP_JOIN) && ev->target >= t->threads.count)
        abort();
}

static int fuzz_pass(struct source *s, struct tables *t, struct buf *text)
{
    struct batch b;
    struct error err;
    int r;

    while ((r = s->ops->next(s, &b, &err)) > 0) {
        for (size_t i = 0; i < b.count; i++) {
            fuzz_check_event(&b.events[i], t);
            text_event(text, &b.events[i], b.extra, t);
        }
    }
    if (r < 0 && !memchr(err.text, 0, sizeof(err.text)))
        abort();
    buf_add(text, "", 0);
    return r;
}

/* Read all; the text (to be released) and 0, or -1 where the input is refused. */
static int fuzz_read(fuzz_open *open, const void *data, size_t len, struct buf *text)
{
    struct tables t = { 0 };
    struct trace_info info = { 0 };
    struct buf again = { 0 };
    struct error err;
    struct input *in = input_from_memory(data, len, &err);
    struct source *s = in ? open(in, &t, &info, &err) : NULL;
    int r = s ? fuzz_pass(s, &t, text) : -1;

    if (s && !r) {
        if (s->ops->rewind(s, &err) || fuzz_pass(s, &t, &again) || again.len != text->len ||
            memcmp(again.data, text->data, text->len))
            abort();
    }
    if (s)
        s->ops->close(s);
    buf_release(&again);
    tables_release(&t);
    return r;
}

#endif
