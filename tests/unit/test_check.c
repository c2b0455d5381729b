/* test_check.c - every rule of check_trace.c, with its exact words
 *
 * A case writes a small trace as a string of operations, runs the checker
 * over it and compares all diagnoses and all marks: what is not expected must
 * not be there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "trace/check/check_trace.h"

struct bench {
    struct tables tables;
    struct trace_info info;
    struct diags diags;
    struct check *check;
    struct event events[64];
    size_t count;
};

static unsigned op_named(const char *text)
{
    for (unsigned op = 1; op < OP_COUNT; op++)
        if (op_is_known(op) && !strcmp(op_table[op].text, text))
            return op;
    fail_msg("no operation %s", text);
    return 0;
}

static uint64_t target_of(struct bench *t, unsigned op, const char *arg)
{
    size_t n = strlen(arg);

    switch (op_class_of(op)) {
    case CLASS_LOCK:
        if (!strncmp(arg, "0x", 2))
            return strtoull(arg, NULL, 16);
        return NAMED_OBJECT(intern_put(&t->tables.objects, arg, n));
    case CLASS_THREAD:
        return *arg ? intern_put(&t->tables.threads, arg, n) : 0;
    case CLASS_CALL:
        return intern_put(&t->tables.functions, arg, n);
    default:
        return NAMED_ADDRESS(intern_put(&t->tables.variables, arg, n));
    }
}

/* "T1 acq L1; T1 w x": one event between semicolons. */
static void parse(struct bench *t, const char *text)
{
    char thread[16], op[16], arg[16];
    int used;

    while (*text) {
        struct event *ev = &t->events[t->count++];

        arg[0] = 0;
        assert_true(sscanf(text, " %15[^ ;] %15[^ ;] %15[^ ;]%n", thread, op, arg, &used) >= 2);
        ev->thread = intern_put(&t->tables.threads, thread, strlen(thread));
        ev->op = (uint8_t)op_named(op);
        ev->site = SITE_NONE;
        ev->target = target_of(t, ev->op, arg);
        text = strchrnul(text, ';');
        text += *text == ';';
    }
}

static struct bench *bench_new(const char *text)
{
    struct bench *t = xcalloc(1, sizeof(*t));

    parse(t, text);
    t->check = check_new(&t->tables, &t->info, &t->diags);
    return t;
}

static void bench_free(struct bench *t)
{
    check_free(t->check);
    diags_release(&t->diags);
    tables_release(&t->tables);
    free(t);
}

/* Run the whole trace in batches of `size`. */
static void run(struct bench *t, size_t size)
{
    for (size_t at = 0; at < t->count; at += size) {
        struct batch b = { .events = t->events + at, .count = size, .first = at };

        if (b.count > t->count - at)
            b.count = t->count - at;
        check_batch(t->check, &b);
    }
    check_finish(t->check);
}

/* The marks as one letter an event: "." none, N nested, F foreign, I ignored. */
static void expect_marks(const struct bench *t, const char *marks)
{
    char got[65] = "";

    for (size_t i = 0; i < t->count; i++)
        got[i] = t->events[i].flags & EV_NESTED    ? 'N'
                 : t->events[i].flags & EV_FOREIGN ? 'F'
                 : t->events[i].flags & EV_IGNORED ? 'I'
                                                   : '.';
    assert_string_equal(got, marks);
}

/* All diagnoses as lines "position kind: text". */
static void expect_diags(const struct bench *t, const char *want)
{
    struct buf got = { 0 };

    buf_addstr(&got, "");
    for (size_t i = 0; i < t->diags.count; i++)
        buf_addf(&got, "%" PRIu64 " %s: %s\n", t->diags.list[i].position,
                 diag_kind_name(t->diags.list[i].kind), t->diags.list[i].text);
    assert_string_equal(got.data, want);
    buf_release(&got);
}

/* One trace, its marks and its diagnoses; the same in one batch, in many, and again. */
static enum trace_order expect(const char *trace, const char *marks, const char *diags)
{
    enum trace_order order = TRACE_EXACT;

    for (size_t size = 1; size <= 64; size += 63) {
        struct bench *t = bench_new(trace);

        run(t, size);
        expect_marks(t, marks);
        expect_diags(t, diags);
        check_rewind(t->check);
        run(t, size);
        expect_marks(t, marks);
        expect_diags(t, diags);
        order = t->info.order;
        bench_free(t);
    }
    return order;
}

/* Locks that are used well. */

static void a_clean_trace_has_no_diagnosis(void **state)
{
    (void)state;
    expect("T0 begin; T0 fork T1; T1 begin; T1 acq L; T1 w x; T1 rel L; T0 acq L; T0 r x; T0 rel L;"
           "T1 end; T0 join T1; T0 end",
           "............", "");
}

