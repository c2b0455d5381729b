/* test_witness.c - what the witness checker accepts, and what it refuses with which words */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "gen.h"
#include "naive.h"
#include "rng.h"
#include "text_trace.h"
#include "witness/edges.h"
#include "witness/witness.h"

static bool as_recorded; /* with the rule on quiet periods */

/* The same verdict in the same words where as much of the order as is the beginning of the trace is
 * replayed once for several schedules; what comes before and after may be others. */
static void expect_same_after(const struct text_trace *t, struct witness_trace *w,
                              const uint64_t *list, size_t n, int verdict, const char *words)
{
    struct error err = { "" };
    uint64_t beginning = 0;
    size_t same = 0;

    if (!witness_can_follow(w) || n < 2)
        return;
    for (;; beginning++, same++) {
        assert_int_equal(witness_check_after(w, beginning, list + same, n - same, &err), verdict);
        if (!verdict)
            assert_string_equal(err.text, words);
        while (beginning < t->mem.count && t->mem.events[beginning].flags & EV_IGNORED)
            beginning++;
        if (same + 2 >= n || list[same] != beginning)
            break;
    }
    if (same > 0) /* a shorter beginning again */
        assert_int_equal(witness_check_after(w, 0, list, n, &err), verdict);
}

/* Checks the order "0 3 4 ..." of a trace; `expected` is NULL for accepted. It ends with a race
 * or, where there are requests, with a deadlock of so many. */
static void expect_end(const char *text, const char *order, size_t requests, const char *expected)
{
    struct text_trace t = { 0 };
    struct witness_trace *w;
    struct error err = { "" };
    uint64_t list[64];
    size_t n = 0;
    char *end;
    int verdict;

    for (const char *p = order; *p; p = *end ? end + 1 : end)
        list[n++] = strtoull(p, &end, 10);
    text_trace_open(&t, text);
    w = witness_trace_new(&t.mem, trace_info(t.trace));
    witness_trace_set_names(w, trace_tables(t.trace));
    witness_trace_set_quiet(w, as_recorded);
    for (int again = 0; again < 2; again++) { /* the second time tests that all was put back */
        verdict = requests ? witness_check_deadlock(w, list, n, requests, &err)
                           : witness_check(w, list, n, &err);
        if (expected) {
            assert_int_equal(verdict, 0);
            assert_string_equal(err.text, expected);
        } else {
            if (!verdict)
                print_message("%s\n", err.text);
            assert_int_equal(verdict, 1);
        }
        if (!requests)
            expect_same_after(&t, w, list, n, verdict, err.text);
    }
    witness_trace_free(w);
    text_trace_close(&t);
}

static void expect(const char *text, const char *order, const char *expected)
{
    expect_end(text, order, 0, expected);
}

/* A recording, which may lack accesses that repeat others. */
static void expect_recorded(const char *text, const char *order, const char *expected)
{
    as_recorded = true;
    expect_end(text, order, 0, expected);
    as_recorded = false;
}

/* ---- shape ---- */

static const char two_writes[] = "T0|w(x)|1\nT0|r(y)|2\nT1|r(y)|3\nT1|w(x)|4\n";

static void two_enabled_conflicting_accesses_are_a_race(void **state)
{
    (void)state;
    expect(two_writes, "2 0 3", NULL);
    expect(two_writes, "2 3 0", NULL);
}

static void a_list_that_is_no_witness_at_all_is_refused(void **state)
{
    (void)state;
    expect(two_writes, "0", "a witness ends with two racing accesses, this one has 1 events");
    expect(two_writes, "2 0 9", "event 9 does not exist, the trace has 4");
}

static void each_thread_gives_a_prefix_of_its_events_in_order(void **state)
{
    (void)state;
    expect(two_writes, "0 3", "event 3: an earlier event of T1 is missing before it");
    expect(two_writes, "2 2 0 3", "event 2: is listed twice or after a later event of T1");
    expect(two_writes, "2 0 0", "event 0: is of the same thread as event 0");
}

static void the_last_two_must_conflict(void **state)
{
    (void)state;
    expect(two_writes, "0 1 2", "event 2: neither it nor event 1 writes");
    expect("T0|w(x)|1\nT0|w(x)|2\n", "0 1", "event 1: an earlier event of T0 is missing before it");
    expect("T0|w(x)|1\nT1|w(y)|2\n", "0 1", "event 1: does not overlap event 0");
    expect("T0|acq(l)|1\nT1|w(y)|2\n", "0 1", "event 0: acquire is no access that could race");
    expect("T0|store.rlx(x)|1\nT1|rmw.rlx(x)|2\n", "0 1",
           "event 1: it and event 0 are both atomic");
    expect("T0|store.rlx(x)|1\nT1|w(x)|2\n", "0 1", NULL);
}

static void overlap_is_by_byte(void **state)
{
    (void)state;
    expect("T0|w(0x1000:4)|1\nT1|w(0x1003:1)|2\n", "0 1", NULL);
    expect("T0|w(0x1000:4)|1\nT1|w(0x1004:1)|2\n", "0 1", "event 1: does not overlap event 0");
}

/* ---- hard edges ---- */

static void a_thread_starts_after_its_fork_and_ends_before_its_join(void **state)
{
    (void)state;
    expect("T0|w(x)|1\nT0|fork(T1)|2\nT1|w(x)|3\n", "0 2",
           "event 2: needs event 1 (fork) before it");
    expect("T0|fork(T1)|1\nT0|w(x)|2\nT1|w(x)|3\n", "0 1 2", NULL);
    expect("T0|fork(T1)|1\nT1|w(x)|2\nT0|join(T1)|3\nT0|w(x)|4\n", "0 2 1 3",
           "event 2: needs event 1 (write) before it");
}

