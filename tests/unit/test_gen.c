/* test_gen.c - generated traces are consistent, repeatable and race only where they should */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include <xxhash.h>

#include "engines/analysis.h"
#include "gen.h"
#include "text_trace.h"
#include "trace/check/check_trace.h"
#include "trace/hdl/hdl.h"

/* A change of these hashes means that old seeds name other traces: benchmarks compared over
 * time then compare different work. Change them only on purpose. */
#define SMALL_HASH UINT64_C(0x3e19575f2fd2f7c6)
#define LARGE_HASH UINT64_C(0x5228f06a07d421e0)

/* ---- small ---- */

static uint64_t hash_event(const struct event *e, uint64_t seed)
{
    uint64_t words[] = { e->target, e->value, e->old,
                         e->thread, e->site,  e->size,
                         e->op,     e->order, e->flags & EV_STORED_FLAGS };

    return XXH3_64bits_withSeed(words, sizeof(words), seed);
}

static uint64_t hash_small(const struct gen_small_options *o)
{
    struct gen_trace g;
    uint64_t h = 0;

    gen_small(o, &g);
    assert_int_equal(g.mem.count, o->events);
    for (size_t i = 0; i < g.mem.count; i++)
        h = hash_event(&g.mem.events[i], h);
    gen_trace_release(&g);
    return h;
}

static void the_same_seed_gives_the_same_small_trace_everywhere(void **state)
{
    struct gen_small_options o;

    (void)state;
    gen_small_defaults(&o);
    o.events = 500;
    o.values = 80;
    o.weight[OP_END] = o.weight[OP_BARRIER_ENTER] = 0; /* or all threads end up blocked */
    assert_true(hash_small(&o) == hash_small(&o));
    assert_int_equal(hash_small(&o), SMALL_HASH);
    o.seed = 2;
    assert_true(hash_small(&o) != SMALL_HASH);
}

static void small_traces_contain_every_operation(void **state)
{
    bool seen[OP_COUNT] = { false }, orders[ORDER_COUNT] = { false };

    (void)state;
    for (uint64_t seed = 1; seed < 200; seed++) {
        struct gen_small_options o;
        struct gen_trace g;

        gen_small_random(&o, seed, 60);
        gen_small(&o, &g);
        for (size_t i = 0; i < g.mem.count; i++) {
            seen[g.mem.events[i].op] = true;
            orders[g.mem.events[i].order] = true;
        }
        gen_trace_release(&g);
    }
    for (unsigned op = 1; op < OP_COUNT; op++)
        if (op_is_known(op) && op <= OP_EXIT && !seen[op])
            fail_msg("no %s in 200 traces", op_table[op].name);
    for (int i = 0; i < ORDER_COUNT; i++)
        assert_true(orders[i]);
}

static void an_operation_of_weight_0_does_not_occur(void **state)
{
    struct gen_small_options o;
    struct gen_trace g;

    (void)state;
    gen_small_defaults(&o);
    o.events = 2000;
    o.weight[OP_RMW] = o.weight[OP_WAIT] = o.weight[OP_FORK] = 0;
    o.weight[OP_END] = o.weight[OP_BARRIER_ENTER] = 0; /* or all threads end up blocked */
    gen_small(&o, &g);
    assert_int_equal(g.mem.count, 2000);
    for (size_t i = 0; i < g.mem.count; i++) {
        assert_true(g.mem.events[i].op != OP_RMW);
        assert_true(g.mem.events[i].op != OP_WAIT);
        assert_true(g.mem.events[i].op != OP_FORK);
    }
    gen_trace_release(&g);
}

/* The checker's marks on events stripped of theirs. */
static void small_traces_need_no_repair_and_carry_the_marks_of_the_checker(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct gen_small_options o;
        struct gen_trace g;
        struct diags diags = { 0 };
        struct trace_info info = { 0 };
        struct check *c;
        struct event events[400];

        gen_small_random(&o, seed, 400);
        gen_small(&o, &g);
        memcpy(events, g.mem.events, g.mem.count * sizeof(*events));
        for (size_t i = 0; i < g.mem.count; i++)
            events[i].flags &= EV_STORED_FLAGS;
        c = check_new(&g.tables, &info, &diags);
        check_batch(
            c, &(struct batch){ .events = events, .count = g.mem.count, .extra = g.mem.extra });
        check_finish(c);
        for (size_t i = 0; i < diags.count; i++)
            if (diag_level(diags.list[i].kind) == DIAG_REPAIRED)
                fail_msg("seed %llu: %s", (unsigned long long)seed, diags.list[i].text);
        for (size_t i = 0; i < g.mem.count; i++)
            if (events[i].flags != g.mem.events[i].flags)
                fail_msg("seed %llu: flags of event %zu differ", (unsigned long long)seed, i);
        check_free(c);
        diags_release(&diags);
        gen_trace_release(&g);
    }
}

/* ---- large ---- */

struct summary {
    uint64_t hash, events, ops[OP_COUNT], repaired;
    uint32_t threads;
};

