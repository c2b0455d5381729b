/* prop_syncp.c - sync-preserving races against all sync-preserving reorderings
 *
 * Every event of a generated trace has a site of its own, so pairs of sites
 * are pairs of events; a second property gives the same trace a few sites
 * only, where the engine merges accesses and stops at the first instance.
 */
#include "properties.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engines/closure/closure.h"
#include "naive_syncp.h"
#include "order/memory.h"
#include "text_trace.h"
#include "trace/text/event_text.h"

enum { MAX_STATES = 300000, COARSE_SITES = 4 };

static enum verdict syncp_is_what_an_exhaustive_search_finds(struct subject *s, struct buf *why)
{
    const struct pair_set *found = subject_found(s, &engine_syncp);
    enum verdict v = DOES_NOT_APPLY;
    struct pair_set races;

    if (naive_syncp(&s->mem, MAX_STATES, &races))
        v = both(subset(found, &races, "is found by syncp, but no reordering shows it", why),
                 subset(&races, found, "is shown by a reordering, but not found by syncp", why));
    pair_set_release(&races);
    return v;
}

static enum verdict syncp_races_are_predictable(struct subject *s, struct buf *why)
{
    if (!s->exact || !s->oracle.complete)
        return DOES_NOT_APPLY;
    return subset(subject_found(s, &engine_syncp), &s->oracle.pairs,
                  "is a race of syncp but not predictable", why);
}

/* What shb orders before two accesses is closed: it keeps the order of sections. */
static enum verdict shb_races_are_sync_preserving(struct subject *s, struct buf *why)
{
    return subset(subject_found(s, &engine_shb), subject_found(s, &engine_syncp),
                  "is a race of shb but not of syncp", why);
}

static enum verdict syncp_races_have_witnesses(struct subject *s, struct buf *why)
{
    return races_have_witnesses(s, &engine_syncp, why);
}

/* ---- few sites ---- */

/* By thread, so that nearly all accesses of one merge, or by position. */
static uint32_t coarse_site(const struct subject *s, size_t position)
{
    if (s->mem.count % 2)
        return s->mem.events[position].thread % COARSE_SITES;
    return (uint32_t)(position * 7 % 11 % COARSE_SITES);
}

/* The trace with locations 1 .. COARSE_SITES. */
static void coarse_text(const struct subject *s, struct buf *text)
{
    struct buf line = { 0 };

    for (size_t i = 0; i < s->mem.count; i++) {
        line.len = 0;
        text_event(&line, &s->mem.events[i], s->mem.extra, trace_tables(s->trace));
        while (line.data[line.len - 1] != '|')
            line.len--;
        buf_add(text, line.data, line.len);
        buf_addf(text, "%u\n", coarse_site(s, i) + 1);
    }
    buf_release(&line);
}

/* Races as pairs of coarse sites. The positions of a race tell them. */
static void coarse_races(const struct subject *s, const struct race_table *races,
                         bool found[][COARSE_SITES])
{
    for (size_t i = 0; i < races->count; i++) {
        uint32_t a = coarse_site(s, races->races[i].first.position);
        uint32_t b = coarse_site(s, races->races[i].second.position);

        found[a][b] = found[b][a] = true;
    }
}

static bool analyse_coarse(const struct subject *s, unsigned jobs, bool found[][COARSE_SITES])
{
    static const struct engine *const engines[] = { &engine_syncp };
    struct engine_options options = { .jobs = jobs };
    struct error err = { "" };
    struct buf text = { 0 };
    struct analysis a;
    struct text_trace t;
    bool fine;

    coarse_text(s, &text);
    buf_addch(&text, '\0');
    text_trace_open(&t, text.data);
    fine = trace_rewind(t.trace, &err) == 0 &&
           analysis_run(t.trace, engines, 1, &options, NULL, &a, &err) == 0;
    if (fine) {
        coarse_races(s, &a.runs[0].result.races, found);
        analysis_release(&a);
    }
    text_trace_close(&t);
    buf_release(&text);
    return fine;
}

static enum verdict syncp_finds_all_pairs_of_sites(struct subject *s, struct buf *why)
{
    bool found[COARSE_SITES][COARSE_SITES] = { 0 }, want[COARSE_SITES][COARSE_SITES] = { 0 };

    coarse_races(s, &subject_result(s, &engine_syncp)->races, want);
    if (!analyse_coarse(s, 1 + (unsigned)(s->mem.count % 3), found)) {
        buf_addf(why, "the trace with few sites cannot be analysed");
        return VIOLATED;
    }
    for (size_t a = 0; a < COARSE_SITES; a++) {
        for (size_t b = a; b < COARSE_SITES; b++) {
            if (found[a][b] == want[a][b])
                continue;
            buf_addf(why, "with few sites, the pair (%zu, %zu) is %s", a + 1, b + 1,
                     want[a][b] ? "missing" : "no race");
            return VIOLATED;
        }
    }
    return HOLDS;
}

