/* test_filter.c - the runtime's filter never drops what it must not
 *
 * Against an exact model: which bytes the thread has read and written since its
 * last synchronisation.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/core/filter.c"

static struct heddle_filter table;
_Thread_local struct heddle_tls __heddle_tls = {
    .filter = &table,
    .unit_mask = FILTER_UNITS_MASK(FILTER_UNITS_FIRST),
    .line_mask = FILTER_LINES_MASK(FILTER_LINES_FIRST),
};

/* What filter_has_grown() was told last. */
static struct {
    void *table;
    size_t bytes;
} grown;

void filter_has_grown(void *at, size_t bytes)
{
    grown.table = at;
    grown.bytes = bytes;
}

enum { BYTES = 512, ROUNDS = 2000000 };

static uint64_t state = 88172645463325252ull;

static uint64_t rnd(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/* The formula that the plugin emits, word for word from abi.h. */
static bool inline_check(uintptr_t address, unsigned size, bool write)
{
    uint64_t block = address >> FILTER_BLOCK_SHIFT;
    const struct heddle_filter_line *l =
        (void *)((char *)table.lines + (address >> 1 & __heddle_tls.line_mask));
    const uint8_t *at = (write ? l->written : l->read) + (address >> 3 & 15);
    unsigned bytes = at[0] | at[1] << 8 | at[2] << 16 | (unsigned)at[3] << 24;

    return l->tag == (block ^ __heddle_tls.epoch) &&
           (bytes >> (address & 7) & ((1u << size) - 1)) == (1u << size) - 1 &&
           (address & 127) <= 128 - size;
}

/* The same for aligned accesses of 4 bytes and more. */
static bool inline_units(uintptr_t address, unsigned size, bool write)
{
    uint64_t block = address >> FILTER_BLOCK_SHIFT;
    const struct heddle_filter_units *u =
        (void *)((char *)table.units + (address >> 3 & __heddle_tls.unit_mask));
    uint32_t bits = (write ? u->written : u->read) >> (address >> 2 & 31);

    return u->tag == (block ^ __heddle_tls.epoch) &&
           (bits & ((1u << size / 4) - 1)) == (1u << size / 4) - 1;
}

/* Two distant areas whose words share the table's entries. */
static uintptr_t address_of(unsigned byte)
{
    uintptr_t base = byte & 1 ? UINT64_C(0x7f0000000000) : UINT64_C(0x550000000000);

    return base + byte / 2;
}

static uint8_t seen[2 * BYTES]; /* 1: read, 2: written, since the last synchronisation */

/* Bytes of one block at once, or words forgotten over several. */
static void mark_or_forget_some(void)
{
    unsigned area = rnd() % 2, at = (unsigned)(rnd() % BYTES), size, k;
    uintptr_t a = address_of(2 * at + area);
    bool write = rnd() % 2, covered = true;

    if (rnd() % 2) {
        size = 1 + (unsigned)rnd() % (BYTES - at);
        filter_forget(a, size);
        for (k = at & ~7u; k < ((at + size + 7) & ~7u); k++)
            seen[2 * k + area] = 0;
        return;
    }
    size = 1 + (unsigned)rnd() % (128 - at % 128);
    for (k = 0; k < size; k++)
        covered &= (seen[2 * (at + k) + area] & (write ? 2 : 3)) != 0;
    if (filter_mark_block(a, size, write))
        assert_true(covered);
    for (k = 0; k < size; k++) {
        seen[2 * (at + k) + area] |= write ? 3 : 1;
        assert_true(inline_check(a + k, 1, write));
        if ((a + k) % 4 == 0 && k + 4 <= size)
            assert_true(inline_units(a + k, 4, write));
    }
}

static void what_is_dropped_was_seen_before(void **unused)
{
    uint64_t dropped = 0, kept_though_seen = 0;
    int i;

    (void)unused;
    __heddle_tls.epoch = UINT64_C(1) << FILTER_EPOCH_SHIFT;
    for (i = 0; i < ROUNDS; i++) {
        unsigned size = 1u << rnd() % 5, area = rnd() % 64 == 0,
                 at = (unsigned)(rnd() % (BYTES - 16)) & (rnd() % 2 ? ~(size - 1) : ~0u);
        bool write = rnd() % 3 == 0, covered = true;
        uintptr_t a = address_of(2 * at + area);
        unsigned k;

        if (rnd() % 1000 == 0) {
            __heddle_tls.epoch += UINT64_C(1) << FILTER_EPOCH_SHIFT;
            memset(seen, 0, sizeof(seen));
        }
        if (rnd() % 50 == 0)
            mark_or_forget_some();
        for (k = 0; k < size; k++)
            covered &= (seen[2 * (at + k) + area] & (write ? 2 : 3)) != 0;
        if ((a & 7) + size <= 8)
            assert_int_equal(inline_check(a, size, write), filter_hit((void *)a, size, write));
        if (inline_check(a, size, write)) {
            assert_true(covered);
            dropped++;
            continue;
        }
        kept_though_seen += covered;
        for (k = 0; k < size; k++) {
            filter_mark(a + k, 1u << ((a + k) & 7), write);
            seen[2 * (at + k) + area] |= write ? 3 : 1;
        }
    }
    assert_true(dropped > ROUNDS / 10);
    assert_true(kept_though_seen > 0); /* the two areas do collide */
}

static void units_are_dropped_only_when_seen(void **unused)
{
    uint64_t dropped = 0, kept_though_seen = 0;

    (void)unused;
    memset(seen, 0, sizeof(seen));
    __heddle_tls.epoch += UINT64_C(1) << FILTER_EPOCH_SHIFT;
    for (int i = 0; i < ROUNDS; i++) {
        unsigned size = 4u << rnd() % 3, area = rnd() % 64 == 0,
                 at = (unsigned)(rnd() % (BYTES - 16)) & ~(size - 1), k;
        bool write = rnd() % 3 == 0, covered = true;
        uintptr_t a = address_of(2 * at + area);

        if (rnd() % 1000 == 0) {
            __heddle_tls.epoch += UINT64_C(1) << FILTER_EPOCH_SHIFT;
            memset(seen, 0, sizeof(seen));
        }
        if (rnd() % 50 == 0)
            mark_or_forget_some();
        if (rnd() % 50 == 0) { /* forgetting goes by words of 8 bytes */
            unsigned bytes = 1 + (unsigned)rnd() % (BYTES - at), from = at & ~7u;

            filter_forget(a, bytes);
            for (k = from; k < ((at + bytes + 7) & ~7u); k++)
                seen[2 * k + area] = 0;
            assert_false(inline_units(a, size, false));
        }
        for (k = 0; k < size; k++)
            covered &= (seen[2 * (at + k) + area] & (write ? 2 : 1)) != 0;
        if (inline_units(a, size, write)) {
            assert_true(covered);
            dropped++;
            continue;
        }
        kept_though_seen += covered;
        assert_false(filter_mark_units(a, filter_unit_bits(a, size), write));
        assert_true(inline_units(a, size, write));
        for (k = 0; k < size; k++)
            seen[2 * (at + k) + area] |= write ? 3 : 1;
    }
    assert_true(dropped > ROUNDS / 10);
    assert_true(kept_though_seen > 0);
    memset(seen, 0, sizeof(seen));
    __heddle_tls.epoch += UINT64_C(1) << FILTER_EPOCH_SHIFT;
}

static void a_read_does_not_cover_a_write(void **unused)
{
    uintptr_t a = 0x600000000100;

    (void)unused;
    __heddle_tls.epoch += UINT64_C(1) << FILTER_EPOCH_SHIFT;
    assert_false(filter_mark(a, 0x0f, false));
    assert_true(inline_check(a, 4, false));
    assert_true(inline_check(a + 2, 2, false));
    assert_false(inline_check(a, 4, true));
    assert_false(inline_check(a, 8, false));
    assert_false(filter_mark(a, 0x0f, true));
    assert_true(inline_check(a, 4, true));
    assert_true(inline_check(a + 3, 1, false));
}

static void synchronisation_forgets_everything(void **unused)
{
    uintptr_t a = 0x600000000200;

    (void)unused;
    filter_mark(a, 0xff, true);
    assert_true(inline_check(a, 8, true));
    __heddle_tls.epoch += UINT64_C(1) << FILTER_EPOCH_SHIFT;
    assert_false(inline_check(a, 8, false));
}

/* Rounds through `bytes` bytes from `a` on, a word of each block at a time. */
static void go_through(uintptr_t a, uint64_t bytes, unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++)
        for (uint64_t at = 0; at < bytes; at += 1 << FILTER_BLOCK_SHIFT) {
            filter_mark(a + at, 1, false);
            filter_mark_units(a + at, 1, false);
        }
}

