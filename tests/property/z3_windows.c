/* z3_windows.c - our own solver and Z3 agree where no exhaustive search can go
 *
 *     z3-windows [SEED [COUNT [EVENTS]]]
 *
 * COUNT random traces of up to EVENTS events: without structure, with few
 * values and many locks (gen_flat), with every operation of the model
 * (gen_small), or from a program (gen_large). In two of three of them calls of
 * untraced code count, as rdit and sb have them; of every fourth only a
 * window is asked about. Of each trace some conflicting pairs are drawn and
 * put to both solvers; answers must be the same, and the checker must accept
 * the schedules of both. A trace with a difference is printed, the exit code
 * is 1. What a solver leaves undecided is counted; more than 2 % fail too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "engines/predict/backend.h"
#include "gen_flat.h"
#include "naive.h"
#include "order/view.h"
#include "rng.h"
#include "witness/witness.h"

extern const struct predict_backend heddle_backend_z3;

enum { PAIRS = 6, TRIES = 400 };

struct tally {
    uint64_t traces, pairs, feasible, undecided, wrong;
};

struct window {
    const struct gen_trace *trace;
    size_t first, count; /* the part of it that is asked about */
    struct predictor *own, *z3;
    struct witness_trace *checker;
    struct tally *tally;
};

/* ---- traces ---- */

static void make_flat(uint64_t seed, uint32_t events, struct rng *r, struct gen_trace *out)
{
    static const uint32_t values[] = { 2, 3, 4, 10, 0 };
    struct gen_flat_options o;

    gen_flat_defaults(&o);
    o.seed = seed;
    o.events = rng_between(r, events / 3, events);
    o.threads = rng_between(r, 2, 6);
    o.locks = rng_between(r, 1, 20);
    o.variables = rng_between(r, 3, 30);
    o.values = values[rng_below(r, 5)];
    o.branch_percent = rng_percent(r, 30) ? rng_between(r, 1, 20) : 0;
    o.lock_percent = rng_between(r, 10, 60);
    o.burst = rng_between(r, 30, 95);
    gen_flat(&o, out);
}

/* The beginning of a run of a small static program. */
static void make_program(uint64_t seed, uint32_t events, struct rng *r, struct gen_trace *out)
{
    struct gen_large_options o;
    struct batch b;
    struct gen *g;
    size_t cap = 0;

    *out = (struct gen_trace){ .info = { .format = "gen", .order = TRACE_EXACT } };
    gen_large_defaults(&o);
    o.seed = seed;
    o.events = rng_between(r, events / 3, events);
    o.threads = rng_between(r, 2, 6);
    o.locks = rng_between(r, 2, 30);
    o.variables = rng_between(r, 10, 60);
    o.functions = rng_between(r, 3, 10);
    o.racy = 5;
    o.racy_ppm = 300000;
    o.burst = rng_between(r, 2, 20);
    o.lock_percent = rng_between(r, 10, 40);
    o.shared_percent = o.nested_percent = o.atomic_percent = 20;
    o.heap_percent = o.overlap_percent = 30;
    o.branch_percent = rng_percent(r, 40) ? 10 : 0;
    o.values = out->info.values = rng_percent(r, 70);
    out->info.branches = o.branch_percent > 0;
    g = gen_open(&o, &out->tables);
    while (gen_next(g, &b)) {
        GROW(out->mem.events, cap, out->mem.count + b.count);
        memcpy(out->mem.events + out->mem.count, b.events, b.count * sizeof(*b.events));
        out->mem.count += b.count;
    }
    gen_close(g);
}

static void make_trace(uint64_t seed, uint32_t events, struct gen_trace *out)
{
    struct gen_small_options o;
    struct rng r;

    rng_init(&r, seed ^ 0x7a33u);
    if (seed % 4 == 3) {
        make_program(seed, events, &r, out);
        return;
    }
    if (seed % 2) {
        make_flat(seed, events, &r, out);
        return;
    }
    gen_small_random(&o, seed, events / 3);
    o.threads = rng_between(&r, 2, 6);
    o.variables = rng_between(&r, 1, 8);
    o.locks = rng_between(&r, 1, 8);
    if (seed % 5 == 0)
        gen_small_heap(&o);
    if (seed % 3) /* their calls count */
        o.weight[OP_CALL] = o.weight[OP_RETURN] = 12;
    gen_small(&o, out);
}

/* ---- questions ---- */

