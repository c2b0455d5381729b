/* test_oracle.c - the exhaustive reference against an even dumber one
 *
 * On very small traces all sequences of all subsets of events are handed to
 * the witness checker; the pairs that end an accepted one must be exactly the
 * oracle's. The two share no code but the events, so this tests both. On
 * larger ones every witness of the oracle must be accepted by the checker,
 * and both must judge damaged witnesses alike.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen.h"
#include "naive.h"
#include "oracle.h"
#include "rng.h"
#include "text_trace.h"
#include "witness/witness.h"

enum { MAX_STATES = 200000 };

/* ---- the dumb enumeration ---- */

struct dumb {
    const struct witness_trace *w;
    size_t n;
    uint64_t order[16];
    struct pair_set pairs;
};

static void try_all(struct dumb *d, size_t length, uint64_t used)
{
    struct error err;

    if (length >= 2 && witness_check(d->w, d->order, length, &err))
        pair_set_add(&d->pairs, d->order[length - 1], d->order[length - 2]);
    for (size_t i = 0; i < d->n; i++) {
        if (used >> i & 1)
            continue;
        d->order[length] = i;
        try_all(d, length + 1, used | 1ull << i);
    }
}

static void print_trace(const struct gen_trace *g)
{
    struct buf b = { 0 };

    gen_trace_text(g, &b);
    print_message("%s", b.len ? b.data : "");
    buf_release(&b);
}

static bool sets_are_equal(const struct pair_set *dumb, const struct pair_set *exact)
{
    size_t a, b;

    if (pair_set_minus(dumb, exact, &a, &b)) {
        print_message("(%zu, %zu): the checker accepts a witness, the oracle finds none\n", a, b);
        return false;
    }
    if (pair_set_minus(exact, dumb, &a, &b)) {
        print_message("(%zu, %zu): the oracle finds a race, the checker accepts none\n", a, b);
        return false;
    }
    return true;
}

static bool agrees(const struct gen_trace *g)
{
    struct witness_trace *w = witness_trace_new(&g->mem, &g->info);
    struct dumb d = { .w = w, .n = g->mem.count };
    struct oracle o;
    bool same;

    pair_set_init(&d.pairs, g->mem.count);
    try_all(&d, 0, 0);
    oracle_run_counted(&g->mem, &g->info, MAX_STATES, &o);
    same = o.complete && sets_are_equal(&d.pairs, &o.pairs);
    pair_set_release(&d.pairs);
    oracle_release(&o);
    witness_trace_free(w);
    return same;
}

static void compare_with_enumeration(uint64_t seed, size_t count, uint32_t max_events, bool heap)
{
    for (uint64_t i = 0; i < count; i++) {
        struct gen_small_options options;
        struct gen_trace g;

        gen_small_random(&options, seed + i, max_events);
        options.wrong_values = i % 4 ? 0 : 30;
        if (heap)
            gen_small_heap(&options);
        gen_small(&options, &g);
        if (!agrees(&g)) {
            print_trace(&g);
            fail_msg("seed %llu", (unsigned long long)(seed + i));
        }
        gen_trace_release(&g);
    }
}

static void the_oracle_equals_an_enumeration_of_all_sequences_of_up_to_six_events(void **state)
{
    (void)state;
    compare_with_enumeration(1000000, 12000, 6, false);
}

static void the_oracle_equals_an_enumeration_of_all_sequences_of_seven_events(void **state)
{
    (void)state;
    compare_with_enumeration(2000000, 1000, 7, false);
}

static void the_oracle_equals_an_enumeration_where_memory_is_reused(void **state)
{
    (void)state;
    compare_with_enumeration(3000000, 6000, 6, true);
    compare_with_enumeration(4000000, 500, 7, true);
}

/* ---- larger traces ---- */

static void swap(uint64_t *a, uint64_t *b)
{
    uint64_t x = *a;

    *a = *b;
    *b = x;
}

