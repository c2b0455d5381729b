/* prop_recipe.c - recipe-s on random programs: equal to the search over all orders
 *
 *   recipe-property [--seed N] [--count N] [--show]
 *
 * For every pair of conflicting accesses the answer of relax.h is that of the exhaustive
 * search; every schedule is accepted by the checker and by the reference, its changed
 * values are those of the reference, and damaged ones get the same verdict from both.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "engines/values/relax.h"
#include "recipe_program.h"
#include "rng.h"
#include "witness/witness.h"

struct tally {
    uint64_t programs, pairs, feasible, infeasible, with_changes, damaged, damaged_refused, spoilt;
    uint64_t by_mc; /* of the feasible ones: mc says so, too */
    uint64_t skipped;
};

struct subject {
    struct random_program p;
    struct view *view;
    struct relax *relax;
    struct predictor *mc;
    struct witness_trace *checker;
    struct pair_matrix truth;
    struct rng rng;
    struct tally *tally;
};

static int fail(const struct subject *s, uint64_t seed, const char *what, size_t a, size_t b,
                const char *why)
{
    printf("seed %" PRIu64 ": %s for (%zu, %zu) %s\n", seed, what, a, b, why);
    random_program_print(&s->p);
    return 1;
}

static struct witness_change *to_words(const struct relax_answer *a)
{
    struct witness_change *w = xcalloc(a->nchanges + 1, sizeof(*w));

    for (size_t i = 0; i < a->nchanges; i++)
        w[i] = (struct witness_change){ a->changes[i].read, a->changes[i].writer,
                                        a->changes[i].value, a->changes[i].has_value };
    return w;
}

static bool checks(struct subject *s, const uint64_t *list, size_t n,
                   const struct witness_change *w, size_t nw, struct error *err)
{
    return witness_check_values(s->checker, list, n, w, nw, err) == 1;
}

/* A wrong value, a change too few or too many, must be noticed. */
static bool spoilt_is_noticed(struct subject *s, const struct relax_answer *a,
                              struct witness_change *w)
{
    struct error err;
    bool noticed = true;

    if (!a->nchanges)
        return true;
    s->tally->spoilt++;
    noticed &= !checks(s, a->list, a->count, w, a->nchanges - 1, &err);
    w[0].value ^= 1;
    noticed &= !w[0].known || !checks(s, a->list, a->count, w, a->nchanges, &err);
    w[0].value ^= 1;
    w[0].writer ^= 1;
    noticed &= !w[0].known || !checks(s, a->list, a->count, w, a->nchanges, &err);
    w[0].writer ^= 1;
    return noticed;
}

/* Two neighbours swapped, one left out: checker and reference agree. */
static bool damaged_is_same(struct subject *s, const struct relax_answer *a)
{
    uint64_t list[PROGRAM_EVENTS];
    size_t n = a->count, at = rng_below(&s->rng, (uint32_t)n), other;
    struct value_change *c;
    struct relax_answer changed = { 0 };
    struct witness_change *w;
    struct error err;
    bool mine, theirs;

    memcpy(list, a->list, n * sizeof(*list));
    if (rng_percent(&s->rng, 60)) {
        other = rng_below(&s->rng, (uint32_t)n);
        uint64_t swap = list[at];
        list[at] = list[other];
        list[other] = swap;
    } else if (n > 2) {
        memmove(list + at, list + at + 1, (n - at - 1) * sizeof(*list));
        n--;
    }
    c = relax_changes(s->relax, list, n, &changed.nchanges);
    changed.changes = c;
    w = to_words(&changed);
    mine = checks(s, list, n, w, changed.nchanges, &err);
    theirs = random_program_accepts(&s->p, list, n);
    free(w);
    free(c);
    s->tally->damaged++;
    s->tally->damaged_refused += !theirs;
    return mine == theirs;
}

static bool changes_are_true(struct subject *s, const struct relax_answer *a)
{
    for (size_t i = 0; i < a->nchanges; i++) {
        uint64_t value;
        bool known = random_program_sees(&s->p, a->list, a->count, a->changes[i].read, &value);

        if (known != a->changes[i].has_value || (known && value != a->changes[i].value))
            return false;
    }
    return true;
}

