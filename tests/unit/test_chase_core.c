/* test_chase_core.c - the sampling formula, the accounting of waits, and who meets whom, with a
 * clock and random numbers of our own */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "runtime/production/chase_core.c"

#define MS UINT64_C(1000000)
static const uint64_t one = UINT64_C(1) << 32;

static struct chase_limits usual(void)
{
    return (struct chase_limits){ 10 * MS, 1000 * MS, 50000, 0 };
}

/* The formula, in floating point. */
static double p_budget(const struct chase_limits *l, double waited, double total)
{
    double base = total > (double)l->least_ns ? total : (double)l->least_ns;
    double p = 1 - (waited + (double)l->delay_ns) /
                       ((base + (double)l->delay_ns) * (double)l->max_ppm * 1e-6);

    return l->max_ppm && p > 0 ? p : 0;
}

static void the_budget_is_that_of_the_formula(void **state)
{
    (void)state;
    srand(7);
    for (int i = 0; i < 100000; i++) {
        struct chase_limits l = { (uint64_t)(rand() % 100) * MS / 7, (uint64_t)rand() % 3000 * MS,
                                  (uint32_t)rand() % 1000001, 0 };
        uint64_t total = (uint64_t)rand() * (uint64_t)(rand() % 2000),
                 waited = total / (uint64_t)(1 + rand() % 100);
        double expected = p_budget(&l, (double)waited, (double)total),
               got = (double)chase_p_budget(&l, waited, total) / (double)one;

        assert_true(got >= expected - 1e-8 && got <= expected + 1e-8);
    }
}

static void without_a_budget_nothing_is_sampled(void **state)
{
    struct chase_limits l = usual();

    (void)state;
    l.max_ppm = 0;
    assert_int_equal(chase_p_budget(&l, 0, UINT64_C(3600) * 1000 * MS), 0);
    l.max_ppm = 1; /* a millionth of 1.01 s is less than one delay */
    assert_int_equal(chase_p_budget(&l, 0, 0), 0);
}

static void early_accesses_have_the_least_time_as_budget(void **state)
{
    struct chase_limits l = usual();

    (void)state;
    /* 1 - 10 / (1010 * 0.05) */
    assert_int_equal((int)(chase_p_budget(&l, 0, 0) * 10000 / one), 8019);
    assert_int_equal(chase_p_budget(&l, 0, 5), chase_p_budget(&l, 0, 1000 * MS));
    assert_true(chase_p_budget(&l, 0, 2000 * MS) > chase_p_budget(&l, 0, 0));
    assert_int_equal(chase_p_budget(&l, 41 * MS, 0), 0);
}

static void a_thread_samples_less_each_time(void **state)
{
    (void)state;
    assert_true(chase_draw_freq(1, 1, 0, UINT32_MAX));
    assert_true(chase_draw_freq(2, 9, 0, UINT32_MAX / 2));
    assert_false(chase_draw_freq(2, 9, 0, UINT32_MAX / 2 + 1));
    assert_true(chase_draw_freq(10, 99, 0, UINT32_MAX / 10));
    assert_false(chase_draw_freq(10, 99, 0, UINT32_MAX / 10 + 1));
}

/* Five waits of 10 ms a second are affordable. */
static void rare_hits_are_sampled_as_often_as_can_be_afforded(void **state)
{
    struct chase_limits l = usual();
    uint64_t second = chase_affordable(&l, 1000 * MS);

    (void)state;
    assert_int_equal(second, 5 * 65536);
    for (uint32_t n = 2; n < 10000; n++) /* once a second */
        assert_true(chase_draw_freq(n, n, second * (n - 1), UINT32_MAX));
    assert_true(chase_draw_freq(99, 10, second, UINT32_MAX / 2)); /* ten times a second */
    assert_false(chase_draw_freq(99, 10, second, UINT32_MAX / 2 + 1));
    assert_false(chase_draw_freq(99, 1000000, second, UINT32_MAX / 90));
    l.max_ppm = 0;
    assert_int_equal(chase_affordable(&l, 1000000 * MS), 0);
}