static void summarise(const struct gen_large_options *o, struct summary *s)
{
    struct tables tables = { 0 };
    struct trace_info info = { 0 };
    struct diags diags = { 0 };
    struct gen *g = gen_open(o, &tables);
    struct check *c = check_new(&tables, &info, &diags);
    struct batch b;

    memset(s, 0, sizeof(*s));
    while (gen_next(g, &b)) {
        assert_int_equal(b.first, s->events);
        for (size_t i = 0; i < b.count; i++) {
            s->ops[b.events[i].op]++;
            s->hash = hash_event(&b.events[i], s->hash);
        }
        s->events += b.count;
        check_batch(c, &b);
    }
    check_finish(c);
    s->repaired = diags_repaired(&diags);
    s->threads = tables.threads.count;
    check_free(c);
    diags_release(&diags);
    gen_close(g);
    tables_release(&tables);
}

static void everything_on(struct gen_large_options *o)
{
    gen_large_defaults(o);
    o->events = 200000;
    o->threads = 16;
    o->locks = 40;
    o->shared_percent = 20;
    o->nested_percent = 20;
    o->atomic_percent = 10;
    o->heap_percent = 30;
    o->branch_percent = 10;
    o->overlap_percent = 30;
    o->values = true;
}

static void the_same_seed_gives_the_same_large_trace_everywhere(void **state)
{
    struct gen_large_options o;
    struct summary a, b;

    (void)state;
    everything_on(&o);
    summarise(&o, &a);
    summarise(&o, &b);
    assert_true(a.hash == b.hash);
    assert_int_equal(a.hash, LARGE_HASH);
    o.seed = 2;
    summarise(&o, &b);
    assert_true(a.hash != b.hash);
}

static void a_large_trace_has_the_length_and_the_share_of_locks_asked_for(void **state)
{
    struct gen_large_options o;
    struct summary s;
    uint64_t locks;

    (void)state;
    gen_large_defaults(&o);
    for (uint32_t percent = 0; percent <= 30; percent += 10) {
        o.events = 123457;
        o.lock_percent = percent;
        summarise(&o, &s);
        locks = s.ops[OP_ACQUIRE] + s.ops[OP_RELEASE];
        assert_int_equal(s.events, 123457);
        assert_true(locks * 100 >= s.events * (percent - percent / 8));
        assert_true(locks * 100 <= s.events * (percent + percent / 8));
        assert_int_equal(s.ops[OP_ACQUIRE], s.ops[OP_RELEASE]);
        assert_int_equal(s.ops[OP_FORK], 7);
        assert_int_equal(s.ops[OP_JOIN], 7);
    }
}

static void large_traces_need_no_repair(void **state)
{
    struct gen_large_options o;
    struct summary s;

    (void)state;
    everything_on(&o);
    summarise(&o, &s);
    assert_int_equal(s.repaired, 0);
    assert_true(s.ops[OP_ALLOC] > 1000 && s.ops[OP_ALLOC] == s.ops[OP_FREE]);
    assert_true(s.ops[OP_ACQUIRE_SHARED] > 1000 && s.ops[OP_RMW] > 1000 && s.ops[OP_BRANCH] > 1000);
    o.lifetime = 300;
    summarise(&o, &s);
    assert_int_equal(s.repaired, 0);
    assert_true(s.threads > 400);
    o.locks = 1;
    o.threads = 100;
    summarise(&o, &s);
    assert_int_equal(s.repaired, 0);
    o.events = 50; /* shorter than the forks */
    summarise(&o, &s);
    assert_int_equal(s.repaired, 0);
    assert_int_equal(s.events, 50);
}

/* Number of races of hb, by way of a file. */
static size_t races_of(const struct gen_large_options *o)
{
    const struct engine *engines[] = { &engine_hb };
    struct hdl_options options = { .compression = HDL_LZ4 };
    struct tables tables = { 0 };
    struct error err = { "" };
    struct hdl_writer *w;
    struct analysis a;
    struct gen *g = gen_open(o, &tables);
    struct trace *t;
    struct batch b;
    char path[256];
    size_t races;

    scratch_path(path, sizeof(path), ".hdl");
    w = hdl_create(path, &tables, &options, &err);
    assert_non_null(w);
    while (gen_next(g, &b))
        assert_int_equal(hdl_write(w, &b, &err), 0);
    assert_int_equal(hdl_finish(w, &err), 0);
    gen_close(g);
    tables_release(&tables);
    t = trace_open(path, &err);
    assert_non_null(t);
    assert_int_equal(analysis_run(t, engines, 1, NULL, NULL, &a, &err), 0);
    races = a.runs[0].result.races.count;
    analysis_release(&a);
    trace_close(t);
    unlink(path);
    return races;
}

static void only_the_racy_variables_race(void **state)
{
    struct gen_large_options o;

    (void)state;
    everything_on(&o);
    o.racy = 0;
    assert_int_equal(races_of(&o), 0);
    o.lifetime = 500; /* memory of a thread that ended is used by the next one */
    assert_int_equal(races_of(&o), 0);
    o.racy = 3;
    o.racy_ppm = 100000;
    o.lifetime = 0;
    assert_int_equal(races_of(&o), 6); /* each: write-write and write-read */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_seed_gives_the_same_small_trace_everywhere),
        cmocka_unit_test(small_traces_contain_every_operation),
        cmocka_unit_test(an_operation_of_weight_0_does_not_occur),
        cmocka_unit_test(small_traces_need_no_repair_and_carry_the_marks_of_the_checker),
        cmocka_unit_test(the_same_seed_gives_the_same_large_trace_everywhere),
        cmocka_unit_test(a_large_trace_has_the_length_and_the_share_of_locks_asked_for),
        cmocka_unit_test(large_traces_need_no_repair),
        cmocka_unit_test(only_the_racy_variables_race),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
