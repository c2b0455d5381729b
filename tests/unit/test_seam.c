/* test_seam.c - a beginning that is gone: where it ends, and what stands for it */
#include "hdl_tools.h"
#include "trace/past.h"
#include "trace/hdl/seam.h"

/* ---- entries ---- */

static void add_random(struct seam *s, uint64_t *seed)
{
    enum seam_kind kind = (enum seam_kind)below(seed, SEAM_KINDS);
    uint64_t key = kind == SEAM_EVENTS   ? below(seed, 3)
                   : kind == SEAM_THREAD ? below(seed, UINT32_MAX)
                   : kind == SEAM_STRIPE ? below(seed, 1 << 16)
                                         : below(seed, (uint64_t)1 << below(seed, 57));

    seam_add(s, kind, key, 1 + below(seed, (uint64_t)1 << below(seed, 48)));
}

static void entries_come_back(void **state)
{
    uint64_t seed = 7;

    (void)state;
    for (int round = 0; round < 200; round++) {
        struct seam s = { 0 }, back = { 0 };

        for (uint64_t n = below(&seed, 300); n; n--)
            add_random(&s, &seed);
        for (size_t at = 0, next; at < s.count; at = next) {
            struct buf b = { 0 };

            next = seam_encode(&s, at, 200, &b);
            assert_true(next > at);
            assert_int_equal(seam_decode(&back, (uint32_t)(next - at), (const uint8_t *)b.data,
                                         (const uint8_t *)b.data + b.len),
                             0);
            buf_release(&b);
        }
        assert_int_equal(back.count, s.count);
        for (size_t i = 0; i < s.count; i++) {
            assert_int_equal(back.entries[i].kind, s.entries[i].kind);
            assert_int_equal(back.entries[i].key, s.entries[i].key);
            assert_int_equal(back.entries[i].value, s.entries[i].value);
        }
        seam_release(&s);
        seam_release(&back);
    }
}

static void impossible_entries_are_refused(void **state)
{
    static const struct seam_entry bad[] = { { 1 << 16, 1, SEAM_STRIPE },
                                             { (uint64_t)1 << 57, 8, SEAM_BLOCK },
                                             { 4096, 0, SEAM_BLOCK },
                                             { 4096, (uint64_t)1 << 57, SEAM_OBJECT },
                                             { UINT32_MAX, 1, SEAM_THREAD } };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct seam s = { 0 }, back = { 0 };
        struct buf b = { 0 };

        seam_add(&s, bad[i].kind, bad[i].key, bad[i].value);
        seam_encode(&s, 0, 100, &b);
        assert_int_equal(
            seam_decode(&back, 1, (const uint8_t *)b.data, (const uint8_t *)b.data + b.len), -1);
        buf_release(&b);
        seam_release(&s);
        seam_release(&back);
    }
}

/* ---- what stands for it ---- */

static struct past *past_of(const struct event *events, size_t n)
{
    struct past *p = past_new(true);

    past_add(p, &(struct batch){ .events = (struct event *)(uintptr_t)events, .count = n });
    return p;
}

/* "T1 acquire", in the order of the list. */
static char *words_of(const struct event *events, size_t n)
{
    struct past *p = past_of(events, n);
    struct trace_mem m;
    struct buf b = { 0 };

    past_list(p, &m);
    for (size_t i = 0; i < m.count; i++)
        buf_addf(&b, "%sT%u %s", i ? ", " : "", m.events[i].thread, op_table[m.events[i].op].name);
    trace_mem_release(&m);
    past_free(p);
    buf_addstr(&b, "");
    return buf_detach(&b);
}

static void assert_past(const struct event *events, size_t n, const char *expected)
{
    char *words = words_of(events, n);

    assert_string_equal(words, expected);
    free(words);
}

#define EVENT(t, o, x) { .thread = (t), .op = (o), .target = (x), .site = SITE_NONE, .size = 8 }
#define MEMORY(t, o, x, n)                                                                         \
    { .thread = (t), .op = (o), .target = (x), .value = (n), .site = SITE_NONE }
#define ASSERT_PAST(expected, ...)                                                                 \
    do {                                                                                           \
        const struct event events[] = { __VA_ARGS__ };                                             \
        assert_past(events, sizeof(events) / sizeof(events[0]), expected);                         \
    } while (0)

static void frames_and_locks_that_are_open_stay(void **state)
{
    (void)state;
    ASSERT_PAST("T0 enter, T0 acquire, T0 acquire, T0 barrier-enter, T0 barrier-leave",
                EVENT(0, OP_ENTER, 1), EVENT(0, OP_ACQUIRE, 64), EVENT(0, OP_ENTER, 2),
                EVENT(0, OP_ACQUIRE, 64), EVENT(0, OP_ACQUIRE, 128), EVENT(0, OP_EXIT, 2),
                EVENT(0, OP_RELEASE, 128));
    ASSERT_PAST("T0 acquire-shared, T0 barrier-enter, T0 barrier-leave",
                EVENT(0, OP_ACQUIRE_SHARED, 64), EVENT(0, OP_ACQUIRE, 128),
                EVENT(0, OP_RELEASE, 128));
}

