/* test_view.c - the view of a trace says what the definitions say */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "gen.h"
#include "naive.h"
#include "order/view.h"
#include "text_trace.h"

enum { TRACES = 6000 };

/* ---- definitions, byte by byte ---- */

static bool touches(const struct event *e, uint64_t byte)
{
    uint64_t bytes = op_is_access(e->op) ? e->size : 0;

    if (e->op == OP_ALLOC || e->op == OP_FREE)
        bytes = e->value;
    return !(e->flags & EV_IGNORED) && byte >= e->target && byte - e->target < bytes;
}

static size_t lifetime(const struct trace_mem *t, size_t i, uint64_t byte)
{
    size_t n = 0;

    for (size_t k = 0; k <= i; k++)
        n += t->events[k].op == OP_ALLOC && touches(&t->events[k], byte);
    return n;
}

/* The last event before i that gave the byte its content in i's lifetime. */
static uint32_t last_writer(const struct trace_mem *t, size_t i, uint64_t byte)
{
    for (size_t w = i; w-- > 0;)
        if ((op_table[t->events[w].op].writes || t->events[w].op == OP_ALLOC) &&
            touches(&t->events[w], byte) && lifetime(t, w, byte) == lifetime(t, i, byte))
            return (uint32_t)w;
    return VIEW_NONE;
}

/* Which of the event's cells the byte is in; VIEW_NONE: in none. */
static uint32_t slot_of(const struct view *v, size_t i, uint64_t byte)
{
    for (uint32_t k = v->cell_first[i]; k < v->cell_first[i + 1]; k++) {
        const struct view_cell *c = &v->cells[v->cell[k]];

        if (byte >= c->address && byte - c->address < c->bytes)
            return k;
    }
    return VIEW_NONE;
}

/* ---- comparisons ---- */

static void compare_order(const struct trace_mem *t, const struct view *v)
{
    struct relation must, mine;

    naive_order(t, NAIVE_MUST, &must);
    relation_init(&mine, t->count);
    naive_program_order(t, &mine);
    for (uint32_t i = 0; i < v->count; i++) {
        for (uint32_t k = v->need_first[i]; k < v->need_first[i + 1]; k++) {
            assert_true(v->need[k] < i);
            assert_int_not_equal(t->events[v->need[k]].thread, t->events[i].thread);
            relation_add(&mine, v->need[k], i);
        }
    }
    relation_close(&mine);
    assert_memory_equal(must.bits, mine.bits, must.n * must.words * sizeof(*must.bits));
    relation_release(&must);
    relation_release(&mine);
}

static void compare_byte(const struct trace_mem *t, const struct view *v, size_t i, uint64_t byte)
{
    uint32_t k = slot_of(v, i, byte);

    assert_int_not_equal(k, VIEW_NONE);
    assert_int_equal(v->writer[k], last_writer(t, i, byte));
    assert_int_equal(v->cells[v->cell[k]].allocated, lifetime(t, i, byte) > 0);
    for (size_t j = 0; j < i; j++) {
        uint32_t other = slot_of(v, j, byte);

        assert_int_equal(other != VIEW_NONE, touches(&t->events[j], byte));
        if (other != VIEW_NONE)
            assert_int_equal(v->cell[other] == v->cell[k],
                             lifetime(t, i, byte) == lifetime(t, j, byte));
    }
}

static void compare_cells(const struct trace_mem *t, const struct view *v)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct event *e = &t->events[i];
        uint64_t bytes = op_is_access(e->op) ? e->size : e->value, covered = 0;

        if (!touches(e, e->target)) {
            assert_int_equal(v->cell_first[i], v->cell_first[i + 1]);
            continue;
        }
        for (uint64_t b = e->target; b < e->target + bytes; b++)
            compare_byte(t, v, i, b);
        for (uint32_t k = v->cell_first[i]; k < v->cell_first[i + 1]; k++)
            covered += v->cells[v->cell[k]].bytes;
        assert_int_equal(covered, bytes);
    }
}

/* Lists by thread and by cell are the other way round of what the events say. */
static void compare_lists(const struct trace_mem *t, const struct view *v)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < v->count; i++) {
        if (v->rank[i] == VIEW_NONE)
            continue;
        assert_int_equal(v->thread_event[v->thread_first[t->events[i].thread] + v->rank[i]], i);
        n++;
    }
    assert_int_equal(n, v->thread_first[v->nthreads]);
    n = 0;
    for (uint32_t c = 0; c < v->ncells; c++) {
        for (uint32_t k = v->access_first[c]; k < v->access_first[c + 1]; k++) {
            uint32_t at = slot_of(v, v->access[k], v->cells[c].address);

            assert_int_equal(v->cell[at], c);
            assert_true(k == v->access_first[c] || v->access[k - 1] < v->access[k]);
            n++;
        }
    }
    assert_int_equal(n, v->cell_first[v->count]);
}

