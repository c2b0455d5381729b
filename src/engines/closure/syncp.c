/* syncp.c - sync-preserving races (Mathur, Pavlogiannis, Viswanathan, POPL 2021)
 *
 * A race that a correct reordering shows which keeps the order of the
 * critical sections it contains, and in which every read sees the write it
 * saw. Sound and complete for that class, and every race comes with its
 * reordering: the closure of the two pasts, in the order of the trace.
 *
 * Differences from the paper: shared sections, atomics, hard edges and
 * lifetimes as in docs/design/proof.md; all pairs of sites are found, not all
 * events that race with an earlier one; closures look at the locks held at
 * their frontier only (closure_set.c); and the clocks of accesses are kept
 * only for variables that can race, which is why memory stays small where the
 * authors' implementation runs out.
 *
 * Limits: a schedule needs the events in memory, so races beyond
 * whole_limit() stay `maybe`, as do those whose reads have no certain
 * writer because the order of accesses is not exact.
 */
#include "engines/closure/syncp.h"
#include "engines/effort.h"
#include "engines/whole.h"
#include "engines/whole_show.h"
#include "base/alloc.h"

#include <stdlib.h>

struct syncp {
    struct engine_result *result;
    struct suspicion *suspicion; /* NULL after finish */
    struct suspects suspects;
};

/* Accesses of one cluster at one site that the first round keeps. Racing sites need one or two;
 * (10 M events, 900 racy variables: 64 to 4,096 make no difference). */
enum { FIRST_ROUND = 256 };

/* What decide() works on. */
struct deciding {
    struct syncp *s;
    struct whole *whole;
    struct search_result found;
    struct rounds rounds;
    uint64_t records, sections, nrounds;
    uint64_t held; /* events of all schedules that wait to be shown */
};

static void *syncp_open(struct engine_result *result, const struct engine_options *options)
{
    struct syncp *s = xcalloc(1, sizeof(*s));

    (void)options;
    s->result = result;
    s->suspicion = suspicion_new();
    return s;
}

static void syncp_steps(void *state, const struct span *span)
{
    suspicion_steps(((struct syncp *)state)->suspicion, span);
}

static void syncp_finish(void *state)
{
    struct syncp *s = state;

    s->suspects = suspicion_finish(s->suspicion);
    suspicion_free(s->suspicion);
    s->suspicion = NULL;
    engine_count(s->result, "accesses", s->suspects.accesses);
    engine_count(s->result, "suspect_variables", s->suspects.count);
    s->result->no_suspects = !s->suspects.count;
}

const struct suspects *syncp_suspects(const void *state)
{
    return &((const struct syncp *)state)->suspects;
}

static void syncp_close(void *state)
{
    struct syncp *s = state;

    suspicion_free(s->suspicion);
    free(s->suspects.bits);
    free(s);
}

/* ---- schedules ---- */

/* The closure of both pasts and the two accesses. */
static void make_schedule(struct closure_set *x, struct find *f)
{
    uint64_t n;

    closure_set_clear(x);
    closure_set_add(x, &f->a.past);
    closure_set_add(x, &f->b.past);
    n = closure_set_count(x);
    f->schedule = xmalloc((n + 2) * sizeof(*f->schedule));
    closure_set_list(x, f->schedule);
    f->schedule[n] = f->a.past.position;
    f->schedule[n + 1] = f->b.past.position;
    f->length = n + 2;
}

/* Hold it until all finds are known and in order; what is too much for that is checked at once. */
static int hold(struct deciding *d, struct find *f, struct error *err)
{
    struct error why;

    if (d->held + f->length <= WITNESS_HELD_MAX) {
        d->held += f->length;
        return 0;
    }
    if (!whole_events(d->whole, err))
        return -1;
    f->shown = whole_try(d->whole, f->schedule, f->length, &f->with_calls, &why) == 1;
    f->schedule = NULL;
    return 0;
}

/* For the finds of this round, while there are clocks. */
static int make_schedules(struct deciding *d, const struct collection *c, size_t from,
                          struct error *err)
{
    struct closure_set *x = closure_set_new(c->closure);
    int r = 0;

    for (size_t i = from; i < d->found.count && r == 0; i++) {
        struct find *f = &d->found.finds[i];

        if (f->b.past.position >= whole_limit(d->whole))
            continue; /* its turn comes later (long.h) */
        if (whole_poll(d->whole) || !whole_has_room(d->whole)) {
            whole_skip(d->whole);
            continue;
        }
        make_schedule(x, f);
        r = hold(d, f, err);
    }
    closure_set_free(x);
    return r;
}

