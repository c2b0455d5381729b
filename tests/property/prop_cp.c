/* prop_cp.c - cp against its definition, and its theorem */
#include "properties.h"

#include <stdlib.h>

#include "gen.h"
#include "naive_cp.h"
#include "naive_deadlock.h"
#include "text_trace.h"

/* The engine alone, with options. */
static void run_cp(struct trace *t, size_t events, const struct engine_options *options,
                   struct pair_set *found)
{
    const struct engine *engine = &engine_cp;
    struct analysis a;
    struct error err = { "" };

    if (trace_rewind(t, &err) || analysis_run(t, &engine, 1, options, NULL, &a, &err))
        abort();
    pair_set_init(found, events);
    for (size_t i = 0; i < a.runs[0].result.races.count; i++) {
        const struct race *r = &a.runs[0].result.races.races[i];

        pair_set_add(found, r->first.position, r->second.position);
    }
    analysis_release(&a);
}

static enum verdict same(const struct pair_set *found, const struct pair_set *want, struct buf *why)
{
    return both(subset(found, want, "is found by cp and not by the definition", why),
                subset(want, found, "is a race by the definition and not found by cp", why));
}

/* The engine against the definition, in one mode. */
static enum verdict compare(struct trace *t, const struct trace_mem *m,
                            const struct engine_options *options, struct buf *why)
{
    struct pair_set found, want;
    enum verdict v;

    run_cp(t, m->count, options, &found);
    if (options->all)
        naive_cp_all(m, options->window, &want);
    else
        naive_cp_sound(m, options->window, &want);
    v = same(&found, &want, why);
    pair_set_release(&found);
    pair_set_release(&want);
    return v;
}

static enum verdict cp_all_is_the_definition(struct subject *s, struct buf *why)
{
    struct engine_options options = { .all = true };

    return compare(s->trace, &s->mem, &options, why);
}

static enum verdict cp_sound_is_the_definition(struct subject *s, struct buf *why)
{
    struct engine_options options = { .all = false };

    return compare(s->trace, &s->mem, &options, why);
}

/* Windows of every size from 1 to 8, and in either mode. */
static enum verdict cp_window_is_the_definition(struct subject *s, struct buf *why)
{
    struct engine_options options = { .window = 1 + s->text.len % 8, .all = s->text.len & 8 };

    return compare(s->trace, &s->mem, &options, why);
}

static enum verdict hb_races_are_cp_races(struct subject *s, struct buf *why)
{
    struct engine_options options = { .all = true };
    struct pair_set found;
    enum verdict v;

    run_cp(s->trace, s->mem.count, &options, &found);
    v = subset(&s->hb_unordered, &found, "is unordered by hb and ordered by cp", why);
    pair_set_release(&found);
    return v;
}

/* ---- longer traces, of sections: rule (b) needs room ---- */

static uint64_t seed_of(const struct buf *text)
{
    uint64_t h = 14695981039346656037u;

    for (size_t i = 0; i < text->len; i++)
        h = (h ^ (uint8_t)text->data[i]) * 1099511628211u;
    return h;
}

/* The trace that belongs to a seed, as text. */
static void make_sections(uint64_t seed, struct buf *text)
{
    struct gen_small_options options;
    struct gen_trace g;

    gen_small_sections(&options, seed, 30 + (uint32_t)(seed % 40));
    gen_small(&options, &g);
    gen_trace_text(&g, text);
    gen_trace_release(&g);
    buf_addch(text, '\0');
}

static enum verdict cp_is_the_definition_among_sections(struct subject *s, struct buf *why)
{
    uint64_t seed = seed_of(&s->text);
    struct engine_options options = { .all = seed & 1, .window = seed & 14 ? 0 : 1 + seed % 30 };
    struct buf text = { 0 };
    struct text_trace t;
    enum verdict v;

    make_sections(seed, &text);
    text_trace_open(&t, text.data);
    v = compare(t.trace, &t.mem, &options, why);
    if (v == VIOLATED)
        buf_addf(why, " (all %d, window %d) in\n%s", options.all, (int)options.window, text.data);
    text_trace_close(&t);
    buf_release(&text);
    return v;
}

static enum verdict cp_sound_has_the_first_race_of_all(struct subject *s, struct buf *why)
{
    struct engine_options sound = { 0 }, all = { .all = true };
    struct pair_set few, many;
    enum verdict v;
    size_t a, b;

    run_cp(s->trace, s->mem.count, &sound, &few);
    run_cp(s->trace, s->mem.count, &all, &many);
    v = subset(&few, &many, "is found in sound mode only", why);
    if (first_race(&many, &a, &b) && !pair_set_has(&few, a, b)) {
        buf_addf(why, "(%zu, %zu) is the first race and missing in sound mode", a, b);
        v = VIOLATED;
    }
    pair_set_release(&few);
    pair_set_release(&many);
    return v;
}

/* ---- the theorem: the first race is possible, or a deadlock is ---- */

static enum verdict the_first_cp_race_is_predictable_or_a_deadlock(struct subject *s,
                                                                   struct buf *why)
{
    struct pair_set found;
    struct relation cp;
    enum verdict v = DOES_NOT_APPLY;
    size_t a, b;

    if (!s->exact || !s->oracle.complete)
        return v;
    naive_cp_all(&s->mem, 0, &found);
    naive_cp(&s->mem, 0, &cp);
    if (first_race(&found, &a, &b) && is_ordinary(s, &cp, b)) {
        v = pair_set_has(&s->oracle.pairs, a, b) || can_deadlock(s) ? HOLDS : VIOLATED;
        if (v == VIOLATED)
            buf_addf(why,
                     "(%zu, %zu) is the first race of cp, neither it nor a deadlock is predictable",
                     a, b);
    }
    relation_release(&cp);
    pair_set_release(&found);
    return v;
}

const struct property properties_cp[] = {
    { "cp-all-is-the-definition", cp_all_is_the_definition, 1 },
    { "cp-sound-is-the-definition", cp_sound_is_the_definition, 1 },
    { "cp-window-is-the-definition", cp_window_is_the_definition, 2 },
    { "cp-is-the-definition-among-sections", cp_is_the_definition_among_sections, 10 },
    { "hb-races-are-cp-races", hb_races_are_cp_races, 2 },
    { "cp-sound-has-the-first-race-of-all", cp_sound_has_the_first_race_of_all, 2 },
    { "the-first-cp-race-is-predictable-or-a-deadlock",
      the_first_cp_race_is_predictable_or_a_deadlock, 1 },
    { NULL, NULL, 0 },
};