/* A damaged copy: swapped, dropped, doubled or foreign events; returns its length. */
static size_t mutate(struct rng *r, const uint64_t *from, size_t n, size_t events, uint64_t *to)
{
    size_t at = rng_below(r, (uint32_t)n), other = rng_below(r, (uint32_t)n);

    memcpy(to, from, n * sizeof(*to));
    switch (rng_below(r, 5)) {
    case 0:
        swap(&to[at], &to[other]);
        return n;
    case 1:
        memmove(&to[at], &to[at + 1], (n - at - 1) * sizeof(*to));
        return n - 1;
    case 2:
        to[n] = to[at];
        swap(&to[n], &to[other]);
        return n + 1;
    case 3:
        to[at] = rng_below(r, (uint32_t)events);
        return n;
    default: /* neighbours: most often still a correct reordering */
        swap(&to[at], &to[at ? at - 1 : n - 1]);
        return n;
    }
}

struct verdicts {
    size_t accepted, refused;
};

static void judge_mutants(const struct gen_trace *g, const struct witness_trace *w,
                          const struct oracle_race *race, struct rng *r, struct verdicts *v)
{
    uint64_t order[ORACLE_EVENTS + 2];
    struct error err = { "" };

    for (int i = 0; i < 6; i++) {
        size_t n = mutate(r, race->witness, race->nwitness, g->mem.count, order);
        int verdict = witness_check(w, order, n, &err);

        if (verdict != oracle_accepts(&g->mem, &g->info, order, n)) {
            print_trace(g);
            for (size_t k = 0; k < n; k++)
                print_message(" %llu", (unsigned long long)order[k]);
            fail_msg("the checker says %d (%s)", verdict, err.text);
        }
        *(verdict ? &v->accepted : &v->refused) += 1;
    }
}

static void check_witnesses(const struct gen_trace *g, struct rng *r, struct verdicts *v)
{
    struct witness_trace *w = witness_trace_new(&g->mem, &g->info);
    struct error err = { "" };
    struct oracle o;

    oracle_run_counted(&g->mem, &g->info, MAX_STATES, &o);
    for (size_t i = 0; i < o.count; i++) {
        if (!witness_check(w, o.races[i].witness, o.races[i].nwitness, &err)) {
            print_trace(g);
            fail_msg("(%zu, %zu): %s", o.races[i].first, o.races[i].second, err.text);
        }
        judge_mutants(g, w, &o.races[i], r, v);
    }
    oracle_release(&o);
    witness_trace_free(w);
}

static void witnesses_of_the_oracle_pass_and_damaged_ones_are_judged_alike(void **state)
{
    struct verdicts v = { 0 };
    struct rng r;

    (void)state;
    rng_init(&r, 7);
    for (uint64_t seed = 1; seed <= 4000; seed++) {
        struct gen_small_options options;
        struct gen_trace g;

        gen_small_random(&options, seed, 20);
        options.wrong_values = seed % 4 ? 0 : 30;
        if (seed % 3 == 0)
            gen_small_heap(&options);
        gen_small(&options, &g);
        check_witnesses(&g, &r, &v);
        gen_trace_release(&g);
    }
    assert_true(v.accepted > 500); /* else the mutants prove nothing */
    assert_true(v.refused > 500);
}

/* ---- traces whose races are known ---- */

static void expect_races(const char *text, const char *expected)
{
    struct text_trace t = { 0 };
    struct buf b = { 0 };
    struct oracle o;

    text_trace_open(&t, text);
    oracle_run_counted(&t.mem, trace_info(t.trace), MAX_STATES, &o);
    for (size_t i = 0; i < t.mem.count; i++)
        for (size_t k = i + 1; k < t.mem.count; k++)
            if (pair_set_has(&o.pairs, i, k))
                buf_addf(&b, "%s%zu-%zu", b.len ? " " : "", i, k);
    assert_string_equal(b.len ? b.data : "", expected);
    buf_release(&b);
    oracle_release(&o);
    text_trace_close(&t);
}

