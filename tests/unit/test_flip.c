/* test_flip.c - branches that go another way: where outcomes meet, memory on top of memory, and
 * paths put into an execution */
#include "execution/flip_inside.h"
#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- join points ---- */

enum { BLOCKS = 8 };

/* One instruction a block: its successors; -1 behind the last. None: it returns. */
static uint32_t *joins(const int to[][4], uint32_t n, struct code *c, int64_t *extras,
                       struct inst *insts, struct code_block *blocks)
{
    uint32_t at = 0;

    for (uint32_t b = 0; b < n; b++) {
        uint32_t k = 0;

        blocks[b] = (struct code_block){ .first = b };
        insts[b] = (struct inst){ .extra = at };
        for (; k < 4 && to[b][k] >= 0; k++)
            extras[at++] = to[b][k];
        insts[b].op = k == 0 ? I_RETURN : k == 1 ? I_JUMP : k == 2 ? I_BRANCH : I_SWITCH;
        insts[b].noperands = k;
    }
    *c = (struct code){
        .insts = insts, .ninsts = n, .blocks = blocks, .nblocks = n, .extras = extras
    };
    return joins_of(c);
}

#define JOINS(to)                                                                                  \
    struct code code;                                                                              \
    int64_t extras[4 * BLOCKS];                                                                    \
    struct inst insts[BLOCKS];                                                                     \
    struct code_block blocks[BLOCKS];                                                              \
    uint32_t *j = joins(to, sizeof(to) / sizeof(*(to)), &code, extras, insts, blocks)

static void outcomes_of_a_diamond_meet_behind_it(void **state)
{
    static const int to[][4] = { { 1, 2, -1 }, { 3, -1 }, { 3, -1 }, { -1 } };
    JOINS(to);

    (void)state;
    assert_int_equal(j[0], 3);
    assert_int_equal(j[1], 3);
    assert_int_equal(j[3], CODE_NONE);
    free(j);
}

static void a_loop_is_left_where_its_condition_fails(void **state)
{
    /* 0 -> 1: condition -> 2: body -> 1, or 3; the body may also leave to 4 */
    static const int to[][4] = { { 1, -1 }, { 2, 3, -1 }, { 1, 4, -1 }, { 4, -1 }, { -1 } };
    JOINS(to);

    (void)state;
    assert_int_equal(j[0], 1);
    assert_int_equal(j[1], 4);
    assert_int_equal(j[2], 4);
    assert_int_equal(j[3], 4);
    free(j);
}

static void cases_of_a_switch_that_fall_through_meet_at_its_end(void **state)
{
    static const int to[][4] = { { 4, 1, 2, 3 }, { 4, -1 }, { 3, -1 }, { 4, -1 }, { -1 } };
    JOINS(to);

    (void)state;
    assert_int_equal(j[0], 4);
    assert_int_equal(j[2], 3);
    free(j);
}

static void outcomes_that_return_meet_nowhere(void **state)
{
    static const int to[][4] = { { 1, 2, -1 }, { -1 }, { -1 } };
    JOINS(to);

    (void)state;
    assert_int_equal(j[0], CODE_NONE);
    assert_int_equal(j[1], CODE_NONE);
    assert_int_equal(j[2], CODE_NONE);
    free(j);
}

static void a_loop_without_an_end_joins_nothing(void **state)
{
    static const int to[][4] = { { 1, 2, -1 }, { 3, -1 }, { 2, -1 } /* for ever */, { -1 } };
    JOINS(to);

    (void)state;
    assert_int_equal(j[0], 1);
    assert_int_equal(j[1], 3);
    assert_int_equal(j[2], CODE_NONE);
    free(j);
}

/* ---- memory on top of memory ---- */

