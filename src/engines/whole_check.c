/* whole_check.c - schedules, put to the independent checker
 *
 * The checker decides; what is counted here is what became of schedules. In a
 * part of a long trace (trace/parts.h) a schedule begins with the events that
 * stand for all before it.
 */
#include "engines/whole_inside.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "engines/certain.h"
#include "engines/effort.h"
#include "engines/whole_code.h"
#include "engines/whole_parts.h"
#include "engines/whole_run.h"
#include "engines/whole_show.h"
#include "execution/execution.h"
#include "witness/witness.h"

#include <stdlib.h>
#include <string.h>

/* Does a read contradict the last write to its word, a plain match of address and size? */
static bool contradicts(const struct trace_mem *trace, const struct event *e, const uint32_t *last)
{
    const struct event *w = last && *last ? &trace->events[*last - 1] : NULL;
    uint64_t value;

    if (!op_table[e->op].reads || !event_saw(e, &value))
        return false;
    if (!w)
        return is_named(e->target) && value != 0;
    return w->target == e->target && w->size == e->size && w->flags & EV_VALUE && w->value != value;
}

/* Some recorded value is not what the recorded order says: then no schedule in that order need
 * be right. */
static bool values_contradict_order(const struct trace_mem *trace)
{
    struct map last = { 0 }; /* word -> last write + 1 */
    bool found = false;

    for (size_t i = 0; i < trace->count && !found; i++) {
        const struct event *e = &trace->events[i];
        uint64_t bytes = op_is_access(e->op) ? e->size : e->value;

        if (!op_is_access(e->op) && e->op != OP_ALLOC && e->op != OP_FREE)
            continue;
        found = op_is_access(e->op) && contradicts(trace, e, map_get(&last, e->target / 8));
        if (!op_table[e->op].writes && e->op != OP_ALLOC)
            continue;
        for (uint64_t w = e->target / 8; w <= (e->target + bytes - 1) / 8 && bytes; w++)
            *map_put(&last, w, 0) = (uint32_t)i + 1;
    }
    map_release(&last);
    return found;
}

static void forget_long(struct whole *w, struct race_table *races);

void whole_end(struct whole *w, struct engine_result *result)
{
    if (w->holds)
        forget_long(w, &result->races);
    if (w->accepted)
        engine_count(result, "witnessed", w->accepted);
    if (w->uncertain)
        engine_count(result, "witness_uncertain", w->uncertain);
    if (w->not_kept)
        engine_count(result, "witness_not_kept", w->not_kept);
    engine_leave(result, "witness_over_budget", w->over_budget);
    if (w->refused)
        engine_count(result,
                     values_contradict_order(&w->events) ? "witness_contradicted"
                                                         : "witness_refused",
                     w->refused);
}

/* The last two, which race, need not see what they saw. Where not the whole trace is there, even a
 * recorded value may be that of another write: before the part, and not the last there, or behind
 * it, though it came before. */
static bool reads_are_known(const struct whole *w, const uint64_t *order, size_t n,
                            struct error *err)
{
    bool long_trace = whole_has_parts(w);
    uint64_t saw;

    if (w->part && !w->clean) {
        error_set(err, "what came before the part is not known for sure");
        return false;
    }
    for (size_t i = 0; w->certain && i + 2 < n; i++) {
        const struct event *e = &w->events.events[order[i]];

        if (op_table[e->op].reads && order[i] >= whole_base(w) &&
            (long_trace || !event_saw(e, &saw)) &&
            !certain_is(w->certain, whole_position(w, order[i]))) {
            error_set(err, "event %llu: which write it read is not known for sure",
                      (unsigned long long)whole_position(w, order[i]));
            return false;
        }
    }
    return true;
}

static int whole_check_ask(const struct whole *w, const uint64_t *order, size_t n, size_t requests,
                           struct error *err)
{
    return requests ? witness_check_deadlock(w->checker, order, n, requests, err)
                    : witness_check(w->checker, order, n, err);
}

/* The same rule in the checker's words. */
static enum witness_calls calls_rule(enum call_rule b)
{
    static const enum witness_calls rules[] = { [CALL_RULE_NONE] = CALLS_IGNORED,
                                                [CALL_RULE_UNSEEN] = CALLS_UNSEEN,
                                                [CALL_RULE_PAIRS] = CALLS_PAIRS,
                                                [CALL_RULE_SIMPLE] = CALLS_SIMPLE };