static void a_wait_may_end_without_a_wake(void **state)
{
    static const char text[] = "T1|signal(c)|1\nT0|acq(l)|2\nT0|rel(l)|3\nT1|w(x)|4\n"
                               "T1|signal(c)|5\nT0|wait(c)|6\nT0|acq(l)|7\nT0|w(x)|8\n";

    (void)state;
    expect(text, "1 2 0 5 6 3 7", NULL);
    /* what orders is the mutex that the wait acquires */
    expect("T0|acq(l)|1\nT0|rel(l)|2\nT1|acq(l)|3\nT1|w(x)|4\nT1|signal(c)|5\nT1|rel(l)|6\n"
           "T0|wait(c)|7\nT0|acq(l)|8\nT0|w(x)|9\n",
           "0 1 2 6 7 3 8", "event 7: lock l is held by T1 since event 2");
}

static void barrier_edges_are_per_round(void **state)
{
    static const char text[] = "T0|enterb(b)|1\nT1|enterb(b)|2\nT0|leaveb(b)|3\nT0|w(x)|4\n"
                               "T0|enterb(b)|5\nT1|leaveb(b)|6\nT1|w(x)|7\n";

    (void)state;
    expect(text, "0 1 2 5 3 6", NULL);
    expect(text, "0 2 3 4 1 5 6", "event 2: needs event 1 (barrier-enter) before it");
}

static void semaphores_once_and_annotations_order(void **state)
{
    (void)state;
    expect("T0|w(x)|1\nT0|post(s)|2\nT1|semwait(s)|3\nT1|w(x)|4\n", "2 0 3",
           "event 2: no post of semaphore s is left");
    expect("T0|w(x)|1\nT0|once(o)|2\nT1|once(o)|3\nT1|w(x)|4\n", "2 0 3",
           "event 2: needs event 1 (once) before it");
    expect("T0|w(x)|1\nT0|before(a)|2\nT1|after(a)|3\nT1|w(x)|4\n", "2 0 3",
           "event 2: needs event 1 (happens-before) before it");
}

/* Two schedules after the same beginning, again and again: the first holds, the second does not. */
static void expect_by_turns(const char *text, uint64_t beginning, const uint64_t *good,
                            size_t ngood, const uint64_t *bad, size_t nbad, const char *why)
{
    struct text_trace t = { 0 };
    struct witness_trace *w;
    struct error err = { "" };

    text_trace_open(&t, text);
    w = witness_trace_new(&t.mem, trace_info(t.trace));
    witness_trace_set_names(w, trace_tables(t.trace));
    for (int again = 0; again < 3; again++) {
        assert_int_equal(witness_check_after(w, beginning, good, ngood, &err), 1);
        assert_int_equal(witness_check_after(w, beginning, bad, nbad, &err), 0);
        assert_string_equal(err.text, why);
    }
    witness_trace_free(w);
    text_trace_close(&t);
}

static void what_a_schedule_did_after_a_beginning_is_put_back(void **state)
{
    const uint64_t all[] = { 1, 2, 3, 4, 0, 5 }, without[] = { 1, 3, 4, 0, 5 };
    const uint64_t released[] = { 2, 4, 3, 5 }, held[] = { 4, 3, 5 };

    (void)state;
    expect_by_turns("T3|w(x)|1\nT0|before(a)|2\nT1|before(a)|3\nT2|before(a)|4\nT4|after(a)|5\n"
                    "T4|w(x)|6\n",
                    0, all, 6, without, 5, "event 4: needs event 2 (happens-before) before it");
    expect_by_turns("T0|acq(l)|1\nT0|acq(m)|2\nT0|rel(l)|3\nT0|w(x)|4\nT1|acq(l)|5\nT1|w(x)|6\n", 2,
                    released, 4, held, 3, "event 4: lock l is held by T0 since event 0");
}

/* Any two posts let two waits on; the least first value lets the trace be possible. */
static void semaphores_count(void **state)
{
    const char *guard =
        "T0|seminit(s)|1\nT0|post(s)|2\nT0|post(s)|3\nT0|fork(T1)|4\nT0|fork(T2)|5\n"
        "T1|semwait(s)|6\nT1|w(x)|7\nT1|post(s)|8\nT2|semwait(s)|9\nT2|w(x)|10\n";

    (void)state;
    expect(guard, "0 1 2 3 4 8 5 6 9", NULL);
    expect(guard, "0 1 3 4 8 5 6 9", "event 3: an earlier event of T0 is missing before it");
    expect("T1|semwait(s)|1\nT1|w(x)|2\nT1|post(s)|3\nT2|semwait(s)|4\nT2|w(x)|5\n", "3 0 1 4",
           "event 0: no post of semaphore s is left");
    expect("T1|semwait(s)|1\nT1|w(x)|2\nT1|post(s)|3\nT2|seminit(s)|4\nT2|semwait(s)|5\n"
           "T2|w(x)|6\n",
           "3 4 0 1 5", NULL);
}

static void an_acquire_load_comes_after_the_release_it_read(void **state)
{
    (void)state;
    expect("T0|w(x=1)|1\nT0|store.rel(f=0)|2\nT1|load.acq(f=0)|3\nT1|w(x=2)|4\n", "2 0 3",
           "event 2: needs event 1 (atomic-store) before it");
    /* the same value, but relaxed: no edge */
    expect("T0|w(x=1)|1\nT0|store.rlx(f=0)|2\nT1|load.acq(f=0)|3\nT1|w(x=2)|4\n", "2 0 3", NULL);
    /* a release sequence goes on through an rmw of another thread */
    expect(
        "T0|w(x=1)|1\nT0|store.rel(f=0)|2\nT2|rmw.rlx(f=0>0)|3\nT1|load.acq(f=0)|4\nT1|w(x=2)|5\n",
        "2 3 0 4", "event 3: needs event 1 (atomic-store) before it");
    /* but not through its store */
    expect(
        "T0|w(x=1)|1\nT0|store.rel(f=0)|2\nT2|store.rlx(f=0)|3\nT1|load.acq(f=0)|4\nT1|w(x=2)|5\n",
        "2 3 0 4", NULL);
}

