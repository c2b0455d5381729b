/* prop_wide.c - how many bytes an access has changes nothing
 *
 * The same trace with every byte of literal memory made into 24 or 61 bytes: accesses that were of
 * a few bytes cover many words, which are one variable or several (order/memory.h), and meet in the
 * middle of words. Every engine finds the same, alone and in the cascade.
 */
#include "properties.h"

#include <stdlib.h>
#include <string.h>

#include "text_trace.h"

/* ADDRESS:BYTES at p, after "0x"; the new text and where the old one goes on. */
static const char *scale_place(const char *p, unsigned by, struct buf *out)
{
    char *end;
    uint64_t address = strtoull(p, &end, 16), bytes;

    if (*end != ':')
        return NULL;
    bytes = strtoull(end + 1, &end, 10);
    buf_addf(out, "0x%llx:%llu", (unsigned long long)(address * by),
             (unsigned long long)(bytes * by));
    return end;
}

/* The text with literal memory `by` times as large and without its values, which cannot be that
 * large. False: it names memory in another way, or none. */
static bool scale(const struct buf *text, unsigned by, struct buf *out)
{
    bool any = false;

    for (const char *p = text->data, *end = p + text->len; p < end;) {
        const char *next;

        if (end - p < 3 || p[0] != '0' || p[1] != 'x') {
            buf_addch(out, *p++);
            continue;
        }
        next = scale_place(p + 2, by, out);
        if (!next)
            return false;
        if (*next == '=')
            next = strchr(next, ')');
        p = next;
        any = true;
    }
    buf_addch(out, 0);
    return any;
}

static bool same_race(const struct race *x, const struct race *y)
{
    return y && x->strength == y->strength && x->count == y->count &&
           x->first.position == y->first.position && x->second.position == y->second.position;
}

static bool same_races(const struct race_table *a, const struct race_table *b)
{
    bool same = a->count == b->count;

    for (size_t i = 0; i < a->count && same; i++)
        same = same_race(&a->races[i],
                         race_table_find(b, a->races[i].first.site, a->races[i].second.site));
    return same;
}

static enum verdict compare_runs(const struct analysis *a, const struct analysis *b, unsigned by,
                                 const char *how, struct buf *why)
{
    for (size_t i = 0; i < a->count; i++) {
        const struct engine_result *x = &a->runs[i].result, *y = &b->runs[i].result;

        if (same_races(&x->races, &y->races) && x->deadlocks.count == y->deadlocks.count &&
            x->complete == y->complete)
            continue;
        buf_addf(why, "%s %s: %zu races; with memory %u times as large %zu, or others",
                 a->runs[i].engine->name, how, x->races.count, by, y->races.count);
        return VIOLATED;
    }
    return HOLDS;
}

static void analyse(const char *text, const struct engine_options *o, struct analysis *a)
{
    const struct engine *engines[SUBJECT_ENGINES];
    struct error err = { "" };
    struct text_trace t;
    size_t n = 0;

    for (size_t i = 0; engine_registry[i]; i++)
        if (!o->cascade || !engine_registry[i]->on_request)
            engines[n++] = engine_registry[i];
    text_trace_open(&t, text);
    if (trace_rewind(t.trace, &err) || analysis_run(t.trace, engines, n, o, NULL, a, &err))
        abort();
    text_trace_close(&t);
}

static enum verdict compare(const struct buf *narrow, const struct buf *wide, unsigned by,
                            bool cascade, struct buf *why)
{
    struct engine_options options = { .cascade = cascade, .sieve = cascade, .jobs = 1 };
    struct analysis a, b;
    enum verdict v;

    analyse(narrow->data, &options, &a);
    analyse(wide->data, &options, &b);
    v = compare_runs(&a, &b, by, cascade ? "in the cascade" : "alone", why);
    analysis_release(&a);
    analysis_release(&b);
    return v;
}

static enum verdict wide_accesses_are_like_narrow_ones(struct subject *s, struct buf *why)
{
    struct buf narrow = { 0 }, wide = { 0 };
    unsigned by = s->mem.count % 2 ? 24 : 61;
    enum verdict v = DOES_NOT_APPLY;

    if (scale(&s->text, 1, &narrow) && scale(&s->text, by, &wide))
        v = both(compare(&narrow, &wide, by, false, why), compare(&narrow, &wide, by, true, why));
    buf_release(&narrow);
    buf_release(&wide);
    return v;
}

const struct property properties_wide[] = {
    { "wide-accesses-are-like-narrow-ones", wide_accesses_are_like_narrow_ones, 4 },
    { NULL, NULL, 0 },
};