    return rules[b];
}

/* Was the schedule refused only because accesses may be missing in the recording? */
static bool lacks_repetitions(struct whole *w, const uint64_t *order, size_t n, size_t requests)
{
    struct error unused;
    bool accepted;

    if (!witness_trace_set_quiet(w->checker, false))
        return false;
    accepted = whole_check_ask(w, order, n, requests, &unused) == 1;
    witness_trace_set_quiet(w->checker, true);
    return accepted;
}

/* The checker, ready for a schedule; false: what that read is not known for sure. */
static bool can_check(struct whole *w, const uint64_t *order, size_t n, struct error *err)
{
    if (!reads_are_known(w, order, n, err)) {
        w->uncertain++;
        return false;
    }
    if (!w->checker)
        w->checker = witness_trace_new(&w->events, &w->info);
    witness_trace_set_calls(w->checker, calls_rule(w->engine->call_rule), trace_tables(w->trace));
    return true;
}

/* With the lock held. A race, or a deadlock of so many requests; -1: not known for sure. */
static int check_in_whole(struct whole *w, const uint64_t *order, size_t n, size_t requests,
                          struct error *err)
{
    int verdict;

    if (!can_check(w, order, n, err))
        return -1;
    verdict = whole_check_ask(w, order, n, requests, err);
    if (verdict != 1 && lacks_repetitions(w, order, n, requests)) {
        w->uncertain++;
        return -1;
    }
    w->accepted += verdict == 1;
    w->refused += verdict != 1;
    return verdict;
}

/* A part's schedule with what stands for all before it. */
static int check_after(struct whole *w, const uint64_t *order, size_t n, struct error *err)
{
    size_t kept = w->part->kept;
    uint64_t *all = xcalloc(kept + n + 1, sizeof(*all));
    int verdict;

    for (size_t i = 0; i < kept; i++)
        all[i] = i;
    memcpy(all + kept, order, n * sizeof(*order));
    verdict = check_in_whole(w, all, kept + n, 0, err);
    free(all);
    return verdict;
}

int whole_check(struct whole *w, const uint64_t *order, size_t n, struct error *err)
{
    int verdict;

    pthread_mutex_lock(&w->checking);
    verdict = w->part ? check_after(w, order, n, err) : check_in_whole(w, order, n, 0, err);
    pthread_mutex_unlock(&w->checking);
    return verdict == 1;
}

bool whole_holds_with_calls(struct whole *w, const uint64_t *order, size_t n)
{
    uint64_t accepted = w->accepted, refused = w->refused, uncertain = w->uncertain;
    const struct engine *engine = w->engine;
    struct error why;
    bool holds;

    w->engine = &engine_rdit; /* whose rule it is */
    holds = whole_check(w, order, n, &why) == 1;
    w->engine = engine;
    w->accepted = accepted;
    w->refused = refused;
    w->uncertain = uncertain;
    return holds;
}

/* ---- schedules to keep ---- */

bool whole_has_room(const struct whole *w)
{
    return w->checked < WITNESS_CHECKED_MAX && w->checked < w->allowance / UNITS_A_STEP;
}

void whole_skip(struct whole *w)
{
    w->over_budget++;
}

void whole_hold(struct whole *w)
{
    w->holds = true;
}

/* Is a schedule that long only checked, not kept? */
static bool is_long(const struct whole *w, size_t n)
{
    const struct engine_options *o = w->options;

    return o->no_witness || w->kept >= WITNESS_EVENTS_MAX || (o->max_witness && n > o->max_witness);
}

/* The same, as long as somebody wants to see it. */
static bool is_to_go(struct whole *w, size_t n)
{
    if (!w->holds)
        return is_long(w, n);
    w->held += n;
    return w->held > WITNESS_HELD_MAX;
}

/* What the race had before is replaced. */
static void note_shown(struct whole *w, struct race *r, size_t n)
{
    free(r->witness);
    free(r->changes);
    r->witness = NULL;
    r->changes = NULL;
    r->nwitness = r->nchanges = 0;
    r->strength = STRENGTH_WITNESSED;
    r->after = w->part ? w->part->first : 0;
    r->part = w->part ? w->part->mem.count - w->part->kept : 0;
    r->long_witness = n;
    r->by_values = r->holds_with_calls = false;
}