static void the_limit_is_of_the_time_without_us(void **state)
{
    struct chase_limits l = usual();

    (void)state;
    l.least_ns = 0; /* 50 + 30 + 10 of 5 % of what is left + 10 */
    assert_false(chase_may_wait(&l, 50 * MS, 30 * MS, 1869 * MS, 0));
    assert_true(chase_may_wait(&l, 50 * MS, 30 * MS, 1871 * MS, 0));
    assert_false(chase_may_wait(&l, 300 * MS, 200 * MS, 400 * MS, 0));
}

/* Up to then no draw helps, and right after it the best one does. */
static void refusals_are_known_ahead(void **state)
{
    unsigned refused = 0;

    (void)state;
    srand(7);
    for (int i = 0; i < 100000; i++) {
        struct chase_limits l = usual();
        uint64_t waited = (uint64_t)(rand() % 300) * MS, own = (uint64_t)(rand() % 100) * MS,
                 passed = (uint64_t)(rand() % 10000) * MS, wait;

        l.max_ppm = 1000 + (uint32_t)(rand() % 200000);
        l.least_ns = (uint64_t)(rand() % 2000) * MS;
        wait = chase_refused_for(&l, waited, own, passed);
        assert_int_equal(!wait, chase_may_wait(&l, waited, own, passed + (wait ? 0 : 2), 0));
        if (!wait)
            continue;
        refused++;
        assert_false(chase_may_wait(&l, waited, own, passed + wait - 1, 0));
        /* P_budget is in 2^32nds: it is 0 some nanoseconds longer */
        assert_true(chase_may_wait(&l, waited, own, passed + wait + 10000, 0));
    }
    assert_in_range(refused, 20000, 95000);
}

/* What we cost otherwise bounds waits, but makes them no less likely before. */
static void the_draw_is_that_of_the_formula(void **state)
{
    struct chase_limits l = usual();
    uint32_t p = (uint32_t)chase_p_budget(&l, 20 * MS, 1950 * MS);

    (void)state;
    assert_true(chase_may_wait(&l, 20 * MS, 30 * MS, 2000 * MS, p - 1));
    assert_false(chase_may_wait(&l, 20 * MS, 30 * MS, 2000 * MS, p));
}

/* ---- waits ---- */

static uint64_t waited, late, own;

static struct chase_core *new_core(uint32_t max_ppm)
{
    struct chase_core *c = calloc(1, sizeof(*c));

    waited = late = own = 0;
    c->limits = usual();
    c->limits.max_ppm = max_ppm;
    c->waited_ns = &waited;
    c->late_ns = &late;
    c->own_ns = &own;
    return c;
}

static const struct chase_access word = { .address = 4096, .bytes = 8, .write = true };

static struct chase_waiter *begin(struct chase_core *c, uint64_t now)
{
    bool full;

    return chase_begin(c, &word, now, now, 0, &full);
}

static void overlapping_waits_are_counted_once(void **state)
{
    struct chase_core *c = new_core(1000000);
    struct chase_waiter *a = begin(c, 0), *b = begin(c, 4 * MS), *d;

    (void)state;
    assert_int_equal(waited, 14 * MS); /* charged up to the later end */
    chase_end(c, a, 10 * MS);
    d = begin(c, 12 * MS);
    assert_int_equal(waited, 22 * MS);
    chase_end(c, b, 14 * MS);
    assert_int_equal(c->waiting, 1);
    chase_end(c, d, 22 * MS);
    assert_int_equal(waited, 22 * MS);
    a = begin(c, 30 * MS);
    chase_end(c, a, 33 * MS); /* ended early */
    assert_int_equal(waited, 25 * MS);
    assert_int_equal(late, 0);
    free(c);
}

