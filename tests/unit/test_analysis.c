/* test_analysis.c - one decode, several engines, several threads */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "engines/analysis.h"
#include "gen.h"
#include "text_trace.h"
#include "trace/hdl/hdl.h"

/* A trace of many pieces with races, and of operations of all kinds. */
static struct trace *open_generated(char *path, size_t size)
{
    struct gen_large_options o;
    struct hdl_options options = { .compression = HDL_LZ4 };
    struct tables tables = { 0 };
    struct error err = { "" };
    struct hdl_writer *w;
    struct gen *g;
    struct batch b;

    gen_large_defaults(&o);
    o.events = 150000;
    o.threads = 8;
    o.racy = 20;
    o.racy_ppm = 50000;
    o.shared_percent = 20;
    o.nested_percent = 20;
    o.atomic_percent = 10;
    o.heap_percent = 20;
    o.lifetime = 20000;
    g = gen_open(&o, &tables);
    scratch_path(path, size, ".hdl");
    w = hdl_create(path, &tables, &options, &err);
    assert_non_null(w);
    while (gen_next(g, &b))
        assert_int_equal(hdl_write(w, &b, &err), 0);
    assert_int_equal(hdl_finish(w, &err), 0);
    gen_close(g);
    tables_release(&tables);
    return trace_open(path, &err);
}

enum { MAX_ENGINES = 32 };

/* Those of the cascade but mc and rdit, which take long on so long a trace (test_prove.c has them).
 */
static size_t choose_engines(const struct engine *engines[MAX_ENGINES])
{
    size_t n = 0;

    for (size_t i = 0; engine_registry[i]; i++)
        if (!engine_registry[i]->on_request && engine_registry[i] != &engine_mc &&
            engine_registry[i] != &engine_rdit)
            engines[n++] = engine_registry[i];
    return n;
}

static void run(struct trace *t, unsigned jobs, bool one_by_one, struct analysis *out)
{
    const struct engine *engines[MAX_ENGINES];
    struct engine_options options = { .jobs = jobs, .sieve = true, .one_by_one = one_by_one };
    struct error err = { "" };
    size_t n = choose_engines(engines);

    assert_int_equal(trace_rewind(t, &err), 0);
    assert_int_equal(analysis_run(t, engines, n, &options, NULL, out, &err), 0);
}

static void expect_equal_races(const char *name, const struct race_table *a,
                               const struct race_table *b)
{
    print_message("# %s: %zu races\n", name, a->count);
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        const struct race *x = &a->races[i], *y = &b->races[i];

        assert_int_equal(x->first.position, y->first.position);
        assert_int_equal(x->second.position, y->second.position);
        assert_int_equal(x->count, y->count);
        assert_int_equal(x->strength, y->strength);
        assert_int_equal(x->nwitness, y->nwitness);
        if (x->nwitness)
            assert_memory_equal(x->witness, y->witness, x->nwitness * sizeof(*x->witness));
    }
}

static void the_result_does_not_depend_on_threads_or_passes(void **state)
{
    struct analysis one, four, each;
    char path[256];
    struct trace *t = open_generated(path, sizeof(path));

    (void)state;
    assert_non_null(t);
    run(t, 1, false, &one);
    run(t, 4, false, &four);
    run(t, 2, true, &each);
    for (size_t i = 0; i < one.count; i++) {
        const struct race_table *races = &one.runs[i].result.races;

        expect_equal_races(one.runs[i].engine->name, races, &four.runs[i].result.races);
        expect_equal_races("one by one", races, &each.runs[i].result.races);
    }
    analysis_release(&each);
    analysis_release(&one);
    analysis_release(&four);
    trace_close(t);
    unlink(path);
}

static bool stop_at_once(void *arg, const struct trace_info *info)
{
    (void)info;
    ++*(int *)arg;
    return true;
}