/* Is the thread joined before it has another event? Then it is over. */
static bool is_last(const struct trace_mem *t, size_t i)
{
    for (size_t k = i + 1; k < t->count; k++) {
        const struct event *e = &t->events[k];

        if (e->flags & EV_IGNORED)
            continue;
        if (e->thread == t->events[i].thread)
            return false;
        if (e->op == OP_JOIN && e->target == t->events[i].thread)
            return true;
    }
    return false;
}

/* The sections a thread is in after position i say what a replay of its lock events says. */
static void compare_held(const struct trace_mem *t, const struct view *v, size_t i, uint32_t lock,
                         const struct event *e)
{
    bool replayed[2] = { false, false }, listed[2] = { false, false };

    for (size_t k = 0; k <= i; k++) {
        const struct event *x = &t->events[k];
        bool shared = x->op == OP_ACQUIRE_SHARED || x->op == OP_RELEASE_SHARED;

        if (x->flags & EV_IGNORED || x->thread != e->thread)
            continue;
        if (op_class_of(x->op) == CLASS_LOCK && x->target == e->target && !(x->flags & EV_NESTED)) {
            if (x->op == OP_ACQUIRE || x->op == OP_ACQUIRE_SHARED)
                replayed[shared] = true;
            else
                replayed[replayed[shared] ? shared : !shared] = false;
        }
        if (x->op == OP_END || is_last(t, k))
            replayed[0] = replayed[1] = false;
    }
    for (uint32_t s = 0; s < v->nsections; s++)
        if (v->sections[s].thread == e->thread && v->sections[s].lock == lock &&
            v->sections[s].acquire <= i &&
            (v->sections[s].end == VIEW_NONE || v->sections[s].end > i))
            listed[v->sections[s].shared] = true;
    assert_int_equal(listed[0], replayed[0]);
    assert_int_equal(listed[1], replayed[1]);
}

static void compare_sections(const struct trace_mem *t, const struct view *v)
{
    for (uint32_t s = 0; s < v->nsections; s++) {
        const struct view_section *x = &v->sections[s];

        assert_int_equal(v->section_of[x->acquire], s);
        assert_true(x->release == VIEW_NONE || v->section_of[x->release] == s);
        assert_true(x->release == VIEW_NONE || x->end == x->release);
        assert_true(s == 0 || v->sections[s - 1].acquire < x->acquire);
        for (size_t i = x->acquire + 1; i < t->count; i++)
            if (t->events[i].op == OP_END || op_class_of(t->events[i].op) == CLASS_LOCK)
                compare_held(t, v, i, x->lock, &t->events[x->acquire]);
    }
    for (uint32_t l = 0; l < v->nlocks; l++)
        for (uint32_t k = v->lock_first[l]; k < v->lock_first[l + 1]; k++)
            assert_int_equal(v->sections[v->lock_section[k]].lock, l);
    assert_int_equal(v->lock_first[v->nlocks], v->nsections);
}

static void compare(const struct trace_mem *t)
{
    struct view *v = view_new(t, CALL_RULE_NONE);

    compare_order(t, v);
    compare_cells(t, v);
    compare_lists(t, v);
    compare_sections(t, v);
    view_free(v);
}

/* ---- cases ---- */

static void random_traces_look_as_defined(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= TRACES; seed++) {
        struct gen_small_options o;
        struct gen_trace g;

        gen_small_random(&o, seed, seed % 10 ? 40 : 120);
        if (seed % 5 == 0)
            gen_small_heap(&o);
        gen_small(&o, &g);
        compare(&g.mem);
        gen_trace_release(&g);
    }
}

