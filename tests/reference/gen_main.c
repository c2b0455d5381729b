/* gen_main.c - heddle-gen: write a generated trace to a file
 *
 * A development tool for benchmarks and tests; not installed.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gen.h"
#include "trace/text/export.h"
#include "trace/hdl/hdl.h"

static const char usage_text[] =
    "usage: heddle-gen [options] -o FILE\n"
    "Write a random consistent trace; FILE ends in .std, .std.zst or .hdl, or is - for none.\n"
    "  --events N      number of events (default 10000000)\n"
    "  --threads N     threads running at the same time (8)\n"
    "  --locks N       locks (256)\n"
    "  --variables N   variables, about (50000)\n"
    "  --functions N   functions of the static program, about 30 sites each (200)\n"
    "  --racy N        variables accessed without a lock (10)\n"
    "  --racy-ppm N    calls of a million that touch a racy variable (10000)\n"
    "  --burst N       mean events between two switches of thread (40)\n"
    "  --lifetime N    mean events of a thread before another replaces it (0: for ever)\n"
    "  --lock-percent N    lock events among all events (11)\n"
    "  --write-percent N   writes among the accesses (35)\n"
    "  --shared N      percent of critical sections taken as reader (0)\n"
    "  --nested N      percent of critical sections with another inside (5)\n"
    "  --atomic N      percent of unlocked accesses that are atomic (0)\n"
    "  --heap N        percent of functions that work on a heap block (0)\n"
    "  --branch N      percent of unlocked accesses followed by a branch (0)\n"
    "  --overlap N     percent of byte sites that access eight bytes (0)\n"
    "  --call-ppm N    calls of untraced code among a million events (0)\n"
    "  --call-ranges N ranges of 64 bytes that such a call may touch (0)\n"
    "  --values        record values\n"
    "  --named         named variables instead of addresses (RAPID reads these)\n"
    "  --seed N        (1)\n"
    "  --small         a small trace with every operation instead; --events (12), --threads (3),\n"
    "                  --locks, --variables (at most 8 each), --values and --seed apply\n"
    "The same options give the same trace on every machine.\n";

struct number_option {
    const char *name;
    size_t offset; /* of a uint32_t in gen_large_options */
};

#define NUMBER(n, field) { n, offsetof(struct gen_large_options, field) }
static const struct number_option numbers[] = {
    NUMBER("threads", threads),
    NUMBER("locks", locks),
    NUMBER("variables", variables),
    NUMBER("functions", functions),
    NUMBER("racy", racy),
    NUMBER("racy-ppm", racy_ppm),
    NUMBER("burst", burst),
    NUMBER("lifetime", lifetime),
    NUMBER("lock-percent", lock_percent),
    NUMBER("write-percent", write_percent),
    NUMBER("shared", shared_percent),
    NUMBER("nested", nested_percent),
    NUMBER("atomic", atomic_percent),
    NUMBER("heap", heap_percent),
    NUMBER("branch", branch_percent),
    NUMBER("overlap", overlap_percent),
    NUMBER("call-ppm", call_ppm),
    NUMBER("call-ranges", call_ranges),
};
enum { NUMBERS = sizeof(numbers) / sizeof(numbers[0]) };

struct arguments {
    struct gen_large_options large;
    bool events_given, threads_given, locks_given, variables_given, small;
    const char *output;
};

static bool ends_with(const char *s, const char *suffix)
{
    size_t n = strlen(s), m = strlen(suffix);

    return n >= m && !strcmp(s + n - m, suffix);
}

/* ---- where batches go ---- */

/* One batch of whichever generator; false at the end. */
struct feed {
    bool (*next)(void *state, struct batch *out);
    void *state;
    const struct tables *tables;
};

static int write_text(const struct feed *f, const char *path, struct error *err)
{
    struct exporter *e = export_open(path, EXPORT_STD, f->tables, err);
    struct batch b;

    if (!e)
        return -1;
    while (f->next(f->state, &b)) {
        if (export_write(e, &b, err)) {
            export_abort(e);
            return -1;
        }
    }
    return export_finish(e, err);
}

static int write_hdl(const struct feed *f, const char *path, struct error *err)
{
    struct hdl_options options = { .compression = HDL_ZSTD, .order = TRACE_EXACT };
    struct hdl_writer *w = hdl_create(path, f->tables, &options, err);
    struct batch b;

    if (!w)
        return -1;
    while (f->next(f->state, &b)) {
        if (hdl_write(w, &b, err)) {
            hdl_abort(w);
            return -1;
        }
    }
    return hdl_finish(w, err);
}

/* "-": generate and count only, to measure the generator. */
static int write_nothing(const struct feed *f)
{
    uint64_t events = 0, locks = 0;
    struct timespec a, z;
    struct batch b;
    double seconds;

    clock_gettime(CLOCK_MONOTONIC, &a);
    while (f->next(f->state, &b)) {
        events += b.count;
        for (size_t i = 0; i < b.count; i++)
            locks += op_class_of(b.events[i].op) == CLASS_LOCK;
    }
    clock_gettime(CLOCK_MONOTONIC, &z);
    seconds = (double)(z.tv_sec - a.tv_sec) + (double)(z.tv_nsec - a.tv_nsec) / 1e9;
    printf("%llu events, %.1f %% of locks, %u threads, %u sites, %.1f M events/s\n",
           (unsigned long long)events, events ? 100.0 * (double)locks / (double)events : 0,
           f->tables->threads.count, f->tables->sites.count, (double)events / seconds / 1e6);
    return 0;
}

