/* solver.c - heddle-bench-solver: the ordering solver against Z3, and how it scales
 *
 *     heddle-bench-solver plain KIND PAIRS [SEED]
 *     heddle-bench-solver backend KIND EVENTS THREADS PAIRS [SEED]
 *     heddle-bench-solver scale KIND EVENTS THREADS SECONDS [SEED]
 *
 * plain   the papers' encoding (solver_plain.c), the Z3 backend and our solver on the same
 *         pairs of the same window of 1,000 events, 8 threads: pairs/s of each, and how many
 *         answers differ (QF_IDL, four times slower still, gets a quarter of them)
 * backend the Z3 backend and our solver on any trace
 * scale   pairs/s of our solver and how many pairs it leaves undecided in the default budget
 *
 * Prints name=value, as heddle-bench does. CPU time. Half of the pairs are
 * drawn from all conflicting ones, half from those near each other.
 *
 * Kinds of traces: see `kinds`; all but the last are gen_flat's.
 */
#include "solver.h"
#include "measure.h"
#include "rng.h"
#include "base/alloc.h"
#include "engines/predict/backend.h"
#include "gen_flat.h"
#include "naive.h"

#include <stdlib.h>
#include <string.h>

extern const struct predict_backend heddle_backend_z3;

enum { NEAR = 20, WINDOW_EVENTS = 1000, WINDOW_THREADS = 8, PAIRS_MAX = 100000 };

/* One pair of the plain encoding may take so many seconds, wall time. */
static const double plain_seconds = 600;

static const struct kind {
    const char *name;
    uint32_t values, branches, locks, variables;
} kinds[] = {
    { "none", 0, 0, 20, 100 },   { "values", 1000, 0, 20, 100 }, { "branches", 1000, 5, 20, 100 },
    { "many", 4, 0, 200, 2000 }, { "flags", 3, 0, 20, 100 },     { "program", 0, 0, 0, 0 },
};

struct subject {
    struct gen_trace trace;
    struct view *view;
    double view_seconds, model_seconds;
    struct predictor *own;
    struct rng rng;
};

struct pair {
    uint32_t a, b;
};

/* ---- the trace ---- */

static const struct kind *find_kind(const char *name)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    fprintf(stderr, "heddle-bench-solver: unknown kind '%s'\n", name);
    exit(2);
}

/* A program as heddle-gen makes them, with values, a tenth of its calls racy. */
static void make_program(uint32_t events, uint32_t threads, uint64_t seed, struct gen_trace *out)
{
    struct gen_large_options o;
    struct gen *g;
    struct batch b;
    size_t cap = 0;

    *out = (struct gen_trace){ .info = { .format = "gen", .order = TRACE_EXACT, .values = true } };
    gen_large_defaults(&o);
    o.seed = seed;
    o.events = events;
    o.threads = threads;
    o.values = o.named = true;
    o.racy_ppm = 100000;
    g = gen_open(&o, &out->tables);
    while (gen_next(g, &b)) {
        GROW(out->mem.events, cap, out->mem.count + b.count);
        memcpy(out->mem.events + out->mem.count, b.events, b.count * sizeof(*b.events));
        out->mem.count += b.count;
    }
    gen_close(g);
}

static void make_trace(const struct kind *k, uint32_t events, uint32_t threads, uint64_t seed,
                       struct gen_trace *out)
{
    struct gen_flat_options o;

    if (!k->locks) {
        make_program(events, threads, seed, out);
        return;
    }
    gen_flat_defaults(&o);
    o.seed = seed;
    o.events = events;
    o.threads = threads;
    o.values = k->values;
    o.branch_percent = k->branches;
    o.locks = k->locks;
    o.variables = k->variables;
    gen_flat(&o, out);
}

static void subject_init(struct subject *s, const struct kind *k, uint32_t events, uint32_t threads,
                         uint64_t seed)
{
    double start;

    make_trace(k, events, threads, seed, &s->trace);
    rng_init(&s->rng, seed);
    start = cpu_seconds();
    s->view = view_new(&s->trace.mem, CALL_RULE_NONE);
    s->view_seconds = cpu_seconds() - start;
    start = cpu_seconds();
    s->own = predictor_new(s->view, &s->trace.info);
    s->model_seconds = cpu_seconds() - start;
}

static void subject_release(struct subject *s)
{
    predictor_free(s->own);
    view_free(s->view);
    gen_trace_release(&s->trace);
}

