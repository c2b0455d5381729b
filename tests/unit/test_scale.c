/* test_scale.c - engines where something is large: what they cost, and what they say when it is too
 * much
 *
 * No case looks at a clock. Those with a trace are so large that a cost that
 * grows with the square would take hours or all memory; the others count
 * steps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "engines/analysis.h"
#include "engines/closure/lockgraph.h"
#include "engines/streaming/sshb_graph.h"
#include "text_trace.h"

static bool stop_at_once(void *arg, const char *engine, double done)
{
    (void)arg;
    (void)engine;
    (void)done;
    return true;
}

/* The result of one engine; analysis_release() when done. */
static const struct engine_result *run(const struct engine *engine, const char *text,
                                       const struct analysis_hooks *hooks, struct analysis *a)
{
    struct text_trace t = { 0 };
    struct error err = { "" };

    text_trace_open(&t, text);
    assert_int_equal(trace_rewind(t.trace, &err), 0);
    assert_int_equal(analysis_run(t.trace, &engine, 1, NULL, hooks, a, &err), 0);
    text_trace_close(&t);
    return &a->runs[0].result;
}

static uint64_t counter(const struct engine_result *r, const char *name)
{
    for (size_t i = 0; i < r->ncounters; i++)
        if (strcmp(r->counters[i].name, name) == 0)
            return r->counters[i].value;
    return 0;
}

/* ---- traces ---- */

/* Each thread makes the next one, and waits for it; the last one writes, then each. */
static void add_chain(struct buf *text, int threads)
{
    for (int i = 0; i < threads; i++)
        buf_addf(text, "T%d|fork(T%d)|1\n", i, i + 1);
    buf_addf(text, "T%d|w(x)|2\n", threads);
    for (int i = threads; i > 0; i--)
        buf_addf(text, "T%d|join(T%d)|3\nT%d|w(x)|4\n", i - 1, i, i - 1);
}

/* ---- sshb ---- */

static void sshb_says_what_it_left_open_when_it_is_stopped(void **state)
{
    struct analysis_hooks hooks = { .deciding = stop_at_once };
    const char text[] = "T1|w(x)|1\nT2|w(x)|2\nT3|r(x)|3\n";
    const struct engine_result *r;
    struct analysis a;

    (void)state;
    r = run(&engine_sshb, text, NULL, &a);
    assert_true(r->complete);
    assert_int_equal(r->races.count, 3);
    assert_int_equal(counter(r, "occurrences_undecided"), 0);
    for (size_t i = 0; i < r->races.count; i++)
        assert_true(r->races.races[i].independent);
    analysis_release(&a);

    r = run(&engine_sshb, text, &hooks, &a);
    assert_false(r->complete);
    assert_int_equal(r->races.count, 3);
    assert_int_equal(counter(r, "occurrences_undecided"), 3);
    for (size_t i = 0; i < r->races.count; i++) { /* the pass was over */
        assert_int_equal(r->races.races[i].strength, STRENGTH_OBSERVED);
        assert_false(r->races.races[i].independent);
    }
    analysis_release(&a);
}

static void sshb_learns_from_long_chains_of_threads_only_what_is_new(void **state)
{
    const struct engine_result *r;
    struct buf text = { 0 };
    struct analysis a;

    (void)state;
    add_chain(&text, 50000);
    r = run(&engine_sshb, text.data, NULL, &a);
    assert_int_equal(r->races.count, 0);
    assert_true(r->complete);
    assert_int_equal(counter(r, "graph_edges"), 2 * 50000);
    analysis_release(&a);
    buf_release(&text);
}

/* Two writes of slots 0 and 1, in a cycle with each other, and a read of slot 2 that may have seen
 * either, in `variables` places each. */