static void fences_stand_in_for_the_orders_of_their_neighbours(void **state)
{
    (void)state;
    expect("T0|w(x=1)|1\nT0|fence.rel|2\nT0|store.rlx(f=0)|3\n"
           "T1|load.rlx(f=0)|4\nT1|fence.acq|5\nT1|w(x=2)|6\n",
           "3 4 0 5", "event 4: needs event 1 (fence) before it");
    expect("T0|w(x=1)|1\nT0|fence.rel|2\nT0|store.rlx(f=0)|3\n"
           "T1|load.rlx(f=0)|4\nT1|fence.rel|5\nT1|w(x=2)|6\n",
           "3 4 0 5", NULL);
}

static void a_plain_write_or_a_free_ends_a_release_sequence(void **state)
{
    (void)state;
    expect("T0|w(x=1)|1\nT0|store.rel(f=0)|2\nT2|w(f=0)|3\nT1|load.acq(f=0)|4\nT1|w(x=2)|5\n",
           "2 3 0 4", NULL);
    expect("T0|w(x)|1\nT0|store.rel(0x1000:8)|2\nT2|free(0x1000:8)|3\nT1|load.acq(0x1000:8)|4\n"
           "T1|w(x)|5\n",
           "2 3 0 4", NULL);
}

/* ---- locks ---- */

static void sections_of_one_lock_do_not_overlap(void **state)
{
    static const char text[] = "T0|acq(l)|1\nT0|w(x)|2\nT0|rel(l)|3\nT1|acq(l)|4\nT1|w(x)|5\n";

    (void)state;
    expect(text, "0 3 1 4", "event 3: lock l is held by T0 since event 0");
    expect("T0|acqs(l)|1\nT0|w(x)|2\nT0|rels(l)|3\nT1|acqs(l)|4\nT1|w(x)|5\n", "0 3 1 4", NULL);
    expect("T0|acqs(l)|1\nT0|w(x)|2\nT0|rels(l)|3\nT1|acq(l)|4\nT1|w(x)|5\n", "0 3 1 4",
           "event 3: lock l is held shared by 1 other threads");
}

static void a_recursive_lock_is_free_after_its_outermost_release(void **state)
{
    static const char text[] = "T0|acq(l)|1\nT0|acq(l)|2\nT0|rel(l)|3\nT0|w(x)|4\nT0|rel(l)|5\n"
                               "T0|w(x)|6\nT1|acq(l)|7\nT1|w(x)|8\n";

    (void)state;
    expect(text, "0 1 2 6 3 7", "event 6: lock l is held by T0 since event 0");
    expect(text, "0 1 2 3 4 6 5 7", NULL);
}

static void a_thread_that_ended_holds_nothing(void **state)
{
    (void)state;
    expect("T0|fork(T1)|1\nT1|acq(l)|2\nT1|end|3\nT0|acq(l)|4\nT0|w(x)|5\nT2|w(x)|6\n",
           "0 1 2 3 4 5", NULL);
    expect("T0|fork(T1)|1\nT1|acq(l)|2\nT1|end|3\nT0|acq(l)|4\nT0|w(x)|5\nT2|w(x)|6\n", "0 1 3 4 5",
           "event 3: lock l is held by T1 since event 1");
    /* joined, though its end is no event */
    expect("T1|acq(l)|1\nT0|join(T1)|2\nT2|acq(l)|3\nT2|w(x)|4\nT3|w(x)|5\n", "0 1 2 3 4", NULL);
    expect("T1|acq(l)|1\nT0|join(T1)|2\nT2|acq(l)|3\nT2|w(x)|4\nT3|w(x)|5\n", "0 2 3 4", NULL);
    expect("T1|acq(l)|1\nT1|w(y)|2\nT0|join(T1)|3\nT2|acq(l)|4\nT2|w(x)|5\nT3|w(x)|6\n",
           "0 1 3 4 5", NULL);
    expect("T1|acq(l)|1\nT1|w(y)|2\nT0|join(T1)|3\nT2|acq(l)|4\nT2|w(x)|5\nT3|w(x)|6\n", "0 3 4 5",
           "event 3: lock l is held by T1 since event 0");
    /* a thread that is never joined may go on */
    expect("T1|acq(l)|1\nT2|w(x)|2\nT2|acq(l)|3\nT2|w(y)|4\nT3|w(y)|5\n", "0 1 2 3 4",
           "event 2: lock l is held by T1 since event 0");
}

/* ---- deadlocks ---- */

/* Two threads take two locks in opposite orders, one after the other. */
static const char crossed[] = "T0|acq(a)|1\nT0|acq(b)|2\nT0|rel(b)|3\nT0|rel(a)|4\n"
                              "T1|acq(b)|5\nT1|acq(a)|6\nT1|rel(a)|7\nT1|rel(b)|8\n";

static void threads_that_wait_for_each_other_are_a_deadlock(void **state)
{
    (void)state;
    expect_end(crossed, "0 4 1 5", 2, NULL);
    expect_end(crossed, "4 0 5 1", 2, NULL);
    expect_end("T0|acq(a)|1\nT0|acq(b)|2\nT0|rel(b)|3\nT0|rel(a)|4\n"
               "T1|acq(b)|5\nT1|acq(c)|6\nT1|rel(c)|7\nT1|rel(b)|8\n"
               "T2|acq(c)|9\nT2|acq(a)|10\nT2|rel(a)|11\nT2|rel(c)|12\n",
               "0 4 8 1 5 9", 3, NULL);
}