static void time_beyond_the_end_is_counted_and_called_late(void **state)
{
    struct chase_core *c = new_core(1000000);
    struct chase_waiter *a = begin(c, 0), *b = begin(c, 15 * MS);

    (void)state;
    assert_int_equal(waited, 25 * MS);
    assert_int_equal(late, 5 * MS);
    chase_end(c, a, 16 * MS);
    chase_end(c, b, 27 * MS);
    assert_int_equal(waited, 27 * MS);
    assert_int_equal(late, 7 * MS);
    free(c);
}

/* A naive account of the same: which nanoseconds (here: milliseconds) had a waiter. */
static void random_waits_add_up_to_the_union_of_their_times(void **state)
{
    enum { TIME = 4000, PLACES = 6 };

    (void)state;
    for (int round = 0; round < 200; round++) {
        struct chase_core *c = new_core(1000000);
        struct chase_waiter *at[PLACES] = { NULL };
        int until[PLACES] = { 0 }, sum = 0;

        srand((unsigned)round);
        for (int t = 0; t < TIME; t++) {
            for (int i = 0; i < PLACES; i++)
                if (at[i] && (t >= until[i] || rand() % 40 == 0)) {
                    chase_end(c, at[i], (uint64_t)t * MS);
                    at[i] = NULL;
                }
            for (int i = 0; i < PLACES; i++)
                if (!at[i] && rand() % 60 == 0 && (at[i] = begin(c, (uint64_t)t * MS)))
                    until[i] = t + 10 + (rand() % 4 == 0 ? rand() % 9 : 0);
            sum += c->waiting > 0;
        }
        for (int i = 0; i < PLACES; i++)
            if (at[i])
                chase_end(c, at[i], (uint64_t)TIME * MS);
        assert_int_equal(c->waiting, 0);
        assert_int_equal(waited, (uint64_t)sum * MS);
        free(c);
    }
}

/* At every moment, whatever threads do: threads that come as often as they like, waits that end
 * early or late. */
static void the_limit_holds_at_every_moment(void **state)
{
    static const uint32_t limits[] = { 0, 1000, 50000, 100000, 500000 };

    (void)state;
    for (unsigned k = 0; k < sizeof(limits) / sizeof(*limits); k++) {
        struct chase_core *c = new_core(limits[k]);
        struct chase_waiter *at[8] = { NULL };
        uint64_t until[8] = { 0 }, now = 0, waits = 0;
        bool full;

        srand(k + 1);
        for (int i = 0; i < 200000; i++) {
            uint64_t base = now > c->limits.least_ns ? now : c->limits.least_ns;
            int who = rand() % 8;

            if (at[who] && now >= until[who]) {
                chase_end(c, at[who], now);
                at[who] = NULL;
            } else if (!at[who]) {
                at[who] = chase_begin(c, &word, now, now, (uint32_t)rand() * 2u, &full);
                until[who] = now + (10 + (uint64_t)(rand() % 8 == 0 ? rand() % 30 : 0)) * MS;
                waits += at[who] != NULL;
            }
            assert_true((double)(waited - late) <=
                        (double)(base + c->limits.delay_ns) * limits[k] * 1e-6 + 1);
            now += (uint64_t)(rand() % 100) * MS / 100;
        }
        assert_int_equal(waits > 0, limits[k] > 0);
        free(c);
    }
}

static void waits_have_different_lengths_of_at_most_the_delay(void **state)
{
    struct chase_core *c = new_core(1000000);
    bool full;

    (void)state;
    for (uint32_t random = 0; random < 256; random += 51) {
        struct chase_waiter *w = chase_begin(c, &word, 5 * MS, 5 * MS, random, &full);

        assert_int_equal(w->until_ns, 15 * MS - 5 * MS * random / 256);
        assert_int_equal(waited, 10 * MS); /* the first is the longest */
    }
    assert_int_equal(chase_begin(c, &word, 5 * MS, 5 * MS, 0x1ff, &full)->until_ns, 15 * MS);
    free(c);
}