static void what_is_stored_above_leaves_the_memory_below_alone(void **state)
{
    struct exprs x;
    struct memory below = { 0 }, above = { .below = &below };
    expr five, six, seven;

    (void)state;
    exprs_init(&x);
    five = expr_const(&x, 32, 5);
    six = expr_const(&x, 32, 6);
    seven = expr_const(&x, 8, 7);
    memory_store(&below, NULL, &x, 0x1000, 4, five);
    assert_int_equal(memory_load(&above, NULL, &x, 0x1000, 4), five);
    memory_store(&above, NULL, &x, 0x1004, 4, six);
    memory_store(&above, NULL, &x, 0x1001, 1, seven);
    assert_int_equal(memory_load(&below, NULL, &x, 0x1000, 4), five);
    assert_int_equal(memory_load(&below, NULL, &x, 0x1004, 4), 0);
    assert_int_equal(expr_get(&x, memory_load(&above, NULL, &x, 0x1000, 4))->value, 0x705);
    memory_forget(&above, NULL, 0x1000, 1);
    assert_int_equal(memory_load(&above, NULL, &x, 0x1000, 4), 0);
    assert_int_equal(memory_load(&above, NULL, &x, 0x1004, 4), six);
    memory_forget_all(&above);
    assert_int_equal(memory_load(&above, NULL, &x, 0x1004, 4), 0);
    assert_int_equal(memory_load(&above, NULL, &x, 0x1002, 1), 0);
    assert_int_not_equal(memory_load(&below, NULL, &x, 0x1000, 4), 0);
    memory_release(&above);
    memory_release(&below);
    exprs_release(&x);
}

/* ---- a path in an execution ---- */

struct fixture {
    struct trace_mem trace;
    struct exprs x;
    struct execution e;
    struct flip_path path;
    expr leaf, new_leaf, later, condition;
};

static void add(struct fixture *f, uint8_t op, uint32_t thread, uint64_t target)
{
    f->trace.events[f->trace.count++] =
        (struct event){ .op = op, .thread = thread, .target = target, .size = 4 };
}

/* T1 reads, branches and reads; T2 reads in between. */
static void make(struct fixture *f)
{
    *f = (struct fixture){ .trace.events = xcalloc(8, sizeof(struct event)) };
    exprs_init(&f->x);
    add(f, OP_READ, 1, 0x10);
    add(f, OP_BRANCH, 1, 0);
    add(f, OP_READ, 2, 0x20);
    add(f, OP_READ, 1, 0x30);
    f->leaf = expr_read(&f->x, 32, 0, 0);
    f->later = expr_read(&f->x, 32, 2, 0);
    f->new_leaf = expr_read(&f->x, 32, 11, 0);
    f->condition = expr_binary(&f->x, EX_EQ, f->leaf, expr_const(&f->x, 32, 3));
    f->e = (struct execution){ .trace = &f->trace, .x = &f->x };
    f->e.events = xcalloc(4, sizeof(*f->e.events));
    f->e.events[2].value = f->later;
    f->e.condition_first = xcalloc(5, sizeof(uint32_t));
    f->e.condition_first[4] = 1;
    f->e.conditions = xcalloc(1, sizeof(*f->e.conditions));
    f->e.conditions[0] = (struct execution_condition){
        .recorded = 0, .value = f->condition, .event = 1, .is_known = true
    };
    f->path = (struct flip_path){ .branch = 1, .outcome = 1, .thread = 1, .nevents = 2 };
    f->path.events = xcalloc(2, sizeof(*f->path.events));
    f->path.events[0] =
        (struct flip_event){ .event = { .op = OP_ACQUIRE, .thread = 1, .target = 0x99 }, .id = 10 };
    f->path.events[1] = (struct flip_event){
        .event = { .op = OP_READ, .thread = 1, .target = 0x20 }, .id = 11, .value = f->new_leaf
    };
    f->path.conditions = xcalloc(1, sizeof(*f->path.conditions));
    f->path.conditions[0] = (struct flip_condition){ .recorded = 1, .value = f->condition };
    f->path.nconditions = 1;
}

