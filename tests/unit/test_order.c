/* test_order.c - clocks, slots and variables against plain models of them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "order/access_set.h"
#include "order/hb.h"
#include "order/memory.h"

static uint64_t seed;

static uint32_t below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 33) % n);
}

/* ---- clocks against dense vectors ---- */

enum { CLOCKS = 40 };

struct model {
    uint32_t *time; /* dense */
    struct clock clock;
};

static void assert_equal(const struct model *m, uint32_t slots)
{
    for (uint32_t s = 0; s < slots; s++) {
        assert_true(clock_knows(&m->clock, s, m->time[s]));
        assert_false(clock_knows(&m->clock, s, m->time[s] + 1));
    }
}

/* Threads 0 .. CLOCKS/2-1 own slots anywhere and publish into objects, from which others
 * learn; both representations do the same. */
static void run_clocks(uint32_t slots, int operations)
{
    struct clock_pool pool = { 0 };
    struct model m[CLOCKS];

    for (uint32_t i = 0; i < CLOCKS; i++) {
        m[i].time = xcalloc(slots, sizeof(uint32_t));
        m[i].clock = CLOCK_EMPTY;
        if (i < CLOCKS / 2) {
            m[i].clock.slot = i * (slots / (CLOCKS / 2)) + below(slots / (CLOCKS / 2));
            m[i].clock.time = m[i].time[m[i].clock.slot] = 1;
        }
    }
    for (int k = 0; k < operations; k++) {
        struct model *thread = &m[below(CLOCKS / 2)];
        struct model *object = &m[CLOCKS / 2 + below(CLOCKS / 2)];

        switch (below(3)) {
        case 0: /* release */
            clock_copy(&pool, &object->clock, &thread->clock);
            memcpy(object->time, thread->time, slots * sizeof(uint32_t));
            thread->time[thread->clock.slot] = ++thread->clock.time;
            break;
        case 1: /* acquire */
            clock_join(&pool, &thread->clock, &object->clock);
            for (uint32_t s = 0; s < slots; s++)
                if (thread->time[s] < object->time[s])
                    thread->time[s] = object->time[s];
            break;
        default: /* post into a sum */
            if (object->clock.slot != SLOT_NONE) {
                struct clock sum = CLOCK_EMPTY;

                clock_join(&pool, &sum, &object->clock);
                clock_clear(&pool, &object->clock);
                object->clock = sum;
            }
            clock_join(&pool, &object->clock, &thread->clock);
            for (uint32_t s = 0; s < slots; s++)
                if (object->time[s] < thread->time[s])
                    object->time[s] = thread->time[s];
            thread->time[thread->clock.slot] = ++thread->clock.time;
            break;
        }
        assert_equal(thread, slots);
        assert_equal(object, slots);
    }
    for (int i = 0; i < CLOCKS; i++)
        free(m[i].time);
    clock_pool_release(&pool);
}

static void clocks_agree_with_dense_vectors(void **state)
{
    (void)state;
    for (seed = 1; seed < 40; seed++) {
        uint64_t before = seed;

        run_clocks(20, 600);
        run_clocks(200, 400);
        run_clocks(5000, 60);
        run_clocks(100000, 4);
        seed = before;
    }
}

static void a_join_of_what_is_known_says_so(void **state)
{
    struct clock_pool pool = { 0 };
    struct clock a = { 3, 7, NULL }, b = { 90, 2, NULL }, snapshot = CLOCK_EMPTY;

    (void)state;
    clock_copy(&pool, &snapshot, &a);
    assert_true(clock_join(&pool, &b, &snapshot));
    assert_false(clock_join(&pool, &b, &snapshot));
    assert_true(clock_knows(&b, 3, 7));
    assert_false(clock_knows(&b, 3, 8));
    assert_true(clock_knows(&b, 90, 2));
    assert_true(clock_knows(&b, 70000, 0));
    assert_false(clock_knows(&b, 70000, 1));
    clock_pool_release(&pool);
}

/* A tall tree that knows no small slot learns from a small tree. */
static void a_small_clock_fits_into_a_tall_one(void **state)
{
    struct clock_pool pool = { 0 };
    struct clock tall = { 70000, 1, NULL }, other = { 66000, 5, NULL }, small = { 5, 2, NULL };
    struct clock three = { 3, 9, NULL };

    (void)state;
    clock_join(&pool, &tall, &other);
    clock_join(&pool, &small, &three);
    clock_join(&pool, &tall, &small);
    assert_true(clock_knows(&tall, 3, 9));
    assert_true(clock_knows(&tall, 5, 2));
    assert_false(clock_knows(&tall, 5, 3));
    assert_true(clock_knows(&tall, 66000, 5));
    assert_false(clock_knows(&tall, 4, 1));
    clock_pool_release(&pool);
}

/* ---- slots ---- */

static void hb_one(struct hb *h, struct step s, uint32_t threads)
{
    struct span span = { &s, 1, threads, 1, 1 };

    hb_begin_span(h, &span);
    hb_before(h, &s);
}