static void what_we_cost_otherwise_leaves_less_to_wait(void **state)
{
    struct chase_core *c = new_core(50000);
    struct chase_waiter *w;

    (void)state;
    own = 40 * MS; /* of 50.5 */
    w = begin(c, 0);
    assert_non_null(w);
    chase_end(c, w, 0); /* met at once: nothing was waited */
    own = 41 * MS;
    waited = 1; /* the first is always allowed */
    assert_null(begin(c, 0));
    assert_non_null(begin(c, 2000 * MS));
    own = 0;
    c->limits.least_ns = 0;        /* from the beginning */
    c->limits.reserve_ppm = 45000; /* 10 ms are left of 5 percent of the rest after 3.45 seconds */
    c->waiting = 0;
    waited = 1;
    assert_null(begin(c, 3400 * MS));
    assert_non_null(begin(c, 3600 * MS));
    free(c);
}

/* The build costs up to 4 percent that nobody counts: of 5 percent four are left for it. */
static void four_fifths_of_the_limit_are_left_for_the_build(void **state)
{
    struct chase_core *c = new_core(50000);
    uint64_t now = 0;

    (void)state;
    c->limits.reserve_ppm = chase_reserve_ppm(c->limits.max_ppm);
    c->limits.least_ns = 0;
    for (; now < 100000 * MS; now += 15 * MS) { /* it is asked for all the time */
        struct chase_waiter *w = begin(c, now);

        if (w)
            chase_end(c, w, now + 10 * MS);
        assert_true(waited <= now / 100 + 10 * MS);
    }
    assert_in_range(waited, 700 * MS, 1010 * MS); /* of 100 s */
    assert_int_equal(chase_reserve_ppm(0), 0);
    assert_int_equal(chase_reserve_ppm(10000), 8000);
    assert_int_equal(chase_reserve_ppm(60000), 40000);
    assert_int_equal(chase_reserve_ppm(500000), 40000);
    free(c);
}

static void the_first_wait_is_that_of_the_formula(void **state)
{
    struct chase_limits l = usual();

    (void)state;
    assert_true(chase_may_wait(&l, 0, 1000 * MS, 100 * MS, 0));
    assert_false(chase_may_wait(&l, 1, 1000 * MS, 100 * MS, 0));
    assert_false(chase_may_wait(&l, 0, 0, 100 * MS, UINT32_MAX));
    l.max_ppm = 0;
    assert_false(chase_may_wait(&l, 0, 0, 100 * MS, 0));
}

static void half_of_the_budget_is_for_sites_that_had_less_than_their_share(void **state)
{
    struct chase_limits l = usual(); /* 5 % of 10 seconds are 500 ms */

    (void)state;
    assert_true(chase_is_fair(&l, 249 * MS, 2, 400 * MS, 10000 * MS));
    assert_false(chase_is_fair(&l, 250 * MS, 2, 400 * MS, 10000 * MS));
    assert_true(chase_is_fair(&l, 240 * MS, 2, 240 * MS, 10000 * MS));
    assert_true(chase_is_fair(&l, 499 * MS, 1, 499 * MS, 10000 * MS)); /* alone: all of it */
    assert_false(chase_is_fair(&l, 8 * MS, 64, 300 * MS, 10000 * MS));
    assert_true(chase_is_fair(&l, 0, 64, 499 * MS, 10000 * MS));
}

static void full_places_are_said(void **state)
{
    struct chase_core *c = new_core(1000000);
    bool full;

    (void)state;
    for (int i = 0; i < CHASE_WAITERS; i++)
        assert_non_null(begin(c, 1));
    assert_null(chase_begin(c, &word, 1, 1, 0, &full));
    assert_true(full);
    free(c);
}

/* ---- meeting ---- */

