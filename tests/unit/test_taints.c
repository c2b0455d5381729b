/* test_taints.c - of all reads that demand the same one is needed, with the write it saw */
#include "engines/taints.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { T = 3, OTHER = 5, ALL = 0xf, LOW = 0x3, HIGH = 0xc };

struct scene {
    struct taints taints;
    struct taint_unit a, b;
};

static int open_scene(void **state)
{
    static struct scene s;

    s = (struct scene){ .taints = { 0 } };
    *state = &s;
    return 0;
}

static int close_scene(void **state)
{
    taints_release(&((struct scene *)*state)->taints);
    return 0;
}

static void nothing_is_needed_before_a_chance(void **state)
{
    struct scene *s = *state;

    assert_false(taints_write(&s->taints, &s->a, ALL, T, 1));
    assert_false(taints_read(&s->taints, &s->a, ALL, T, 2));
    assert_int_equal(s->taints.nneeded, 0);
}

static void after_a_chance_the_first_pair_is_needed(void **state)
{
    struct scene *s = *state;

    taints_chance(&s->taints, T);
    taints_write(&s->taints, &s->a, ALL, T, 11);
    taints_write(&s->taints, &s->b, ALL, T, 12);
    assert_false(taints_read(&s->taints, &s->b, ALL, T, 13));
    assert_false(taints_read(&s->taints, &s->a, ALL, T, 14));
    assert_int_equal(s->taints.nneeded, 2);
    assert_int_equal(s->taints.needed[0], 12);
    assert_int_equal(s->taints.needed[1], 13);
}

/* The recorder may have left out a write behind it. */
static void a_chance_counts_for_writes_before_it_in_its_quiet_period(void **state)
{
    struct scene *s = *state;

    taints_write(&s->taints, &s->a, ALL, T, 1);
    taints_chance(&s->taints, T);
    taints_read(&s->taints, &s->a, ALL, T, 3);
    assert_int_equal(s->taints.nneeded, 2);
    taints_read(&s->taints, &s->a, ALL, T, 4); /* (the first says only what was before the write) */
    assert_int_equal(s->taints.nneeded, 4);
    taints_finish(&s->taints);
    assert_int_equal(s->taints.nneeded, 3);
}

static void a_chance_does_not_count_for_writes_of_quiet_periods_before(void **state)
{
    struct scene *s = *state;

    taints_write(&s->taints, &s->a, ALL, T, 1);
    taints_quiet(&s->taints, T);
    taints_chance(&s->taints, T);
    taints_read(&s->taints, &s->a, ALL, T, 4);
    assert_int_equal(s->taints.nneeded, 0);
}

static void each_reader_demands_for_itself(void **state)
{
    struct scene *s = *state;

    taints_chance(&s->taints, T);
    taints_write(&s->taints, &s->a, ALL, T, 2);
    taints_read(&s->taints, &s->a, ALL, T, 3);
    taints_quiet(&s->taints, T);
    taints_read(&s->taints, &s->a, ALL, OTHER, 5);
    taints_read(&s->taints, &s->a, ALL, OTHER, 6);
    assert_int_equal(s->taints.nneeded, 4);
    assert_true(taints_is_foreign(&s->taints, &s->a, ALL, OTHER));
    assert_false(taints_is_foreign(&s->taints, &s->a, ALL, T));
}

static void what_was_overwritten_is_not_seen(void **state)
{
    struct scene *s = *state;

    taints_chance(&s->taints, T);
    taints_write(&s->taints, &s->a, ALL, T, 2);
    taints_overwrite(&s->a, LOW);
    assert_false(taints_read(&s->taints, &s->a, LOW, T, 4));
    assert_int_equal(s->taints.nneeded, 0);
    taints_read(&s->taints, &s->a, HIGH, T, 5);
    assert_int_equal(s->taints.nneeded, 2);
}

static void who_may_have_seen_several_writes_needs_the_word(void **state)
{
    struct scene *s = *state;

    taints_chance(&s->taints, T);
    taints_write(&s->taints, &s->a, LOW, T, 2);
    assert_false(taints_write(&s->taints, &s->a, HIGH, T, 3));
    assert_true(taints_read(&s->taints, &s->a, LOW, T, 4));
    assert_true(taints_write(&s->taints, &s->a, LOW, OTHER, 5));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, open_scene, close_scene)
    const struct CMUnitTest tests[] = {
        CASE(nothing_is_needed_before_a_chance),
        CASE(after_a_chance_the_first_pair_is_needed),
        CASE(a_chance_counts_for_writes_before_it_in_its_quiet_period),
        CASE(a_chance_does_not_count_for_writes_of_quiet_periods_before),
        CASE(each_reader_demands_for_itself),
        CASE(what_was_overwritten_is_not_seen),
        CASE(who_may_have_seen_several_writes_needs_the_word),
    };

    return cmocka_run_group_tests_name("taints", tests, NULL, NULL);
}