static void an_analysis_that_is_stopped_keeps_what_it_has_and_says_so(void **state)
{
    int calls = 0;
    struct analysis_hooks hooks = { stop_at_once, NULL, &calls };
    const struct engine *engines[MAX_ENGINES];
    struct engine_options options = { .jobs = 3 };
    struct error err = { "" };
    struct analysis a;
    char path[256];
    struct trace *t = open_generated(path, sizeof(path));

    (void)state;
    assert_non_null(t);
    assert_int_equal(analysis_run(t, engines, choose_engines(engines), &options, &hooks, &a, &err),
                     0);
    assert_true(a.interrupted);
    assert_int_equal(calls, 1);
    for (size_t i = 0; i < a.count; i++)
        assert_false(a.runs[i].result.complete);
    analysis_release(&a);
    trace_close(t);
    unlink(path);
}

/* So many races that their schedules together are more than an engine keeps, or syncp holds: two
 * threads write the same variables, behind a long way of the one. */
static void expect_all_checked(const struct engine *engine, uint32_t way, uint32_t races)
{
    struct engine_options options = { .jobs = 2 };
    struct buf text = { 0 };
    struct error err = { "" };
    const struct race_table *found;
    struct text_trace t;
    struct analysis a;

    for (uint32_t i = 0; i < way; i++)
        buf_addf(&text, "T1|w(way)|way\n");
    for (uint32_t i = 0; i < races; i++)
        buf_addf(&text, "T1|w(x%u)|a%u\nT2|w(x%u)|b%u\n", i, i, i, i);
    buf_addch(&text, '\0');
    text_trace_open(&t, text.data);
    assert_int_equal(trace_rewind(t.trace, &err), 0);
    assert_int_equal(analysis_run(t.trace, &engine, 1, &options, NULL, &a, &err), 0);
    found = &a.runs[0].result.races;
    assert_int_equal(found->count, races);
    for (size_t i = 0; i < races; i++)
        assert_int_equal(found->races[i].strength, STRENGTH_WITNESSED);
    assert_non_null(found->races[0].witness);
    assert_null(found->races[races - 1].witness);
    assert_true(found->races[races - 1].long_witness > way);
    analysis_release(&a);
    text_trace_close(&t);
    buf_release(&text);
}

static void every_race_is_checked_also_where_schedules_are_not_kept(void **state)
{
    (void)state;
    expect_all_checked(&engine_shb, 4500, 600);
    expect_all_checked(&engine_osr, 4500, 600);
    expect_all_checked(&engine_wcp, 4500, 600);
    expect_all_checked(&engine_mc, 4500, 600);
    expect_all_checked(&engine_syncp, 4500, 3000);
}

/* Two threads write one variable, each from so many locations. */
static struct trace *open_crossing(char *path, size_t size, unsigned locations)
{
    struct error err = { "" };
    struct buf text = { 0 };
    struct trace *t;

    for (unsigned i = 0; i < 2 * locations; i++)
        buf_addf(&text, "%s|w(x)|%u\n", i < locations ? "A" : "B", i);
    scratch_path(path, size, ".std");
    scratch_write(path, text.data, text.len);
    buf_release(&text);
    t = trace_open(path, &err);
    assert_non_null(t);
    return t;
}

static uint64_t counter_of(const struct engine_result *r, const char *name)
{
    for (size_t i = 0; i < r->ncounters; i++)
        if (strcmp(r->counters[i].name, name) == 0)
            return r->counters[i].value;
    return 0;
}

/* Found while deciding, after the pass: they count like those of the pass. */
static void races_beyond_a_million_make_an_engine_incomplete(void **state)
{
    static const struct engine_options options = { .find_only = true };
    const struct engine *engine = &engine_syncp;
    struct error err = { "" };
    struct analysis a;
    char path[256];
    struct trace *t = open_crossing(path, sizeof(path), 1001);

    (void)state;
    assert_int_equal(analysis_run(t, &engine, 1, &options, NULL, &a, &err), 0);
    assert_int_equal(a.runs[0].result.races.count, RACES_MAX);
    assert_int_equal(counter_of(&a.runs[0].result, "instances_dropped"), 1001 * 1001 - RACES_MAX);
    assert_false(a.runs[0].result.complete);
    analysis_release(&a);
    trace_close(t);
    unlink(path);
}

