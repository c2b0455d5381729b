/* test_deadlock.c - what random traces do not show of deadlocks: bounds, tries, the table */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engines/analysis.h"
#include "text_trace.h"
#include "trace/hdl/hdl.h"

static void analyse_within(struct trace *t, uint64_t work, struct analysis *a)
{
    const struct engine *engine = &engine_deadlock;
    const struct engine_options options = { .work = work };
    struct error err = { "" };

    assert_int_equal(trace_rewind(t, &err), 0);
    assert_int_equal(analysis_run(t, &engine, 1, &options, NULL, a, &err), 0);
}

static void analyse(struct trace *t, struct analysis *a)
{
    analyse_within(t, 0, a);
}

static uint64_t counter(const struct engine_result *r, const char *name)
{
    for (size_t i = 0; i < r->ncounters; i++)
        if (strcmp(r->counters[i].name, name) == 0)
            return r->counters[i].value;
    return 0;
}

/* ---- rings ---- */

/* So many philosophers, one after the other. */
static void philosophers(struct buf *text, int n)
{
    for (int i = 0; i < n; i++)
        buf_addf(text, "T%d|acq(f%d)|1\nT%d|acq(f%d)|2\nT%d|rel(f%d)|3\nT%d|rel(f%d)|4\n", i, i, i,
                 (i + 1) % n, i, (i + 1) % n, i, i);
    buf_addch(text, 0);
}

static void look_at_philosophers(int n, size_t deadlocks, bool complete)
{
    struct text_trace t = { 0 };
    struct buf text = { 0 };
    const struct engine_result *r;
    struct analysis a;

    philosophers(&text, n);
    text_trace_open(&t, text.data);
    analyse(t.trace, &a);
    r = &a.runs[0].result;
    assert_int_equal(r->deadlocks.count, deadlocks);
    if (deadlocks)
        assert_int_equal(r->deadlocks.deadlocks[0].nwaits, n);
    assert_int_equal(r->complete, complete);
    assert_int_equal(counter(r, "search_cut"), !complete);
    analysis_release(&a);
    text_trace_close(&t);
    buf_release(&text);
}

static void rings_have_up_to_64_threads(void **state)
{
    (void)state;
    look_at_philosophers(2, 1, true);
    look_at_philosophers(64, 1, true);
    look_at_philosophers(65, 0, false); /* said, not silent */
}

/* ---- tries ---- */

static const char crossed[] = "T0|acq(a)|1\nT0|acq(b)|2\nT0|rel(b)|3\nT0|rel(a)|4\n"
                              "T1|acq(b)|5\nT1|acq(a)|6\nT1|rel(a)|7\nT1|rel(b)|8\n";

/* Deadlocks of the trace above when its event `tried` would not have waited. Only .hdl says so. */
static size_t deadlocks_with_try(size_t tried)
{
    struct text_trace t = { 0 };
    struct hdl_options options = { .chunk_events = 5 };
    struct hdl_writer *w;
    struct error err = { "" };
    struct analysis a;
    struct trace *again;
    struct batch b;
    char path[256];
    size_t count;

    text_trace_open(&t, crossed);
    if (tried < t.mem.count)
        t.mem.events[tried].flags |= EV_BARE;
    scratch_path(path, sizeof(path), ".hdl");
    w = hdl_create(path, trace_tables(t.trace), &options, &err);
    assert_non_null(w);
    b = (struct batch){ .events = t.mem.events, .count = t.mem.count, .extra = t.mem.extra };
    assert_int_equal(hdl_write(w, &b, &err), 0);
    assert_int_equal(hdl_finish(w, &err), 0);
    again = trace_open(path, &err);
    assert_non_null(again);
    analyse(again, &a);
    count = a.runs[0].result.deadlocks.count;
    analysis_release(&a);
    trace_close(again);
    unlink(path);
    text_trace_close(&t);
    return count;
}

static void an_acquire_that_does_not_wait_is_no_request(void **state)
{
    (void)state;
    assert_int_equal(deadlocks_with_try(SIZE_MAX), 1);
    assert_int_equal(deadlocks_with_try(1), 0);
    assert_int_equal(deadlocks_with_try(5), 0);
    assert_int_equal(deadlocks_with_try(0), 1); /* what it got that way it holds all the same */
}

/* ---- the table ---- */

static struct lock_wait wait_at(uint32_t request, uint32_t hold)
{
    return (struct lock_wait){ .request = { 0, request }, .hold = { 0, hold } };
}