static void tables_grow_when_blocks_come_back(void **unused)
{
    uint32_t units = FILTER_UNITS_MASK(FILTER_UNITS_FIRST),
             lines = FILTER_LINES_MASK(FILTER_LINES_FIRST);
    uint64_t bytes = UINT64_C(2) << (FILTER_UNITS_FIRST + FILTER_BLOCK_SHIFT);

    (void)unused;
    __heddle_tls.unit_mask = units;
    __heddle_tls.line_mask = lines;
    __heddle_tls.epoch += UINT64_C(1) << FILTER_EPOCH_SHIFT;
    go_through(0x600000000000, 64 * bytes, 1); /* once is no reason */
    assert_int_equal(__heddle_tls.unit_mask, units);
    assert_int_equal(__heddle_tls.line_mask, lines);
    for (unsigned i = 0; i < 64; i++) { /* nor is it in another epoch */
        __heddle_tls.epoch += UINT64_C(1) << FILTER_EPOCH_SHIFT;
        go_through(0x600000000000, bytes, 1);
    }
    assert_int_equal(__heddle_tls.unit_mask, units);
    go_through(0x600000000000, bytes, 64);
    assert_true(__heddle_tls.unit_mask > units);
    assert_true(__heddle_tls.line_mask > lines);
    go_through(0x600000000000, bytes, 1);
    assert_true(filter_mark_units(0x600000000000, 1, false));
    go_through(0x600000000000, 8 * bytes, 64);
    assert_true(filter_mark_units(0x600000000000, 1, false));
    assert_true(filter_mark(0x600000000000, 1, false));
}

