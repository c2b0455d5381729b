/* vindicate.c - schedules for races that come without one
 *
 * The race table keeps the first and the last instance of each pair of sites;
 * these are decided. Races are taken in batches: the prover answers on all
 * threads, then the schedules go to the checker in the order of the table, so
 * the result does not depend on the threads.
 *
 * In a part of a long trace (whole_parts.h) only instances that are new there are
 * decided, and nothing is proven impossible: all before stays as recorded.
 *
 * In the cascade a race all of whose instances are proven impossible (there
 * are no others than those two) is left out: other engines look for what is
 * possible.
 */
#include "engines/predict/vindicate.h"
#include "base/alloc.h"
#include "engines/predict/prove.h"
#include "engines/effort.h"
#include "engines/whole.h"
#include "engines/whole_parts.h"
#include "engines/whole_show.h"

#include <stdlib.h>

struct vindication {
    struct whole *whole;
    struct race_table *table;
    const struct event *trace;
    struct prover *prover;
    struct race **races;             /* of the batch */
    struct instance (*instances)[2]; /* first and last one */
    struct question *questions;
    size_t count;
    bool *refuted; /* race of the table -> impossible */
    bool over;     /* no more schedules */
    uint64_t vindicated, infeasible, undecided, over_budget;
};

/* ---- a batch ---- */

static void put_question(struct vindication *v, struct race *r)
{
    size_t i = v->count, n = race_instances(r, v->whole, v->instances[i]);

    if (!n)
        return;
    v->races[i] = r;
    v->questions[i] = (struct question){ .instances = v->instances[i], .ninstances = n };
    v->count++;
}

/* Another instance stands for the race from now on. */
static void vindicate_show(struct vindication *v, struct race *r, struct question *q)
{
    struct error why;
    uint64_t first = q->feasible.first, second = q->feasible.second;

    if (whole_show(v->whole, r, q->list, q->count, &why) != 1)
        return;
    v->vindicated++;
    if (whole_position(v->whole, first) != r->first.position ||
        whole_position(v->whole, second) != r->second.position) {
        r->first = (struct access){ whole_position(v->whole, first), v->trace[first].site };
        r->second = (struct access){ whole_position(v->whole, second), v->trace[second].site };
    }
}

static void use_answer(struct vindication *v, struct race *r, struct question *q)
{
    if (v->over || q->skipped ||
        !whole_has_room(v->whole)) { /* as if it had not been asked, whatever the batch is */
        free(q->list);
        v->over_budget++;
        return;
    }
    switch (q->answer) {
    case PREDICT_FEASIBLE:
        vindicate_show(v, r, q);
        break;
    case PREDICT_INFEASIBLE:
        v->infeasible++;
        v->refuted[r - v->table->races] = r->count <= q->ninstances && !whole_in_part(v->whole);
        break;
    case PREDICT_UNDECIDED:
    case PREDICT_TOO_LONG: /* nobody limits it */
        v->undecided++;
        break;
    }
}

static void vindicate_run_batch(struct vindication *v)
{
    size_t i = 0;

    while (i < v->count) {
        size_t end = i + prover_answer(v->prover, v->questions + i, v->count - i);

        for (; i < end; i++)
            use_answer(v, v->races[i], &v->questions[i]);
    }
    v->count = 0;
}

/* ---- all races ---- */

/* Is there something to do for the race? */
static bool wants_schedule(struct vindication *v, const struct race *r)
{
    if (r->strength <= STRENGTH_WITNESSED ||
        whole_is_shown(v->whole, r->first.site, r->second.site))
        return false;
    if (!v->over && whole_has_room(v->whole))
        return true;
    v->over_budget++;
    return false;
}

static void try_races(struct vindication *v)
{
    struct race_table *races = v->table;
    size_t most = prover_batch(v->prover);

    v->refuted = xcalloc(races->count + 1, sizeof(*v->refuted));
    v->races = xcalloc(most, sizeof(struct race *));
    v->instances = xcalloc(most, sizeof(*v->instances));
    v->questions = xcalloc(most, sizeof(*v->questions));
    for (size_t i = 0; i < races->count; i++) {
        if (wants_schedule(v, &races->races[i]))
            put_question(v, &races->races[i]);
        if (v->count < most)
            continue;
        vindicate_run_batch(v);
        if (whole_stop(v->whole, (double)i / (double)races->count))
            v->over = true;
    }
    vindicate_run_batch(v);
    free(v->races);
    free(v->instances);
    free(v->questions);
}

static bool is_possible(void *arg, const struct race *r)
{
    const struct vindication *v = arg;

    return !v->refuted[r - v->table->races];
}

static void vindicate_count_up(const struct vindication *v, struct engine_result *result)
{
    bool exact = whole_info(v->whole)->order == TRACE_EXACT;

    engine_count(result, "vindicated", v->vindicated);
    if (v->infeasible && whole_in_part(v->whole)) /* what came before stays as recorded */
        engine_count(result, "infeasible_in_part", v->infeasible);
    else if (v->infeasible) /* proven only as far as the recorded order is right */
        engine_count(result, exact ? "infeasible" : "infeasible_as_recorded", v->infeasible);
    engine_leave(result, "undecided", v->undecided);
    engine_leave(result, "witness_over_budget", v->over_budget);
    if (prover_stats(v->prover).by_backend)
        engine_count(result, "by_z3", prover_stats(v->prover).by_backend);
}

static bool has_work(const struct race_table *races)
{
    for (size_t i = 0; i < races->count; i++)
        if (races->races[i].strength > STRENGTH_WITNESSED)
            return true;
    return false;
}

static void vindicate_run(struct vindication *v)
{
    bool exact = whole_info(v->whole)->order == TRACE_EXACT;

    try_races(v);
    if (whole_options(v->whole)->cascade && exact && v->infeasible)
        race_table_keep(v->table, is_possible, v);
    free(v->refuted);
}

int vindicate(struct whole *w, struct engine_result *result, struct error *err)
{
    struct vindication v = { .whole = w, .table = &result->races };

    if (!whole_can_show(w) || !has_work(&result->races))
        return 0;
    v.prover = prover_new(w, 0, 0, err);
    if (!v.prover)
        return -1;
    v.trace = whole_events(w, err)->events;
    vindicate_run(&v);
    vindicate_count_up(&v, result);
    prover_free(v.prover);
    return 0;
}