static bool is_accepted(const struct window *w, const char *who, enum predict_answer answer,
                        const uint64_t *list, size_t n)
{
    struct error err;

    if (answer != PREDICT_FEASIBLE || witness_check(w->checker, list, n, &err) == 1)
        return true;
    printf("a schedule of %s is refused: %s\n", who, err.text);
    return false;
}

static bool judge_pair(const struct window *w, size_t a, size_t b)
{
    struct predict_budget budget = { .seconds = 10 };
    uint64_t *own_list, *z3_list;
    size_t own_n, z3_n;
    enum predict_answer own = predictor_decide(w->own, a, b, &budget, &own_list, &own_n);
    enum predict_answer z3 = predictor_decide(w->z3, a, b, &budget, &z3_list, &z3_n);
    bool open = own == PREDICT_UNDECIDED || z3 == PREDICT_UNDECIDED;
    bool fine = is_accepted(w, "ours", own, own_list, own_n) &&
                is_accepted(w, "Z3", z3, z3_list, z3_n) && (open || own == z3);

    if (!fine)
        printf("events %zu and %zu: our solver says %d, Z3 %d\n", a, b, (int)own, (int)z3);
    w->tally->pairs++;
    w->tally->feasible += z3 == PREDICT_FEASIBLE;
    w->tally->undecided += open;
    free(own_list);
    free(z3_list);
    return fine;
}

static bool judge_pairs(const struct window *w, uint64_t seed)
{
    const struct trace_mem *m = &w->trace->mem;
    struct rng r;
    bool fine = true;

    rng_init(&r, seed);
    for (int pairs = 0, tries = 0; fine && pairs < PAIRS && tries < TRIES && w->count; tries++) {
        size_t a = w->first + rng_below(&r, (uint32_t)w->count);
        size_t b = w->first + rng_below(&r, (uint32_t)w->count);

        if (!naive_conflict(m, a, b))
            continue;
        fine = judge_pair(w, a, b);
        pairs++;
    }
    return fine;
}

/* Of every fourth trace only a window. */
static void open_predictors(struct window *w, const struct view *v, uint64_t seed)
{
    const struct trace_info *info = &w->trace->info;

    w->count = w->trace->mem.count;
    if (seed / 4 % 4 || w->count < 20) {
        w->own = predictor_new(v, info);
        w->z3 = predictor_new_with(v, info, &heddle_backend_z3);
        return;
    }
    w->first = seed / 16 % (w->count / 2);
    w->count /= 2;
    w->own = predictor_new_window(v, info, w->first, w->count);
    w->z3 = predictor_new_window_with(v, info, w->first, w->count, &heddle_backend_z3);
}

static void judge_trace(uint64_t seed, uint32_t events, struct tally *tally)
{
    struct gen_trace trace;
    static const enum call_rule rules[] = { CALL_RULE_NONE, CALL_RULE_PAIRS, CALL_RULE_SIMPLE };
    static const enum witness_calls calls[] = { CALLS_IGNORED, CALLS_PAIRS, CALLS_SIMPLE };
    struct window w = { .trace = &trace, .tally = tally };
    struct buf text = { 0 };
    struct view *v;

    make_trace(seed, events, &trace);
    v = view_new_named(&trace.mem, rules[seed % 3], &trace.tables);
    open_predictors(&w, v, seed);
    w.checker = witness_trace_new(&trace.mem, &trace.info);
    witness_trace_set_calls(w.checker, calls[seed % 3], &trace.tables);
    tally->traces++;
    if (!judge_pairs(&w, seed)) {
        gen_trace_text(&trace, &text);
        printf("seed %llu:\n%.*s\n", (unsigned long long)seed, (int)text.len, text.data);
        tally->wrong++;
    }
    buf_release(&text);
    witness_trace_free(w.checker);
    predictor_free(w.own);
    predictor_free(w.z3);
    view_free(v);
    gen_trace_release(&trace);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 200;
    uint32_t events = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 200;
    struct tally t = { 0 };

    for (uint64_t i = 0; i < count && t.wrong < 3; i++)
        judge_trace(seed + i, events, &t);
    printf("%llu traces, %llu pairs, %llu feasible, %llu undecided, %llu traces with differences\n",
           (unsigned long long)t.traces, (unsigned long long)t.pairs,
           (unsigned long long)t.feasible, (unsigned long long)t.undecided,
           (unsigned long long)t.wrong);
    return t.wrong || t.undecided * 50 > t.pairs || !t.feasible || t.feasible == t.pairs;
}