static void threads_that_ended_are_gone(void **state)
{
    (void)state;
    ASSERT_PAST("T0 barrier-enter, T0 barrier-leave", EVENT(0, OP_FORK, 1), EVENT(1, OP_BEGIN, 0),
                EVENT(1, OP_ACQUIRE, 64), EVENT(1, OP_END, 0));
    ASSERT_PAST("T0 barrier-enter, T0 barrier-leave", EVENT(0, OP_FORK, 1),
                EVENT(1, OP_ACQUIRE, 64), EVENT(0, OP_JOIN, 1));
}

static void a_thread_that_has_not_begun_is_forked_behind_the_barrier(void **state)
{
    (void)state;
    ASSERT_PAST("T0 barrier-enter, T0 barrier-leave, T0 fork", EVENT(0, OP_FORK, 1));
    ASSERT_PAST("T0 barrier-enter, T2 barrier-enter, T0 barrier-leave, T2 barrier-leave, T0 fork",
                EVENT(0, OP_FORK, 1), EVENT(1, OP_FORK, 3), EVENT(1, OP_END, 0),
                EVENT(2, OP_BEGIN, 0));
}

static void accesses_since_the_last_release_come_behind_the_barrier(void **state)
{
    (void)state;
    ASSERT_PAST("T0 barrier-enter, T0 barrier-leave, T0 write, T0 read", EVENT(0, OP_READ, 64),
                EVENT(0, OP_RELEASE, 8), EVENT(0, OP_WRITE, 128), EVENT(0, OP_READ, 64));
}

/* Else what the next owner does with it would look like a race. */
static void accesses_to_memory_that_was_freed_since_are_gone(void **state)
{
    (void)state;
    ASSERT_PAST("T0 barrier-enter, T0 barrier-leave, T0 write", EVENT(0, OP_WRITE, 128),
                EVENT(0, OP_WRITE, 1024), MEMORY(0, OP_FREE, 128, 24));
    ASSERT_PAST("T0 barrier-enter, T1 barrier-enter, T0 barrier-leave, T1 barrier-leave, T0 write",
                EVENT(0, OP_WRITE, 128), MEMORY(1, OP_ALLOC, 128, 24), EVENT(0, OP_WRITE, 128));
    ASSERT_PAST("T0 barrier-enter, T1 barrier-enter, T0 barrier-leave, T1 barrier-leave, T1 read",
                EVENT(0, OP_WRITE, 1 << 20), EVENT(1, OP_READ, 64),
                MEMORY(1, OP_FREE, 1 << 20, 1 << 21));
}

static void a_round_that_is_open_and_the_first_once_stay(void **state)
{
    (void)state;
    ASSERT_PAST("T0 once, T1 barrier-enter, T0 barrier-enter, T1 barrier-enter, T0 barrier-leave, "
                "T1 barrier-leave",
                EVENT(0, OP_BARRIER_ENTER, 8), EVENT(1, OP_BARRIER_ENTER, 8),
                EVENT(1, OP_BARRIER_LEAVE, 8), EVENT(0, OP_ONCE, 16), EVENT(1, OP_ONCE, 16),
                EVENT(1, OP_BARRIER_ENTER, 8));
}

static void calls_keep_their_lists(void **state)
{
    const uint64_t extra[] = { 1, 2, 4096, 16, 8192, 8 };
    struct event e[] = { EVENT(0, OP_CALL, 3), EVENT(0, OP_CALL, 4), EVENT(0, OP_RETURN, 4) };
    struct past *p = past_new(true);
    struct trace_mem m;

    (void)state;
    e[0].value = 2;
    e[0].old = 2;
    past_add(p, &(struct batch){ .events = e, .count = 3, .extra = extra });
    past_list(p, &m);
    assert_int_equal(m.count, 3);
    assert_int_equal(m.events[0].op, OP_CALL);
    assert_int_equal(m.events[0].target, 3);
    assert_int_equal(m.events[0].old, 2);
    assert_memory_equal(m.extra + m.events[0].value, extra + 2, 4 * sizeof(*extra));
    assert_int_equal(past_events(p), 3);
    trace_mem_release(&m);
    past_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_come_back),
        cmocka_unit_test(impossible_entries_are_refused),
        cmocka_unit_test(frames_and_locks_that_are_open_stay),
        cmocka_unit_test(threads_that_ended_are_gone),
        cmocka_unit_test(a_thread_that_has_not_begun_is_forked_behind_the_barrier),
        cmocka_unit_test(accesses_since_the_last_release_come_behind_the_barrier),
        cmocka_unit_test(accesses_to_memory_that_was_freed_since_are_gone),
        cmocka_unit_test(a_round_that_is_open_and_the_first_once_stay),
        cmocka_unit_test(calls_keep_their_lists),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