static void facts_of_wide_accesses(struct sshb_facts *f, struct hb *hb, uint32_t variables)
{
    struct sshb_point w = { 0, 1 }, b = { 1, 2 }, r = { 2, 3 };

    *f = (struct sshb_facts){ .hb = hb, .events = 8 };
    hb->nslots = 3;
    f->candidates = xcalloc(2 * (size_t)variables + 2, sizeof(*f->candidates));
    for (uint32_t i = 0; i < variables; i++) {
        f->candidates[f->ncandidates++] = (struct sshb_candidate){ b, r, SSHB_NONE, i };
        f->candidates[f->ncandidates++] = (struct sshb_candidate){ w, r, SSHB_NONE, i };
    }
    f->candidates[f->ncandidates++] = (struct sshb_candidate){ b, w, SSHB_NONE, variables };
    f->candidates[f->ncandidates++] = (struct sshb_candidate){ w, b, SSHB_NONE, variables };
}

static void a_question_about_wide_accesses_looks_once_at_each_place(void **state)
{
    enum { VARIABLES = 50000 };
    struct hb hb = { 0 };
    struct sshb_facts f;
    struct sshb_graph *g;

    (void)state;
    facts_of_wide_accesses(&f, &hb, VARIABLES);
    g = sshb_graph_new(&f, GRAPH_CANDIDATES);
    sshb_graph_sweep(g, 0);
    assert_int_equal(sshb_graph_nodes(g), 3);
    assert_int_equal(sshb_graph_cycles(g), 1);
    assert_true(sshb_graph_joins(g, (struct sshb_point){ 0, 1 }, (struct sshb_point){ 2, 3 }));
    assert_true(sshb_graph_work(g) < 5 * VARIABLES);
    sshb_graph_free(g);
    free(f.candidates);
}

/* ---- deadlock ---- */

/* A thread acquires or releases locks 0 .. n - 1. */
static void lock_steps(struct lockgraph *g, enum op op, uint32_t thread, uint32_t n)
{
    struct step *steps = xcalloc(n, sizeof(*steps));
    struct span span = { .steps = steps, .count = n, .threads = thread + 1, .objects = n + 1 };

    for (uint32_t i = 0; i < n; i++) {
        steps[i].op = (uint8_t)op;
        steps[i].thread = thread;
        steps[i].id = i;
    }
    lockgraph_steps(g, &span);
    free(steps);
}

static void one_lock_step(struct lockgraph *g, enum op op, uint32_t thread, uint32_t lock)
{
    struct step s = { .op = (uint8_t)op, .thread = thread, .id = lock };
    struct span span = { .steps = &s, .count = 1, .threads = thread + 1, .objects = lock + 1 };

    lockgraph_steps(g, &span);
}

static void requests_under_the_same_locks_share_what_is_held(void **state)
{
    struct lockgraph g = { 0 };

    (void)state;
    lock_steps(&g, OP_ACQUIRE, 0, 300);
    assert_int_equal(g.nlog, 299);
    assert_int_equal(g.nheld, 299 * 300 / 2);
    for (int i = 0; i < 20000; i++) {
        one_lock_step(&g, OP_ACQUIRE, 0, 300);
        one_lock_step(&g, OP_RELEASE, 0, 300);
    }
    assert_int_equal(g.nlog, 299 + 20000);
    assert_int_equal(g.nrequests, 300);
    assert_int_equal(g.nheld, 300 * 301 / 2);
    lockgraph_release(&g);
}

/* The graph of locks has an edge a request, not one for each lock held. */
static void locks_that_nest_too_deeply_are_counted_and_leave_room_for_others(void **state)
{
    struct lockgraph g = { .deep_max = 100000 };

    (void)state;
    lock_steps(&g, OP_ACQUIRE, 0, 20000);
    assert_int_equal(g.nlog + g.too_deep, 19999);
    assert_true(g.too_deep > 19000);
    assert_true(g.nheld <= 100000);
    lock_steps(&g, OP_RELEASE, 0, 20000);
    one_lock_step(&g, OP_ACQUIRE, 1, 1); /* the other way round */
    one_lock_step(&g, OP_ACQUIRE, 1, 0);
    lockgraph_search(&g);
    assert_int_equal(g.npatterns, 1);
    lockgraph_release(&g);
}