static void threads_that_follow_each_other_share_a_slot(void **state)
{
    struct hb h;
    uint64_t at = 0;

    (void)state;
    hb_init(&h);
    for (uint32_t t = 1; t <= 100000; t++) {
        hb_one(&h, (struct step){ .position = at++, .op = OP_FORK, .id = t }, t + 1);
        hb_one(&h, (struct step){ .position = at++, .op = OP_JOIN, .id = t }, t + 1);
    }
    assert_int_equal(h.nslots, 2);
    hb_release(&h);
}

static void a_slot_is_not_taken_over_by_a_concurrent_thread(void **state)
{
    struct hb h;

    (void)state;
    hb_init(&h);
    hb_one(&h, (struct step){ .op = OP_FORK, .id = 1 }, 4); /* T0 forks T1, T2 */
    hb_one(&h, (struct step){ .op = OP_FORK, .id = 2 }, 4);
    hb_one(&h, (struct step){ .op = OP_JOIN, .id = 1 }, 4); /* T0 knows the end of T1, */
    hb_one(&h, (struct step){ .op = OP_FORK, .thread = 2, .id = 3 }, 4); /* T2 does not */
    assert_int_equal(h.nslots, 4);
    hb_release(&h);
}

/* ---- sets of concurrent accesses ---- */

static void a_set_keeps_one_access_a_slot(void **state)
{
    struct access_set set = { 0 };
    struct hb_thread t = { .clock = { 0, 1, NULL } };

    (void)state;
    for (uint32_t slot = 0; slot < 500; slot++) {
        t.clock.slot = slot;
        access_set_put(&set, &t, slot, 0);
    }
    assert_int_equal(set.count, 500);
    for (uint32_t slot = 0; slot < 500; slot++) {
        t.clock.slot = slot;
        t.clock.time = 2;
        access_set_put(&set, &t, 1000 + slot, 0);
    }
    assert_int_equal(set.count, 500);
    for (uint32_t i = 0; i < 500; i++)
        assert_true(access_set_entries(&set)[i].position >= 1000);
    access_set_clear(&set);
}

/* ---- variables against bytes ---- */

/* Two pages meet in the middle of a wide world. */
enum { NARROW = 96, BYTES = 640, FIRST = 0x1000 - BYTES / 2 };

/* What was done to a byte, or to a variable: positions as text. */
struct history {
    char text[4000];
};

static void note(struct history *h, uint64_t position)
{
    size_t n = strlen(h->text);

    snprintf(h->text + n, sizeof(h->text) - n, "%llu ", (unsigned long long)position);
}

struct world {
    struct memory *memory;
    bool wide; /* most accesses are of many words */
    struct history bytes[BYTES], *vars, *blocks;
    size_t vars_cap, blocks_cap;
};

static void follow_block(struct world *w, const struct step *s)
{
    GROW(w->blocks, w->blocks_cap, (size_t)s->id + 1);
    w->blocks[s->id].text[0] = 0;
    if (s->op == OP_FREE)
        note(&w->blocks[s->id], s->position);
}

/* Apply the steps of an event, which happen at once: blocks change behind the variables. The
 * histories of the variables it touches go to `touched`. */
static size_t follow(struct world *w, const struct span *span, struct history **touched)
{
    size_t n = 0;

    for (size_t i = 0; i < span->count; i++) {
        const struct step *s = &span->steps[i];

        if (s->op == OP_SPLIT)
            w->vars[s->id] = w->vars[s->from];
        if (!op_is_access(s->op))
            continue;
        if (s->flags & STEP_FRESH)
            w->vars[s->id] = s->from ? w->blocks[s->from - 1] : (struct history){ "" };
        note(&w->vars[s->id], s->position);
        touched[n++] = &w->vars[s->id];
    }
    for (size_t i = 0; i < span->count; i++)
        if (span->steps[i].op == OP_ALLOC || span->steps[i].op == OP_FREE)
            follow_block(w, &span->steps[i]);
    return n;
}

/* Every byte's history is that of some touched variable, and the other way round. */
static void compare(const struct world *w, const struct event *ev, uint64_t bytes,
                    struct history **touched, size_t n)
{
    for (uint64_t a = ev->target - FIRST; a < ev->target - FIRST + bytes; a++) {
        size_t k = 0;

        while (k < n && strcmp(touched[k]->text, w->bytes[a].text))
            k++;
        assert_true(k < n);
    }
    for (size_t k = 0; k < n; k++) {
        uint64_t a = ev->target - FIRST, end = a + bytes;

        while (a < end && strcmp(touched[k]->text, w->bytes[a].text))
            a++;
        assert_true(a < end);
    }
}

static struct event random_event(bool wide)
{
    static const uint8_t ops[] = {
        OP_READ, OP_WRITE, OP_READ, OP_WRITE, OP_WRITE, OP_ALLOC, OP_FREE
    };
    static const uint16_t sizes[2][9] = { { 1, 1, 2, 4, 8, 8, 3, 16, 40 },
                                          { 1, 8, 16, 64, 64, 72, 130, 256, 500 } };
    uint32_t size = sizes[wide][below(9)], bytes = wide ? BYTES : NARROW;
    struct event ev = { .op = ops[below(7)], .target = FIRST + below(bytes - size + 1) };

