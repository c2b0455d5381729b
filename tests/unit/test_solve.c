/* test_solve.c - what the predictor must and must not believe possible
 *
 * Each case is a trap that once made some solver answer wrongly
 * (docs/design/solver.md); the exhaustive reference is asked as well.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/buf.h"
#include "engines/analysis.h"
#include "engines/predict/predict.h"
#include "naive.h"
#include "oracle.h"
#include "order/view.h"
#include "text_trace.h"
#include "witness/witness.h"

static const struct predict_budget no_limit = { 0 };

static void check_schedule(const struct text_trace *t, const uint64_t *list, size_t n)
{
    struct witness_trace *w = witness_trace_new(&t->mem, trace_info(t->trace));
    struct error err = { "" };

    if (!witness_check(w, list, n, &err))
        fail_msg("%s", err.text);
    assert_true(oracle_accepts(&t->mem, trace_info(t->trace), list, n));
    witness_trace_free(w);
}

/* Can events a and b (from 0) of the trace meet? */
static void expect(const char *text, uint64_t a, uint64_t b, bool feasible)
{
    struct text_trace t = { 0 };
    struct predictor *p;
    struct view *v;
    struct oracle o;
    uint64_t *list;
    size_t n;

    text_trace_open(&t, text);
    v = view_new(&t.mem, CALL_RULE_NONE);
    p = predictor_new(v, trace_info(t.trace));
    oracle_run(&t.mem, trace_info(t.trace), 1000000, &o);
    assert_true(o.complete);
    assert_int_equal(pair_set_has(&o.pairs, a, b), feasible);
    for (int again = 0; again < 2; again++) { /* nothing is left over from the first time */
        assert_int_equal(predictor_decide(p, a, b, &no_limit, &list, &n),
                         feasible ? PREDICT_FEASIBLE : PREDICT_INFEASIBLE);
        if (feasible)
            check_schedule(&t, list, n);
        free(list);
    }
    oracle_release(&o);
    predictor_free(p);
    view_free(v);
    text_trace_close(&t);
}

static void sections_behind_the_two_accesses_need_no_order(void **state)
{
    (void)state;
    expect("T0|w(x)|1\nT0|acq(l)|2\nT0|rel(l)|3\nT1|acq(l)|4\nT1|w(x)|5\nT1|rel(l)|6\n", 0, 4,
           true);
    /* whatever comes later would deadlock in this order */
    expect("T0|acq(k)|1\nT0|w(x)|2\nT0|acq(l)|3\nT0|rel(l)|4\nT0|rel(k)|5\n"
           "T1|acq(l)|6\nT1|w(x)|7\nT1|acq(k)|8\nT1|rel(k)|9\nT1|rel(l)|10\n",
           1, 6, true);
}

static void sections_may_change_places(void **state)
{
    (void)state;
    expect("T0|acq(l)|1\nT0|w(x)|2\nT0|rel(l)|3\nT1|acq(l)|4\nT1|rel(l)|5\nT1|w(x)|6\n", 1, 5,
           true);
    /* unless a value forbids it */
    expect("T0|acq(l)|1\nT0|w(y)|2\nT0|w(x)|3\nT0|rel(l)|4\n"
           "T1|acq(l)|5\nT1|r(y)|6\nT1|rel(l)|7\nT1|w(x)|8\n",
           2, 7, false);
}

static void a_common_lock_excludes(void **state)
{
    (void)state;
    expect("T0|acq(l)|1\nT0|w(x)|2\nT0|rel(l)|3\nT1|acq(l)|4\nT1|w(x)|5\nT1|rel(l)|6\n", 1, 4,
           false);
    expect("T0|acqs(l)|1\nT0|w(x)|2\nT0|rels(l)|3\nT1|acqs(l)|4\nT1|w(x)|5\nT1|rels(l)|6\n", 1, 4,
           true);
    expect("T0|acqs(l)|1\nT0|w(x)|2\nT0|rels(l)|3\nT1|acq(l)|4\nT1|w(x)|5\nT1|rel(l)|6\n", 1, 4,
           false);
}

/* A section that never ends blocks the lock for good; one whose thread is joined does not. */
static void open_sections_end_with_their_thread(void **state)
{
    (void)state;
    expect("T0|w(x)|1\nT2|acq(l)|2\nT2|w(f)|3\nT0|r(f)|4\nT1|acq(l)|5\nT1|rel(l)|6\nT0|w(y)|7\n"
           "T1|w(y)|8\n",
           6, 7, true);
    expect("T2|acq(l)|1\nT2|w(f)|2\nT0|r(f)|3\nT1|r(f)|4\nT1|acq(l)|5\nT0|w(y)|6\nT1|w(y)|7\n", 5,
           6, false);
    expect("T0|fork(T2)|1\nT2|acq(l)|2\nT2|w(f)|3\nT0|join(T2)|4\nT0|r(f)|5\nT1|acq(l)|6\n"
           "T1|r(f)|7\nT0|w(y)|8\nT1|w(y)|9\n",
           7, 8, true);
}