/* ---- deciding ---- */

static int compare_finds(const void *a, const void *b)
{
    const struct find *x = a, *y = b;

    if (x->b.past.position != y->b.past.position)
        return x->b.past.position < y->b.past.position ? -1 : 1;
    return x->a.past.position < y->a.past.position ? -1 : 1;
}

static void sort_finds(struct deciding *d, size_t from)
{
    if (d->found.count > from)
        qsort(d->found.finds + from, d->found.count - from, sizeof(*d->found.finds), compare_finds);
}

/* 0, 1 when stopped, -1 and an error. */
static int round_of(struct deciding *d, const struct suspects *lives, uint32_t site_max,
                    struct error *err)
{
    bool first = !d->nrounds++;
    size_t known = d->found.count;
    struct collection c;
    int r = collection_make(&c, lives, site_max, d->whole, err);

    if (r == 0) {
        syncp_search(&c, d->whole, &d->found);
        sort_finds(d, known); /* threads found them in any order */
        if (whole_can_show(d->whole))
            r = make_schedules(d, &c, known, err);
        if (first)
            rounds_note(&d->rounds, &c);
        for (size_t i = 0; !first && i < c.nlives; i++)
            d->found.undecided += c.lives[i].open;
        d->records += c.records;
        d->sections = closure_sections(c.closure);
    }
    collection_release(&c);
    return r;
}

static int all_rounds(struct deciding *d, struct error *err)
{
    struct suspects lives;
    int r = round_of(d, &d->s->suspects, FIRST_ROUND, err);

    while (r == 0 && rounds_next(&d->rounds, &lives)) {
        r = round_of(d, &lives, UINT32_MAX, err);
        free(lives.bits);
    }
    return r;
}

/* Finds become races, in the same order. */
static void syncp_report(struct deciding *d)
{
    struct engine_result *result = d->s->result;

    sort_finds(d, 0);
    for (size_t i = 0; i < d->found.count; i++) {
        const struct find *f = &d->found.finds[i];

        race_table_add(&result->races, (struct access){ f->a.past.position, f->a.site },
                       (struct access){ f->b.past.position, f->b.site }, STRENGTH_MAYBE);
    }
}

static int show_races(struct deciding *d, struct error *err)
{
    struct race_table *races = &d->s->result->races;
    struct error why;

    if (d->held && !whole_events(d->whole, err))
        return -1;
    for (size_t i = 0; i < d->found.count && i < races->count; i++) {
        struct find *f = &d->found.finds[i];

        if (f->shown) {
            whole_note(d->whole, &races->races[i], f->length);
            races->races[i].holds_with_calls = f->with_calls;
        }
        if (!f->schedule)
            continue;
        whole_stop(d->whole, 0.9 + 0.1 * (double)i / (double)d->found.count); /* only to tell */
        whole_show(d->whole, &races->races[i], f->schedule, f->length, &why);
        f->schedule = NULL;
    }
    return 0;
}

static void syncp_count_up(const struct deciding *d)
{
    struct engine_result *result = d->s->result;

    engine_count(result, "kept_accesses", d->records);
    engine_count(result, "sections", d->sections);
    engine_count(result, "closures", d->found.steps);
    if (d->nrounds > 1)
        engine_count(result, "rounds", d->nrounds);
    engine_leave(result, "lists_undecided", d->found.undecided);
}

static int syncp_decide(void *state, struct whole *w, struct error *err)
{
    struct syncp *s = state;
    struct deciding d = { .s = s, .whole = w };
    int r;

    if (!s->suspects.count)
        return 0;
    r = all_rounds(&d, err);
    syncp_report(&d);
    if (r == 0)
        r = show_races(&d, err);
    syncp_count_up(&d);
    engine_leave(s->result, "stopped", r > 0 && !whole_was_interrupted(w));
    search_result_release(&d.found);
    rounds_release(&d.rounds);
    return r < 0 ? -1 : 0;
}

const struct engine engine_syncp = {
    .name = "syncp",
    .summary = "races of reorderings that keep the order of critical sections",
    .proves = STRENGTH_MAYBE,
    .predicts = true,
    .open = syncp_open,
    .steps = syncp_steps,
    .finish = syncp_finish,
    .decide = syncp_decide,
    .close = syncp_close,
};
