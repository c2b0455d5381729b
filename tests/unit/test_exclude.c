/* test_exclude.c - what a trace looks like with code left out
 *
 * A case gives a text trace and patterns, and compares what is visible afterwards, line by line
 * with positions; a call that returns at once has a '!' behind its position.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "order/view.h"
#include "symbol/symbol.h"
#include "text_trace.h"
#include "trace/calls/exclude.h"
#include "trace/calls/globs.h"
#include "trace/text/event_text.h"
#include "trace/calls/touched.h"

static struct trace *open_without(const char *text, const char *patterns,
                                  struct exclude_stats *stats)
{
    struct globs g = { .readable = sym_demangle };
    struct error err = { "" };
    struct trace *t;
    char path[256];

    scratch_path(path, sizeof(path), ".std");
    scratch_write(path, text, strlen(text));
    t = trace_open(path, &err);
    unlink(path);
    if (!t)
        fail_msg("%s", err.text);
    globs_add(&g, patterns);
    if (trace_exclude(t, &g, stats, &err) < 0)
        fail_msg("%s", err.text);
    globs_release(&g);
    return t;
}

static void print(struct buf *b, const struct trace_mem *m, const struct tables *t, size_t first)
{
    b->len = 0;
    for (size_t i = 0; i < m->count; i++) {
        if (m->events[i].flags & EV_EXCLUDED) {
            assert_true(m->events[i].flags & EV_IGNORED);
            continue;
        }
        buf_addf(b, "%zu%s ", first + i, m->events[i].flags & EV_ALONE ? "!" : "");
        text_event(b, &m->events[i], m->extra, t);
    }
    buf_addstr(b, "");
}

/* Twice: the second pass must be as the first, and so must be a window. */
static void expect(const char *text, const char *patterns, const char *visible)
{
    struct exclude_stats stats;
    struct error err = { "" };
    struct trace *t = open_without(text, patterns, &stats);
    struct trace_mem m;
    struct buf b = { 0 };

    for (int pass = 0; pass < 2; pass++) {
        assert_int_equal(trace_load(t, 1000, &m, &err), 0);
        print(&b, &m, trace_tables(t), 0);
        assert_string_equal(b.data, visible);
        trace_mem_release(&m);
        assert_int_equal(trace_rewind(t, &err), 0);
    }
    assert_int_equal(trace_window(t, 2, 1000, &m, &err), 0);
    print(&b, &m, trace_tables(t), 2);
    assert_non_null(strstr(visible, b.data));
    trace_mem_release(&m);
    buf_release(&b);
    trace_close(t);
}

/* ---- functions ---- */

static void an_excluded_function_becomes_a_call_with_what_it_touched(void **state)
{
    (void)state;
    expect("A|w(X)|1\nA|enter(f)|2\nA|acq(L)|3\nA|w(0x1000:4)|4\nA|w(0x1004:4)|5\n"
           "A|w(0x2000:2)|6\nA|rel(L)|7\nA|exit(f)|8\nA|w(X)|9\n",
           "f", "0 A|w(X)|1\n1 A|call(f:0x1000:8,0x2000:2,sync(L))|2\n7 A|ret(f)|8\n8 A|w(X)|9\n");
}

static void what_an_excluded_function_calls_and_is_excluded_belongs_to_it(void **state)
{
    (void)state;
    expect("A|enter(f)|1\nA|w(X)|2\nA|enter(g)|3\nA|w(Y)|4\nA|exit(g)|5\nA|exit(f)|6\n", "f;g",
           "0 A|call(f:X,Y)|1\n5 A|ret(f)|6\n");
}

static void a_callback_stays_visible_and_excluded_code_in_it_is_a_call_of_its_own(void **state)
{
    (void)state;
    expect("A|enter(f)|1\nA|w(X)|2\nA|enter(cb)|3\nA|w(Y)|4\nA|enter(f)|5\nA|w(Z)|6\n"
           "A|exit(f)|7\nA|exit(cb)|8\nA|exit(f)|9\n",
           "f",
           "0 A|call(f:X)|1\n1 A|ret(f)|2\n2 A|enter(cb)|3\n3 A|w(Y)|4\n4 A|call(f:Z)|5\n"
           "6 A|ret(f)|7\n7 A|exit(cb)|8\n");
}

