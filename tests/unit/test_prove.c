/* test_prove.c - answers depend on the question alone: not on what was asked before, nor on threads
 *
 * Otherwise results would depend on --jobs and --mpi.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "engines/predict/prove.h"
#include "text_trace.h"

enum { THREADS = 5, EVENTS = 2500, VARIABLES = 30, LOCKS = 8, PAIRS = 160 };

static unsigned seed;

static unsigned any(unsigned below)
{
    seed = seed * 1103515245 + 12345;
    return (seed >> 16) % below;
}

/* Two values, so reads have hundreds of writers to choose from: many searches, some too long. */
static char *make_text(void)
{
    unsigned memory[VARIABLES] = { 0 };
    struct buf b = { 0 };

    seed = 7;
    for (unsigned t = 1; t < THREADS; t++)
        buf_addf(&b, "T0|fork(T%u)|1\n", t);
    for (unsigned i = 0, t = 0; i < EVENTS; i += 2) {
        unsigned lock = any(LOCKS), v;

        t = any(4) ? t : any(THREADS);
        buf_addf(&b, "T%u|acq(L%u)|2\n", t, lock);
        for (unsigned n = any(4); n > 0; n--, i++) {
            v = any(VARIABLES);
            if (any(2))
                buf_addf(&b, "T%u|w(V%u=%u)|3\n", t, v, memory[v] = any(2));
            else
                buf_addf(&b, "T%u|r(V%u=%u)|4\n", t, v, memory[v]);
        }
        buf_addf(&b, "T%u|rel(L%u)|5\n", t, lock);
    }
    return buf_detach(&b);
}

/* Accesses of different threads to one variable, at random; most are far from the beginning. */
static size_t find_pairs(const struct trace_mem *m, struct instance *out)
{
    size_t n = 0;

    for (unsigned tries = 0; n < PAIRS && tries < 1000000; tries++) {
        uint64_t a = any((unsigned)m->count), b = a + any(300);
        const struct event *x = &m->events[a], *y = &m->events[b < m->count ? b : a];

        if (op_is_access(x->op) && op_is_access(y->op) && x->target == y->target &&
            x->thread != y->thread && (x->op == OP_WRITE || y->op == OP_WRITE))
            out[n++] = (struct instance){ a, b };
    }
    return n;
}

struct outcome {
    enum predict_answer answer;
    uint64_t *list;
    size_t count;
    uint64_t work;
};

/* A budget so small that every way to end a search is met. */
static struct outcome ask(struct predictor *p, const struct instance *in)
{
    struct predict_budget budget = { .work = 30000 };
    uint64_t before = predictor_stats(p)->work;
    struct outcome o = { 0 };

    o.answer = predictor_decide(p, in->first, in->second, &budget, &o.list, &o.count);
    o.work = predictor_stats(p)->work - before;
    return o;
}

static void answers_do_not_depend_on_earlier_questions(void **state)
{
    struct instance pairs[PAIRS];
    struct text_trace t = { 0 };
    struct predictor *shared;
    unsigned met[PREDICT_TOO_LONG + 1] = { 0 };
    char *text = make_text();
    struct view *v;
    size_t n;

    (void)state;
    text_trace_open(&t, text);
    v = view_new(&t.mem, CALL_RULE_NONE);
    shared = predictor_new(v, trace_info(t.trace));
    n = find_pairs(&t.mem, pairs);
    assert_int_equal(n, PAIRS);
    for (size_t i = 0; i < n; i++) {
        struct predictor *fresh = predictor_clone(shared);
        struct outcome a = ask(shared, &pairs[i]), b = ask(fresh, &pairs[i]);

        met[a.answer]++;
        assert_int_equal(a.answer, b.answer);
        assert_int_equal(a.count, b.count);
        assert_int_equal(a.work, b.work);
        if (a.list)
            assert_memory_equal(a.list, b.list, a.count * sizeof(*a.list));
        free(a.list);
        free(b.list);
        predictor_free(fresh);
    }
    assert_true(met[PREDICT_FEASIBLE] && met[PREDICT_INFEASIBLE] && met[PREDICT_UNDECIDED]);
    predictor_free(shared);
    view_free(v);
    text_trace_close(&t);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_do_not_depend_on_earlier_questions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
