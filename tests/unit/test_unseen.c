/* test_unseen.c - reads of values that nobody in the trace wrote */
#include "trace/calls/unseen.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { N = 16 };

/* A small trace by hand. */
struct story {
    struct event events[N];
    uint64_t extra[N];
    struct trace_mem mem;
    struct trace_info info;
    bool sure;
};

static void story_begin(struct story *s, enum trace_order order)
{
    *s = (struct story){ .info = { .values = true, .order = order } };
    s->mem.events = s->events;
    s->mem.extra = s->extra;
}

static struct event *add(struct story *s, uint32_t thread, unsigned op, uint64_t address)
{
    struct event *e = &s->events[s->mem.count++];

    *e = (struct event){ .thread = thread, .op = (uint8_t)op, .target = address };
    return e;
}

static void access_(struct story *s, uint32_t thread, unsigned op, uint64_t address, uint32_t size,
                    uint64_t value)
{
    struct event *e = add(s, thread, op, address);

    e->size = size;
    e->value = value;
    e->flags = EV_VALUE;
}

static void call(struct story *s, uint32_t thread, uint64_t from, uint64_t bytes)
{
    struct event *e = add(s, thread, OP_CALL, 1);

    e->value = s->mem.nextra;
    e->old = 1;
    s->extra[s->mem.nextra++] = from;
    s->extra[s->mem.nextra++] = bytes;
}

static bool say_sure(void *arg, size_t event)
{
    (void)event;
    return ((const struct story *)arg)->sure;
}

static struct unseen_counts mark(struct story *s)
{
    struct unseen_input in = { true, say_sure, s };

    return unseen_mark(&s->mem, &s->info, &in);
}

static unsigned marks_of(const struct story *s, size_t event)
{
    return s->events[event].flags & (EV_UNSEEN | EV_BY_CALL);
}

static void a_call_that_lists_the_byte_wrote_it(void **state)
{
    struct story s;

    (void)state;
    for (unsigned bytes = 4; bytes <= 5; bytes++) {
        story_begin(&s, TRACE_EXACT);
        access_(&s, 0, OP_WRITE, 0x1000, 8, 1);
        call(&s, 1, 0x1000, bytes); /* the byte that changes is the fifth */
        add(&s, 1, OP_RETURN, 1);
        access_(&s, 0, OP_READ, 0x1000, 8, 0x700000001);
        access_(&s, 1, OP_READ, 0x1004, 4, 7);
        assert_int_equal(mark(&s).by_call, bytes == 5 ? 2 : 0);
        assert_int_equal(marks_of(&s, 3), bytes == 5 ? EV_UNSEEN | EV_BY_CALL : 0);
        assert_int_equal(marks_of(&s, 4), bytes == 5 ? EV_UNSEEN | EV_BY_CALL : 0);
    }
}

static void a_call_that_was_over_before_did_not(void **state)
{
    struct story s;

    (void)state;
    story_begin(&s, TRACE_EXACT);
    access_(&s, 0, OP_WRITE, 0x1000, 8, 1);
    call(&s, 1, 0x1000, 8);
    add(&s, 1, OP_RETURN, 1);
    access_(&s, 0, OP_READ, 0x1000, 8, 1); /* as it was */
    access_(&s, 0, OP_READ, 0x1000, 8, 2);
    assert_int_equal(mark(&s).unknown, 1);
    assert_int_equal(marks_of(&s, 4), 0);
}

static void without_a_call_it_is_the_threads_own_in_recordings(void **state)
{
    struct story s;

    (void)state;
    for (int order = TRACE_EXACT; order <= TRACE_SYNC_EXACT; order++) {
        story_begin(&s, (enum trace_order)order);
        access_(&s, 0, OP_WRITE, 0x1000, 4, 1);
        access_(&s, 0, OP_READ, 0x1000, 4, 2);
        assert_int_equal(mark(&s).own, order == TRACE_SYNC_EXACT);
        assert_int_equal(marks_of(&s, 1), order == TRACE_SYNC_EXACT ? EV_UNSEEN : 0);
    }
}

static void memory_that_another_thread_touched_is_not(void **state)
{
    struct story s;
    struct event *e;

    (void)state;
    story_begin(&s, TRACE_SYNC_EXACT);
    access_(&s, 1, OP_WRITE, 0x1000, 4, 1);
    access_(&s, 0, OP_WRITE, 0x1000, 4, 1);
    access_(&s, 0, OP_READ, 0x1000, 4, 2);
    e = add(&s, 0, OP_ALLOC, 0x1000); /* a new life */
    e->value = 16;
    access_(&s, 0, OP_WRITE, 0x1000, 4, 1);
    access_(&s, 0, OP_READ, 0x1000, 4, 3);
    assert_int_equal(mark(&s).unknown, 1);
    assert_int_equal(marks_of(&s, 2), 0);
    assert_int_equal(marks_of(&s, 5), EV_UNSEEN);
}

static void a_write_elsewhere_may_be_the_one_unless_the_order_is_sure(void **state)
{
    struct story s;

    (void)state;
    for (int sure = 0; sure < 2; sure++) {
        story_begin(&s, TRACE_SYNC_EXACT);
        s.sure = sure;
        access_(&s, 0, OP_WRITE, 0x1000, 8, 1);
        call(&s, 0, 0x1000, 8);
        add(&s, 0, OP_RETURN, 1);
        access_(&s, 0, OP_READ, 0x1000, 8, 2);
        access_(&s, 1, OP_WRITE, 0x1000, 8, 2);
        assert_int_equal(mark(&s).by_call, sure);
        assert_int_equal(marks_of(&s, 3), sure ? EV_UNSEEN | EV_BY_CALL : 0);
    }
}

static void what_nobody_wrote_contradicts_nobody(void **state)
{
    struct story s;

    (void)state;
    story_begin(&s, TRACE_SYNC_EXACT);
    access_(&s, 0, OP_READ, 0x1006, 4, 5); /* two words, nobody wrote them */
    call(&s, 1, 0x1000, 16);
    access_(&s, 0, OP_READ, 0x1006, 4, 0x50005);
    assert_int_equal(mark(&s).by_call, 0);
    assert_int_equal(marks_of(&s, 0), 0);
    assert_int_equal(marks_of(&s, 2), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_that_lists_the_byte_wrote_it),
        cmocka_unit_test(a_call_that_was_over_before_did_not),
        cmocka_unit_test(without_a_call_it_is_the_threads_own_in_recordings),
        cmocka_unit_test(memory_that_another_thread_touched_is_not),
        cmocka_unit_test(a_write_elsewhere_may_be_the_one_unless_the_order_is_sure),
        cmocka_unit_test(what_nobody_wrote_contradicts_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