static void what_is_done_behind_a_callback_is_another_call(void **state)
{
    (void)state;
    expect("A|enter(f)|1\nA|enter(g)|2\nA|r(X)|3\nA|enter(cb)|4\nA|w(Y)|5\nA|exit(cb)|6\nA|w(Z)|7\n"
           "A|exit(g)|8\nA|w(X)|9\nA|exit(f)|10\n",
           "[fg]",
           "0 A|call(f:X)|1\n2 A|ret(f)|3\n3 A|enter(cb)|4\n4 A|w(Y)|5\n5 A|exit(cb)|6\n"
           "6 A|call(f:X,Z)|7\n9 A|ret(f)|10\n");
}

/* It may be the untraced code that calls back, and goes on when that returns. */
static void untraced_code_that_excluded_code_called_goes_on_behind_a_callback(void **state)
{
    (void)state;
    expect(
        "A|enter(f)|1\nA|call(x:X)|2\nA|enter(cb)|3\nA|w(Y)|4\nA|exit(cb)|5\nA|ret(x)|6\nA|exit(f)"
        "|7\n",
        "f", "0 A|call(f:X)|1\n2 A|enter(cb)|3\n3 A|w(Y)|4\n4 A|exit(cb)|5\n5 A|ret(f)|6\n");
    expect("A|enter(f)|1\nA|call(x:X)|2\nA|enter(cb)|3\nA|enter(f)|4\nA|w(Y)|5\nA|exit(f)|6\n"
           "A|exit(cb)|7\nA|ret(x)|8\nA|exit(f)|9\n",
           "f",
           "0 A|call(f:X)|1\n2 A|enter(cb)|3\n3 A|call(f:Y)|4\n5 A|ret(f)|6\n6 A|exit(cb)|7\n"
           "7 A|ret(f)|8\n");
}

/* The words of the lists are written anew for each batch: a list that is left out must not be
 * looked for among them. 300 lists of 150 ranges that are hidden, and a short one that is not. */
static void the_list_of_a_hidden_call_is_gone(void **state)
{
    struct exclude_stats stats;
    struct error err = { "" };
    struct trace_mem m;
    struct buf b = { 0 };
    struct trace *t;
    size_t hidden = 0;

    (void)state;
    buf_addf(&b, "A|call(x:0x10:4)|1\nA|ret(x)|2\n");
    for (unsigned i = 0; i < 300; i++) {
        buf_addf(&b, "A|enter(f)|3\nA|call(x:0x%x:4", 0x1000 + 16 * i);
        for (unsigned k = 1; k < 150; k++)
            buf_addf(&b, ",0x%x:4", 0x10000 + 16 * k);
        buf_addf(&b, ")|4\nA|ret(x)|5\nA|exit(f)|6\n");
    }
    t = open_without(b.data, "f", &stats);
    assert_int_equal(trace_load(t, 2000, &m, &err), 0);
    for (size_t i = 0; i < m.count; i++)
        if (m.events[i].op == OP_CALL && m.events[i].flags & EV_EXCLUDED) {
            assert_int_equal(m.events[i].old, 0);
            hidden++;
        }
    assert_int_equal(hidden, 300);
    trace_mem_release(&m);
    trace_close(t);
    buf_release(&b);
}

/* A loop that waits for events: its pair is that of one round. */
static void what_is_done_behind_untraced_code_is_another_call(void **state)
{
    (void)state;
    expect("A|enter(f)|1\nA|w(Y)|2\nA|call(x:X)|3\nA|ret(x)|4\nA|w(Z)|5\nA|call(x:X)|6\n"
           "A|call(x:X)|7\nA|ret(x)|8\nA|ret(x)|9\nA|w(Y)|10\nA|exit(f)|11\n",
           "f",
           "0 A|call(f:Y,X)|1\n3 A|ret(f)|4\n4 A|call(f:X,Z)|5\n8 A|ret(f)|9\n9 A|call(f:Y)|10\n"
           "10 A|ret(f)|11\n");
}