/* The write of a third thread is there only if that thread's reads are right, too. */
static void every_executed_event_needs_a_consistent_past(void **state)
{
    (void)state;
    expect("T0|w(x)|1\nT0|w(f=1)|2\nT2|r(f=1)|3\nT2|w(g=1)|4\nT1|r(g=1)|5\nT1|w(x)|6\n", 0, 5,
           false);
    expect("T0|w(f=1)|1\nT0|w(x)|2\nT2|r(f=1)|3\nT2|w(g=1)|4\nT1|r(g=1)|5\nT1|w(x)|6\n", 1, 5,
           true);
    /* the same through a release */
    expect("T0|w(x)|1\nT0|w(f=1)|2\nT2|acq(l)|3\nT2|r(f=1)|4\nT2|post(s)|5\nT2|rel(l)|6\n"
           "T1|semwait(s)|7\nT1|w(x)|8\n",
           0, 7, false);
}

static void with_branches_a_read_may_be_wrong_until_it_matters(void **state)
{
    (void)state;
    /* nothing depends on what T1 read */
    expect("T0|branch|1\nT0|w(x)|2\nT0|w(f=1)|3\nT1|r(f=1)|4\nT1|w(x)|5\n", 1, 4, true);
    expect("T0|branch|1\nT0|w(x)|2\nT0|w(f=1)|3\nT1|r(f=1)|4\nT1|branch|5\nT1|w(x)|6\n", 1, 5,
           false);
    /* T2's write satisfies a read that matters: then T2's read matters */
    expect("T0|w(x)|1\nT0|w(f=1)|2\nT2|r(f=1)|3\nT2|w(g=1)|4\nT1|r(g=1)|5\nT1|branch|6\n"
           "T1|w(x)|7\n",
           0, 6, false);
    expect(
        "T0|w(x)|1\nT0|w(f=1)|2\nT2|r(f=1)|3\nT2|w(g=1)|4\nT1|r(g=1)|5\nT1|w(x)|6\nT1|branch|7\n",
        0, 5, true);
}

static void any_write_of_the_same_value_will_do(void **state)
{
    (void)state;
    expect("T2|w(f=1)|1\nT0|w(x)|2\nT0|w(f=1)|3\nT1|r(f=1)|4\nT1|w(x)|5\n", 1, 4, true);
    expect("T2|w(f=2)|1\nT0|w(x)|2\nT0|w(f=1)|3\nT1|r(f=1)|4\nT1|w(x)|5\n", 1, 4, false);
    /* what was there first counts, too */
    expect("T0|w(x)|1\nT0|w(f=1)|2\nT0|w(f=0)|3\nT1|r(f=0)|4\nT1|w(x)|5\n", 0, 4, true);
}

/* T2's write has the right value, but its own read would have to come after the race. */
static void a_write_of_the_same_value_must_be_possible_itself(void **state)
{
    (void)state;
    expect("T0|w(x)|1\nT0|w(f=1)|2\nT0|w(h=1)|3\nT2|r(h=1)|4\nT2|w(f=1)|5\nT1|r(f=1)|6\n"
           "T1|w(x)|7\n",
           0, 6, false);
}

/* Between the chosen write and the read nothing else may write, whoever has to be executed. */
static void a_third_write_must_not_come_in_between(void **state)
{
    (void)state;
    expect("T2|w(f=1)|1\nT2|w(f=2)|2\nT2|w(g=1)|3\nT1|r(g=1)|4\nT0|w(x)|5\nT0|w(f=1)|6\n"
           "T1|r(f=1)|7\nT1|w(x)|8\n",
           4, 7, false);
    expect("T2|w(f=1)|1\nT2|w(f=2)|2\nT2|w(g=1)|3\nT1|r(f=1)|4\nT1|r(g=1)|5\nT0|w(x)|6\n"
           "T1|w(x)|7\n",
           5, 6, true);
}

static void a_schedule_that_gets_too_long_is_not_made(void **state)
{
    struct text_trace t = { 0 };
    struct predict_budget budget = { .max_events = 5 };
    struct predictor *p;
    struct view *v;
    uint64_t *list;
    size_t n;

    (void)state;
    text_trace_open(&t, "T0|w(y)|1\nT0|w(y)|2\nT0|w(y)|3\nT0|w(x)|4\nT1|r(y)|5\nT1|w(x)|6\n");
    v = view_new(&t.mem, CALL_RULE_NONE);
    p = predictor_new(v, trace_info(t.trace));
    assert_int_equal(predictor_decide(p, 3, 5, &budget, &list, &n), PREDICT_TOO_LONG);
    assert_null(list);
    budget.max_events = 6;
    assert_int_equal(predictor_decide(p, 3, 5, &budget, &list, &n), PREDICT_FEASIBLE);
    assert_int_equal(n, 6);
    free(list);
    predictor_free(p);
    view_free(v);
    text_trace_close(&t);
}

/* ---- mc ---- */

static struct buf text;

/* How many races does mc find in the text (only on the variable of its first event), and is the
 * result complete? */