/* ---- pairs ---- */

static bool draw_pair(struct subject *s, struct pair *p)
{
    const struct view *v = s->view;
    uint32_t touches = v->cell_first[v->count];
    uint32_t at = rng_below(&s->rng, touches), cell = 0, other;

    /* A touch, by cell: which cell it is in by bisection. */
    for (uint32_t low = 0, high = v->ncells; low < high;) {
        cell = (low + high) / 2;
        if (v->access_first[cell + 1] <= at)
            low = cell + 1;
        else if (v->access_first[cell] > at)
            high = cell;
        else
            break;
    }
    other = rng_percent(&s->rng, 50)
                ? v->access_first[cell] +
                      rng_below(&s->rng, v->access_first[cell + 1] - v->access_first[cell])
                : at + 1 + rng_below(&s->rng, NEAR);
    if (other >= v->access_first[cell + 1])
        return false;
    *p = (struct pair){ v->access[at], v->access[other] };
    return naive_conflict(&s->trace.mem, p->a, p->b);
}

static struct pair next_pair(struct subject *s)
{
    struct pair p;

    for (int tries = 0; tries < 10000000; tries++)
        if (draw_pair(s, &p))
            return p;
    fprintf(stderr, "heddle-bench-solver: no conflicting accesses\n");
    exit(2);
}

/* ---- against Z3 ---- */

static enum predict_answer ask(struct predictor *p, struct pair pair, double *seconds)
{
    struct predict_budget budget = PREDICT_BUDGET;
    double start = cpu_seconds();
    enum predict_answer answer;
    uint64_t *list;
    size_t n;

    answer = predictor_decide(p, pair.a, pair.b, &budget, &list, &n);
    *seconds += cpu_seconds() - start;
    free(list);
    return answer;
}

/* Our solver is too fast to be measured on so few pairs once. */
static double measure_own(struct subject *s, const struct pair *pairs, size_t n)
{
    double seconds = 0, unused = 0, start = cpu_seconds();
    uint64_t asked = 0;

    for (; seconds < 0.3; seconds = cpu_seconds() - start)
        for (size_t i = 0; i < n; i++, asked++)
            ask(s->own, pairs[i], &unused);
    return seconds / (double)asked - 2 * cpu_seconds_cost();
}

struct plain_result {
    double seconds;
    size_t feasible, open;
    size_t wrong;  /* feasible, and our solver says no */
    size_t missed; /* not feasible, and our solver has a schedule */
};

static struct plain_result run_plain(struct subject *s, const struct pair *pairs, size_t n,
                                     enum plain_kind kind, const enum predict_answer *own)
{
    struct plain_result r = { 0 };

    for (size_t i = 0; i < n; i++) {
        double start = cpu_seconds();
        Z3_lbool answer = plain_decide(s->view, s->trace.info.values, pairs[i].a, pairs[i].b, kind,
                                       plain_seconds);

        r.seconds += cpu_seconds() - start;
        r.feasible += answer == Z3_L_TRUE;
        r.open += answer == Z3_L_UNDEF;
        r.wrong += answer == Z3_L_TRUE && own[i] == PREDICT_INFEASIBLE;
        r.missed += answer == Z3_L_FALSE && own[i] == PREDICT_FEASIBLE;
    }
    return r;
}

static void print_plain(const char *name, const struct plain_result *r, size_t n)
{
    printf("%s=%g %s_open=%zu %s_wrong=%zu %s_missed=%zu ", name, (double)n / r->seconds, name,
           r->open, name, r->wrong, name, r->missed);
}

/* What all three are asked, with our solver's answers. */
struct questions {
    struct subject subject;
    struct pair *pairs;
    enum predict_answer *own;
    size_t count, feasible;
    double own_seconds; /* a pair */
};

static void questions_init(struct questions *q, const struct kind *k, uint32_t events,
                           uint32_t threads, size_t n, uint64_t seed)
{
    double unused = 0;

    *q = (struct questions){ .count = n };
    q->pairs = xcalloc(n, sizeof(*q->pairs));
    q->own = xcalloc(n, sizeof(*q->own));
    subject_init(&q->subject, k, events, threads, seed);
    for (size_t i = 0; i < n; i++) {
        q->pairs[i] = next_pair(&q->subject);
        q->own[i] = ask(q->subject.own, q->pairs[i], &unused);
        q->feasible += q->own[i] == PREDICT_FEASIBLE;
    }
    q->own_seconds = measure_own(&q->subject, q->pairs, n);
    printf("pairs=%zu feasible=%zu own=%g ", n, q->feasible, 1 / q->own_seconds);
}