static void untraced_code_that_never_returns_leaves_its_call_open(void **state)
{
    (void)state;
    expect("A|enter(f)|1\nA|call(x:X)|2\nA|enter(cb)|3\nA|w(Y)|4\nA|exit(cb)|5\nB|w(X)|6\n", "f",
           "0 A|call(f:X)|1\n2 A|enter(cb)|3\n3 A|w(Y)|4\n4 A|exit(cb)|5\n5 B|w(X)|6\n");
    expect("A|call(x:X)|a.c:1\nA|enter(cb)|b.c:1\nA|w(Y)|b.c:2\nA|exit(cb)|b.c:3\nA|ret(x)|a.c:1\n"
           "A|w(Y)|b.c:4\n",
           "src:a.c",
           "0 A|call(?:X)|a.c:1\n1 A|enter(cb)|b.c:1\n2 A|w(Y)|b.c:2\n3 A|exit(cb)|b.c:3\n4 "
           "A|ret(?)|a.c:1\n"
           "5 A|w(Y)|b.c:4\n");
}

/* Also an excluded one: what it does is over when it returns, the loop around it is not. */
static void what_untraced_code_calls_back_is_a_call_of_its_own(void **state)
{
    (void)state;
    expect(
        "A|enter(f)|1\nA|w(Y)|2\nA|call(x:X)|3\nA|enter(g)|4\nA|enter(f)|5\nA|w(Z)|6\nA|exit(f)|7\n"
        "A|exit(g)|8\nA|enter(cb)|9\nA|exit(cb)|10\nA|ret(x)|11\nA|exit(f)|12\n",
        "[fg]",
        "0 A|call(f:Y,X)|1\n3 A|call(g:Z)|4\n7 A|ret(g)|8\n8 A|enter(cb)|9\n9 A|exit(cb)|10\n"
        "10 A|ret(f)|11\n");
}

static void reading_what_nobody_writes_is_not_listed(void **state)
{
    (void)state;
    expect("A|enter(f)|1\nA|r(X)|2\nA|r(Y)|3\nA|exit(f)|4\nB|w(Y)|5\n", "f",
           "0 A|call(f:Y)|1\n3 A|ret(f)|4\n4 B|w(Y)|5\n");
    expect("B|store.rlx(0x1004:2)|1\nA|enter(f)|2\nA|r(0x1000:8)|3\nA|load.acq(0x2000:8)|4\nA|exit("
           "f)|5\n",
           "f", "0 B|store.rlx(0x1004:2)|1\n1 A|call(f:0x1004:2)|2\n4 A|ret(f)|5\n");
    expect("B|alloc(0x1000:8)|1\nA|enter(f)|2\nA|r(0x1000:4)|3\nA|exit(f)|4\n", "f",
           "0 B|alloc(0x1000:8)|1\n1 A|call(f:0x1000:4)|2\n3 A|ret(f)|4\n");
    expect("A|enter(f)|1\nA|r(0x1000:4)|2\nA|exit(f)|3\nB|call(g:0xfff:2)|4\n", "f",
           "0 A|call(f:0x1000:1)|1\n2 A|ret(f)|3\n3 B|call(g:0xfff:2)|4\n");
    expect("A|enter(f)|1\nA|r(X)|2\nA|exit(f)|3\nB|call(g:*)|4\n", "f",
           "0 A|call(f:X)|1\n2 A|ret(f)|3\n3 B|call(g:*)|4\n");
}

static void a_function_that_is_never_left_returns_with_its_last_event(void **state)
{
    (void)state;
    expect("A|enter(f)|1\nA|r(X)|2\nA|w(X)|3\nB|w(X)|4\n", "f",
           "0 A|call(f:X)|1\n2 A|ret(f)|3\n3 B|w(X)|4\n");
    expect("A|enter(f)|1\nB|w(X)|4\nB|w(X)|5\n", "f", "0! A|call(f)|1\n1 B|w(X)|4\n2 B|w(X)|5\n");
}

static void frames_that_were_jumped_over_are_left(void **state)
{
    (void)state;
    expect("A|enter(f)|1\nA|enter(g)|2\nA|enter(h)|3\nA|r(X)|4\nA|exit(f)|5\nA|w(X)|6\n", "h",
           "0 A|enter(f)|1\n1 A|enter(g)|2\n2 A|call(h:X)|3\n3 A|ret(h)|4\n4 A|exit(f)|5\n"
           "5 A|w(X)|6\n");
}

/* ---- rows of events, known by their place ---- */