static size_t count_races(uint64_t window, bool only_first, bool *complete)
{
    const struct engine *const engines[] = { &engine_mc };
    struct engine_options options = { .jobs = 1, .window = window };
    struct text_trace t = { 0 };
    struct analysis a;
    struct error err = { "" };
    size_t n = 0;

    text_trace_open(&t, text.data);
    assert_int_equal(trace_rewind(t.trace, &err), 0);
    assert_int_equal(analysis_run(t.trace, engines, 1, &options, NULL, &a, &err), 0);
    for (size_t i = 0; i < a.runs[0].result.races.count; i++) {
        const struct race *r = &a.runs[0].result.races.races[i];

        assert_int_equal(r->strength, STRENGTH_WITNESSED);
        n += !only_first || t.mem.events[r->first.position].target == t.mem.events[0].target;
    }
    *complete = a.runs[0].result.complete;
    analysis_release(&a);
    text_trace_close(&t);
    buf_release(&text);
    return n;
}

/* T0 and T1 write x in turns, ordered by a flag of which every value is new; once they do not
 * wait, and do other things for long in between. */
static void write_turns(int turns, int loose)
{
    for (int i = 1; i <= turns; i++) {
        buf_addf(&text, "T0|w(x)|1\n");
        for (int k = 0; i == loose && k < 50; k++)
            buf_addf(&text, "T0|w(y)|2\n");
        if (i != loose)
            buf_addf(&text, "T0|w(f=%d)|3\nT1|r(f=%d)|4\n", i, i);
        buf_addf(&text, "T1|w(x)|5\n");
        if (i == loose) /* the next turn is again a turn */
            buf_addf(&text, "T1|w(g=%d)|6\nT0|r(g=%d)|7\n", i, i);
        else
            buf_addf(&text, "T1|w(h=%d)|8\nT0|r(h=%d)|9\n", i, i);
    }
}

static void a_race_of_one_far_instance_is_found(void **state)
{
    bool complete;

    (void)state;
    write_turns(100, 0);
    assert_int_equal(count_races(0, true, &complete), 0);
    assert_true(complete);
    write_turns(100, 1);
    assert_int_equal(count_races(0, true, &complete), 1);
    write_turns(100, 57);
    assert_int_equal(count_races(0, true, &complete), 1);
    write_turns(100, 100);
    assert_int_equal(count_races(0, true, &complete), 1);
}

/* T1 may read the flag's old value, which T0 writes again much later: a value race. */
static void parts_of_a_race_may_be_far_apart(void **state)
{
    bool complete;

    (void)state;
    buf_addf(&text, "T0|acq(l)|1\nT0|w(x)|2\nT0|w(f=1)|3\nT0|rel(l)|4\n");
    for (int i = 0; i < 100000; i++)
        buf_addf(&text, "T%d|w(z%d=%d)|5\n", i % 3, i % 3, i);
    buf_addf(&text, "T2|w(f=2)|6\nT2|w(f=1)|7\nT1|acq(l)|8\nT1|r(f=1)|9\nT1|rel(l)|10\n"
                    "T1|w(x)|11\n");
    assert_true(count_races(0, false, &complete) >= 1);
    assert_true(complete);
}

static void windows_say_so(void **state)
{
    bool complete;

    (void)state;
    buf_addf(&text, "T0|w(x)|1\nT1|w(x)|2\nT0|w(y)|3\nT0|w(z)|4\nT0|w(z)|5\nT1|w(y)|6\n");
    assert_int_equal(count_races(2, false, &complete), 1);
    assert_false(complete);
    buf_addf(&text, "T0|w(x)|1\nT1|w(x)|2\nT0|w(y)|3\nT0|w(z)|4\nT0|w(z)|5\nT1|w(y)|6\n");
    assert_int_equal(count_races(3, false, &complete), 2);
    assert_false(complete);
    buf_addf(&text, "T0|w(x)|1\nT1|w(x)|2\nT0|w(y)|3\nT0|w(z)|4\nT0|w(z)|5\nT1|w(y)|6\n");
    assert_int_equal(count_races(6, false, &complete), 2);
    assert_true(complete);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_behind_the_two_accesses_need_no_order),
        cmocka_unit_test(sections_may_change_places),
        cmocka_unit_test(a_common_lock_excludes),
        cmocka_unit_test(open_sections_end_with_their_thread),
        cmocka_unit_test(every_executed_event_needs_a_consistent_past),
        cmocka_unit_test(with_branches_a_read_may_be_wrong_until_it_matters),
        cmocka_unit_test(any_write_of_the_same_value_will_do),
        cmocka_unit_test(a_write_of_the_same_value_must_be_possible_itself),
        cmocka_unit_test(a_third_write_must_not_come_in_between),
        cmocka_unit_test(a_schedule_that_gets_too_long_is_not_made),
        cmocka_unit_test(a_race_of_one_far_instance_is_found),
        cmocka_unit_test(parts_of_a_race_may_be_far_apart),
        cmocka_unit_test(windows_say_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