static void only_overlapping_accesses_with_a_write_meet(void **state)
{
    struct chase_core *c = new_core(1000000);
    struct chase_access a = { .address = 100, .bytes = 4 }, b = a;
    bool full;

    (void)state;
    assert_non_null(chase_begin(c, &a, 0, 0, 0, &full));
    assert_null(chase_meet(c, &b, NULL)); /* two reads */
    b.write = true;
    assert_non_null(chase_meet(c, &b, NULL));
    b.address = 104;
    assert_null(chase_meet(c, &b, NULL));
    b.address = 96;
    assert_null(chase_meet(c, &b, NULL));
    b.bytes = 5;
    assert_non_null(chase_meet(c, &b, NULL));
    b = (struct chase_access){ .address = 103, .bytes = 1, .write = true, .atomic = true };
    assert_non_null(chase_meet(c, &b, NULL)); /* atomic against plain */
    c->waiter[0].access.atomic = true;
    assert_null(chase_meet(c, &b, NULL));
    free(c);
}

static void each_waiter_is_met_and_none_that_has_gone(void **state)
{
    struct chase_core *c = new_core(1000000);
    struct chase_waiter *a = begin(c, 0), *b = begin(c, 0);

    (void)state;
    assert_ptr_equal(chase_meet(c, &word, NULL), a);
    assert_ptr_equal(chase_meet(c, &word, a), b);
    assert_null(chase_meet(c, &word, b));
    chase_end(c, a, 1);
    assert_ptr_equal(chase_meet(c, &word, NULL), b);
    chase_end(c, b, 1);
    assert_null(chase_meet(c, &word, NULL));
    free(c);
}

static void a_look_without_the_lock_misses_no_waiter(void **state)
{
    struct chase_core *c = new_core(1000000);
    struct chase_access other = { .address = 4096 + 8, .bytes = 8, .write = true };
    struct chase_waiter *a, *b;

    (void)state;
    assert_false(chase_may_meet(c, &word));
    a = begin(c, 0);
    b = begin(c, 0);
    assert_true(chase_may_meet(c, &word));
    assert_false(chase_may_meet(c, &other));
    chase_end(c, a, 1);
    assert_true(chase_may_meet(c, &word));
    chase_end(c, b, 1);
    assert_false(chase_may_meet(c, &word));
    free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_budget_is_that_of_the_formula),
        cmocka_unit_test(without_a_budget_nothing_is_sampled),
        cmocka_unit_test(early_accesses_have_the_least_time_as_budget),
        cmocka_unit_test(a_thread_samples_less_each_time),
        cmocka_unit_test(rare_hits_are_sampled_as_often_as_can_be_afforded),
        cmocka_unit_test(the_limit_is_of_the_time_without_us),
        cmocka_unit_test(the_draw_is_that_of_the_formula),
        cmocka_unit_test(refusals_are_known_ahead),
        cmocka_unit_test(overlapping_waits_are_counted_once),
        cmocka_unit_test(time_beyond_the_end_is_counted_and_called_late),
        cmocka_unit_test(random_waits_add_up_to_the_union_of_their_times),
        cmocka_unit_test(the_limit_holds_at_every_moment),
        cmocka_unit_test(waits_have_different_lengths_of_at_most_the_delay),
        cmocka_unit_test(what_we_cost_otherwise_leaves_less_to_wait),
        cmocka_unit_test(four_fifths_of_the_limit_are_left_for_the_build),
        cmocka_unit_test(the_first_wait_is_that_of_the_formula),
        cmocka_unit_test(half_of_the_budget_is_for_sites_that_had_less_than_their_share),
        cmocka_unit_test(full_places_are_said),
        cmocka_unit_test(only_overlapping_accesses_with_a_write_meet),
        cmocka_unit_test(each_waiter_is_met_and_none_that_has_gone),
        cmocka_unit_test(a_look_without_the_lock_misses_no_waiter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
