/* test_effort.c - effort is counted, not timed: the clock decides nothing
 *
 * Here the clock is ours, and jumps: on a machine that is busy with other work much time passes
 * between any two events of an analysis.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "engines/analysis.h"
#include "engines/whole.h"
#include "engines/whole_run.h"
#include "gen.h"
#include "text_trace.h"

static bool jumps;
static long jumped; /* seconds; atomic */

int clock_gettime(clockid_t id, struct timespec *ts)
{
    int r = (int)syscall(SYS_clock_gettime, id, ts);

    if (jumps)
        ts->tv_sec += __atomic_add_fetch(&jumped, 3600, __ATOMIC_RELAXED);
    return r;
}

enum { MAX_ENGINES = 32 };

static struct trace *open_text(struct buf *text)
{
    struct error err = { "" };
    struct trace *t;
    char path[256];

    scratch_path(path, sizeof(path), ".std");
    scratch_write(path, text->data, text->len);
    buf_release(text);
    t = trace_open(path, &err);
    unlink(path);
    assert_non_null(t);
    return t;
}

static struct trace *open_generated(uint64_t seed)
{
    struct gen_small_options options;
    struct buf text = { 0 };
    struct gen_trace g;

    gen_small_random(&options, seed, 40);
    gen_small(&options, &g);
    gen_trace_text(&g, &text);
    gen_trace_release(&g);
    return open_text(&text);
}

static void analyse(struct trace *t, bool cascade, uint64_t work, bool jumping, struct analysis *a)
{
    const struct engine_options options = { .work = work, .jobs = 2, .cascade = cascade };
    struct error err = { "" };
    size_t n = 0;

    while (engine_registry[n])
        n++;
    assert_int_equal(trace_rewind(t, &err), 0);
    jumps = jumping;
    assert_int_equal(analysis_run(t, engine_registry, n, &options, NULL, a, &err), 0);
    jumps = false;
}

static void assert_same(const struct engine_result *a, const struct engine_result *b)
{
    assert_int_equal(a->complete, b->complete);
    assert_int_equal(a->races.count, b->races.count);
    assert_int_equal(a->deadlocks.count, b->deadlocks.count);
    for (size_t i = 0; i < a->races.count; i++) {
        assert_int_equal(a->races.races[i].strength, b->races.races[i].strength);
        assert_int_equal(a->races.races[i].second.position, b->races.races[i].second.position);
    }
}

static void compare(uint64_t seed, bool cascade, uint64_t work)
{
    struct trace *t = open_generated(seed);
    struct analysis idle, busy;

    analyse(t, cascade, work, false, &idle);
    analyse(t, cascade, work, true, &busy);
    for (size_t i = 0; i < idle.count; i++)
        assert_same(&idle.runs[i].result, &busy.runs[i].result);
    analysis_release(&idle);
    analysis_release(&busy);
    trace_close(t);
}

static void a_busy_machine_finds_what_an_idle_one_does(void **state)
{
    static const uint64_t efforts[] = { 0, 6000000000, 100000000, 200000, 20000 };

    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++)
        compare(seed, seed % 2, efforts[seed % 5]);
}

static uint64_t limit_within(uint64_t memory, uint64_t part)
{
    const struct engine_options options = { .memory = memory, .part = part };
    struct trace *t = open_generated(1);
    struct whole *w = whole_new(t, NULL, NULL, &options, NULL);
    uint64_t limit = whole_limit(w);

    whole_free(w);
    trace_close(t);
    return limit;
}

static void memory_limits_the_events_that_are_held(void **unused)
{
    (void)unused;
    assert_int_equal(limit_within(0, 0), WHOLE_EVENTS_MAX);
    assert_int_equal(limit_within((uint64_t)1 << 40, 0), WHOLE_EVENTS_MAX);
    assert_int_equal(limit_within((uint64_t)1 << 30, 0), (1 << 29) / WHOLE_EVENT_BYTES);
    assert_int_equal(limit_within(1, 0), WHOLE_EVENTS_MIN);
    assert_int_equal(limit_within(1, 4), 4); /* who says how many gets them */
}

