/* formats.h - what the tests of the trace formats share
 *
 * A trace is read from memory and printed again as text, so a test compares
 * lines; a failed read leaves its error.
 */
#ifndef HEDDLE_TESTS_FORMATS_H
#define HEDDLE_TESTS_FORMATS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "trace/text/input.h"
#include "trace/source.h"
#include "trace/text/event_text.h"

#include <stdlib.h>
#include <string.h>

typedef struct source *open_fn(struct input *, struct tables *, struct trace_info *,
                               struct error *);

struct reading {
    struct tables tables;
    struct trace_info info;
    struct error err;
    int status; /* 0 read to the end, -1 error */
    struct event *events;
    size_t count, cap;
    struct buf text; /* all events as text */
};

/* Add the events of one pass. */
static inline void reading_pass(struct reading *r, struct source *s)
{
    struct batch b;
    int more;

    while ((more = s->ops->next(s, &b, &r->err)) > 0) {
        GROW(r->events, r->cap, r->count + b.count);
        memcpy(r->events + r->count, b.events, b.count * sizeof(*b.events));
        assert_int_equal(b.first, r->count);
        r->count += b.count;
        for (size_t i = 0; i < b.count; i++)
            text_event(&r->text, &b.events[i], b.extra, &r->tables);
    }
    r->status = more;
    buf_add(&r->text, "", 0);
}

static inline void read_input(struct reading *r, open_fn *open, struct input *in)
{
    struct source *s;

    assert_non_null(in);
    s = open(in, &r->tables, &r->info, &r->err);
    assert_non_null(s);
    reading_pass(r, s);
    s->ops->close(s);
}

static inline void read_memory(struct reading *r, open_fn *open, const void *data, size_t len)
{
    struct input *in;

    *r = (struct reading){ 0 };
    in = input_from_memory(data, len, &r->err);
    if (in)
        read_input(r, open, in);
    else
        r->status = -1;
}

static inline void reading_release(struct reading *r)
{
    tables_release(&r->tables);
    free(r->events);
    buf_release(&r->text);
}

/* The text comes out as `expected`. */
static inline void expect_text(open_fn *open, const char *text, const char *expected)
{
    struct reading r;

    read_memory(&r, open, text, strlen(text));
    if (r.status)
        fail_msg("%s", r.err.text);
    assert_string_equal(r.text.data, expected);
    reading_release(&r);
}

/* Reading fails with exactly this error. */
static inline void expect_error(open_fn *open, const void *data, size_t len, const char *error)
{
    struct reading r;

    read_memory(&r, open, data, len);
    assert_int_equal(r.status, -1);
    assert_string_equal(r.err.text, error);
    reading_release(&r);
}

#endif