void whole_note(struct whole *w, struct race *r, size_t n)
{
    note_shown(w, r, n);
    w->not_kept++;
}

/* A schedule says nothing of a race that it does not end with. */
static bool ends_with_race(const struct race *r, const uint64_t *list, size_t n)
{
    uint64_t first = r->first.position, second = r->second.position;

    return n >= 2 && ((list[n - 2] == first && list[n - 1] == second) ||
                      (list[n - 2] == second && list[n - 1] == first));
}

/* In positions of the trace. */
static void keep_list(struct whole *w, struct race *r, uint64_t *list, size_t n)
{
    for (size_t i = 0; w->part && i < n; i++)
        list[i] = whole_position(w, list[i]);
    invariant(r->nflips || ends_with_race(r, list, n));
    note_shown(w, r, 0);
    r->witness = list;
    r->nwitness = n;
    w->kept += n;
}

/* Those that were only held. */
static void forget_long(struct whole *w, struct race_table *races)
{
    w->kept = 0;
    for (size_t i = 0; i < races->count; i++) {
        struct race *r = &races->races[i];

        if (!r->witness)
            continue;
        if (is_long(w, r->nwitness))
            whole_note(w, r, r->nwitness);
        else
            w->kept += r->nwitness;
    }
}

/* The judge of calls (judge.h) cannot look at a schedule that is gone. */
static bool is_judged_later(const struct whole *w)
{
    return w->options->cascade && trace_info(w->trace)->calls &&
           w->engine->call_rule < CALL_RULE_PAIRS;
}

int whole_check_deadlock(struct whole *w, const uint64_t *order, size_t n, size_t requests,
                         struct error *err)
{
    int verdict;

    pthread_mutex_lock(&w->checking);
    verdict = check_in_whole(w, order, n, requests, err);
    pthread_mutex_unlock(&w->checking);
    return verdict;
}

int whole_try(struct whole *w, uint64_t *list, size_t n, bool *with_calls, struct error *err)
{
    int verdict = whole_check(w, list, n, err);

    w->checked += n;
    *with_calls = verdict == 1 && is_judged_later(w) && whole_holds_with_calls(w, list, n);
    free(list);
    return verdict;
}

static int show_and_forget(struct whole *w, struct race *r, uint64_t *list, size_t n,
                           struct error *err)
{
    bool with_calls;

    if (whole_try(w, list, n, &with_calls, err) != 1)
        return 0;
    whole_note(w, r, n);
    r->holds_with_calls = with_calls;
    return 1;
}

int whole_show(struct whole *w, struct race *r, uint64_t *list, size_t n, struct error *err)
{
    if (!whole_has_room(w)) {
        whole_skip(w);
        error_set(err, "too many schedules to check them all");
        free(list);
        return 0;
    }
    if (is_to_go(w, n))
        return show_and_forget(w, r, list, n, err);
    w->checked += n;
    if (whole_check(w, list, n, err) != 1) {
        free(list);
        return 0;
    }
    keep_list(w, r, list, n);
    return 1;
}

/* ---- schedules that begin as the trace does ---- */

bool whole_can_follow(struct whole *w)
{
    if (w->part || w->certain || w->info.calls)
        return false;
    if (!w->checker)
        w->checker = witness_trace_new(&w->events, &w->info);
    witness_trace_set_calls(w->checker, CALLS_IGNORED, NULL);
    return witness_can_follow(w->checker);
}

/* The whole schedule: the beginning and the list, which is freed. */
static uint64_t *spell_out(const struct whole *w, uint64_t beginning, size_t nbefore,
                           uint64_t *list, size_t n)
{
    uint64_t *all = xcalloc(nbefore + n, sizeof(*all));
    size_t done = 0;

    for (uint64_t i = 0; i < beginning; i++)
        if (!(w->events.events[i].flags & EV_IGNORED))
            all[done++] = i;
    invariant(done == nbefore);
    memcpy(all + done, list, n * sizeof(*list));
    free(list);
    return all;
}