/* The sieve must not forget a free because nobody had accessed the memory before. */
static void a_free_of_untouched_memory_races_with_a_much_later_access(void **state)
{
    static const struct engine_options options = { .sieve = true, .find_only = true };
    const struct engine *engine = &engine_hb;
    struct error err = { "" };
    struct buf text = { 0 };
    struct text_trace t;
    struct analysis a;

    (void)state;
    buf_addstr(&text, "T1|free(0x20000:16)|1\n");
    for (int i = 0; i < 20000; i++)
        buf_addf(&text, "T1|w(0x1000:8)|2\n");
    buf_addstr(&text, "T0|w(0x20000:8)|3\n");
    text_trace_open(&t, text.data);
    assert_int_equal(trace_rewind(t.trace, &err), 0);
    assert_int_equal(analysis_run(t.trace, &engine, 1, &options, NULL, &a, &err), 0);
    assert_int_equal(a.runs[0].result.races.count, 1);
    analysis_release(&a);
    text_trace_close(&t);
    buf_release(&text);
}

/* Threads that nobody waits for: their numbers are not used again, and the sieve's stamps have no
 * room for them. */
static void more_threads_than_stamps_can_name_hide_no_race(void **state)
{
    static const struct engine_options options = { .sieve = true, .find_only = true };
    const struct engine *engine = &engine_hb;
    struct error err = { "" };
    struct buf text = { 0 };
    struct text_trace t;
    struct analysis a;

    (void)state;
    for (int i = 0; i < 66000; i++)
        buf_addf(&text, "T%d|w(0x1000:8)|1\nT%d|fork(T%d)|2\n", i, i, i + 1);
    buf_addstr(&text, "T66000|w(0x2000:8)|3\nT0|w(0x1000:8)|4\nT0|w(0x2000:8)|5\n");
    text_trace_open(&t, text.data);
    assert_int_equal(trace_rewind(t.trace, &err), 0);
    assert_int_equal(analysis_run(t.trace, &engine, 1, &options, NULL, &a, &err), 0);
    assert_int_equal(a.runs[0].result.races.count, 2);
    analysis_release(&a);
    text_trace_close(&t);
    buf_release(&text);
}

/* The sieve keeps the locks that all accesses of a block's owner had, not those of the last. */
static void a_lock_later_does_not_protect_what_was_before(void **state)
{
    static const char text[] = "T0|fork(T1)|1\nT0|fork(T2)|2\nT1|w(x)|3\nT1|acq(L)|4\n"
                               "T1|w(x)|5\nT1|rel(L)|6\nT2|acq(L)|7\nT2|w(x)|8\nT2|rel(L)|9\n";
    static const struct engine_options options = { .sieve = true, .cascade = true, .jobs = 1 };
    const struct engine *engines[MAX_ENGINES];
    struct text_trace t;
    struct analysis a;
    struct error err = { "" };
    size_t n = choose_engines(engines), found = 0;

    (void)state;
    text_trace_open(&t, text);
    assert_int_equal(trace_rewind(t.trace, &err), 0);
    assert_int_equal(analysis_run(t.trace, engines, n, &options, NULL, &a, &err), 0);
    for (size_t i = 0; i < n; i++)
        found += a.runs[i].result.races.count;
    assert_int_not_equal(found, 0);
    analysis_release(&a);
    text_trace_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lock_later_does_not_protect_what_was_before),
        cmocka_unit_test(more_threads_than_stamps_can_name_hide_no_race),
        cmocka_unit_test(a_free_of_untouched_memory_races_with_a_much_later_access),
        cmocka_unit_test(the_result_does_not_depend_on_threads_or_passes),
        cmocka_unit_test(an_analysis_that_is_stopped_keeps_what_it_has_and_says_so),
        cmocka_unit_test(every_race_is_checked_also_where_schedules_are_not_kept),
        cmocka_unit_test(races_beyond_a_million_make_an_engine_incomplete),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
