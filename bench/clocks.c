/* clocks.c - heddle-bench-clocks: what a clock operation costs in each representation
 *
 *     heddle-bench-clocks STREAM THREADS OPERATIONS REPEATS [SEED]
 *
 * Makes a random stream of synchronisation operations, runs it through every
 * representation of clock_kinds.h, checks that all end with the same clocks,
 * and prints a line for each:
 *     name  ns per operation  ns per query  bytes at the end
 * A query is the time a random thread knows of another (what the check of an
 * access asks). Medians of REPEATS runs, CPU time.
 *
 * Streams. All threads are forked by the first and joined at the end; in
 * between, threads run two critical sections on average before another one's
 * turn. There are as many locks as threads.
 *   local   threads work in teams of four that share four locks; every 50th
 *           section takes one of all locks
 *   global  every section takes one of all locks
 *   star    a server and its clients: the first thread shares a lock with each other
 *           thread, and every second section is its
 *   shb     local, and each section has six accesses, a third of them writes, to variables
 *           of the thread and of the lock, whose clocks are kept: 50,000 variables, fewer
 *           above 256 threads so that the other representations fit into memory
 */
#include "clock_kinds.h"
#include "measure.h"
#include "rng.h"
#include "base/alloc.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEAM = 4, QUERIES = 2000000, SECTION_ACCESSES = 6, VARIABLES = 50000 };

enum verb { LEARN, PUBLISH, REPLACE };

struct operation {
    uint32_t verb, thread, object;
};

struct stream {
    struct rng rng;
    uint32_t threads, objects; /* objects: locks, forks, then the variables of each of them */
    uint32_t variables;        /* of one lock or thread */
    bool local, star, accesses;
    struct operation *operations;
    size_t count, cap;
};

struct result {
    double ns, query_ns;
    uint64_t bytes, digest;
};

/* ---- the stream ---- */

static void add(struct stream *s, enum verb verb, uint32_t thread, uint32_t object)
{
    GROW(s->operations, s->cap, s->count + 1);
    s->operations[s->count++] = (struct operation){ verb, thread, object };
}

static uint32_t fork_object(const struct stream *s, uint32_t thread)
{
    return s->threads + thread;
}

static uint32_t pick_lock(struct stream *s, uint32_t thread)
{
    uint32_t first = thread / TEAM * TEAM;

    if (s->star && thread)
        return thread;
    if (!s->local || rng_percent(&s->rng, 2))
        return rng_below(&s->rng, s->threads);
    return first + rng_below(&s->rng, s->threads - first < TEAM ? s->threads - first : TEAM);
}

static uint32_t pick_thread(struct stream *s, uint32_t last)
{
    if (s->star)
        return rng_percent(&s->rng, 50) ? 0 : rng_below(&s->rng, s->threads);
    return rng_percent(&s->rng, 50) ? rng_below(&s->rng, s->threads) : last;
}

static void add_accesses(struct stream *s, uint32_t thread, uint32_t lock)
{
    for (int i = 0; i < SECTION_ACCESSES; i++) {
        uint32_t owner = i % 2 ? lock : s->threads + thread;
        uint32_t variable = owner * s->variables + rng_below(&s->rng, s->variables);

        add(s, rng_percent(&s->rng, 35) ? REPLACE : LEARN, thread, 2 * s->threads + variable);
    }
}

static void make_stream(struct stream *s, size_t operations)
{
    uint32_t thread = 0;

    for (uint32_t t = 1; t < s->threads; t++) {
        add(s, PUBLISH, 0, fork_object(s, t));
        add(s, LEARN, t, fork_object(s, t));
    }
    while (s->count < operations) {
        uint32_t lock;

        thread = pick_thread(s, thread);
        lock = pick_lock(s, thread);
        add(s, LEARN, thread, lock);
        if (s->accesses)
            add_accesses(s, thread, lock);
        add(s, PUBLISH, thread, lock);
    }
    for (uint32_t t = 1; t < s->threads; t++) {
        add(s, PUBLISH, t, fork_object(s, t));
        add(s, LEARN, 0, fork_object(s, t));
    }
}