/* ---- many threads at one variable ---- */

/* All threads run at the same time and write; the last one forks none. */
static void add_crowd(struct buf *text, int threads)
{
    for (int i = 1; i < threads; i++)
        buf_addf(text, "T0|fork(T%d)|1\n", i);
    for (int i = 0; i < threads; i++)
        buf_addf(text, "T%d|w(x)|2\n", i);
}

/* Each access of a crowd is compared with so many others, and the result says that these are not
 * all; up to there it is with all. */
static void crowds_cost_no_square_and_the_limit_is_said(void **state)
{
    static const struct engine *const engines[] = { &engine_hb, &engine_shb, &engine_sshb };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        const struct engine_result *r;
        struct buf text = { 0 };
        struct analysis a;

        add_crowd(&text, 10000);
        r = run(engines[i], text.data, NULL, &a);
        assert_int_equal(r->races.count, 1);
        assert_false(r->complete);
        assert_in_range(counter(r, "crowded"), 7000, 10000);
        if (engines[i] != &engine_sshb)
            assert_in_range(counter(r, "comparisons"), 10000000, 20480000);
        analysis_release(&a);
        text.len = 0;
        add_crowd(&text, 2000);
        r = run(engines[i], text.data, NULL, &a);
        assert_int_equal(counter(r, "crowded"), 0);
        if (engines[i] != &engine_sshb)
            assert_int_equal(counter(r, "comparisons"), 2000 * 1999 / 2);
        assert_true(r->complete);
        analysis_release(&a);
        buf_release(&text);
    }
}

/* The square of the threads is paid from the effort, also where there is nothing to do for most. */
static void looks_at_crowds_count_as_effort(void **state)
{
    static const struct engine *const engines[] = { &engine_syncp, &engine_osr };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct engine_options options = { .work = 1000000000 };
        struct text_trace t = { 0 };
        struct error err = { "" };
        struct buf text = { 0 };
        struct analysis a;

        add_crowd(&text, 20000);
        text_trace_open(&t, text.data);
        assert_int_equal(trace_rewind(t.trace, &err), 0);
        assert_int_equal(analysis_run(t.trace, &engines[i], 1, &options, NULL, &a, &err), 0);
        assert_false(a.runs[0].result.complete);
        assert_true(counter(&a.runs[0].result, "lists_undecided") > 50000000);
        text_trace_close(&t);
        analysis_release(&a);
        buf_release(&text);
    }
}

/* ---- mc ---- */

/* Each pair of the writes is a question, and for each thread there is another one: with 20,000
 * threads none of them may take a look at all threads. */
static void mc_asks_about_long_chains_of_threads_without_a_look_at_each(void **state)
{
    const struct engine_result *r;
    struct buf text = { 0 };
    struct analysis a;

    (void)state;
    add_chain(&text, 20000);
    r = run(&engine_mc, text.data, NULL, &a);
    assert_int_equal(r->races.count, 0);
    assert_int_equal(counter(r, "by_search"), 0);
    assert_true(counter(r, "by_needs") > 0);
    assert_int_equal(counter(r, "pairs_skipped"), 0);
    analysis_release(&a);
    buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sshb_says_what_it_left_open_when_it_is_stopped),
        cmocka_unit_test(sshb_learns_from_long_chains_of_threads_only_what_is_new),
        cmocka_unit_test(a_question_about_wide_accesses_looks_once_at_each_place),
        cmocka_unit_test(requests_under_the_same_locks_share_what_is_held),
        cmocka_unit_test(locks_that_nest_too_deeply_are_counted_and_leave_room_for_others),
        cmocka_unit_test(crowds_cost_no_square_and_the_limit_is_said),
        cmocka_unit_test(looks_at_crowds_count_as_effort),
        cmocka_unit_test(mc_asks_about_long_chains_of_threads_without_a_look_at_each),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
