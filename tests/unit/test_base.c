/* test_base.c - the small things everything stands on: intern, map, buf, arena, error, GROW */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/map.h"

/* intern */

static void equal_strings_get_equal_numbers(void **state)
{
    struct intern t = { 0 };

    (void)state;
    assert_int_equal(intern_put(&t, "a", 1), 0);
    assert_int_equal(intern_put(&t, "bb", 2), 1);
    assert_int_equal(intern_put(&t, "a", 1), 0);
    assert_int_equal(intern_put(&t, "", 0), 2);
    assert_int_equal(intern_find(&t, "bb", 2), 1);
    assert_int_equal(intern_find(&t, "b", 1), INTERN_NONE);
    assert_int_equal(t.count, 3);
    intern_release(&t);
}

static void an_empty_table_finds_nothing(void **state)
{
    struct intern t = { 0 };

    (void)state;
    assert_int_equal(intern_find(&t, "a", 1), INTERN_NONE);
    intern_release(&t);
}

static void the_length_decides_not_a_nul(void **state)
{
    struct intern t = { 0 };

    (void)state;
    assert_int_equal(intern_put(&t, "abc", 2), 0);
    assert_string_equal(intern_get(&t, 0), "ab");
    assert_int_equal(intern_put(&t, "abd", 2), 0);
    intern_release(&t);
}

static void pointers_stay_valid_while_the_table_grows(void **state)
{
    struct intern t = { 0 };
    const char *first;
    char s[16];

    (void)state;
    intern_put(&t, "first", 5);
    first = intern_get(&t, 0);
    for (int i = 0; i < 100000; i++) {
        int n = snprintf(s, sizeof(s), "v%d", i);

        assert_int_equal(intern_put(&t, s, (size_t)n), i + 1);
    }
    assert_ptr_equal(first, intern_get(&t, 0));
    assert_string_equal(first, "first");
    assert_string_equal(intern_get(&t, 77778), "v77777");
    assert_int_equal(intern_find(&t, "v99999", 6), 100000);
    intern_release(&t);
}

static void appended_strings_may_repeat(void **state)
{
    struct intern t = { 0 };

    (void)state;
    assert_int_equal(intern_append(&t, "x", 1), 0);
    assert_int_equal(intern_append(&t, "x", 1), 1);
    assert_string_equal(intern_get(&t, 1), "x");
    assert_int_not_equal(intern_find(&t, "x", 1), INTERN_NONE);
    intern_release(&t);
}

/* map */

static void a_new_key_starts_with_the_value_given(void **state)
{
    struct map m = { 0 };

    (void)state;
    assert_null(map_get(&m, 0));
    assert_int_equal(*map_put(&m, 0, 7), 7);
    assert_int_equal(*map_put(&m, 0, 9), 7);
    *map_get(&m, 0) = 8;
    assert_int_equal(*map_put(&m, 0, 9), 8);
    assert_null(map_get(&m, UINT64_MAX));
    map_release(&m);
}

static void a_map_keeps_what_it_has_while_it_grows(void **state)
{
    struct map m = { 0 };

    (void)state;
    for (uint64_t i = 0; i < 100000; i++)
        *map_put(&m, i << 20, 0) = (uint32_t)i;
    assert_int_equal(m.count, 100000);
    for (uint64_t i = 0; i < 100000; i++)
        assert_int_equal(*map_get(&m, i << 20), i);
    assert_null(map_get(&m, 1));
    map_release(&m);
}

static void a_cleared_map_is_empty(void **state)
{
    struct map m = { 0 };

    (void)state;
    map_clear(&m);
    map_put(&m, 5, 1);
    map_clear(&m);
    assert_null(map_get(&m, 5));
    assert_int_equal(m.count, 0);
    map_release(&m);
}

/* buf */

static void text_is_always_terminated(void **state)
{
    struct buf b = { 0 };
    char *s;

    (void)state;
    buf_addstr(&b, "ab");
    buf_addch(&b, 'c');
    buf_addf(&b, "%d-%s", 42, "x");
    assert_string_equal(b.data, "abc42-x");
    assert_int_equal(b.len, 7);
    s = buf_detach(&b);
    assert_string_equal(s, "abc42-x");
    assert_null(b.data);
    assert_int_equal(b.len, 0);
    free(s);
}

