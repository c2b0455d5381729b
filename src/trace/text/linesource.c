/* linesource.c - batches of events from lines, and the names in them */
#include "trace/text/linesource.h"

#include <string.h>

enum { BATCH_EVENTS = 4096 };

struct source *linesource_open(struct input *in, struct tables *t, struct trace_info *i,
                               const struct source_ops *ops, bool comments,
                               int (*parse)(struct linesource *, const char *, size_t,
                                            struct event *, struct error *))
{
    struct linesource *s = xcalloc(1, sizeof(*s));

    s->base = (struct source){ ops, t, i };
    s->comments = comments;
    s->parse = parse;
    lines_init(&s->lines, in);
    name_cache_init(&s->threads, 10);
    name_cache_init(&s->variables, 12);
    name_cache_init(&s->objects, 10);
    name_cache_init(&s->functions, 10);
    name_cache_init(&s->sites, 12);
    s->events = xcalloc(BATCH_EVENTS, sizeof(*s->events));
    i->format = ops->format;
    i->order = TRACE_UNKNOWN;
    i->bytes_total = input_size(in);
    return &s->base;
}

int linesource_next(struct source *base, struct batch *out, struct error *err)
{
    struct linesource *s = (struct linesource *)base;
    size_t count = 0;

    while (count < BATCH_EVENTS) {
        const char *text;
        size_t len;
        int r = s->comments ? lines_next_text(&s->lines, &text, &len, err)
                            : lines_next(&s->lines, &text, &len, err);

        if (r < 0)
            return -1;
        if (!r)
            break;
        s->events[count] = (struct event){ 0 };
        r = s->parse(s, text, len, &s->events[count], err);
        if (r < 0)
            return lines_error(&s->lines, err);
        count += (size_t)r;
    }
    *out = (struct batch){ s->events, count, s->position, NULL };
    s->position += count;
    base->info->bytes_read = input_consumed(s->lines.in);
    return count > 0;
}

int linesource_rewind(struct source *base, struct error *err)
{
    struct linesource *s = (struct linesource *)base;

    s->position = 0;
    return lines_rewind(&s->lines, err);
}

void linesource_close(struct source *base)
{
    struct linesource *s = (struct linesource *)base;

    lines_release(&s->lines);
    name_cache_release(&s->threads);
    name_cache_release(&s->variables);
    name_cache_release(&s->objects);
    name_cache_release(&s->functions);
    name_cache_release(&s->sites);
    free(s->events);
    free(s);
}

uint32_t linesource_thread(struct linesource *s, const char *p, size_t n)
{
    char name[24] = "T";
    uint64_t number;

    if (!scan_decimal(p, n, &number))
        return name_number(&s->threads, &s->base.tables->threads, p, n);
    memcpy(name + 1, p, n); /* at most 20 digits */
    return name_number(&s->threads, &s->base.tables->threads, name, n + 1);
}

uint64_t linesource_variable(struct linesource *s, const char *p, size_t n)
{
    return NAMED_ADDRESS(name_number(&s->variables, &s->base.tables->variables, p, n));
}

uint64_t linesource_object(struct linesource *s, const char *p, size_t n)
{
    return NAMED_OBJECT(name_number(&s->objects, &s->base.tables->objects, p, n));
}

uint32_t linesource_function(struct linesource *s, const char *p, size_t n)
{
    return name_number(&s->functions, &s->base.tables->functions, p, n);
}

uint32_t linesource_site(struct linesource *s, const char *p, size_t n)
{
    return name_number(&s->sites, &s->base.tables->sites, p, n);
}