static int check_schedule(struct subject *s, uint64_t seed, size_t a, size_t b,
                          const struct relax_answer *answer)
{
    struct witness_change *w = to_words(answer);
    struct error err = { "" };
    int r = 0;

    s->tally->with_changes += answer->nchanges != 0;
    if (!checks(s, answer->list, answer->count, w, answer->nchanges, &err))
        r = fail(s, seed, "schedule refused by the checker", a, b, err.text);
    else if (!random_program_accepts(&s->p, answer->list, answer->count))
        r = fail(s, seed, "schedule refused by the reference", a, b, "");
    else if (!changes_are_true(s, answer))
        r = fail(s, seed, "changes are not true", a, b, "");
    else if (!spoilt_is_noticed(s, answer, w))
        r = fail(s, seed, "a spoilt witness is accepted", a, b, "");
    for (int i = 0; i < 3 && !r; i++)
        if (!damaged_is_same(s, answer))
            r = fail(s, seed, "checker and reference differ on a damaged schedule", a, b, "");
    free(w);
    return r;
}

static bool mc_says(struct subject *s, size_t a, size_t b)
{
    struct predict_budget budget = { 0 };
    uint64_t *list;
    size_t count;
    bool yes = predictor_decide(s->mc, a, b, &budget, &list, &count) == PREDICT_FEASIBLE;

    free(list);
    return yes;
}

static int check_pair(struct subject *s, uint64_t seed, size_t a, size_t b)
{
    struct predict_budget budget = { .unfrozen = seed % 5 == 0 ? 3 : 0 };
    struct relax_answer answer;
    enum predict_answer found = relax_decide(s->relax, a, b, &budget, &answer);
    bool truth = s->truth.at[a][b];
    int r = 0;

    s->tally->pairs++;
    s->tally->feasible += found == PREDICT_FEASIBLE;
    s->tally->infeasible += found == PREDICT_INFEASIBLE;
    if (found != (truth ? PREDICT_FEASIBLE : PREDICT_INFEASIBLE))
        r = fail(s, seed, truth ? "missed" : "claimed", a, b,
                 found == PREDICT_UNDECIDED ? "undecided" : "");
    if (!r && found == PREDICT_FEASIBLE)
        r = check_schedule(s, seed, a, b, &answer);
    if (!r && found == PREDICT_FEASIBLE && mc_says(s, a, b))
        s->tally->by_mc++;
    relax_answer_release(&answer);
    return r;
}

static int check_pairs(struct subject *s, uint64_t seed)
{
    int r = 0;

    for (size_t a = 0; a < s->p.trace.count && !r; a++)
        for (size_t b = a + 1; b < s->p.trace.count && !r; b++)
            if (op_is_access(s->p.events[a].op) && op_is_access(s->p.events[b].op) &&
                s->p.events[a].thread != s->p.events[b].thread)
                r = check_pair(s, seed, a, b);
    return r;
}

static int check_program(uint64_t seed, struct tally *tally, bool show)
{
    struct subject *s = xcalloc(1, sizeof(*s));
    struct relax_options options;
    int r = 0;

    s->tally = tally;
    rng_init(&s->rng, seed);
    random_program_init(&s->p, seed);
    if (show)
        random_program_print(&s->p);
    if (!random_program_search(&s->p, &s->truth)) {
        tally->skipped++;
    } else {
        options.exact = s->p.info.order == TRACE_EXACT;
        s->view = view_new(&s->p.trace, CALL_RULE_PAIRS);
        s->relax = relax_new(s->view, &s->p.e, &options);
        s->mc = predictor_new(s->view, &s->p.info);
        s->checker = witness_trace_new(&s->p.trace, &s->p.info);
        witness_trace_set_execution(s->checker, &s->p.e);
        r = check_pairs(s, seed);
        relax_free(s->relax);
        predictor_free(s->mc);
        witness_trace_free(s->checker);
        view_free(s->view);
    }
    tally->programs++;
    random_program_release(&s->p);
    free(s);
    return r;
}

int main(int argc, char **argv)
{
    uint64_t seed = 1, count = 3000;
    struct tally t = { 0 };
    bool show = false;
    int r = 0;

    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--seed") && i + 1 < argc)
            seed = strtoull(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--count") && i + 1 < argc)
            count = strtoull(argv[++i], NULL, 10);
        else
            show |= !strcmp(argv[i], "--show");
    }
    for (uint64_t i = seed; i < seed + count && !r; i++)
        r = check_program(i, &t, show);
    printf("programs %" PRIu64 " skipped %" PRIu64 " pairs %" PRIu64 " feasible %" PRIu64
           " infeasible %" PRIu64 " with changed values %" PRIu64 " found by mc too %" PRIu64
           " damaged %" PRIu64 " (refused %" PRIu64 ") spoilt %" PRIu64 "\n",
           t.programs, t.skipped, t.pairs, t.feasible, t.infeasible, t.with_changes, t.by_mc,
           t.damaged, t.damaged_refused, t.spoilt);
    return r;
}