static void events_of_an_excluded_file_in_a_row_are_one_call(void **state)
{
    (void)state;
    expect(
        "A|w(X)|a.c:1\nA|acq(L)|b.c:1\nB|w(Y)|a.c:9\nA|r(X)|b.c:2\nA|rel(L)|b.c:3\nA|w(X)|a.c:2\n",
        "src:b.c",
        "0 A|w(X)|a.c:1\n1 A|call(?:X,sync(L))|b.c:1\n2 B|w(Y)|a.c:9\n4 A|ret(?)|b.c:3\n"
        "5 A|w(X)|a.c:2\n");
}

static void one_event_alone_is_a_call_that_returns_at_once(void **state)
{
    (void)state;
    expect("A|w(X)|a.c:1\nA|signal(S)|b.c:1\nA|w(X)|a.c:2\n", "src:b.c",
           "0 A|w(X)|a.c:1\n1! A|call(?:sync(S))|b.c:1\n2 A|w(X)|a.c:2\n");
}

/* They are counters, also for those who stay. */
static void semaphores_stay_visible(void **state)
{
    (void)state;
    expect("A|w(X)|a.c:1\nA|post(S)|b.c:1\nA|w(X)|a.c:2\n", "src:b.c",
           "0 A|w(X)|a.c:1\n1 A|post(S)|b.c:1\n2 A|w(X)|a.c:2\n");
}

static void places_in_libraries_are_known_by_their_library(void **state)
{
    (void)state;
    expect("A|w(X)|libz.so.1+0x5e0\nA|w(X)|a.c:1\nA|w(Y)|libc.so.6+0x5e0\n", "lib:libz*",
           "0! A|call(?:X)|libz.so.1+0x5e0\n1 A|w(X)|a.c:1\n2 A|w(Y)|libc.so.6+0x5e0\n");
}

static void numbers_are_no_files(void **state)
{
    (void)state;
    expect("A|w(X)|12\nA|w(X)|13\nA|w(Y)|14\n", "1*;src:1*",
           "0 A|w(X)|12\n1 A|w(X)|13\n2 A|w(Y)|14\n");
}

/* ---- kinds of events ---- */

static void threads_are_entries_of_their_own(void **state)
{
    (void)state;
    expect("A|enter(f)|1\nA|fork(B)|2\nB|begin|3\nB|w(X)|4\nB|end|5\nA|join(B)|6\nA|exit(f)|7\n",
           "f", "0 A|call(f:B,begin(B))|1\n2 B|begin|3\n3 B|w(X)|4\n4 B|end|5\n6 A|ret(f)|7\n");
}

static void the_body_of_a_thread_may_be_left_out(void **state)
{
    (void)state;
    expect("B|begin|1\nB|enter(f)|2\nB|w(X)|3\nB|exit(f)|4\nB|end|5\n", "f",
           "0 B|begin|1\n1 B|call(f:X)|2\n3 B|ret(f)|4\n4 B|end|5\n");
}

static void allocations_and_fences_stay_and_frees_count(void **state)
{
    (void)state;
    expect("A|enter(f)|1\nA|alloc(0x1000:64)|2\nA|fence.sc|3\nA|free(0x1000:64)|4\nA|exit(f)|5\n",
           "f", "0 A|call(f:0x1000:64)|1\n1 A|alloc(0x1000:64)|2\n2 A|fence.sc|3\n4 A|ret(f)|5\n");
}

static void calls_of_untraced_code_hand_over_what_they_touch(void **state)
{
    (void)state;
    expect("A|w(V)|0\nA|enter(f)|1\nA|call(g:V,T)|2\nA|ret(g)|3\nA|exit(f)|4\n", "f",
           "0 A|w(V)|0\n1 A|call(f:V,T)|1\n3 A|ret(f)|3\n");
}

/* A return that comes when the function is left already goes with its call. */
static void a_return_goes_with_its_call(void **state)
{
    (void)state;
    expect("A|enter(f)|1\nA|call(g)|2\nA|exit(f)|3\nA|ret(g)|4\nA|w(X)|5\n", "f",
           "0 A|call(f)|1\n3 A|ret(f)|4\n4 A|w(X)|5\n");
}

