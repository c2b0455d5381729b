/* test_early.c - which records of a chunk that is being filled are taken */
#include "record/early.h"
#include "abi/rt_stretch.h"
#include "trace/event.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct chunk_copy now, again;

static void begin(void)
{
    memset(&now, 0, sizeof(now));
    now.head.serial = 3;
}

static void add(uint64_t word)
{
    now.data[now.words++] = word;
    now.room = now.words;
}

static size_t add_access(uint64_t address)
{
    add(RING_WORD(R_ACCESS, 3 << ACCESS_SIZE_SHIFT, address));
    add(7);
    return now.words - 2;
}

static void add_sync(void)
{
    add(RING_WORD(R_SYNC, OP_RELEASE, 0x1000));
    add(7);
    add(1);
}

static void only_what_is_sealed_is_taken_of_a_thread_at_work(void **state)
{
    struct early e = { 0 };

    (void)state;
    begin();
    add_access(0x100);
    assert_int_equal(early_limit(&e, &now, NULL, false), 0);
    add_sync();
    add_access(0x200);
    assert_int_equal(early_limit(&e, &now, NULL, false), 5);
    early_take(&e, &now, 5, false);
    assert_int_equal(early_start(&e, 3), 5);
    assert_int_equal(early_start(&e, 4), 0); /* another chunk */
    assert_int_equal(early_limit(&e, &now, NULL, false), 5);
    early_release(&e);
}

static void a_quiet_thread_gives_all_and_what_grows_comes_again(void **state)
{
    struct early e = { 0 };
    size_t at = 0, record, first;
    bool moved;

    (void)state;
    begin();
    add_sync();
    first = add_access(0x100);
    add_access(0x200);
    again = now;
    again.data[first + 2] += 8; /* it is being made longer between the copies */
    assert_int_equal(early_limit(&e, &now, &again, false), first + 2);
    again = now;
    assert_int_equal(early_limit(&e, &now, &again, false), now.words);
    early_take(&e, &now, now.words, false);
    assert_false(early_changed(&e, &now, &at, &record, &moved));
    now.data[first] |= (uint64_t)ACCESS_RUN << 48;
    now.data[first + 1] |= (uint64_t)16 << 32;
    at = 0;
    assert_true(early_changed(&e, &now, &at, &record, &moved));
    assert_int_equal(record, first);
    assert_int_equal(at, first + 2);
    assert_false(moved);
    assert_false(early_changed(&e, &now, &at, &record, &moved));
    early_release(&e);
}

static void a_record_before_a_move_of_frames_is_known_as_such(void **state)
{
    struct early e = { 0 };
    size_t at = 0, record, first;
    bool moved;

    (void)state;
    begin();
    first = add_access(0x100);
    add(RING_WORD(R_EXIT, 0, 1));
    again = now;
    early_take(&e, &now, early_limit(&e, &now, &again, false), false);
    now.data[first + 1] |= (uint64_t)16 << 32;
    assert_true(early_changed(&e, &now, &at, &record, &moved));
    assert_true(moved);
    early_release(&e);
}

static void a_full_builds_last_stretch_waits(void **state)
{
    struct early e = { 0 };

    (void)state;
    begin();
    add_sync();
    add((uint64_t)(STRETCH_MARK | 1) << 56 | 5);
    assert_int_equal(early_limit(&e, &now, NULL, true), 3);
    add((uint64_t)(STRETCH_MARK | 2) << 56 | 6); /* its second word is not there yet */
    assert_int_equal(early_limit(&e, &now, NULL, true), 4);
    add(0);
    add_sync();
    assert_int_equal(early_limit(&e, &now, NULL, true), now.words);
    early_release(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_is_sealed_is_taken_of_a_thread_at_work),
        cmocka_unit_test(a_quiet_thread_gives_all_and_what_grows_comes_again),
        cmocka_unit_test(a_record_before_a_move_of_frames_is_known_as_such),
        cmocka_unit_test(a_full_builds_last_stretch_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
