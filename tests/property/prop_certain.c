/* prop_certain.c - certain reads keep their writers, however plain accesses were misplaced
 *
 * A recorder that stamps plain accesses with a coarse clock may swap two of
 * them that nothing orders. Here accesses of the trace are swapped at random
 * within what synchronisation allows; a read that certain.c trusts in the
 * misplaced trace must have had the very same writers in the true one.
 */
#include "properties.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engines/certain.h"
#include "rng.h"
#include "text_trace.h"
#include "trace/text/event_text.h"

static bool is_plain(const struct event *e)
{
    return e->op == OP_READ || e->op == OP_WRITE;
}

/* Swap neighbours that are plain accesses of different threads; was[] says where an event was. */
static void misplace(const struct trace_mem *m, uint64_t seed, size_t *was)
{
    struct rng rng;

    rng_init(&rng, seed);
    for (size_t i = 0; i < m->count; i++)
        was[i] = i;
    for (size_t n = 0; m->count > 1 && n < 8 * m->count; n++) {
        size_t i = rng_below(&rng, (uint32_t)m->count - 1), x = was[i], y = was[i + 1];

        if (!is_plain(&m->events[x]) || !is_plain(&m->events[y]) ||
            m->events[x].thread == m->events[y].thread)
            continue;
        was[i] = y;
        was[i + 1] = x;
    }
}

static struct trace *open_misplaced(struct subject *s, const size_t *was, struct error *err)
{
    struct buf text = { 0 };
    struct trace *t;
    char path[256];

    for (size_t i = 0; i < s->mem.count; i++)
        text_event(&text, &s->mem.events[was[i]], s->mem.extra, trace_tables(s->trace));
    scratch_path(path, sizeof(path), ".std");
    scratch_write(path, text.data, text.len);
    t = trace_open(path, err);
    unlink(path);
    buf_release(&text);
    return t;
}

/* The writers of every certain read, by position in the true trace, are those of `truth`. */
static enum verdict compare(const struct certain *c, const struct trace_mem *misplaced,
                            const size_t *was, const struct relation *truth, struct buf *why)
{
    enum verdict v = HOLDS;
    struct relation from;

    relation_init(&from, misplaced->count);
    naive_reads_from(misplaced, &from);
    for (size_t r = 0; r < misplaced->count && v == HOLDS; r++) {
        if (!op_table[misplaced->events[r].op].reads || !certain_is(c, r))
            continue;
        for (size_t w = 0; w < misplaced->count && v == HOLDS; w++) {
            if (relation_has(&from, w, r) == relation_has(truth, was[w], was[r]))
                continue;
            buf_addf(why, "read %zu counts as certain, and its writers changed at %zu", was[r],
                     was[w]);
            v = VIOLATED;
        }
    }
    relation_release(&from);
    return v;
}

static enum verdict certain_reads_keep_their_writers(struct subject *s, struct buf *why)
{
    size_t *was = calloc(s->mem.count, sizeof(*was));
    struct error err = { "" };
    struct trace_mem misplaced;
    struct relation truth;
    struct certain *c;
    struct trace *t;
    enum verdict v;

    misplace(&s->mem, s->text.len, was);
    t = open_misplaced(s, was, &err);
    if (!t || trace_load(t, 1 << 16, &misplaced, &err) ||
        !(c = certain_new(t, misplaced.count, &err))) {
        buf_addf(why, "the misplaced trace cannot be read: %s", err.text);
        return VIOLATED;
    }
    relation_init(&truth, s->mem.count);
    naive_reads_from(&s->mem, &truth);
    v = compare(c, &misplaced, was, &truth, why);
    relation_release(&truth);
    certain_free(c);
    trace_mem_release(&misplaced);
    trace_close(t);
    free(was);
    return v;
}

/* A recording whose plain accesses are misplaced, in parts: whatever gets a schedule there is
 * possible in the true trace. */
static enum verdict shown_races_are_true(struct subject *s, struct trace *t, const size_t *was,
                                         struct buf *why)
{
    const struct engine *const engines[] = { &engine_mc };
    struct engine_options options = { .part = 4 + s->mem.count % 7, .jobs = 1 };
    enum verdict v = HOLDS;
    struct error err = { "" };
    struct analysis a;

    if (analysis_run(t, engines, 1, &options, NULL, &a, &err)) {
        buf_addf(why, "the misplaced trace cannot be analysed: %s", err.text);
        return VIOLATED;
    }
    for (size_t i = 0; i < a.runs[0].result.races.count && v == HOLDS; i++) {
        const struct race *r = &a.runs[0].result.races.races[i];
        size_t x = was[r->first.position], y = was[r->second.position];

        if (r->strength > STRENGTH_WITNESSED || pair_set_has(&s->oracle.pairs, x, y))
            continue;
        buf_addf(why, "misplaced, in parts of %zu, after %zu: events %zu and %zu cannot race",
                 (size_t)options.part, (size_t)r->after, x, y);
        v = VIOLATED;
    }
    analysis_release(&a);
    return v;
}

static enum verdict parts_of_recordings_hold(struct subject *s, struct buf *why)
{
    size_t *was = calloc(s->mem.count + 1, sizeof(*was));
    struct error err = { "" };
    enum verdict v = DOES_NOT_APPLY;
    struct trace *t;

    if (!s->oracle.complete || s->info->calls || s->mem.count < 6)
        goto out;
    misplace(&s->mem, s->text.len, was);
    t = open_misplaced(s, was, &err);
    if (t) { /* a text is exact unless told otherwise */
        ((struct trace_info *)(uintptr_t)trace_info(t))->order = TRACE_SYNC_EXACT;
        v = shown_races_are_true(s, t, was, why);
        trace_close(t);
    }
out:
    free(was);
    return v;
}

const struct property properties_certain[] = {
    { "parts-of-recordings-hold", parts_of_recordings_hold, 2 },
    { "certain-reads-keep-their-writers", certain_reads_keep_their_writers, 1 },
    { NULL, NULL, 0 },
};