static void questions_release(struct questions *q)
{
    subject_release(&q->subject);
    free(q->pairs);
    free(q->own);
}

static void ask_backend(struct questions *q)
{
    struct subject *s = &q->subject;
    struct predictor *z3 = predictor_new_with(s->view, &s->trace.info, &heddle_backend_z3);
    size_t open = 0, differ = 0;
    double seconds = 0;

    for (size_t i = 0; i < q->count; i++) {
        enum predict_answer answer = ask(z3, q->pairs[i], &seconds);

        open += answer == PREDICT_UNDECIDED;
        differ +=
            answer != q->own[i] && answer != PREDICT_UNDECIDED && q->own[i] != PREDICT_UNDECIDED;
    }
    predictor_free(z3);
    printf("z3=%g open=%zu differ=%zu\n", (double)q->count / seconds, open, differ);
}

/* Before the backend, which changes the settings of new contexts. */
static void ask_plain(struct questions *q)
{
    size_t fewer = (q->count + 3) / 4;
    struct plain_result simple = run_plain(&q->subject, q->pairs, q->count, PLAIN_SIMPLE, q->own);
    struct plain_result idl = run_plain(&q->subject, q->pairs, fewer, PLAIN_IDL, q->own);

    print_plain("simple", &simple, q->count);
    print_plain("idl", &idl, fewer);
}

/* ---- scale ---- */

static void scale(const struct kind *k, uint32_t events, uint32_t threads, double limit,
                  uint64_t seed)
{
    struct subject s;
    uint64_t asked = 0, undecided = 0, feasible = 0;
    const struct predict_stats *stats;
    double seconds = 0;

    subject_init(&s, k, events, threads, seed);
    for (; asked < PAIRS_MAX && seconds < limit; asked++) {
        enum predict_answer answer = ask(s.own, next_pair(&s), &seconds);

        undecided += answer == PREDICT_UNDECIDED;
        feasible += answer == PREDICT_FEASIBLE;
    }
    seconds -= (double)asked * cpu_seconds_cost();
    stats = predictor_stats(s.own);
    printf("events=%zu pairs=%llu rate=%g undecided=%llu feasible=%llu by_needs=%llu "
           "by_observed=%llu by_search=%llu view=%g model=%g peak=%llu\n",
           s.trace.mem.count, (unsigned long long)asked, (double)asked / seconds,
           (unsigned long long)undecided, (unsigned long long)feasible,
           (unsigned long long)stats->by_needs, (unsigned long long)stats->by_observed,
           (unsigned long long)stats->by_search, s.view_seconds, s.model_seconds,
           (unsigned long long)peak_bytes());
    subject_release(&s);
}

static uint64_t number(const char *text)
{
    return strtoull(text, NULL, 10);
}

int main(int argc, char **argv)
{
    struct questions q;

    if (argc >= 4 && strcmp(argv[1], "plain") == 0) {
        questions_init(&q, find_kind(argv[2]), WINDOW_EVENTS, WINDOW_THREADS, number(argv[3]),
                       argc > 4 ? number(argv[4]) : 1);
        ask_plain(&q);
        ask_backend(&q);
        questions_release(&q);
        return 0;
    }
    if (argc >= 6 && strcmp(argv[1], "backend") == 0) {
        questions_init(&q, find_kind(argv[2]), (uint32_t)number(argv[3]), (uint32_t)number(argv[4]),
                       number(argv[5]), argc > 6 ? number(argv[6]) : 1);
        ask_backend(&q);
        questions_release(&q);
        return 0;
    }
    if (argc >= 6 && strcmp(argv[1], "scale") == 0) {
        scale(find_kind(argv[2]), (uint32_t)number(argv[3]), (uint32_t)number(argv[4]),
              strtod(argv[5], NULL), argc > 6 ? number(argv[6]) : 1);
        return 0;
    }
    fprintf(stderr, "usage: heddle-bench-solver plain KIND PAIRS [SEED]\n"
                    "       heddle-bench-solver backend KIND EVENTS THREADS PAIRS [SEED]\n"
                    "       heddle-bench-solver scale KIND EVENTS THREADS SECONDS [SEED]\n");
    return 2;
}
