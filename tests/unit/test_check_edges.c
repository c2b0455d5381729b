/* test_check_edges.c - the marks keep every ordering edge, on random nonsense
 *
 * Engines let an ordinary release replace the clock of its lock and a marked
 * one (EV_FOREIGN) add to it. That is right only if the marks are: here both
 * are played with sets of releases instead of clocks, beside the definition
 * (every earlier release of the lock counts), on random sequences of lock and
 * thread events that no program could produce.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "trace/check/check_trace.h"

enum { THREADS = 4, LOCKS = 2, EVENTS = 48, RUNS = 50000 };

/* Bit n: release n is known. */
struct knowledge {
    uint64_t thread[THREADS];
    uint64_t exclusive[LOCKS], shared[LOCKS];
};

static uint64_t state;

static uint32_t below(uint32_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 32) % n);
}

/* Mostly locks; few enough locks and threads that they meet. */
static void random_events(struct event *ev)
{
    static const uint8_t ops[] = { OP_ACQUIRE, OP_ACQUIRE,        OP_RELEASE,
                                   OP_RELEASE, OP_ACQUIRE_SHARED, OP_RELEASE_SHARED };

    memset(ev, 0, EVENTS * sizeof(*ev));
    for (int i = 0; i < EVENTS; i++) {
        ev[i].thread = below(THREADS);
        ev[i].op = ops[below(sizeof(ops))];
        ev[i].target = NAMED_OBJECT(below(LOCKS));
        if (below(16))
            continue;
        ev[i].op = (uint8_t)(OP_FORK + below(4));
        ev[i].target = ev[i].op <= OP_JOIN ? below(THREADS) : 0;
    }
}

/* One lock event; `replace` is what engines do, else the definition. */
static void play(struct knowledge *k, const struct event *ev, int position, bool replace)
{
    uint32_t l = named_object(ev->target);
    uint64_t *t = &k->thread[ev->thread];

    switch (ev->op) {
    case OP_ACQUIRE:
        *t |= k->exclusive[l] | k->shared[l];
        break;
    case OP_ACQUIRE_SHARED:
        *t |= k->exclusive[l];
        break;
    case OP_RELEASE:
        *t |= (uint64_t)1 << position;
        if (replace && !(ev->flags & EV_FOREIGN))
            k->exclusive[l] = k->shared[l] = 0;
        k->exclusive[l] |= *t;
        break;
    case OP_RELEASE_SHARED:
        *t |= (uint64_t)1 << position;
        k->shared[l] |= *t;
        break;
    }
}

static void print_events(const struct event *ev, int n)
{
    for (int i = 0; i < n; i++)
        print_error("%2d T%u %s %u flags %x\n", i, ev[i].thread, op_table[ev[i].op].text,
                    (unsigned)(ev[i].target & 0xff), ev[i].flags);
}

static void compare(const struct event *ev)
{
    struct knowledge marked = { 0 }, wanted = { 0 };

    for (int i = 0; i < EVENTS; i++) {
        if (op_class_of(ev[i].op) != CLASS_LOCK || ev[i].flags & EV_NESTED)
            continue;
        play(&marked, &ev[i], i, true);
        play(&wanted, &ev[i], i, false);
        if (marked.thread[ev[i].thread] != wanted.thread[ev[i].thread]) {
            print_events(ev, i + 1);
            fail_msg("event %d does not know all releases it comes after", i);
        }
    }
}

static void name_things(struct tables *t)
{
    char name[8];

    for (int i = 0; i < THREADS; i++)
        intern_put(&t->threads, name, (size_t)snprintf(name, sizeof(name), "T%d", i));
    for (int i = 0; i < LOCKS; i++)
        intern_put(&t->objects, name, (size_t)snprintf(name, sizeof(name), "L%d", i));
}

static void marks_keep_every_edge(void **unused)
{
    struct event ev[EVENTS], again[EVENTS];
    struct tables tables = { 0 };

    (void)unused;
    name_things(&tables);
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        struct trace_info info = { 0 };
        struct diags diags = { 0 };
        struct check *c = check_new(&tables, &info, &diags);
        struct batch b = { .events = ev, .count = EVENTS };
        uint64_t repaired;

        state = seed * 0x9e3779b97f4a7c15u;
        random_events(ev);
        memcpy(again, ev, sizeof(ev));
        check_batch(c, &b);
        check_finish(c);
        compare(ev);

        /* a second pass marks the same and tells nothing */
        repaired = diags_repaired(&diags);
        check_rewind(c);
        b.events = again;
        check_batch(c, &b);
        check_finish(c);
        assert_memory_equal(ev, again, sizeof(ev));
        assert_int_equal(diags_repaired(&diags), repaired);
        check_free(c);
        diags_release(&diags);
    }
    tables_release(&tables);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(marks_keep_every_edge) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