static void add(struct deadlock_table *t, const struct lock_wait *waits, size_t n)
{
    struct deadlock d = { .nwaits = n, .waits = malloc(n * sizeof(*waits)) };

    memcpy(d.waits, waits, n * sizeof(*waits));
    deadlock_table_add(t, &d);
}

static void the_table_knows_sites_in_any_order(void **state)
{
    struct lock_wait ab[] = { wait_at(1, 2), wait_at(3, 4) };
    struct lock_wait ba[] = { wait_at(3, 4), wait_at(1, 2) };
    struct lock_wait mixed[] = { wait_at(1, 4), wait_at(3, 2) };
    struct lock_wait aab[] = { wait_at(1, 2), wait_at(1, 2), wait_at(3, 4) };
    struct lock_wait abb[] = { wait_at(1, 2), wait_at(3, 4), wait_at(3, 4) };
    struct deadlock_table t = { 0 };

    (void)state;
    add(&t, ab, 2);
    assert_ptr_equal(deadlock_table_find(&t, ba, 2), &t.deadlocks[0]);
    assert_null(deadlock_table_find(&t, mixed, 2));
    assert_null(deadlock_table_find(&t, aab, 3));
    add(&t, aab, 3);
    assert_null(deadlock_table_find(&t, abb, 3));
    assert_ptr_equal(deadlock_table_find(&t, aab, 3), &t.deadlocks[1]);
    deadlock_table_release(&t);
}

/* ---- budgets ---- */

enum { FILLER = 200000, LITTLE = 1000000 /* units: enough for some 75,000 events */ };

static void fill(struct buf *text)
{
    for (int i = 0; i < FILLER; i++)
        buf_addf(text, "T9|r(x)|99\n");
}

static void nested(struct buf *text, const char *thread, const char *outer, const char *inner,
                   int site)
{
    buf_addf(text, "%s|acq(%s)|%d\n%s|acq(%s)|%d\n%s|rel(%s)|%d\n%s|rel(%s)|%d\n", thread, outer,
             site, thread, inner, site + 1, thread, inner, site + 2, thread, outer, site + 3);
}

/* What the budget does not reach is left undecided, and nothing else is. */
static void what_is_near_is_decided_within_a_budget(void **unused)
{
    struct text_trace t = { 0 };
    struct buf text = { 0 };
    const struct engine_result *r;
    struct analysis a;

    (void)unused;
    nested(&text, "T1", "a", "b", 1);
    nested(&text, "T2", "b", "a", 11);
    fill(&text);
    nested(&text, "T3", "c", "d", 21);
    nested(&text, "T4", "d", "c", 31);
    buf_addch(&text, 0);
    text_trace_open(&t, text.data);
    analyse_within(t.trace, LITTLE, &a);
    r = &a.runs[0].result;
    assert_int_equal(r->deadlocks.count, 1);
    assert_int_equal(r->deadlocks.deadlocks[0].waits[0].request.position, 1);
    assert_int_equal(counter(r, "undecided_patterns"), 1);
    assert_false(r->complete);
    analysis_release(&a);
    analyse(t.trace, &a);
    r = &a.runs[0].result;
    assert_int_equal(r->deadlocks.count, 2);
    assert_true(r->complete);
    analysis_release(&a);
    text_trace_close(&t);
    buf_release(&text);
}

/* A deadlock that happened is no question of effort. */
static void what_happened_is_reported_within_any_budget(void **unused)
{
    struct text_trace t = { 0 };
    struct buf text = { 0 };
    const struct engine_result *r;
    struct analysis a;

    (void)unused;
    fill(&text);
    buf_addf(&text, "T1|acq(a)|1\nT2|acq(b)|11\nT1|req(b)|2\nT2|req(a)|12\n");
    buf_addch(&text, 0);
    text_trace_open(&t, text.data);
    analyse_within(t.trace, LITTLE, &a);
    r = &a.runs[0].result;
    assert_int_equal(r->deadlocks.count, 1);
    assert_int_equal(r->deadlocks.deadlocks[0].strength, STRENGTH_CONFIRMED);
    analysis_release(&a);
    text_trace_close(&t);
    buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rings_have_up_to_64_threads),
        cmocka_unit_test(an_acquire_that_does_not_wait_is_no_request),
        cmocka_unit_test(the_table_knows_sites_in_any_order),
        cmocka_unit_test(what_is_near_is_decided_within_a_budget),
        cmocka_unit_test(what_happened_is_reported_within_any_budget),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