static void a_recursive_lock_counts_once(void **state)
{
    (void)state;
    expect("T0 acq L; T0 acq L; T0 acq L; T0 rel L; T0 rel L; T0 rel L; T1 acq L; T1 rel L",
           ".NNNN...", "");
}

static void shared_acquires_nest_per_thread(void **state)
{
    (void)state;
    expect("T0 acqs L; T1 acqs L; T0 acqs L; T0 rels L; T0 rels L; T1 rels L; T0 acq L; T0 rel L",
           "..NN....", "");
}

static void a_lone_reader_may_become_the_writer(void **state)
{
    (void)state;
    expect("T0 acqs L; T0 acq L; T0 rel L; T0 rels L; T1 acq L; T1 rel L", "......", "");
}

static void a_writer_may_become_a_reader(void **state)
{
    (void)state;
    expect("T0 acq L; T0 acqs L; T0 rel L; T1 acqs L; T0 rels L; T1 rels L", "......", "");
}

static void a_lock_may_be_an_address(void **state)
{
    (void)state;
    expect("T0 acq 0x10; T0 acq 0x10; T0 rel 0x10; T0 rel 0x10; T1 rel 0x10", ".NN.F",
           "4 release-unheld: T1 releases 0x10, which is free since event 3: kept as an ordering "
           "edge\n");
}

/* Locks that are not. */

static void an_acquire_of_a_held_lock_moves_it(void **state)
{
    enum trace_order order;

    (void)state;
    order = expect("T0 acq L; T1 acq L; T1 rel L; T0 rel L; T2 acq L; T2 rel L", "...F..",
                   "1 acquire-held: T1 acquires L, which T0 holds since event 0: taken as acquired "
                   "here, so the order of lock events is not exact\n");
    assert_int_equal(order, TRACE_UNKNOWN);
}

static void the_new_owner_of_a_moved_lock_keeps_the_edge_of_the_old_one(void **state)
{
    (void)state;
    expect(
        "T0 acq L; T1 acq L; T0 rel L; T1 rel L; T2 acq L; T2 rel L", "..FF..",
        "1 acquire-held: T1 acquires L, which T0 holds since event 0: taken as acquired here, so "
        "the order of lock events is not exact\n");
}

static void a_writer_among_readers_is_impossible(void **state)
{
    enum trace_order order;

    (void)state;
    order = expect("T0 acqs L; T1 acqs L; T1 acq L; T1 rel L; T1 rels L; T0 rels L", "......",
                   "2 acquire-held: T1 acquires L, which T0 holds shared since event 0: taken as "
                   "acquired here, so the order of lock events is not exact\n");
    assert_int_equal(order, TRACE_UNKNOWN);
}

static void a_reader_that_leaves_during_a_writers_section_keeps_its_edge(void **state)
{
    (void)state;
    expect("T0 acqs L; T1 acq L; T0 rels L; T1 rel L", "...F",
           "1 acquire-held: T1 acquires L, which T0 holds shared since event 0: taken as acquired "
           "here, so the order of lock events is not exact\n");
}

static void a_reader_beside_a_writer_is_impossible(void **state)
{
    (void)state;
    expect(
        "T0 acq L; T0 acq L; T1 acqs L; T1 rels L; T0 rel L; T0 rel L", ".N..FF",
        "2 acquire-held: T1 acquires L, which T0 holds since event 0: taken as acquired here, so "
        "the order of lock events is not exact\n");
}

static void a_release_before_any_acquire_was_held_before_the_trace(void **state)
{
    (void)state;
    expect("T0 rel L; T1 acq L; T1 rel L; T0 rels R; T1 rels R", ".....",
           "0 release-unheld: T0 releases L, which nobody acquired before: taken as held since "
           "before the trace began\n"
           "3 release-unheld: T0 releases R, which nobody acquired before: taken as held since "
           "before the trace began\n"
           "4 release-unheld: T1 releases R, which nobody acquired before: taken as held since "
           "before the trace began\n");
}

static void a_second_release_is_only_an_edge(void **state)
{
    (void)state;
    expect("T0 acq L; T0 rel L; T0 rel L", "..F",
           "2 release-unheld: T0 releases L, which is free since event 1: kept as an ordering "
           "edge\n");
}

static void a_release_of_anothers_lock_frees_it(void **state)
{
    (void)state;
    expect("T0 acq L; T1 rel L; T2 acq L; T2 rel L; T0 rel L", ".F..F",
           "1 release-foreign: T1 releases L, which T0 holds since event 0: kept as an ordering "
           "edge, and the lock is free from here on\n");
}