/* What the cascade leaves out because of that (analysis.c). A loose read may see any write, which
 * syncp knows nothing of. */
static enum verdict without_suspects_nothing_races(struct subject *s, struct buf *why)
{
    const struct oracle *o = subject_mc(s);

    if (!subject_result(s, &engine_syncp)->no_suspects || s->info->values || s->info->branches ||
        s->info->loose || !o->complete)
        return DOES_NOT_APPLY;
    if (!o->count)
        return HOLDS;
    buf_addf(why, "syncp suspects no variable, but there are races");
    return VIOLATED;
}

/* ---- closures ---- */

enum { PASTS = 64 };

/* The pasts of accesses and acquires, as deadlocks and races need them. */
struct pasts {
    struct closure *closure;
    struct closure_past of[PASTS];
    bool known[PASTS];
};

static void keep_past(void *arg, const struct step *s, const struct closure_past *past)
{
    struct pasts *p = arg;

    if (s->op == OP_SPLIT || p->known[s->position])
        return;
    closure_past_keep(p->closure, &p->of[s->position], past);
    p->known[s->position] = true;
}

static void feed_closure(struct subject *s, struct pasts *p)
{
    struct closure_hooks hooks = { .arg = p, .access = keep_past, .acquire = keep_past };
    struct batch b = { .events = s->mem.events, .count = s->mem.count, .extra = s->mem.extra };
    struct memory *m = memory_new();
    struct span span;

    p->closure = closure_new(true, PASTS, &hooks);
    memory_steps(m, &b, &span);
    closure_feed(p->closure, &b, &span);
    closure_seal(p->closure);
    memory_free(m);
}

/* The set as bits; checks that the list is in order and that its members know it. */
static bool set_as_bits(const struct closure_set *x, const struct pasts *p, uint64_t *bits)
{
    uint64_t n = closure_set_count(x), list[PASTS];
    bool fine = n <= PASTS;

    *bits = 0;
    if (fine)
        closure_set_list(x, list);
    for (uint64_t i = 0; fine && i < n; i++) {
        fine = !i || list[i - 1] < list[i];
        *bits |= 1ull << list[i];
    }
    for (size_t i = 0; fine && i < PASTS; i++)
        if (p->known[i])
            fine = closure_set_has(x, &p->of[i]) == (*bits >> i & 1);
    return fine;
}

static enum verdict compare_closure(struct subject *s, struct pasts *p, struct closure_set *x,
                                    const size_t *of, size_t n, struct buf *why)
{
    uint64_t want, got = 0;
    bool possible = naive_closure(&s->mem, of, n, &want), is_possible = true, fine;

    closure_set_clear(x);
    for (size_t i = 0; i < n; i++)
        is_possible = closure_set_add(x, &p->of[of[i]]);
    fine = possible == is_possible && (!possible || (set_as_bits(x, p, &got) && got == want));
    if (fine)
        return HOLDS;
    buf_addf(why, "the closure of %zu events from %zu on is %llx, not %llx", n, of[0],
             (unsigned long long)got, (unsigned long long)want);
    return VIOLATED;
}

/* Of one, two and three events that are far and near from each other. */
static enum verdict closures_are_the_least_closed_sets(struct subject *s, struct buf *why)
{
    struct pasts p = { 0 };
    struct closure_set *x;
    enum verdict v = HOLDS;

    if (s->mem.count > PASTS)
        return DOES_NOT_APPLY;
    feed_closure(s, &p);
    x = closure_set_new(p.closure);
    for (size_t a = 0; a < s->mem.count && v == HOLDS; a++) {
        for (size_t b = a; b < s->mem.count && v == HOLDS; b += 1 + a % 3) {
            size_t of[] = { a, b, (a * 5 + b * 3) % s->mem.count };

            if (p.known[of[0]] && p.known[of[1]])
                v = compare_closure(s, &p, x, of, p.known[of[2]] ? 3 : 2, why);
        }
    }
    closure_set_free(x);
    closure_free(p.closure);
    return v;
}

const struct property properties_syncp[] = {
    { "syncp-is-what-an-exhaustive-search-finds", syncp_is_what_an_exhaustive_search_finds, 1 },
    { "without-suspects-nothing-races", without_suspects_nothing_races, 1 },
    { "closures-are-the-least-closed-sets", closures_are_the_least_closed_sets, 4 },
    { "syncp-races-are-predictable", syncp_races_are_predictable, 1 },
    { "shb-races-are-sync-preserving", shb_races_are_sync_preserving, 1 },
    { "syncp-races-have-witnesses", syncp_races_have_witnesses, 1 },
    { "syncp-finds-all-pairs-of-sites", syncp_finds_all_pairs_of_sites, 2 },
    { NULL, NULL, 0 },
};