int whole_show_after(struct whole *w, struct race *r, uint64_t beginning, size_t nbefore,
                     uint64_t *list, size_t n, struct error *err)
{
    size_t steps = n + (beginning > w->followed ? (size_t)(beginning - w->followed) : 0);

    int verdict;

    pthread_mutex_lock(&w->checking);
    verdict = witness_check_after(w->checker, beginning, list, n, err);
    w->accepted += verdict == 1;
    pthread_mutex_unlock(&w->checking);
    if (verdict != 1) {
        free(list);
        return -1;
    }
    w->followed = beginning;
    w->checked += steps;
    if (is_to_go(w, nbefore + n)) {
        free(list);
        whole_note(w, r, nbefore + n);
    } else {
        keep_list(w, r, spell_out(w, beginning, nbefore, list, n), nbefore + n);
    }
    return 1;
}

/* With the lock held: as check_in_whole(). */
static int check_values(struct whole *w, const uint64_t *order, size_t n,
                        const struct witness_change *changes, size_t nchanges, struct error *err)
{
    int verdict;

    if (!can_check(w, order, n, err))
        return -1;
    witness_trace_set_execution(w->checker, w->execution);
    verdict = witness_check_values(w->checker, order, n, changes, nchanges, err);
    w->accepted += verdict == 1;
    w->refused += verdict != 1;
    return verdict;
}

int whole_show_values(struct whole *w, struct race *r, uint64_t *list, size_t n,
                      struct value_change *changes, size_t nchanges, struct error *err)
{
    struct witness_change *words = xcalloc(nchanges + 1, sizeof(*words));
    int verdict;

    for (size_t i = 0; i < nchanges; i++)
        words[i] = (struct witness_change){ changes[i].read, changes[i].writer, changes[i].value,
                                            changes[i].has_value };
    pthread_mutex_lock(&w->checking);
    verdict = check_values(w, list, n, words, nchanges, err);
    pthread_mutex_unlock(&w->checking);
    free(words);
    if (verdict != 1) {
        free(list);
        free(changes);
        return 0;
    }
    w->checked += n;
    if (is_to_go(w, n)) {
        free(list);
        free(changes);
        whole_note(w, r, n);
        return 1;
    }
    keep_list(w, r, list, n);
    r->changes = changes;
    r->nchanges = nchanges;
    r->by_values = true;
    return 1;
}

/* ---- executions with new events ---- */

static int check_flip(struct whole *w, const struct execution *e, const uint64_t *order, size_t n,
                      const struct value_change *changes, size_t nchanges, struct error *err)
{
    struct witness_trace *checker = witness_trace_new(e->trace, &w->info);
    struct witness_change *words = xcalloc(nchanges + 1, sizeof(*words));
    int verdict;

    for (size_t i = 0; i < nchanges; i++)
        words[i] = (struct witness_change){ changes[i].read, changes[i].writer, changes[i].value,
                                            changes[i].has_value };
    witness_trace_set_calls(checker, calls_rule(w->engine->call_rule), trace_tables(w->trace));
    witness_trace_set_execution(checker, e);
    verdict = witness_check_values(checker, order, n, words, nchanges, err);
    witness_trace_free(checker);
    free(words);
    return verdict;
}

int whole_check_flip(struct whole *w, const struct execution *e, const uint64_t *order,
                     const uint64_t *original, size_t n, const struct value_change *changes,
                     size_t nchanges, struct error *err)
{
    int verdict = 1;

    for (size_t i = 0; i + 2 < n && verdict == 1; i++)
        if (original[i] < w->events.count) {
            const uint64_t one[3] = { original[i], original[i], original[i] };

            verdict = reads_are_known(w, one, 3, err) ? 1 : -1;
        }
    if (verdict == 1)
        verdict = check_flip(w, e, order, n, changes, nchanges, err);
    pthread_mutex_lock(&w->checking);
    w->accepted += verdict == 1;
    w->refused += verdict == 0;
    w->uncertain += verdict == -1;
    pthread_mutex_unlock(&w->checking);
    return verdict;
}

int whole_show_again(struct whole *w, struct race *r, uint64_t *list, size_t n,
                     struct value_change *changes, size_t nchanges, struct error *err)
{
    uint64_t accepted = w->accepted, refused = w->refused, uncertain = w->uncertain;
    int verdict = whole_show_values(w, r, list, n, changes, nchanges, err);

    w->accepted = accepted;
    w->refused = refused;
    w->uncertain = uncertain;
    return verdict;
}