static void branches_stay_where_a_callback_has_read(void **state)
{
    (void)state;
    expect(
        "A|enter(f)|1\nA|branch|2\nA|enter(cb)|3\nA|r(Y)|4\nA|exit(cb)|5\nA|branch|6\nA|branch|7\n"
        "A|exit(f)|8\n",
        "f",
        "0 A|call(f)|1\n1 A|ret(f)|2\n2 A|enter(cb)|3\n3 A|r(Y)|4\n4 A|exit(cb)|5\n5 A|branch|6\n"
        "6 A|call(f)|7\n7 A|ret(f)|8\n");
}

/* ---- half a critical section ---- */

static void a_release_whose_acquire_is_gone_is_a_call(void **state)
{
    (void)state;
    expect("A|enter(lock)|1\nA|acq(L)|2\nA|exit(lock)|3\nA|w(X)|4\nA|rel(L)|5\nB|acq(L)|6\nB|rel(L)"
           "|7\n",
           "lock",
           "0 A|call(lock:sync(L))|1\n2 A|ret(lock)|3\n3 A|w(X)|4\n4! A|call(lock:sync(L))|5\n"
           "5 B|acq(L)|6\n6 B|rel(L)|7\n");
}

static void an_acquire_whose_release_is_gone_is_a_call(void **state)
{
    (void)state;
    expect("A|acq(0x1000)|1\nA|w(X)|2\nA|enter(unlock)|3\nA|rel(0x1000)|4\nA|exit(unlock)|5\n",
           "unlock",
           "0! A|call(unlock:0x1000:1)|1\n1 A|w(X)|2\n2 A|call(unlock:0x1000:1)|3\n"
           "4 A|ret(unlock)|5\n");
}

static void inner_halves_of_a_recursive_lock_are_gone(void **state)
{
    (void)state;
    expect("A|acq(L)|1\nA|enter(f)|2\nA|acq(L)|3\nA|exit(f)|4\nA|rel(L)|5\nA|w(X)|6\nA|rel(L)|7\n",
           "f", "0 A|acq(L)|1\n1 A|call(f)|2\n3 A|ret(f)|4\n5 A|w(X)|6\n6 A|rel(L)|7\n");
}

static void a_lock_that_its_thread_dies_with_keeps_the_call_open(void **state)
{
    (void)state;
    expect("A|enter(f)|1\nA|acq(L)|2\nA|exit(f)|3\nA|w(X)|4\nA|end|5\nB|acq(L)|6\n", "f",
           "0 A|call(f:sync(L))|1\n3 A|w(X)|4\n4 A|end|5\n5 B|acq(L)|6\n");
}

/* ---- recordings that lack repetitions ---- */

/* What a recorder with a filter left of
 *     A: f() { x = 0; }  data = 1; x = 1; lock; unlock    B: lock; r = x; unlock; if (r) data = 2;
 * where `x = 1` was taken for a repetition: B may not read between f and A's lock. */
static const char filtered_text[] = "A|enter(f)|1\nA|w(X)|2\nA|exit(f)|3\nA|w(DATA)|4\nA|acq(L)|5\n"
                                    "A|rel(L)|6\nB|acq(L)|7\nB|r(X)|8\nB|rel(L)|9\nB|w(DATA)|10\n";

static bool needs(const struct view *v, uint32_t event, uint32_t other)
{
    for (uint32_t k = v->need_first[event]; k < v->need_first[event + 1]; k++)
        if (v->need[k] == other)
            return true;
    return false;
}

static void exclude_f(struct text_trace *t, enum trace_order order)
{
    struct globs g = { 0 };
    struct batch b = { .events = t->mem.events, .count = t->mem.count };
    struct exclude *x;

    globs_add(&g, "f");
    x = exclude_new(&g, (struct tables *)trace_tables(t->trace), order);
    exclude_learn(x, &b);
    exclude_ready(x);
    exclude_batch(x, &b);
    t->mem.extra = malloc(64);
    memcpy(t->mem.extra, b.extra, 2 * sizeof(*b.extra));
    exclude_free(x);
    globs_release(&g);
}

static void a_call_lasts_while_its_accesses_may_be_repeated(void **state)
{
    struct text_trace t;
    struct view *v;

    (void)state;
    text_trace_open(&t, filtered_text);
    exclude_f(&t, TRACE_SYNC_EXACT);
    assert_true(t.mem.events[0].flags & EV_LASTS);
    v = view_new(&t.mem, CALL_RULE_PAIRS);
    assert_true(needs(v, 7, 4));
    view_free(v);
    text_trace_close(&t);
}