static void detaching_an_empty_buffer_gives_an_empty_string(void **state)
{
    struct buf b = { 0 };
    char *s = buf_detach(&b);

    (void)state;
    assert_string_equal(s, "");
    free(s);
}

static void a_buffer_holds_any_bytes(void **state)
{
    struct buf b = { 0 };

    (void)state;
    for (int i = 0; i < 1000; i++)
        buf_add(&b, "\0\1\2", 3);
    buf_add(&b, NULL, 0);
    assert_int_equal(b.len, 3000);
    assert_memory_equal(b.data + 2997, "\0\1\2", 3);
    buf_release(&b);
}

/* arena */

static void arena_memory_is_aligned_and_apart(void **state)
{
    struct arena a = { 0 };
    char *last = NULL;

    (void)state;
    for (size_t n = 1; n < 3000; n += 7) {
        char *p = arena_alloc(&a, n);

        assert_int_equal((uintptr_t)p % 16, 0);
        memset(p, 0x5a, n);
        if (last)
            assert_int_equal(*last, 0x5a);
        last = p;
    }
    arena_release(&a);
}

static void a_large_request_gets_its_own_block(void **state)
{
    struct arena a = { 0 };
    char *small = arena_strndup(&a, "small text", 5);
    char *large = arena_alloc(&a, 1 << 20);
    char *after;

    (void)state;
    memset(large, 1, 1 << 20);
    after = arena_strndup(&a, "after", 5);
    assert_string_equal(small, "small");
    assert_string_equal(after, "after");
    assert_int_equal(large[(1 << 20) - 1], 1);
    arena_release(&a);
}

/* error */

static void an_error_reads_from_the_outside_in(void **state)
{
    struct error err;

    (void)state;
    assert_int_equal(error_set(&err, "bad checksum"), -1);
    assert_int_equal(error_prefix(&err, "chunk %d", 17), -1);
    error_prefix(&err, "cannot read '%s'", "x.hdl");
    assert_string_equal(err.text, "cannot read 'x.hdl': chunk 17: bad checksum");
}

static void a_long_error_is_cut_not_lost(void **state)
{
    struct error err;
    char path[3000];

    (void)state;
    memset(path, 'p', sizeof(path));
    path[sizeof(path) - 1] = 0;
    error_set(&err, "the reason");
    error_prefix(&err, "cannot read '%s'", path);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    assert_memory_equal(err.text, "cannot read 'ppp", 16);
}

/* alloc */

static void grown_memory_is_zero(void **state)
{
    uint32_t *a = NULL;
    size_t cap = 0;

    (void)state;
    GROW(a, cap, 3);
    assert_true(cap >= 3);
    memset(a, 0xff, cap * sizeof(*a));
    for (size_t old = cap, i = 0; i < 4; i++, old = cap) {
        GROW(a, cap, old + 1);
        assert_true(cap >= 2 * old);
        assert_int_equal(a[0], UINT32_MAX);
        assert_int_equal(a[old - 1], i ? 0 : UINT32_MAX);
        for (size_t k = old; k < cap; k++)
            assert_int_equal(a[k], 0);
    }
    free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_strings_get_equal_numbers),
        cmocka_unit_test(an_empty_table_finds_nothing),
        cmocka_unit_test(the_length_decides_not_a_nul),
        cmocka_unit_test(pointers_stay_valid_while_the_table_grows),
        cmocka_unit_test(appended_strings_may_repeat),
        cmocka_unit_test(a_new_key_starts_with_the_value_given),
        cmocka_unit_test(a_map_keeps_what_it_has_while_it_grows),
        cmocka_unit_test(a_cleared_map_is_empty),
        cmocka_unit_test(text_is_always_terminated),
        cmocka_unit_test(detaching_an_empty_buffer_gives_an_empty_string),
        cmocka_unit_test(a_buffer_holds_any_bytes),
        cmocka_unit_test(arena_memory_is_aligned_and_apart),
        cmocka_unit_test(a_large_request_gets_its_own_block),
        cmocka_unit_test(an_error_reads_from_the_outside_in),
        cmocka_unit_test(a_long_error_is_cut_not_lost),
        cmocka_unit_test(grown_memory_is_zero),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