static void a_release_of_a_lock_others_share_changes_nothing(void **state)
{
    (void)state;
    expect("T0 acqs L; T1 rels L; T0 rels L", ".F.",
           "1 release-foreign: T1 releases L, which T0 holds shared since event 0: kept as an "
           "ordering edge\n");
}

static void a_release_of_the_wrong_kind_ends_the_hold(void **state)
{
    (void)state;
    expect("T0 acqs L; T0 rel L; T1 acq L; T1 rels L; T0 acq L; T0 rel L", ".F.F..",
           "1 release-unheld: T0 releases L as a writer but holds it as a reader since event 0: "
           "taken as the end of that\n"
           "3 release-unheld: T1 releases L as a reader but holds it as a writer since event 2: "
           "taken as the end of that\n");
}

static void locks_still_held_are_noted(void **state)
{
    (void)state;
    expect("T0 fork T1; T0 acq L; T1 acq M; T1 end; T0 acq M; T0 acqs R", "......",
           "2 open-lock: T1 acquires M and does not release it: released where it ends (event 3)\n"
           "1 open-lock: T0 acquires L and does not release it: released at the end of the trace\n"
           "4 open-lock: T0 acquires M and does not release it: released at the end of the trace\n"
           "5 open-lock: T0 acquires R shared and does not release it: released at the end of the "
           "trace\n");
}

static void a_joined_thread_releases_its_locks(void **state)
{
    (void)state;
    expect("T0 fork T1; T1 acq L; T0 join T1; T0 acq L; T0 rel L; T1 rel L", ".....F",
           "1 open-lock: T1 acquires L and does not release it: released where T0 joins it (event "
           "2)\n"
           "5 after-join: T1 goes on after T0 joined it at event 2: kept\n");
}

/* Threads. */

static void forking_or_joining_itself_is_ignored(void **state)
{
    (void)state;
    expect("T0 fork T0; T0 join T0", "II",
           "0 fork-self: T0 forks itself: ignored\n"
           "1 join-self: T0 joins itself: ignored\n");
}

static void joining_an_unknown_thread_is_ignored(void **state)
{
    (void)state;
    expect("T0 join T1; T1 w x; T0 join T1", "I..",
           "0 join-unknown: T0 joins T1, which nobody forked and which did nothing so far: "
           "ignored\n");
}

static void joining_a_thread_without_events_is_fine(void **state)
{
    (void)state;
    expect("T0 fork T1; T0 join T1; T2 join T1", "...", "");
}

static void a_second_fork_is_kept(void **state)
{
    (void)state;
    expect("T0 fork T1; T2 fork T1; T1 w x", "...",
           "1 fork-again: T2 forks T1 again (T0 forked it at event 0): kept, orders what T1 does "
           "from here on\n");
}

static void a_thread_forked_again_after_its_join_may_run_again(void **state)
{
    (void)state;
    expect("T0 fork T1; T1 begin; T1 end; T0 join T1; T0 fork T1; T1 begin; T1 w x; T1 end",
           "........",
           "4 fork-again: T0 forks T1 again (T0 forked it at event 0): kept, orders what T1 does "
           "from here on\n");
}

static void a_fork_of_a_running_thread_is_kept(void **state)
{
    (void)state;
    expect("T1 w x; T0 fork T1; T1 w x", "...",
           "1 fork-late: T0 forks T1, which runs since event 0: kept, orders what T1 does from "
           "here on\n");
}

static void going_on_after_the_end_is_told_once(void **state)
{
    (void)state;
    expect("T1 w x; T1 end; T1 w x; T1 w x; T1 end; T1 w x", "......",
           "2 after-end: T1 goes on after its end at event 1: kept\n");
}

static void going_on_after_the_join_is_told_once(void **state)
{
    (void)state;
    expect("T1 end; T0 join T1; T1 w x; T1 r x", "....",
           "2 after-join: T1 goes on after T0 joined it at event 1: kept\n");
}

static void a_late_begin_has_no_effect(void **state)
{
    (void)state;
    expect("T1 w x; T1 begin", "..",
           "1 begin-late: T1 begins, but runs since event 0: no effect\n");
}

static void a_thread_named_by_its_number_is_noted(void **state)
{
    struct bench *t = bench_new("T0 fork T155; T155 w x");

    (void)state;
    t->events[0].flags |= EV_BARE;
    run(t, 64);
    expect_marks(t, "..");
    assert_int_equal(t->events[0].flags, EV_BARE);
    expect_diags(t, "0 thread-name: T155 is written as 155: taken as the same thread\n");
    assert_int_equal(diags_repaired(&t->diags), 0);
    bench_free(t);
}