static void a_race_hidden_by_the_order_of_two_sections_is_found(void **state)
{
    (void)state;
    expect_races("T0|w(x)|1\nT0|acq(l)|2\nT0|rel(l)|3\n"
                 "T1|acq(l)|4\nT1|rel(l)|5\nT1|w(x)|6\n",
                 "0-5");
}

static void a_hand_over_through_a_guarded_flag_is_no_race(void **state)
{
    (void)state;
    expect_races("T0|w(x)|1\nT0|acq(l)|2\nT0|w(flag)|3\nT0|rel(l)|4\n"
                 "T1|acq(l)|5\nT1|r(flag)|6\nT1|rel(l)|7\nT1|w(x)|8\n",
                 "");
}

static void a_flag_that_had_its_value_before_protects_nothing(void **state)
{
    (void)state;
    /* 0 is the initial value of flag, so T1 may run first */
    expect_races("T0|w(x=1)|1\nT0|acq(l)|2\nT0|w(flag=0)|3\nT0|rel(l)|4\n"
                 "T1|acq(l)|5\nT1|r(flag=0)|6\nT1|rel(l)|7\nT1|w(x=2)|8\n",
                 "0-7");
}

static void a_read_without_a_later_branch_does_not_matter(void **state)
{
    (void)state;
    expect_races("T0|w(x=1)|1\nT0|acq(l)|2\nT0|w(flag=1)|3\nT0|rel(l)|4\n"
                 "T1|acq(l)|5\nT1|r(flag=1)|6\nT1|rel(l)|7\nT1|w(x=2)|8\nT1|branch|9\n",
                 "0-7");
    expect_races("T0|w(x=1)|1\nT0|acq(l)|2\nT0|w(flag=1)|3\nT0|rel(l)|4\n"
                 "T1|acq(l)|5\nT1|r(flag=1)|6\nT1|rel(l)|7\nT1|branch|8\nT1|w(x=2)|9\n",
                 "");
}

static void readers_race_inside_their_shared_sections_writers_do_not(void **state)
{
    (void)state;
    expect_races("T0|acqs(l)|1\nT0|w(x)|2\nT0|rels(l)|3\nT1|acqs(l)|4\nT1|w(x)|5\nT1|rels(l)|6\n",
                 "1-4");
    expect_races("T0|acqs(l)|1\nT0|w(x)|2\nT0|rels(l)|3\nT1|acq(l)|4\nT1|w(x)|5\nT1|rel(l)|6\n",
                 "");
}

static void a_lock_that_a_joined_thread_never_released_is_free(void **state)
{
    (void)state;
    expect_races("T1|acq(l)|1\nT0|join(T1)|2\nT0|fork(T2)|3\nT2|acq(l)|4\nT2|w(x)|5\nT3|w(x)|6\n",
                 "4-5");
    /* it is free when the thread is over, wherever the join comes */
    expect_races("T1|acq(l)|1\nT1|w(f)|2\nT0|w(x)|3\nT0|join(T1)|4\nT2|acq(l)|5\nT2|r(f)|6\n"
                 "T2|w(x)|7\n",
                 "2-6");
    /* and not before */
    expect_races("T1|acq(l)|1\nT1|w(x)|2\nT0|join(T1)|3\nT2|acq(l)|4\nT2|w(x)|5\n", "");
}

static void a_third_thread_needs_its_own_past(void **state)
{
    (void)state;
    /* T2 can only give T1 its flag after it has seen T0's, so (0, 7) is no race */
    expect_races("T0|w(x)|1\nT0|acq(l)|2\nT0|w(a)|3\nT0|rel(l)|4\n"
                 "T2|acq(l)|5\nT2|r(a)|6\nT2|w(b)|7\nT2|rel(l)|8\n"
                 "T1|acq(l)|9\nT1|r(b)|10\nT1|rel(l)|11\nT1|w(x)|12\n",
                 "");
}

static void an_access_of_a_reused_address_may_race_with_nothing_of_its_last_lifetime(void **state)
{
    (void)state;
    expect_races("T0|alloc(0x1000:8)|1\nT0|w(0x1000:8)|2\nT0|free(0x1000:8)|3\n"
                 "T1|alloc(0x1000:8)|4\nT1|w(0x1000:8)|5\nT2|w(0x1000:8)|6\n",
                 "4-5");
}