/* Each time a table is doubled who maps it hears of it, up to the most that it can have. */
static void who_maps_a_table_hears_that_it_grows(void **unused)
{
    const uint32_t most = FILTER_UNITS_MASK(FILTER_UNITS_BITS);
    uint64_t blocks = UINT64_C(1) << FILTER_UNITS_FIRST;

    (void)unused;
    __heddle_tls.unit_mask = FILTER_UNITS_MASK(FILTER_UNITS_FIRST);
    for (; __heddle_tls.unit_mask != most; blocks *= 2) {
        uint32_t before = __heddle_tls.unit_mask;

        grown.table = NULL;
        __heddle_tls.epoch += UINT64_C(1) << FILTER_EPOCH_SHIFT;
        for (unsigned i = 0; i < 1024 && __heddle_tls.unit_mask == before; i++)
            for (uint64_t k = 0; k < 2 * blocks && __heddle_tls.unit_mask == before; k++)
                filter_mark_units(0x600000000000 + (k << FILTER_BLOCK_SHIFT), 1, false);
        assert_true(__heddle_tls.unit_mask > before);
        assert_ptr_equal(grown.table, table.units);
        assert_int_equal(grown.bytes, 2 * ((uint64_t)before + (1 << FILTER_UNITS_SHIFT)));
    }
    assert_int_equal(grown.bytes, sizeof(table.units));
    grown.table = NULL;
    for (unsigned i = 0; i < 16; i++)
        for (uint64_t k = 0; k < 2 * blocks; k++)
            filter_mark_units(0x600000000000 + (k << FILTER_BLOCK_SHIFT), 1, false);
    assert_null(grown.table);
    assert_int_equal(__heddle_tls.unit_mask, most);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_dropped_was_seen_before),
        cmocka_unit_test(units_are_dropped_only_when_seen),
        cmocka_unit_test(a_read_does_not_cover_a_write),
        cmocka_unit_test(synchronisation_forgets_everything),
        cmocka_unit_test(tables_grow_when_blocks_come_back),
        cmocka_unit_test(who_maps_a_table_hears_that_it_grows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