/* Calls. */

static void calls_nest(void **state)
{
    (void)state;
    expect("T0 call f; T0 call g; T1 call f; T0 ret g; T0 ret f; T1 ret f", "......", "");
}

static void a_return_without_its_call_is_ignored(void **state)
{
    (void)state;
    expect("T0 ret f; T0 call f; T0 call g; T0 ret f; T0 ret g; T0 ret f", "I..I..",
           "0 return-unmatched: T0 returns from f without a call: ignored\n"
           "3 return-unmatched: T0 returns from f inside its call of g at event 2: ignored\n");
}

/* Bookkeeping. */

static void only_the_first_of_a_kind_are_kept(void **state)
{
    struct bench *t = bench_new("T0 acq L; T0 rel L");

    (void)state;
    for (int i = 0; i < 20; i++)
        parse(t, "T0 rel L");
    run(t, 7);
    assert_int_equal(t->diags.count, DIAG_KEEP);
    assert_int_equal(t->diags.total[DIAG_RELEASE_UNHELD], 20);
    assert_int_equal(diags_repaired(&t->diags), 20);
    bench_free(t);
}

static void a_longer_second_pass_tells_only_what_is_new(void **state)
{
    struct bench *t = bench_new("T0 rel L; T0 rel L; T0 rel L");
    struct batch b = { .events = t->events, .count = 2 };

    (void)state;
    check_batch(t->check, &b);
    assert_int_equal(t->diags.count, 2);
    check_rewind(t->check);
    run(t, 64);
    assert_int_equal(t->diags.count, 3);
    assert_int_equal(t->diags.list[2].position, 2);
    bench_free(t);
}

static void info_says_what_the_trace_holds(void **state)
{
    struct bench *t = bench_new("T0 branch; T0 r x");

    (void)state;
    t->events[0].flags |= EV_VALUE; /* an outcome is not a value in memory */
    run(t, 64);
    assert_true(t->info.branches);
    assert_false(t->info.values);
    assert_false(t->info.calls);
    parse(t, "T0 call f");
    t->events[1].flags |= EV_VALUE;
    check_rewind(t->check);
    run(t, 64);
    assert_true(t->info.values);
    assert_true(t->info.calls);
    bench_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clean_trace_has_no_diagnosis),
        cmocka_unit_test(a_recursive_lock_counts_once),
        cmocka_unit_test(shared_acquires_nest_per_thread),
        cmocka_unit_test(a_lone_reader_may_become_the_writer),
        cmocka_unit_test(a_writer_may_become_a_reader),
        cmocka_unit_test(a_lock_may_be_an_address),
        cmocka_unit_test(an_acquire_of_a_held_lock_moves_it),
        cmocka_unit_test(the_new_owner_of_a_moved_lock_keeps_the_edge_of_the_old_one),
        cmocka_unit_test(a_writer_among_readers_is_impossible),
        cmocka_unit_test(a_reader_that_leaves_during_a_writers_section_keeps_its_edge),
        cmocka_unit_test(a_reader_beside_a_writer_is_impossible),
        cmocka_unit_test(a_release_before_any_acquire_was_held_before_the_trace),
        cmocka_unit_test(a_second_release_is_only_an_edge),
        cmocka_unit_test(a_release_of_anothers_lock_frees_it),
        cmocka_unit_test(a_release_of_a_lock_others_share_changes_nothing),
        cmocka_unit_test(a_release_of_the_wrong_kind_ends_the_hold),
        cmocka_unit_test(locks_still_held_are_noted),
        cmocka_unit_test(a_joined_thread_releases_its_locks),
        cmocka_unit_test(forking_or_joining_itself_is_ignored),
        cmocka_unit_test(joining_an_unknown_thread_is_ignored),
        cmocka_unit_test(joining_a_thread_without_events_is_fine),
        cmocka_unit_test(a_second_fork_is_kept),
        cmocka_unit_test(a_thread_forked_again_after_its_join_may_run_again),
        cmocka_unit_test(a_fork_of_a_running_thread_is_kept),
        cmocka_unit_test(going_on_after_the_end_is_told_once),
        cmocka_unit_test(going_on_after_the_join_is_told_once),
        cmocka_unit_test(a_late_begin_has_no_effect),
        cmocka_unit_test(a_thread_named_by_its_number_is_noted),
        cmocka_unit_test(calls_nest),
        cmocka_unit_test(a_return_without_its_call_is_ignored),
        cmocka_unit_test(only_the_first_of_a_kind_are_kept),
        cmocka_unit_test(a_longer_second_pass_tells_only_what_is_new),
        cmocka_unit_test(info_says_what_the_trace_holds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