/* Atomics, semaphores, conditions and barriers only, so that sequences get long. */
static void long_sequences_of_one_kind_look_as_defined(void **state)
{
    static const uint8_t ops[][3] = {
        { OP_STORE, OP_RMW, OP_LOAD },
        { OP_RMW, OP_LOAD, OP_FENCE },
        { OP_SEM_POST, OP_SEM_WAIT, OP_READ },
        { OP_WAIT, OP_SIGNAL, OP_BROADCAST },
        { OP_BARRIER_ENTER, OP_BARRIER_LEAVE, OP_READ },
    };

    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct gen_small_options o;
        struct gen_trace g;

        gen_small_defaults(&o);
        memset(o.weight, 0, sizeof(o.weight));
        for (int k = 0; k < 3; k++)
            o.weight[ops[seed % 5][k]] = 10;
        o.seed = seed;
        o.events = 150;
        o.threads = 2 + seed % 6;
        o.variables = o.locks = 1;
        o.roots = 100;
        gen_small(&o, &g);
        compare(&g.mem);
        gen_trace_release(&g);
    }
}

static void from_text(const char *text, struct text_trace *t, struct view **v)
{
    *t = (struct text_trace){ 0 };
    text_trace_open(t, text);
    *v = view_new(&t->mem, CALL_RULE_NONE);
    compare(&t->mem);
}

static uint32_t count_needs(const struct view *v, uint32_t i)
{
    return v->need_first[i + 1] - v->need_first[i];
}

/* A chain of acquire-release rmws: each needs only the one before it. */
static void implied_edges_are_left_out(void **state)
{
    struct text_trace t;
    struct view *v;

    (void)state;
    from_text("T0|rmw.ar(x)|1\nT1|rmw.ar(x)|2\nT2|rmw.ar(x)|3\nT3|rmw.ar(x)|4\nT0|rmw.ar(x)|5\n",
              &t, &v);
    for (uint32_t i = 1; i < 5; i++) {
        assert_int_equal(count_needs(v, i), 1);
        assert_int_equal(v->need[v->need_first[i]], i - 1);
    }
    view_free(v);
    text_trace_close(&t);
}

/* A thread's own latest post, else the oldest that is left, else none. */
static void a_wait_needs_the_post_that_it_takes(void **state)
{
    struct text_trace t;
    struct view *v;

    (void)state;
    from_text("T0|post(s)|1\nT1|semwait(s)|2\nT0|post(s)|3\nT2|post(s)|4\nT1|semwait(s)|5\n"
              "T0|post(s)|6\nT2|post(s)|7\nT2|semwait(s)|8\nT1|semwait(s)|9\nT1|semwait(s)|10\n"
              "T1|semwait(s)|11\n",
              &t, &v);
    assert_int_equal(v->need[v->need_first[4]], 2);
    assert_int_equal(count_needs(v, 7), 0);
    assert_int_equal(v->need[v->need_first[8]], 3);
    assert_int_equal(v->need[v->need_first[9]], 5);
    assert_int_equal(count_needs(v, 10), 0);
    view_free(v);
    text_trace_close(&t);
}

static void what_is_initialised_again_has_no_posts(void **state)
{
    struct text_trace t;
    struct view *v;

    (void)state;
    from_text("T0|seminit(s)|1\nT0|post(s)|2\nT0|seminit(s)|3\nT0|post(s)|4\nT1|semwait(s)|5\n"
              "T1|semwait(s)|6\n",
              &t, &v);
    assert_int_equal(v->need[v->need_first[4]], 3);
    assert_int_equal(count_needs(v, 5), 0);
    view_free(v);
    text_trace_close(&t);
}

static void an_open_section_ends_with_its_thread(void **state)
{
    struct text_trace t;
    struct view *v;

    (void)state;
    from_text("T0|fork(T1)|1\nT1|acq(l)|2\nT1|acqs(m)|3\nT0|join(T1)|4\nT0|acq(l)|5\n"
              "T0|acq(m)|6\n",
              &t, &v);
    assert_int_equal(v->nsections, 4);
    assert_int_equal(v->sections[0].release, VIEW_NONE);
    assert_int_equal(v->sections[0].end, 2);
    assert_int_equal(v->sections[1].end, 2);
    assert_true(v->sections[1].shared);
    assert_int_equal(v->sections[2].end, VIEW_NONE);
    view_free(v);
    text_trace_close(&t);
}

static void an_empty_trace_has_an_empty_view(void **state)
{
    struct trace_mem none = { 0 };

    (void)state;
    compare(&none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_traces_look_as_defined),
        cmocka_unit_test(long_sequences_of_one_kind_look_as_defined),
        cmocka_unit_test(implied_edges_are_left_out),
        cmocka_unit_test(a_wait_needs_the_post_that_it_takes),
        cmocka_unit_test(what_is_initialised_again_has_no_posts),
        cmocka_unit_test(an_open_section_ends_with_its_thread),
        cmocka_unit_test(an_empty_trace_has_an_empty_view),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
