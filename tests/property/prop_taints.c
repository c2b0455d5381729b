/* prop_taints.c - the gist has what tells that a thread is tainted
 *
 * Random traces hardly ever have a schedule that is refused for this alone. So here threads count
 * in critical sections, which may change places, update memory of their own, look at it, and race.
 * Every schedule of the cascade on the gist goes to the checker of the whole trace.
 */
#include "properties.h"

#include "rng.h"
#include "text_trace.h"

#include <stdlib.h>

enum { THREADS = 3, STEPS_MIN = 8, STEPS_MAX = 26, TRACES_EACH = 4 };

struct writer {
    struct buf text;
    struct rng rng;
    unsigned line;
};

static void op(struct writer *w, unsigned thread, const char *what, unsigned long address,
               unsigned size)
{
    buf_addf(&w->text, "T%u|%s(0x%lx:%u)|%u\n", thread, what, address, size, ++w->line);
}

static void lock(struct writer *w, unsigned thread, const char *what, const char *name, unsigned n)
{
    buf_addf(&w->text, "T%u|%s(%s%u)|%u\n", thread, what, name, n, ++w->line);
}

/* Of the thread's own page; halves of words, so that bytes have several writers. */
static unsigned long own(struct writer *w, unsigned thread)
{
    return 0x10000 * (thread + 1UL) + 4 * rng_below(&w->rng, 3);
}

static void update(struct writer *w, unsigned thread, unsigned long address, unsigned size)
{
    op(w, thread, "r~", address, size);
    op(w, thread, "w~", address, size);
}

static void count(struct writer *w, unsigned thread)
{
    unsigned n = rng_below(&w->rng, 2);

    lock(w, thread, "acq", "L", n);
    update(w, thread, 0x900000 + 0x1000 * n, 8);
    if (rng_percent(&w->rng, 20)) /* through what the thread counts to its own memory, and back */
        update(w, thread, own(w, thread), 4);
    lock(w, thread, "rel", "L", n);
}

/* Memory that goes from thread to thread by a flag. */
static void hand_over(struct writer *w, unsigned thread)
{
    static const char *const uses[] = { "r~", "w~", "r", "w" };

    lock(w, thread, "acq", "M", 0);
    op(w, thread, "r", 0xa00000, 8);
    for (unsigned i = rng_below(&w->rng, 3); i--;)
        op(w, thread, uses[rng_below(&w->rng, 4)], 0xa10000 + 8 * rng_below(&w->rng, 2), 8);
    op(w, thread, "w", 0xa00000, 8);
    lock(w, thread, "rel", "M", 0);
}

static void race(struct writer *w, unsigned thread)
{
    op(w, thread, rng_percent(&w->rng, 60) ? "w" : "r", 0xb00000 + 0x1000 * rng_below(&w->rng, 3),
       8);
}

static void some_step(struct writer *w, unsigned thread)
{
    uint32_t which = rng_below(&w->rng, 100);

    if (which < 26)
        count(w, thread);
    else if (which < 42)
        update(w, thread, own(w, thread), 4);
    else if (which < 62)
        op(w, thread, "r", own(w, thread), rng_percent(&w->rng, 70) ? 4 : 8);
    else if (which < 68)
        op(w, thread, "w", own(w, thread), 4);
    else if (which < 74)
        hand_over(w, thread);
    else if (which < 78)
        op(w, thread, "r~", own(w, rng_below(&w->rng, THREADS)), 4);
    else if (which < 84)
        lock(w, thread, "acq", "own", thread), lock(w, thread, "rel", "own", thread);
    else
        race(w, thread);
}

static void write_trace(struct buf *out, uint64_t seed)
{
    struct writer w = { .text = { 0 } };
    unsigned steps;

    rng_init(&w.rng, seed);
    for (unsigned t = 1; t < THREADS; t++)
        buf_addf(&w.text, "T0|fork(T%u)|%u\n", t, ++w.line);
    steps = rng_between(&w.rng, STEPS_MIN, STEPS_MAX);
    while (steps--)
        some_step(&w, rng_below(&w.rng, THREADS));
    *out = w.text;
}

static enum verdict schedules_hold(const struct buf *text, enum trace_order order, struct buf *why)
{
    struct engine_options options = { .cascade = true, .sieve = true, .jobs = 1, .gist_from = 1 };
    struct subject s = { .text = *text };
    struct text_trace t;
    struct analysis a;
    struct error err = { "" };
    enum verdict v;

    text_trace_open(&t, text->data);
    s.trace = t.trace;
    s.mem = t.mem;
    s.info = trace_info(t.trace);
    ((struct trace_info *)(uintptr_t)s.info)->order = order;
    if (run_cascade(&s, &options, &a, &err)) {
        buf_addf(why, "%s", err.text);
        return VIOLATED;
    }
    v = cascade_schedules_hold(&s, &a, why);
    if (v == VIOLATED)
        buf_addf(why, "\n%s", text->data);
    analysis_release(&a);
    text_trace_close(&t);
    return v;
}

/* A hash, so that each seed of the test has its own. */
static uint64_t seed_of(const struct subject *s)
{
    uint64_t h = 14695981039346656037u;

    for (size_t i = 0; i < s->text.len; i++)
        h = (h ^ (unsigned char)s->text.data[i]) * 1099511628211u;
    return h;
}

static enum verdict the_gist_has_what_taints(struct subject *s, struct buf *why)
{
    uint64_t seed = seed_of(s);
    enum verdict v = HOLDS;

    for (unsigned i = 0; i < TRACES_EACH && v == HOLDS; i++) {
        struct buf text;

        write_trace(&text, seed + i);
        v = both(schedules_hold(&text, TRACE_EXACT, why),
                 schedules_hold(&text, TRACE_SYNC_EXACT, why));
        buf_release(&text);
    }
    return v;
}

const struct property properties_taints[] = {
    { "the-gist-has-what-taints", the_gist_has_what_taints, 1 },
    { NULL, NULL, 0 },
};