static void a_reused_address_orders_nothing(void **state)
{
    (void)state;
    /* the block that T1 got after T0's free would have had another address before it */
    expect_races("T0|w(x)|1\nT0|alloc(0x1000:8)|2\nT0|free(0x1000:8)|3\n"
                 "T1|alloc(0x1000:8)|4\nT1|r(0x1000:8)|5\nT1|w(x)|6\n",
                 "0-5");
    /* but T1 cannot use what T0 has not allocated */
    expect_races("T0|w(x)|1\nT0|alloc(0x1000:8)|2\nT1|w(0x1000:8)|3\nT1|w(x)|4\n", "");
    expect_races("T0|w(x)|1\nT0|alloc(0x1000:8)|2\nT1|free(0x1000:8)|3\nT1|w(x)|4\n", "");
}

static void a_use_after_free_and_a_double_free_are_races(void **state)
{
    (void)state;
    expect_races("T0|alloc(0x1000:8)|1\nT0|free(0x1000:8)|2\nT1|r(0x1004:1)|3\n"
                 "T2|free(0x1000:8)|4\nT2|alloc(0x1000:8)|5\nT2|free(0x1000:8)|6\n",
                 "1-2 1-3 2-3");
}

static void a_race_may_need_two_lifetimes_of_an_address_at_once(void **state)
{
    (void)state;
    /* T1's block has to come after T0's was written (the post) and before it is read (T1's
     * section first): that the two had the same address does not matter */
    expect_races("T0|alloc(0x1000:8)|1\nT0|w(0x1000:8)|2\nT0|post(s)|3\nT0|acq(l)|4\n"
                 "T0|r(0x1000:8)|5\nT0|w(y)|6\nT0|rel(l)|7\nT0|free(0x1000:8)|8\n"
                 "T1|semwait(s)|9\nT1|acq(l)|10\nT1|alloc(0x1000:8)|11\nT1|w(0x1000:8)|12\n"
                 "T1|rel(l)|13\nT1|w(y)|14\n",
                 "5-13");
    /* in one lifetime it does: the read would see T1's write */
    expect_races("T0|alloc(0x1000:8)|1\nT0|w(0x1000:8)|2\nT0|post(s)|3\nT0|acq(l)|4\n"
                 "T0|r(0x1000:8)|5\nT0|w(y)|6\nT0|rel(l)|7\n"
                 "T1|semwait(s)|9\nT1|acq(l)|10\nT1|w(0x1000:8)|12\n"
                 "T1|rel(l)|13\nT1|w(y)|14\n",
                 "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_race_hidden_by_the_order_of_two_sections_is_found),
        cmocka_unit_test(a_hand_over_through_a_guarded_flag_is_no_race),
        cmocka_unit_test(a_flag_that_had_its_value_before_protects_nothing),
        cmocka_unit_test(a_read_without_a_later_branch_does_not_matter),
        cmocka_unit_test(readers_race_inside_their_shared_sections_writers_do_not),
        cmocka_unit_test(a_lock_that_a_joined_thread_never_released_is_free),
        cmocka_unit_test(a_third_thread_needs_its_own_past),
        cmocka_unit_test(an_access_of_a_reused_address_may_race_with_nothing_of_its_last_lifetime),
        cmocka_unit_test(a_reused_address_orders_nothing),
        cmocka_unit_test(a_use_after_free_and_a_double_free_are_races),
        cmocka_unit_test(a_race_may_need_two_lifetimes_of_an_address_at_once),
        cmocka_unit_test(the_oracle_equals_an_enumeration_of_all_sequences_of_up_to_six_events),
        cmocka_unit_test(the_oracle_equals_an_enumeration_of_all_sequences_of_seven_events),
        cmocka_unit_test(the_oracle_equals_an_enumeration_where_memory_is_reused),
        cmocka_unit_test(witnesses_of_the_oracle_pass_and_damaged_ones_are_judged_alike),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