static void a_call_in_an_exact_trace_ends_with_its_return(void **state)
{
    struct text_trace t;
    struct view *v;

    (void)state;
    text_trace_open(&t, filtered_text);
    exclude_f(&t, TRACE_EXACT);
    assert_false(t.mem.events[0].flags & EV_LASTS);
    v = view_new(&t.mem, CALL_RULE_PAIRS);
    assert_true(needs(v, 7, 2));
    assert_false(needs(v, 7, 4));
    view_free(v);
    text_trace_close(&t);
}

/* ---- numbers ---- */

static void what_was_left_out_is_counted(void **state)
{
    struct exclude_stats s;
    struct trace *t = open_without("A|enter(f)|1\nA|w(X)|2\nA|exit(f)|3\nA|enter(g)|4\nA|r(X)|5\n"
                                   "A|exit(g)|6\nA|enter(f)|7\nA|exit(f)|8\n",
                                   "f", &s);

    (void)state;
    assert_int_equal(s.functions, 1);
    assert_int_equal(s.events, 5);
    assert_int_equal(s.pairs, 2);
    assert_int_equal(s.entries, 1);
    assert_int_equal(s.all, 0);
    trace_close(t);
}

static void ranges_that_meet_become_one_and_too_many_become_all(void **state)
{
    struct touched t = { 0 };

    (void)state;
    for (uint64_t i = 0; i < 1000; i++)
        touched_add_memory(&t, 0x1000 + 8 * (i * 7 % 1000), 8);
    touched_add(&t, D_THREAD(3), 0);
    touched_add(&t, D_THREAD(3), 0);
    touched_merge(&t);
    assert_int_equal(t.count, 2);
    assert_int_equal(t.list[0].what, 0x1000);
    assert_int_equal(t.list[0].bytes, 8000);
    for (uint64_t i = 0; i < 2 * TOUCHED_MAX; i++)
        touched_add_memory(&t, 0x100000 + 16 * i, 8);
    touched_merge(&t);
    assert_true(touched_is_all(&t));
    assert_int_equal(t.count, 1);
    assert_int_equal(D_KIND(t.list[0].what), D_ALL_KIND);
    touched_release(&t);
}

/* ---- patterns ---- */

static bool fits(const char *pattern, const char *function, const char *location)
{
    struct globs g = { .readable = sym_demangle };
    bool yes;

    globs_add(&g, pattern);
    yes = function ? globs_match_function(&g, function) : globs_match_location(&g, location);
    if (yes)
        assert_true(g.list[0].used);
    globs_release(&g);
    return yes;
}