static void threads_that_wait_when_the_trace_ends_are_a_deadlock(void **state)
{
    static const char stuck[] = "T0|acq(a)|1\nT1|acqs(b)|2\nT0|req(b)|3\nT1|reqs(a)|4\n";

    (void)state;
    expect_end(stuck, "0 1 2 3", 2, NULL);
    expect_end(stuck, "0 2 3", 2, "event 2: lock b is not held by T1");
    expect_end(stuck, "0 1 2", 1, "event 2: lock b is not held by T0");
    expect_end("T0|acq(a)|1\nT0|req(a)|2\n", "0 1", 1, NULL);
    expect_end("T0|acqs(a)|1\nT0|req(a)|2\n", "0 1", 1, NULL);
    expect_end("T0|acqs(a)|1\nT0|reqs(a)|2\n", "0 1", 1,
               "event 1: lock a is not held exclusively by T0");
    expect_end("T0|acq(a)|1\nT1|acqs(b)|2\nT0|reqs(b)|3\nT1|req(a)|4\n", "0 1 2 3", 2,
               "event 2: lock b is not held exclusively by T1");
}

static void a_list_that_is_no_deadlock_at_all_is_refused(void **state)
{
    (void)state;
    expect_end(crossed, "0 1", 1, "event 1: does not wait for its own thread");
    expect_end(crossed, "1", 2, "a deadlock has a request or more, not 2 of 1 events");
    expect_end(crossed, "0 4 1 99", 2, "event 99 does not exist, the trace has 8");
    expect_end(crossed, "0 4 2 5", 2, "event 2: release is no request for a lock");
    expect_end(crossed, "0 1 0 1", 2, "event 0: is listed twice or after a later event of T0");
    expect_end(crossed, "0 1 1", 2, "event 1: lock b is not held by T0");
}

static void each_request_is_the_next_event_of_its_thread(void **state)
{
    (void)state;
    expect_end(crossed, "0 1 5", 2, "event 1: lock b is not held by T1");
    expect_end(crossed, "4 0 1 2 5 1", 2, "event 1: lock b is held by T1 since event 4");
    expect_end(crossed, "0 1 2 3 4 5 1", 2, "event 5: lock a is not held by T0");
    expect_end("T0|acq(a)|1\nT0|w(x)|2\nT0|acq(b)|3\nT0|rel(b)|4\nT0|rel(a)|5\n"
               "T1|acq(b)|6\nT1|acq(a)|7\nT1|rel(a)|8\nT1|rel(b)|9\n",
               "0 5 2 6", 2, "event 2: an earlier event of T0 is missing before it");
}

static void each_waits_for_the_one_behind_it(void **state)
{
    static const char ring[] = "T0|acq(a)|1\nT0|acq(b)|2\nT0|rel(b)|3\nT0|rel(a)|4\n"
                               "T1|acq(b)|5\nT1|acq(c)|6\nT1|rel(c)|7\nT1|rel(b)|8\n"
                               "T2|acq(c)|9\nT2|acq(a)|10\nT2|rel(a)|11\nT2|rel(c)|12\n";

    (void)state;
    expect_end(ring, "0 4 8 5 9 1", 3, NULL);
    expect_end(ring, "0 4 8 1 9 5", 3, "event 1: lock b is not held by T2");
    expect_end(ring, "0 4 8 1 5", 2, "event 5: lock c is not held by T0");
}

static void a_gate_lock_is_refused(void **state)
{
    static const char gated[] = "T0|acq(g)|1\nT0|acq(a)|2\nT0|acq(b)|3\nT0|rel(b)|4\nT0|rel(a)|5\n"
                                "T0|rel(g)|6\nT1|acq(g)|7\nT1|acq(b)|8\nT1|acq(a)|9\nT1|rel(a)|10\n"
                                "T1|rel(b)|11\nT1|rel(g)|12\n";

    (void)state;
    expect_end(gated, "0 1 6 7 2 8", 2, "event 6: lock g is held by T0 since event 0");
}

static void readers_do_not_wait_for_readers(void **state)
{
    static const char readers[] = "T0|acqs(a)|1\nT0|acq(b)|2\nT0|rel(b)|3\nT0|rels(a)|4\n"
                                  "T1|acq(b)|5\nT1|acqs(a)|6\nT1|rels(a)|7\nT1|rel(b)|8\n";
    static const char writer[] = "T0|acqs(a)|1\nT0|acq(b)|2\nT0|rel(b)|3\nT0|rels(a)|4\n"
                                 "T1|acq(b)|5\nT1|acq(a)|6\nT1|rel(a)|7\nT1|rel(b)|8\n";

    (void)state;
    expect_end(readers, "0 4 1 5", 2, "event 5: lock a is not held exclusively by T0");
    expect_end(writer, "0 4 1 5", 2, NULL);
}

static void the_inner_acquire_of_a_recursive_lock_is_no_request(void **state)
{
    static const char nested[] = "T0|acq(a)|1\nT0|acq(a)|2\nT0|rel(a)|3\nT0|rel(a)|4\n"
                                 "T1|acq(b)|5\nT1|acq(a)|6\nT1|rel(a)|7\nT1|rel(b)|8\n";

    (void)state;
    expect_end(nested, "0 4 1 5", 2, "event 1: its thread has lock a already");
}

static void a_lock_that_others_release_blocks_nobody_for_ever(void **state)
{
    static const char handed[] = "T0|acq(a)|1\nT2|rel(a)|2\nT0|acq(b)|3\nT0|rel(b)|4\n"
                                 "T1|acq(b)|5\nT1|acq(a)|6\nT1|rel(a)|7\nT1|rel(b)|8\n";

    (void)state;
    expect_end(handed, "0 4 2 5", 2,
               "event 5: lock a is also released by threads that do not hold it");
}