static int write_feed(const struct feed *f, const char *path, struct error *err)
{
    if (!strcmp(path, "-"))
        return write_nothing(f);
    if (ends_with(path, ".hdl"))
        return write_hdl(f, path, err);
    return write_text(f, path, err);
}

/* ---- the two generators as feeds ---- */

static bool next_large(void *state, struct batch *out)
{
    return gen_next(state, out);
}

static int write_large(const struct arguments *a, struct error *err)
{
    struct tables tables = { 0 };
    struct gen *g = gen_open(&a->large, &tables);
    struct feed f = { next_large, g, &tables };
    int r = write_feed(&f, a->output, err);

    gen_close(g);
    tables_release(&tables);
    return r;
}

struct small_state {
    struct gen_trace trace;
    bool done;
};

static bool next_small(void *state, struct batch *out)
{
    struct small_state *s = state;

    if (s->done || !s->trace.mem.count)
        return false;
    s->done = true;
    *out = (struct batch){ .events = s->trace.mem.events,
                           .count = s->trace.mem.count,
                           .extra = s->trace.mem.extra };
    return true;
}

static uint32_t at_most(uint32_t n, uint32_t limit)
{
    return n < 1 ? 1 : n > limit ? limit : n;
}

static int write_small(const struct arguments *a, struct error *err)
{
    struct gen_small_options o;
    struct small_state s = { 0 };
    struct feed f = { next_small, &s, &s.trace.tables };
    int r;

    gen_small_defaults(&o);
    o.seed = a->large.seed;
    o.values = a->large.values ? 100 : 0;
    if (a->events_given)
        o.events = (uint32_t)a->large.events;
    if (a->threads_given)
        o.threads = at_most(a->large.threads, GEN_MAX_THREADS);
    if (a->locks_given)
        o.locks = at_most(a->large.locks, GEN_MAX_NAMES);
    if (a->variables_given)
        o.variables = at_most(a->large.variables, GEN_MAX_NAMES);
    gen_small(&o, &s.trace);
    r = write_feed(&f, a->output, err);
    gen_trace_release(&s.trace);
    return r;
}

/* ---- the command line ---- */

static bool parse_number(const char *text, uint64_t limit, uint64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && !errno && *out <= limit;
}

enum { OPT_EVENTS = NUMBERS, OPT_SEED, OPT_VALUES, OPT_NAMED, OPT_SMALL, OPT_HELP, OPTIONS };

static void make_options(struct option *table)
{
    static const char *const others[] = { "events", "seed", "values", "named", "small", "help" };

    for (int i = 0; i < OPTIONS; i++) {
        const char *name = i < NUMBERS ? numbers[i].name : others[i - NUMBERS];
        bool has_argument = i <= OPT_SEED;

        table[i] = (struct option){ name, has_argument, NULL, 256 + i };
    }
}

static bool take_option(struct arguments *a, int i)
{
    uint64_t n;

    if (i == OPT_VALUES)
        return a->large.values = true;
    if (i == OPT_NAMED)
        return a->large.named = true;
    if (i == OPT_SMALL)
        return a->small = true;
    if (!parse_number(optarg, i < NUMBERS ? 1u << 30 : UINT64_MAX, &n)) {
        fprintf(stderr, "heddle-gen: '%s' is not a number that makes sense here\n", optarg);
        return false;
    }
    if (i == OPT_SEED)
        a->large.seed = n;
    else if (i == OPT_EVENTS)
        a->large.events = n, a->events_given = true;
    else
        *(uint32_t *)((char *)&a->large + numbers[i].offset) = (uint32_t)n;
    if (i < NUMBERS) {
        a->threads_given |= !strcmp(numbers[i].name, "threads");
        a->locks_given |= !strcmp(numbers[i].name, "locks");
        a->variables_given |= !strcmp(numbers[i].name, "variables");
    }
    return true;
}

/* 0 to go on, else the exit code + 1. */
static int parse_arguments(struct arguments *a, int argc, char **argv)
{
    struct option table[OPTIONS + 1] = { 0 };
    int c;

    make_options(table);
    while ((c = getopt_long(argc, argv, "o:h", table, NULL)) != -1) {
        if (c == 'h' || c == 256 + OPT_HELP) {
            fputs(usage_text, stdout);
            return 1;
        }
        if (c == 'o')
            a->output = optarg;
        else if (c == '?' || !take_option(a, c - 256))
            return 130;
    }
    if (!a->output || optind < argc) {
        fputs(usage_text, stderr);
        return 130;
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct arguments a = { 0 };
    struct error err = { "" };
    int code;

    gen_large_defaults(&a.large);
    code = parse_arguments(&a, argc, argv);
    if (code)
        return code - 1;
    if (a.small ? write_small(&a, &err) : write_large(&a, &err)) {
        fprintf(stderr, "heddle-gen: cannot write '%s': %s\n", a.output, err.text);
        return 128;
    }
    return 0;
}