    if (wide && below(3)) /* borders that are met often */
        ev.target -= ev.target % 32;
    if (ev.target < FIRST)
        ev.target = FIRST;

    if (op_is_access(ev.op))
        ev.size = size;
    else
        ev.value = size;
    return ev;
}

static void step_world(struct world *w, struct event ev, uint64_t position)
{
    struct batch b = { &ev, 1, position, NULL };
    struct history *touched[BYTES];
    uint64_t bytes = op_is_access(ev.op) ? ev.size : ev.value;
    struct span span;
    size_t n;

    memory_steps(w->memory, &b, &span);
    GROW(w->vars, w->vars_cap, span.variables);
    n = follow(w, &span, touched);
    for (uint64_t a = ev.target - FIRST; a < ev.target - FIRST + bytes; a++) {
        if (ev.op == OP_ALLOC)
            w->bytes[a].text[0] = 0;
        else
            note(&w->bytes[a], position);
    }
    if (op_is_access(ev.op))
        compare(w, &ev, bytes, touched, n);
}

static void variables_have_the_history_of_their_bytes(void **state)
{
    (void)state;
    for (seed = 1; seed < 4000000; seed += 40009) {
        uint64_t before = seed;
        struct world *w = xcalloc(1, sizeof(*w));

        w->memory = memory_new();
        w->wide = below(2);
        for (uint64_t i = 0; i < 250; i++)
            step_world(w, random_event(w->wide), i);
        memory_free(w->memory);
        free(w->vars);
        free(w->blocks);
        free(w);
        seed = before;
    }
}

static void variable_numbers_are_used_again(void **state)
{
    struct memory *m = memory_new();
    struct span span;

    (void)state;
    for (int i = 0; i < 100000; i++) {
        struct event ev[3] = { { .op = OP_ALLOC, .target = 0x1000, .value = 64 },
                               { .op = OP_WRITE, .target = 0x1000, .size = 64 },
                               { .op = OP_FREE, .target = 0x1000, .value = 64 } };
        struct batch b = { ev, 3, 0, NULL };

        memory_steps(m, &b, &span);
    }
    assert_in_range(span.variables, 2, 4);
    memory_free(m);
}

/* Steps of one access. */
static size_t steps_at(struct memory *m, uint64_t address, uint32_t bytes)
{
    struct event ev = { .op = OP_READ, .target = address, .size = bytes };
    struct batch b = { &ev, 1, 0, NULL };
    struct span span;

    memory_steps(m, &b, &span);
    return span.count;
}

static void words_that_nobody_divides_are_one_variable(void **state)
{
    struct memory *m = memory_new();

    (void)state;
    assert_int_equal(steps_at(m, 0x10000, 4096), 1);
    assert_int_equal(steps_at(m, 0x10000, 4096), 1);
    assert_int_equal(steps_at(m, 0x10100, 256), 2);  /* splits, and accesses its part */
    assert_int_equal(steps_at(m, 0x10100, 256), 1);  /* is a variable of its own now */
    assert_int_equal(steps_at(m, 0x10000, 4096), 2); /* it, and what is left */
    assert_int_equal(steps_at(m, 0x10108, 8), 2);
    assert_int_equal(steps_at(m, 0x10108, 8), 1);
    assert_int_equal(steps_at(m, 0x20008, 4096), 2); /* a page and the next */
    memory_free(m);
}

static void a_huge_allocation_costs_nothing(void **state)
{
    struct memory *m = memory_new();
    struct event ev[4] = { { .op = OP_WRITE, .target = 0x10000, .size = 8 },
                           { .op = OP_ALLOC, .target = 0x1000, .value = (uint64_t)1 << 40 },
                           { .op = OP_WRITE, .target = 0x10000, .size = 8 },
                           { .op = OP_FREE, .target = 0x1000, .value = (uint64_t)1 << 40 } };
    struct batch b = { ev, 4, 0, NULL };
    struct span span;

    (void)state;
    memory_steps(m, &b, &span);
    assert_int_equal(span.count, 5); /* write, alloc, fresh write, its free, the block's */
    assert_true(span.steps[2].flags & STEP_FRESH);
    assert_int_equal(span.steps[3].op, OP_WRITE);
    assert_int_equal(span.steps[4].op, OP_FREE);
    memory_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clocks_agree_with_dense_vectors),
        cmocka_unit_test(a_join_of_what_is_known_says_so),
        cmocka_unit_test(a_small_clock_fits_into_a_tall_one),
        cmocka_unit_test(threads_that_follow_each_other_share_a_slot),
        cmocka_unit_test(a_slot_is_not_taken_over_by_a_concurrent_thread),
        cmocka_unit_test(a_set_keeps_one_access_a_slot),
        cmocka_unit_test(variables_have_the_history_of_their_bytes),
        cmocka_unit_test(variable_numbers_are_used_again),
        cmocka_unit_test(words_that_nobody_divides_are_one_variable),
        cmocka_unit_test(a_huge_allocation_costs_nothing),
    };

    return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}