static void an_acquire_that_would_not_wait_is_no_request(void **state)
{
    const uint64_t order[] = { 0, 4, 1, 5 };
    struct text_trace t = { 0 };
    struct witness_trace *w;
    struct error err = { "" };

    (void)state;
    text_trace_open(&t, crossed);
    t.mem.events[5].flags |= EV_BARE; /* only recorded traces say so */
    w = witness_trace_new(&t.mem, trace_info(t.trace));
    witness_trace_set_names(w, trace_tables(t.trace));
    assert_int_equal(witness_check_deadlock(w, order, 4, 2, &err), 0);
    assert_string_equal(err.text, "event 5: tries to get lock a but does not wait");
    witness_trace_free(w);
    text_trace_close(&t);
}

static void the_way_to_a_deadlock_is_a_correct_reordering(void **state)
{
    static const char read[] = "T0|acq(a)|1\nT0|w(x)|2\nT0|acq(b)|3\nT0|rel(b)|4\nT0|rel(a)|5\n"
                               "T0|w(y)|6\nT1|r(y)|7\nT1|acq(b)|8\nT1|acq(a)|9\nT1|rel(a)|10\n"
                               "T1|rel(b)|11\n";

    (void)state;
    expect_end(read, "0 1 6 7 2 8", 2,
               "event 6: reads y from initial memory, not its value in the trace");
    expect_end("T0|acq(a)|1\nT0|acq(b)|2\nT0|rel(b)|3\nT0|rel(a)|4\nT0|fork(T1)|5\n"
               "T1|acq(b)|6\nT1|acq(a)|7\nT1|rel(a)|8\nT1|rel(b)|9\n",
               "0 5 1 6", 2, "event 5: needs event 4 (fork) before it");
}

/* ---- reads ---- */

static void without_values_a_read_keeps_its_writer(void **state)
{
    static const char text[] = "T0|w(f)|1\nT1|w(f)|2\nT2|r(f)|3\nT2|w(x)|4\nT1|w(x)|5\n";

    (void)state;
    expect(text, "0 1 2 3 4", NULL);
    expect(text, "1 2 3 4", NULL);
    expect(text, "1 0 2 3 4", "event 2: reads f from event 0, not its value in the trace");
    expect("T0|w(f)|1\nT1|r(f)|2\nT1|w(x)|3\nT0|w(x)|4\n", "1 2 0 3",
           "event 1: reads f from initial memory, not its value in the trace");
}

static void with_values_any_writer_of_the_value_will_do(void **state)
{
    static const char text[] = "T0|w(f=1)|1\nT1|w(f=1)|2\nT2|r(f=1)|3\nT2|w(x=1)|4\nT1|w(x=2)|5\n";

    (void)state;
    expect(text, "1 0 2 3 4", NULL);
    expect("T0|w(f=1)|1\nT1|w(f=2)|2\nT2|r(f=2)|3\nT2|w(x=1)|4\nT1|w(x=2)|5\n", "1 0 2 3 4",
           "event 2: reads f from event 0, not its value in the trace");
    expect("T0|w(f=0)|1\nT1|r(f=0)|2\nT1|w(x=1)|3\nT0|w(x=2)|4\n", "1 0 2 3", NULL);
}

static void values_are_compared_byte_by_byte(void **state)
{
    /* the high byte comes from one writer, the low one from the other */
    static const char text[] = "T0|w(0x1000:2=258)|1\nT1|w(0x1001:1=3)|2\n"
                               "T2|r(0x1000:2=770)|3\nT2|w(x=1)|4\nT1|w(x=2)|5\n";

    (void)state;
    expect(text, "0 1 2 3 4", NULL);
    expect(text, "1 0 2 3 4", "event 2: reads 0x1000:2 from event 0, not its value in the trace");
}

static void a_recorded_value_wins_over_an_observed_writer_that_contradicts_it(void **state)
{
    static const char text[] = "T0|w(f=5)|1\nT1|w(f=6)|2\nT2|r(f=5)|3\nT2|w(x=1)|4\nT1|w(x=2)|5\n";

    (void)state;
    expect(text, "0 1 2 3 4", "event 2: reads f from event 1, not its value in the trace");
    expect(text, "1 0 2 3 4", NULL);
}

static void a_read_that_no_branch_follows_may_see_anything(void **state)
{
    static const char text[] = "T0|w(f=1)|1\nT1|r(f=1)|2\nT1|w(x=1)|3\nT1|branch|4\n"
                               "T1|w(z=1)|5\nT0|w(x=2)|6\nT0|w(z=2)|7\n";

    (void)state;
    expect(text, "1 0 2 5", NULL);
    expect(text, "1 2 3 0 5 4 6", "event 3: branch depends on a read of T1 that saw another value");
    /* untraced code may decide anything by what was read */
    expect("T0|w(f=1)|1\nT1|r(f=1)|2\nT1|call(g)|3\nT1|w(x=1)|4\nT1|branch|5\nT0|w(x=2)|6\n",
           "1 2 0 3 5", "event 2: call depends on a read of T1 that saw another value");
}

static void what_a_tainted_thread_writes_satisfies_nobody(void **state)
{
    static const char text[] = "T0|w(f=1)|1\nT1|r(f=1)|2\nT1|w(g=1)|3\nT2|r(g=1)|4\nT2|branch|5\n"
                               "T2|w(x=1)|6\nT0|w(x=2)|7\n";

    (void)state;
    expect(text, "0 1 2 3 4 5 6", NULL);
    expect(text, "1 2 3 4 0 5 6", "event 4: branch depends on a read of T2 that saw another value");
}

/* ---- lifetimes ---- */

static const char two_lifetimes[] = "T0|alloc(0x1000:8)|1\nT1|w(0x1000:8)|2\nT0|w(0x1000:8)|3\n"
                                    "T0|free(0x1000:8)|4\nT1|alloc(0x1000:8)|5\n"
                                    "T1|w(0x1000:8)|6\nT2|r(0x1000:8)|7\n";