static void patterns_are_those_of_heddle_cc(void **state)
{
    static const struct {
        const char *pattern, *function, *location;
        bool fits;
    } cases[] = {
        { "push", "push", NULL, true },
        { "fun:pu*", "push", NULL, true },
        { "src:pu*", "push", NULL, false },
        { " push ", "push", NULL, true },
        { "# push", "push", NULL, false },
        { "push", "_ZN2ns1Q4pushEi", NULL, true },
        { "ns::Q::push", "_ZN2ns1Q4pushEi", NULL, true },
        { "ns::*", "_ZN2ns1Q4pushEi", NULL, true },
        { "ns::Q::push(int)", "_ZN2ns1Q4pushEi", NULL, true },
        { "_ZN2ns*", "_ZN2ns1Q4pushEi", NULL, true },
        { "Q", "_ZN2ns1Q4pushEi", NULL, false },
        { "get", "_ZN2ns1Q3getIlEET_S2_", NULL, true },
        { "src:q.c", NULL, "/home/u/q.c:12:3", true },
        { "q.c", NULL, "/home/u/q.c:12", true },
        { "file:*/u/*", NULL, "/home/u/q.c:12:3", true },
        { "u/q.c", NULL, "/home/u/q.c:12:3", false },
        { "fun:q.c", NULL, "/home/u/q.c:12:3", false },
        { "lib:libz*", NULL, "libz.so.1+0x12", true },
        { "libz*", NULL, "libz.so.1+0x12", false },
        { "lib:*", NULL, "/home/u/q.c:12:3", false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        if (fits(cases[i].pattern, cases[i].function, cases[i].location) != cases[i].fits)
            fail_msg("'%s' on %s", cases[i].pattern,
                     cases[i].function ? cases[i].function : cases[i].location);
}

/* A program of 100,000 functions, each with its own site, of which one is in the file. */
static void each_site_is_looked_at_once(void **state)
{
    enum { MANY = 100000 };
    struct globs g = { .readable = sym_demangle };
    struct tables t = { 0 };
    struct event *events = calloc(MANY, sizeof(*events));
    struct batch b = { .events = events, .count = MANY };
    struct exclude *x;

    (void)state;
    globs_add(&g, "src:left.c");
    for (uint32_t i = 0; i < MANY; i++) {
        char name[32], site[32];

        intern_put(&t.functions, name, (size_t)snprintf(name, sizeof(name), "f%u", i));
        intern_put(&t.sites, site,
                   (size_t)snprintf(site, sizeof(site), "%s.c:%u", i == 7 ? "left" : "a", i));
        tables_set_site_function(&t, i, i);
        events[i] = (struct event){ .op = OP_ENTER, .target = i, .site = SITE_NONE };
    }
    intern_put(&t.threads, "T", 1);
    x = exclude_new(&g, &t, TRACE_EXACT);
    exclude_learn(x, &b);
    exclude_ready(x);
    assert_int_equal(exclude_stats(x)->functions, 1);
    assert_true(exclude_stats(x)->looked <= MANY);
    exclude_free(x);
    tables_release(&t);
    globs_release(&g);
    free(events);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_excluded_function_becomes_a_call_with_what_it_touched),
        cmocka_unit_test(what_an_excluded_function_calls_and_is_excluded_belongs_to_it),
        cmocka_unit_test(a_callback_stays_visible_and_excluded_code_in_it_is_a_call_of_its_own),
        cmocka_unit_test(what_is_done_behind_a_callback_is_another_call),
        cmocka_unit_test(untraced_code_that_excluded_code_called_goes_on_behind_a_callback),
        cmocka_unit_test(the_list_of_a_hidden_call_is_gone),
        cmocka_unit_test(what_is_done_behind_untraced_code_is_another_call),
        cmocka_unit_test(untraced_code_that_never_returns_leaves_its_call_open),
        cmocka_unit_test(what_untraced_code_calls_back_is_a_call_of_its_own),
        cmocka_unit_test(reading_what_nobody_writes_is_not_listed),
        cmocka_unit_test(a_function_that_is_never_left_returns_with_its_last_event),
        cmocka_unit_test(frames_that_were_jumped_over_are_left),
        cmocka_unit_test(events_of_an_excluded_file_in_a_row_are_one_call),
        cmocka_unit_test(one_event_alone_is_a_call_that_returns_at_once),
        cmocka_unit_test(semaphores_stay_visible),
        cmocka_unit_test(places_in_libraries_are_known_by_their_library),
        cmocka_unit_test(numbers_are_no_files),
        cmocka_unit_test(threads_are_entries_of_their_own),
        cmocka_unit_test(the_body_of_a_thread_may_be_left_out),
        cmocka_unit_test(allocations_and_fences_stay_and_frees_count),
        cmocka_unit_test(calls_of_untraced_code_hand_over_what_they_touch),
        cmocka_unit_test(a_return_goes_with_its_call),
        cmocka_unit_test(branches_stay_where_a_callback_has_read),
        cmocka_unit_test(a_release_whose_acquire_is_gone_is_a_call),
        cmocka_unit_test(an_acquire_whose_release_is_gone_is_a_call),
        cmocka_unit_test(inner_halves_of_a_recursive_lock_are_gone),
        cmocka_unit_test(a_lock_that_its_thread_dies_with_keeps_the_call_open),
        cmocka_unit_test(a_call_lasts_while_its_accesses_may_be_repeated),
        cmocka_unit_test(a_call_in_an_exact_trace_ends_with_its_return),
        cmocka_unit_test(what_was_left_out_is_counted),
        cmocka_unit_test(ranges_that_meet_become_one_and_too_many_become_all),
        cmocka_unit_test(patterns_are_those_of_heddle_cc),
        cmocka_unit_test(each_site_is_looked_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