static bool stream_init(struct stream *s, const char *name, uint32_t threads, uint64_t seed)
{
    uint32_t variables = threads > 256 ? VARIABLES / (threads / 256) : VARIABLES;

    *s = (struct stream){ .threads = threads, .objects = 2 * threads };
    s->accesses = !strcmp(name, "shb");
    if (s->accesses) {
        s->variables = variables / (2 * threads) + 1;
        s->objects += 2 * threads * s->variables;
    }
    s->local = s->accesses || !strcmp(name, "local");
    s->star = !strcmp(name, "star");
    rng_init(&s->rng, seed);
    return s->local || s->star || !strcmp(name, "global");
}

/* ---- one run ---- */

static void run_operations(const struct clock_kind *k, void *state, const struct stream *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct operation *o = &s->operations[i];

        if (o->verb == LEARN)
            k->learn(state, o->thread, o->object);
        else if (o->verb == PUBLISH)
            k->publish(state, o->thread, o->object);
        else
            k->replace(state, o->thread, o->object);
    }
}

static double query_ns(const struct clock_kind *k, const void *state, const struct stream *s)
{
    struct rng rng;
    volatile uint32_t sink = 0;
    double start = cpu_seconds();

    rng_init(&rng, 1);
    for (int i = 0; i < QUERIES; i++)
        sink += k->get(state, rng_below(&rng, s->threads), rng_below(&rng, s->threads));
    return (cpu_seconds() - start) * 1e9 / QUERIES;
}

/* All times of all clocks in one number. */
static uint64_t digest(const struct clock_kind *k, const void *state, const struct stream *s)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (uint32_t c = 0; c < s->threads + s->objects; c++)
        for (uint32_t t = 0; t < s->threads; t++)
            hash = (hash ^ k->get(state, c, t)) * 0x100000001b3u;
    return hash;
}

static struct result run(const struct clock_kind *k, const struct stream *s, bool check)
{
    struct result r = { 0 };
    uint64_t bytes = heap_bytes();
    double start = cpu_seconds();
    void *state = k->open(s->threads, s->objects);

    run_operations(k, state, s);
    r.ns = (cpu_seconds() - start) * 1e9 / (double)s->count;
    r.bytes = heap_bytes() - bytes;
    r.query_ns = query_ns(k, state, s);
    if (check)
        r.digest = digest(k, state, s);
    k->close(state);
    return r;
}

/* ---- medians ---- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static struct result median_run(const struct clock_kind *k, const struct stream *s, size_t repeats)
{
    double *ns = xcalloc(repeats, sizeof(*ns)), *query = xcalloc(repeats, sizeof(*query));
    struct result first = { 0 };

    for (size_t i = 0; i < repeats; i++) {
        struct result r = run(k, s, i == 0);

        if (!i)
            first = r;
        ns[i] = r.ns;
        query[i] = r.query_ns;
    }
    qsort(ns, repeats, sizeof(*ns), compare);
    qsort(query, repeats, sizeof(*query), compare);
    first.ns = ns[repeats / 2];
    first.query_ns = query[repeats / 2];
    free(ns);
    free(query);
    return first;
}

/* 1: the representations disagree. */
static int compare_kinds(const struct stream *s, size_t repeats)
{
    static const struct clock_kind *const kinds[] = { &kind_dense, &kind_sparse, &kind_tree,
                                                      &kind_shared };
    uint64_t expected = 0;
    int code = 0;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct result r = median_run(kinds[i], s, repeats);

        if (!i)
            expected = r.digest;
        printf("%s %.1f %.1f %llu\n", kinds[i]->name, r.ns, r.query_ns,
               (unsigned long long)r.bytes);
        if (r.digest != expected) {
            fprintf(stderr, "heddle-bench-clocks: '%s' and '%s' end with different clocks\n",
                    kinds[0]->name, kinds[i]->name);
            code = 1;
        }
    }
    return code;
}

int main(int argc, char **argv)
{
    struct stream s;
    long threads = argc > 2 ? atol(argv[2]) : 0, operations = argc > 3 ? atol(argv[3]) : 0;
    long repeats = argc > 4 ? atol(argv[4]) : 0;
    int code;

    if (threads < 1 || threads > 1 << 20 || operations < 1 || repeats < 1 ||
        !stream_init(&s, argv[1], (uint32_t)threads, argc > 5 ? strtoull(argv[5], NULL, 10) : 1)) {
        fputs(
            "usage: heddle-bench-clocks local|global|star|shb THREADS OPERATIONS REPEATS [SEED]\n",
            stderr);
        return 129;
    }
    make_stream(&s, (size_t)operations);
    code = compare_kinds(&s, (size_t)repeats);
    free(s.operations);
    return code;
}