static void memory_is_used_after_its_allocation(void **state)
{
    (void)state;
    expect(two_lifetimes, "0 1 2", NULL);
    expect(two_lifetimes, "1 0 2", "event 1: the memory at 0x1000:8 is not allocated yet");
    expect(two_lifetimes, "1 2", "event 1: the memory at 0x1000:8 is not allocated yet");
    /* one byte that is there and one that is not */
    expect("T0|alloc(0x1000:1)|1\nT1|w(0xfff:2)|2\nT2|w(0xfff:1)|3\n", "1 2",
           "event 1: the memory at 0xfff:2 is not allocated yet");
    expect("T0|alloc(0x1000:8)|1\nT1|free(0x1000:8)|2\nT1|w(x)|3\nT0|w(x)|4\n", "1 0 2 3",
           "event 1: the memory at 0x1000:8 is not allocated yet");
    /* what is there from the beginning is nobody's allocation */
    expect("T0|w(0x1000:8)|1\nT1|w(0x1000:8)|2\nT0|alloc(0x1000:8)|3\n", "0 1", NULL);
}

static void lifetimes_of_one_address_may_overlap(void **state)
{
    (void)state;
    /* the second block is allocated and used while the first is still in use */
    expect("T0|alloc(0x1000:8)|1\nT0|w(0x1000:8)|2\nT0|r(0x1000:8)|3\nT0|w(x)|4\n"
           "T0|free(0x1000:8)|5\nT1|alloc(0x1000:8)|6\nT1|w(0x1000:8)|7\nT1|r(0x1000:8)|8\n"
           "T1|w(x)|9\n",
           "0 5 1 6 2 7 3 8", NULL);
    /* or before the first is allocated at all */
    expect("T0|w(x)|1\nT0|alloc(0x1000:8)|2\nT0|free(0x1000:8)|3\nT1|alloc(0x1000:8)|4\n"
           "T1|r(0x1000:8)|5\nT1|w(x)|6\n",
           "3 4 0 5", NULL);
    expect("T0|alloc(0x1000:8)|1\nT0|w(0x1000:8)|2\nT0|free(0x1000:8)|3\nT2|w(x)|4\n"
           "T1|alloc(0x1000:8)|5\nT1|r(0x1000:8)|6\nT1|w(x)|7\n",
           "4 5 3 6", NULL);
    /* initial memory lives on as well */
    expect("T0|w(0x1000:8)|1\nT0|r(0x1000:8)|2\nT0|w(x)|3\nT1|alloc(0x1000:8)|4\n"
           "T1|w(0x1000:8)|5\nT1|w(x)|6\n",
           "0 3 4 1 2 5", NULL);
}

static void a_read_sees_its_own_lifetime_only(void **state)
{
    static const char text[] = "T0|alloc(0x1000:1)|1\nT0|w(0x1000:1=7)|2\nT0|free(0x1000:1)|3\n"
                               "T1|alloc(0x1000:1)|4\nT2|w(0x1000:1=7)|5\nT1|r(0x1000:1=7)|6\n"
                               "T1|w(x=1)|7\nT0|w(x=2)|8\n";

    (void)state;
    expect(text, "0 1 2 3 4 5 6 7", NULL);
    expect(text, "0 3 4 1 2 5 6 7", NULL);
    /* 7 is there, but in the other block */
    expect(text, "3 0 1 2 5 6 7",
           "event 5: reads 0x1000:1 from event 3, not its value in the trace");
    /* fresh memory does not start with 0, and an alloc is the writer that must stay the last */
    expect("T0|alloc(0x1000:1)|1\nT0|r(0x1000:1=0)|2\nT1|w(0x1000:1=0)|3\nT0|w(x=1)|4\n"
           "T1|w(x=2)|5\n",
           "0 1 2 3 4", NULL);
    expect("T0|alloc(0x1000:1)|1\nT0|r(0x1000:1)|2\nT1|w(0x1000:1)|3\nT0|w(x)|4\nT1|w(x)|5\n",
           "0 2 1 3 4", "event 1: reads 0x1000:1 from event 2, not its value in the trace");
}

static void a_race_is_within_one_lifetime(void **state)
{
    (void)state;
    expect(two_lifetimes, "0 1 4 2 5",
           "event 5: uses the memory at 0x1000:8 in another lifetime than event 2");
    expect(two_lifetimes, "0 1 4 5 2",
           "event 2: uses the memory at 0x1000:8 in another lifetime than event 5");
    expect(two_lifetimes, "0 1 4 5 6", NULL);
    expect(two_lifetimes, "0 1 4 6 2",
           "event 2: uses the memory at 0x1000:8 in another lifetime than event 6");
    /* one half was allocated anew in between, the other was not */
    expect("T0|w(0x1000:8)|1\nT2|alloc(0x1000:4)|2\nT1|w(0x1000:8)|3\n", "1 0 2", NULL);
    expect("T0|w(0x1000:8)|1\nT2|alloc(0x1004:4)|2\nT1|w(0x1000:8)|3\n", "1 0 2", NULL);
    expect("T0|w(0x1004:4)|1\nT2|alloc(0x1004:4)|2\nT1|w(0x1000:8)|3\n", "1 0 2",
           "event 2: uses the memory at 0x1000:8 in another lifetime than event 0");
}

static void a_free_conflicts_with_uses_and_frees_of_its_lifetime(void **state)
{
    static const char text[] = "T0|alloc(0x1000:8)|1\nT1|r(0x1004:1)|2\nT0|free(0x1000:8)|3\n"
                               "T2|free(0x1000:8)|4\nT3|w(0x1000:4)|5\n";

    (void)state;
    expect(text, "0 1 2", NULL);
    expect(text, "0 2 3", NULL);
    expect(text, "0 3 2", NULL);
    expect(text, "0 2 4", NULL);
    expect(two_lifetimes, "0 2 3 1", NULL);
    expect(two_lifetimes, "0 1 2 4 3 5",
           "event 5: uses the memory at 0x1000:8 in another lifetime than event 3");
}