/* As many as somebody needs, until somebody needs more. */
static void an_engine_alone_loads_what_it_needs(void **unused)
{
    const struct engine_options options = { .jobs = 1 };
    struct error err = { "" };
    struct trace *t = open_generated(1);
    struct whole *w = whole_new(t, NULL, NULL, &options, NULL);

    (void)unused;
    assert_int_equal(trace_info(t)->order, TRACE_EXACT);
    whole_begin(w, &engine_shb, UINT64_MAX);
    assert_int_equal(whole_events_before(w, 10, &err)->count, 10);
    assert_true(whole_events(w, &err)->count > 10);
    assert_true(whole_events_before(w, 10, &err)->count > 10); /* they are there */
    whole_free(w);
    trace_close(t);
}

/* A view that takes many times what is left is not begun, and that is said. */
static void a_view_beyond_the_budget_is_not_made(void **unused)
{
    const struct engine *mc = &engine_mc;
    const struct engine_options little = { .work = 100 };
    struct error err = { "" };
    struct trace *t = open_generated(3);
    struct analysis a;

    (void)unused;
    assert_int_equal(analysis_run(t, &mc, 1, &little, NULL, &a, &err), 0);
    assert_false(a.runs[0].result.complete);
    assert_string_equal(a.runs[0].result.counters[0].name, "events_not_seen");
    assert_int_equal(a.runs[0].result.counters[0].value, trace_info(t)->events);
    analysis_release(&a);
    trace_close(t);
}

static uint64_t counter_of(const struct engine_result *r, const char *name)
{
    for (size_t i = 0; i < r->ncounters; i++)
        if (strcmp(r->counters[i].name, name) == 0)
            return r->counters[i].value;
    return 0;
}

/* Also where the user names them: they see a beginning, and say how much lies behind it. */
static void named_engines_that_predict_keep_the_memory(void **unused)
{
    static const struct engine *const engines[] = { &engine_syncp, &engine_wcp, &engine_osr,
                                                    &engine_mc };
    const struct engine_options little = { .sieve = true, .gist_from = 1, .memory = 512 * 12 };
    struct error err = { "" };
    struct buf text = { 0 };
    struct analysis a;
    struct trace *t;

    (void)unused;
    for (int i = 0; i < 20; i++)
        buf_addf(&text, "T%d|acq(l)|1\nT%d|w(x)|2\nT%d|rel(l)|3\n", i % 2, i % 2, i % 2);
    t = open_text(&text);
    assert_int_equal(analysis_run(t, engines, 4, &little, NULL, &a, &err), 0);
    for (size_t i = 0; i < a.count; i++) {
        assert_false(a.runs[i].result.complete);
        assert_int_equal(counter_of(&a.runs[i].result, "events_not_seen"), 60 - 12);
    }
    analysis_release(&a);
    trace_close(t);
}

/* A closure goes through all threads, of which there may be very many. */
static void the_cost_of_a_closure_grows_with_the_threads(void **unused)
{
    enum { THREADS = 2000, WORK = 20000000 };
    const struct engine *syncp = &engine_syncp;
    const struct engine_options options = { .work = WORK, .jobs = 1, .find_only = true };
    struct error err = { "" };
    struct buf text = { 0 };
    struct text_trace t;
    struct analysis a;

    (void)unused;
    for (int i = 0; i < THREADS; i++)
        buf_addf(&text, "T%d|w(0x1000:8)|%d\nT%d|fork(T%d)|1\n", i, i + 2, i, i + 1);
    buf_addstr(&text, "T0|w(0x1000:8)|1\n");
    text_trace_open(&t, text.data);
    assert_int_equal(trace_rewind(t.trace, &err), 0);
    assert_int_equal(analysis_run(t.trace, &syncp, 1, &options, NULL, &a, &err), 0);
    assert_false(a.runs[0].result.complete);
    assert_in_range(counter_of(&a.runs[0].result, "closures"), 1, WORK / THREADS + 1);
    analysis_release(&a);
    text_trace_close(&t);
    buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_busy_machine_finds_what_an_idle_one_does),
        cmocka_unit_test(memory_limits_the_events_that_are_held),
        cmocka_unit_test(an_engine_alone_loads_what_it_needs),
        cmocka_unit_test(a_view_beyond_the_budget_is_not_made),
        cmocka_unit_test(named_engines_that_predict_keep_the_memory),
        cmocka_unit_test(the_cost_of_a_closure_grows_with_the_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
