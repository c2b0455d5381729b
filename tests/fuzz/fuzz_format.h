/* fuzz_format.h - what the fuzz targets of the byte-stream formats share
 *
 * Reads the input twice and prints every event; the two passes must agree.
 * For the text format the printed text must also read as itself.
 */
#ifndef HEDDLE_FUZZ_FORMAT_H
#define HEDDLE_FUZZ_FORMAT_H

#include "base/buf.h"
#include "trace/text/input.h"
#include "trace/source.h"
#include "trace/text/event_text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct source *fuzz_open(struct input *, struct tables *, struct trace_info *,
                                 struct error *);

/* A range of memory: below the limit, or the 8 bytes of a variable that has a name. */
static bool fuzz_range_is_valid(uint64_t address, uint64_t bytes, const struct tables *t)
{
    if (is_named(address))
        return address == NAMED_ADDRESS(named_variable(address)) &&
               named_variable(address) < t->variables.count && bytes == 8;
    return address < ADDRESS_LIMIT && bytes && bytes <= ADDRESS_LIMIT - address;
}

static bool fuzz_target_is_valid(const struct event *ev, const struct tables *t)
{
    switch (op_class_of(ev->op)) {
    case CLASS_ACCESS:
    case CLASS_ATOMIC:
        return fuzz_range_is_valid(ev->target, ev->size, t) && ev->size <= ACCESS_MAX_BYTES;
    case CLASS_MEMORY:
        if (!ev->value && ev->op == OP_FREE) /* size unknown: never of a name */
            return ev->target < ADDRESS_LIMIT;
        return fuzz_range_is_valid(ev->target, ev->value, t);
    case CLASS_LINK:
        if (ev->op == OP_LINK)
            return ev->target < ADDRESS_LIMIT && ev->value < ADDRESS_LIMIT;
        return !is_named(ev->target) && fuzz_range_is_valid(ev->target, ev->value, t);
    case CLASS_THREAD:
        return ev->op == OP_FORK || ev->op == OP_JOIN ? ev->target < t->threads.count : !ev->target;
    case CLASS_CALL:
    case CLASS_STACK:
        return ev->target < t->functions.count;
    case CLASS_FENCE:
    case CLASS_BRANCH:
        return !ev->target;
    default:
        return is_named(ev->target) ? ev->target - NAMED_BASE < t->objects.count
                                    : ev->target < ADDRESS_LIMIT;
    }
}

static bool fuzz_entry_is_valid(const uint64_t *e, const struct tables *t)
{
    uint64_t low = D_LOW(e[0]);

    switch (D_KIND(e[0])) {
    case D_MEMORY_KIND:
        return fuzz_range_is_valid(low, e[1], t);
    case D_THREAD_KIND:
    case D_START_KIND:
        return low < t->threads.count && !e[1];
    case D_SYNC_KIND:
        return low < t->objects.count && !e[1];
    case D_ALL_KIND:
        return !low && !e[1];
    case D_ROOT_KIND:
        return low < ADDRESS_LIMIT && !e[1];
    case D_EXTENT_KIND:
        return !is_named(low) && fuzz_range_is_valid(low, e[1], t);
    default:
        return low < ADDRESS_LIMIT && e[1] < ADDRESS_LIMIT;
    }
}

/* The well-formedness that source.h promises. */
static inline void fuzz_check_event(const struct event *ev, const uint64_t *extra,
                                    const struct tables *t)
{
    if (!op_is_known(ev->op) || ev->thread >= t->threads.count || ev->order >= ORDER_COUNT ||
        (ev->site >= t->sites.count && ev->site != SITE_NONE) ||
        (ev->flags & ~(EV_STORED_FLAGS | EV_UNSEEN)))
        abort();
    if (!fuzz_target_is_valid(ev, t) || (!op_is_access(ev->op) && ev->size))
        abort();
    for (uint64_t i = 0; ev->op == OP_CALL && i < ev->old; i++)
        if (!fuzz_entry_is_valid(extra + ev->value + 2 * i, t))
            abort();
}

static inline int fuzz_pass(struct source *s, struct tables *t, struct buf *text)
{
    struct batch b;
    struct error err;
    int r;

    while ((r = s->ops->next(s, &b, &err)) > 0) {
        for (size_t i = 0; i < b.count; i++) {
            fuzz_check_event(&b.events[i], b.extra, t);
            text_event(text, &b.events[i], b.extra, t);
        }
    }
    if (r < 0 && !memchr(err.text, 0, sizeof(err.text)))
        abort();
    buf_add(text, "", 0);
    return r;
}

/* Read all; the text (to be released) and 0, or -1 where the input is refused. */
static inline int fuzz_read(fuzz_open *open, const void *data, size_t len, struct buf *text)
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