static void a_release_sequence_ends_with_the_lifetime(void **state)
{
    /* the load reads fresh memory, so T0's release is nothing to it */
    expect("T0|w(x)|1\nT0|store.rel(0x1000:8)|2\nT1|alloc(0x1000:8)|3\nT1|load.acq(0x1000:8)|4\n"
           "T1|w(x)|5\n",
           "2 3 0 4", NULL);
    expect("T0|w(x)|1\nT0|store.rel(0x1000:8)|2\nT1|alloc(0x1000:8)|3\nT2|rmw.rlx(0x1000:8)|4\n"
           "T1|load.acq(0x1000:8)|5\nT1|w(x)|6\n",
           "2 3 4 0 5", NULL);
    (void)state;
}

/* ---- the compact edges ---- */

static void edges_to_relation(const struct trace_mem *t, struct relation *r)
{
    struct cells cells;
    struct edges e;

    cells_init(&cells, t);
    edges_init(&e, t, &cells);
    relation_init(r, t->count);
    naive_program_order(t, r);
    for (size_t b = 0; b < t->count; b++) {
        for (uint32_t i = e.first_need[b]; i < e.first_need[b + 1]; i++) {
            if (e.needs[i].hi == NEED_EVENT)
                relation_add(r, e.needs[i].lo, b);
            for (uint32_t m = e.needs[i].lo; e.needs[i].hi != NEED_EVENT && m < e.needs[i].hi; m++)
                relation_add(r, e.source[m], b);
        }
    }
    relation_close(r);
    edges_release(&e);
    cells_release(&cells);
}

static void compare_edges(const struct gen_trace *g, uint64_t seed)
{
    struct relation compact, plain;

    edges_to_relation(&g->mem, &compact);
    relation_init(&plain, g->mem.count);
    naive_program_order(&g->mem, &plain);
    naive_hard_edges(&g->mem, &plain);
    relation_close(&plain);
    for (size_t a = 0; a < g->mem.count; a++)
        for (size_t b = a + 1; b < g->mem.count; b++)
            if (relation_has(&compact, a, b) != relation_has(&plain, a, b))
                fail_msg("seed %llu: edge %zu -> %zu is %s", (unsigned long long)seed, a, b,
                         relation_has(&plain, a, b) ? "missing" : "too much");
    relation_release(&compact);
    relation_release(&plain);
}

static void the_compact_edges_mean_what_the_definitions_say(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 600; seed++) {
        struct gen_small_options o;
        struct gen_trace g;

        gen_small_random(&o, seed, 120);
        o.events = 20 + (uint32_t)(seed % 100);
        o.threads = 2 + (uint32_t)(seed % 5);
        if (seed % 6 == 0)
            gen_small_heap(&o);
        gen_small(&o, &g);
        compare_edges(&g, seed);
        gen_trace_release(&g);
    }
}

/* ---- size ---- */

/* The observed order, cut before two events, is a witness of any race between them. */
static void a_witness_of_a_million_events_is_checked_in_linear_time(void **state)
{
    struct gen_large_options o;
    struct tables tables = { 0 };
    struct trace_info info = { 0 };
    struct trace_mem mem = { 0 };
    struct error err = { "" };
    struct witness_trace *w;
    struct batch b;
    uint64_t *order;
    size_t cap = 0;
    clock_t start = clock();
    struct gen *g;

    (void)state;
    gen_large_defaults(&o);
    o.events = 1000000;
    o.shared_percent = 20;
    o.atomic_percent = 5;
    o.heap_percent = 20;
    g = gen_open(&o, &tables);
    while (gen_next(g, &b)) {
        GROW(mem.events, cap, mem.count + b.count + 2);
        memcpy(&mem.events[mem.count], b.events, b.count * sizeof(*b.events));
        mem.count += b.count;
    }
    gen_close(g);
    for (uint32_t i = 0; i < 2; i++) /* two new threads race at the very end */
        mem.events[mem.count++] =
            (struct event){ .op = OP_WRITE, .size = 8, .target = 64, .thread = 100 + i };
    order = xcalloc(mem.count, sizeof(*order));
    for (size_t i = 0; i < mem.count; i++)
        order[i] = i;
    w = witness_trace_new(&mem, &info);
    for (int i = 0; i < 3; i++)
        assert_int_equal(witness_check(w, order, mem.count, &err), 1);
    order[500000] = order[500001];
    assert_int_equal(witness_check(w, order, mem.count, &err), 0);
    witness_trace_free(w);
    assert_true(clock() - start < 30 * CLOCKS_PER_SEC); /* quadratic would take hours */
    free(order);
    free(mem.events);
    tables_release(&tables);
}

/* ---- recordings ---- */

static void a_recorded_write_is_over_with_its_quiet_period(void **state)
{
    /* T0 may write x again, after data: that is what T1 reads */
    static const char text[] = "T0|w(x)|1\nT0|w(data)|2\nT0|acq(l)|3\nT0|rel(l)|4\n"
                               "T1|acq(l)|5\nT1|r(x)|6\nT1|rel(l)|7\nT1|w(data)|8\n";

    (void)state;
    expect(text, "0 4 5 6 1 7", NULL);
    expect_recorded(text, "0 4 5 6 1 7", "event 5: event 0 on x may not be the last of its kind");
    expect_recorded(text, "4 0 5", NULL); /* the race on x itself */
}