static void done(struct fixture *f)
{
    free(f->trace.events);
    free(f->e.events);
    free(f->e.condition_first);
    free(f->e.conditions);
    free(f->path.events);
    free(f->path.conditions);
    exprs_release(&f->x);
}

static uint64_t position(const struct exprs *x, expr e)
{
    return expr_get(x, e)->a | (uint64_t)expr_get(x, e)->b << 32;
}

static void a_path_stands_behind_its_branch_and_positions_move(void **state)
{
    struct fixture f;
    uint32_t place[2];
    struct execution *e;

    (void)state;
    make(&f);
    e = execution_flip(&f.e, &f.path, NULL, place, NULL);
    assert_int_equal(flips_shift(&f.path), 3);
    assert_int_equal(e->trace->count, 7);
    assert_int_equal(place[0], 2);
    assert_int_equal(place[1], 3);
    assert_int_equal(e->trace->events[1].value, 1); /* the branch goes the other way */
    assert_int_equal(e->trace->events[2].op, OP_ACQUIRE);
    assert_int_equal(e->trace->events[3].target, 0x20);
    assert_int_equal(e->trace->events[4].op, OP_RELEASE); /* what follows does not hold the lock */
    assert_int_equal(e->trace->events[5].thread, 2);
    assert_int_equal(e->trace->events[6].target, 0x30);
    assert_int_equal(position(e->x, f.leaf), 0);
    assert_int_equal(position(e->x, f.later), 5);
    assert_int_equal(position(e->x, f.new_leaf), 3);
    assert_int_equal(position(&f.x, f.later), 2);
    execution_flip_free(e);
    done(&f);
}

static void conditions_of_a_path_are_new_and_the_others_move(void **state)
{
    struct fixture f;
    struct execution *e;

    (void)state;
    make(&f);
    e = execution_flip(&f.e, &f.path, NULL, NULL, NULL);
    assert_int_equal(e->condition_first[2], 0);
    assert_int_equal(e->condition_first[3], 1);
    assert_true(e->conditions[0].is_new);
    assert_int_equal(e->conditions[0].recorded, 1);
    assert_int_equal(e->conditions[0].event, 1);
    assert_int_equal(e->condition_first[6], 1);
    assert_int_equal(e->condition_first[7], 2);
    assert_false(e->conditions[1].is_new);
    execution_flip_free(e);
    done(&f);
}

static void two_paths_of_two_threads_have_places_of_their_own(void **state)
{
    struct fixture f;
    struct flip_path other;
    struct flip_event access = { .event = { .op = OP_WRITE, .thread = 2, .target = 0x20 },
                                 .id = 12 };
    uint32_t place[2], other_place[1];
    struct execution *e;

    (void)state;
    make(&f);
    other = (struct flip_path){ .branch = 2, .thread = 2, .events = &access, .nevents = 1 };
    e = execution_flip(&f.e, &other, &f.path, other_place, place);
    assert_int_equal(place[0], 2);
    assert_int_equal(place[1], 3);
    assert_int_equal(other_place[0], 6);
    assert_int_equal(e->trace->events[6].op, OP_WRITE);
    assert_int_equal(e->trace->count, 8);
    assert_int_equal(position(e->x, f.later), 5);
    execution_flip_free(e);
    done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outcomes_of_a_diamond_meet_behind_it),
        cmocka_unit_test(a_loop_is_left_where_its_condition_fails),
        cmocka_unit_test(cases_of_a_switch_that_fall_through_meet_at_its_end),
        cmocka_unit_test(outcomes_that_return_meet_nowhere),
        cmocka_unit_test(a_loop_without_an_end_joins_nothing),
        cmocka_unit_test(what_is_stored_above_leaves_the_memory_below_alone),
        cmocka_unit_test(a_path_stands_behind_its_branch_and_positions_move),
        cmocka_unit_test(conditions_of_a_path_are_new_and_the_others_move),
        cmocka_unit_test(two_paths_of_two_threads_have_places_of_their_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