static void a_recorded_read_is_over_with_its_quiet_period(void **state)
{
    static const char text[] = "T0|r(x)|1\nT0|w(y)|2\nT0|store.rlx(a)|3\nT0|store.rel(a)|4\n"
                               "T0|w(z)|5\nT1|w(x)|6\nT1|w(z)|7\n";

    (void)state;
    expect(text, "0 1 5 2 3 4 6", NULL);
    expect_recorded(text, "0 1 5 2 3 4 6", "event 5: event 0 on x may not be the last of its kind");
    expect_recorded(text, "0 1 2 5 3 4 6", NULL); /* only the end itself is still to come */
    expect_recorded(text, "0 1 2 3 5 4 6", NULL);
}

static void a_thread_may_go_on_with_its_own_accesses(void **state)
{
    static const char text[] = "T0|w(x)|1\nT0|r(x)|2\nT0|w(x)|3\nT0|w(y)|4\nT1|r(y)|5\n";

    (void)state;
    expect_recorded(text, "0 1 2 3 4", NULL);
    /* without an end the quiet period lasts as long as the thread */
    expect_recorded("T0|w(x)|1\nT0|r(y)|2\nT1|r(x)|3\nT1|w(y)|4\n", "0 2 1 3",
                    "event 2: event 0 on x may not be the last of its kind");
}

/* docs/design/marks.md */
static void what_comes_of_another_value_satisfies_no_read_that_matters(void **state)
{
    static const char relay[] = "T0|w(x)|1\nT0|w(a)|2\nT1|r~(a)|3\nT1|w~(b)|4\nT1|w(c)|5\n"
                                "T1|r(b)|6\nT1|w(x)|7\nT2|r(c)|8\nT2|w(x)|9\n";
    static const char quiet[] = "T0|w(x)|1\nT0|w(a)|2\nT1|w~(b)|3\nT1|r~(a)|4\nT1|r(b)|5\n"
                                "T1|w(x)|6\n";

    (void)state;
    expect(relay, "2 3 4 7 0 8", NULL);
    expect(relay, "2 3 4 5 0 6", "event 5: reads b from event 3, not its value in the trace");
    expect(quiet, "2 3 4 0 5", NULL);
    expect_recorded(quiet, "2 3 4 0 5",
                    "event 4: reads b from event 2, not its value in the trace");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_of_another_value_satisfies_no_read_that_matters),
        cmocka_unit_test(two_enabled_conflicting_accesses_are_a_race),
        cmocka_unit_test(a_list_that_is_no_witness_at_all_is_refused),
        cmocka_unit_test(each_thread_gives_a_prefix_of_its_events_in_order),
        cmocka_unit_test(the_last_two_must_conflict),
        cmocka_unit_test(overlap_is_by_byte),
        cmocka_unit_test(a_thread_starts_after_its_fork_and_ends_before_its_join),
        cmocka_unit_test(a_wait_may_end_without_a_wake),
        cmocka_unit_test(barrier_edges_are_per_round),
        cmocka_unit_test(semaphores_once_and_annotations_order),
        cmocka_unit_test(what_a_schedule_did_after_a_beginning_is_put_back),
        cmocka_unit_test(semaphores_count),
        cmocka_unit_test(an_acquire_load_comes_after_the_release_it_read),
        cmocka_unit_test(fences_stand_in_for_the_orders_of_their_neighbours),
        cmocka_unit_test(a_plain_write_or_a_free_ends_a_release_sequence),
        cmocka_unit_test(sections_of_one_lock_do_not_overlap),
        cmocka_unit_test(a_recursive_lock_is_free_after_its_outermost_release),
        cmocka_unit_test(a_thread_that_ended_holds_nothing),
        cmocka_unit_test(threads_that_wait_for_each_other_are_a_deadlock),
        cmocka_unit_test(threads_that_wait_when_the_trace_ends_are_a_deadlock),
        cmocka_unit_test(a_list_that_is_no_deadlock_at_all_is_refused),
        cmocka_unit_test(each_request_is_the_next_event_of_its_thread),
        cmocka_unit_test(each_waits_for_the_one_behind_it),
        cmocka_unit_test(a_gate_lock_is_refused),
        cmocka_unit_test(readers_do_not_wait_for_readers),
        cmocka_unit_test(the_inner_acquire_of_a_recursive_lock_is_no_request),
        cmocka_unit_test(a_lock_that_others_release_blocks_nobody_for_ever),
        cmocka_unit_test(an_acquire_that_would_not_wait_is_no_request),
        cmocka_unit_test(the_way_to_a_deadlock_is_a_correct_reordering),
        cmocka_unit_test(without_values_a_read_keeps_its_writer),
        cmocka_unit_test(with_values_any_writer_of_the_value_will_do),
        cmocka_unit_test(values_are_compared_byte_by_byte),
        cmocka_unit_test(a_recorded_value_wins_over_an_observed_writer_that_contradicts_it),
        cmocka_unit_test(a_read_that_no_branch_follows_may_see_anything),
        cmocka_unit_test(what_a_tainted_thread_writes_satisfies_nobody),
        cmocka_unit_test(memory_is_used_after_its_allocation),
        cmocka_unit_test(lifetimes_of_one_address_may_overlap),
        cmocka_unit_test(a_read_sees_its_own_lifetime_only),
        cmocka_unit_test(a_race_is_within_one_lifetime),
        cmocka_unit_test(a_free_conflicts_with_uses_and_frees_of_its_lifetime),
        cmocka_unit_test(a_release_sequence_ends_with_the_lifetime),
        cmocka_unit_test(a_recorded_write_is_over_with_its_quiet_period),
        cmocka_unit_test(a_recorded_read_is_over_with_its_quiet_period),
        cmocka_unit_test(a_thread_may_go_on_with_its_own_accesses),
        cmocka_unit_test(the_compact_edges_mean_what_the_definitions_say),
        cmocka_unit_test(a_witness_of_a_million_events_is_checked_in_linear_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
