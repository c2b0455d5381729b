/* heddle-bench.c - one measurement in a process of its own; bench/run calls it
 *
 *     heddle-bench analyze ENGINE FILE      the library's whole way: decode, check, number, engine
 *     heddle-bench phases ENGINE FILE.hdl   the same, each stage by itself
 *     heddle-bench decode FILE.hdl          decoding alone
 *     heddle-bench encode HOW FILE [OUT]    HOW: none (predictor encoding only, nothing written),
 *                                           lz4, zstd (the whole writer, to OUT)
 *
 * Prints one line of name=value pairs; times are seconds of CPU, `wall` apart.
 */
#include "measure.h"
#include "base/alloc.h"
#include "engines/analysis.h"
#include "order/memory.h"
#include "trace/check/check_trace.h"
#include "trace/hdl/codec.h"
#include "trace/hdl/hdl.h"
#include "trace/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What hdl_write.c uses for merged chunks. */
enum { CONTEXT_BITS = 11, CHUNK_EVENTS = 65536 };

static int fail(const char *what, const struct error *err)
{
    fprintf(stderr, "heddle-bench: %s: %s\n", what, err->text);
    return 128;
}

static const struct engine *find_engine(const char *name, struct error *err)
{
    const struct engine *e = engine_find(name, strlen(name));

    if (!e)
        error_set(err, "no such engine");
    return e;
}

/* ---- analyze ---- */

static int run_analysis(const struct engine *engine, const char *path, struct error *err)
{
    double cpu = cpu_seconds(), wall = wall_seconds();
    struct trace *t = trace_open(path, err);
    static const struct engine_options options = { .find_only = true };
    struct analysis a;

    if (!t)
        return -1;
    if (analysis_run(t, &engine, 1, &options, NULL, &a, err) < 0) {
        trace_close(t);
        return -1;
    }
    printf("cpu=%.6f wall=%.6f events=%llu threads=%u races=%zu peak=%llu", cpu_seconds() - cpu,
           wall_seconds() - wall, (unsigned long long)trace_info(t)->events,
           trace_tables(t)->threads.count, a.runs[0].result.races.count,
           (unsigned long long)peak_bytes());
    for (size_t i = 0; i < a.runs[0].result.ncounters; i++)
        printf(" %s=%llu", a.runs[0].result.counters[i].name,
               (unsigned long long)a.runs[0].result.counters[i].value);
    putchar('\n');
    analysis_release(&a);
    trace_close(t);
    return 0;
}

static int cmd_analyze(char **arguments)
{
    struct error err;
    const struct engine *engine = find_engine(arguments[0], &err);

    if (!engine || run_analysis(engine, arguments[1], &err) < 0)
        return fail(arguments[0], &err);
    return 0;
}

/* ---- phases: the stages by hand, as trace.c and analysis.c put them together ---- */

struct stages {
    struct tables tables;
    struct trace_info info;
    struct diags diags;
    struct source *source;
};

static int stages_open(struct stages *s, const char *path, struct error *err)
{
    *s = (struct stages){ 0 };
    s->source = hdl_open(path, &s->tables, &s->info, err);
    return s->source ? 0 : -1;
}

static void stages_close(struct stages *s)
{
    if (s->source)
        s->source->ops->close(s->source);
    diags_release(&s->diags);
    tables_release(&s->tables);
}

enum phase { DECODE, CHECK, NUMBER, ENGINE, PHASES };

struct laps {
    double last, cost;
};

/* CPU time since the last call goes to a phase. */
static void lap(struct laps *l, double *phase)
{
    double now = cpu_seconds();

    *phase += now - l->last - l->cost;
    l->last = now;
}

static uint64_t run_phases(struct stages *s, const struct engine *engine, void *state,
                           double *seconds)
{
    struct check *check = check_new(&s->tables, &s->info, &s->diags);
    struct memory *memory = memory_new();
    struct error err;
    struct batch batch;
    struct span span;
    uint64_t events = 0;
    struct laps laps = { .cost = cpu_seconds_cost() };

    laps.last = cpu_seconds();
    while (s->source->ops->next(s->source, &batch, &err) > 0) {
        batch.first = events;
        events += batch.count;
        lap(&laps, &seconds[DECODE]);
        check_batch(check, &batch);
        lap(&laps, &seconds[CHECK]);
        memory_steps(memory, &batch, &span);
        lap(&laps, &seconds[NUMBER]);
        engine->steps(state, &span);
        lap(&laps, &seconds[ENGINE]);
    }
    if (engine->finish)
        engine->finish(state);
    lap(&laps, &seconds[ENGINE]);
    memory_free(memory);
    check_free(check);
    return events;
}

static int cmd_phases(char **arguments)
{
    struct error err;
    const struct engine *engine = find_engine(arguments[0], &err);
    struct engine_result result = { 0 };
    static const struct engine_options options = { .find_only = true };
    double seconds[PHASES] = { 0 };
    struct stages s;
    uint64_t events;
    void *state;

    if (!engine || stages_open(&s, arguments[1], &err) < 0)
        return fail(arguments[0], &err);
    race_table_init(&result.races);
    state = engine->open(&result, &options);
    events = run_phases(&s, engine, state, seconds);
    engine->close(state);
    race_table_release(&result.races);
    stages_close(&s);
    printf("decode=%.6f check=%.6f number=%.6f engine=%.6f events=%llu\n", seconds[DECODE],
           seconds[CHECK], seconds[NUMBER], seconds[ENGINE], (unsigned long long)events);
    return 0;
}

/* ---- decode ---- */

static int cmd_decode(char **arguments)
{
    double cpu = cpu_seconds(), wall = wall_seconds();
    struct stages s;
    struct error err;
    struct batch batch;
    uint64_t events = 0;

    if (stages_open(&s, arguments[0], &err) < 0)
        return fail(arguments[0], &err);
    while (s.source->ops->next(s.source, &batch, &err) > 0)
        events += batch.count;
    printf("cpu=%.6f wall=%.6f events=%llu\n", cpu_seconds() - cpu, wall_seconds() - wall,
           (unsigned long long)events);
    stages_close(&s);
    return 0;
}

/* ---- encode: batches are decoded first, out of the measurement, so they are in the cache as
 * they would be when they come from a ring buffer ---- */

struct encoding {
    struct encoder encoder;
    struct hdl_writer *writer; /* NULL: only the encoder */
    uint64_t events, raw_bytes;
};

static void count_columns(struct encoding *e)
{
    for (int i = 0; i < COLUMNS; i++)
        e->raw_bytes += e->encoder.columns[i].len;
}

static void encode_batch(struct encoding *e, const struct batch *b)
{
    for (size_t done = 0; done < b->count;) {
        size_t n = encoder_add(&e->encoder, b->events + done, b->count - done, b->extra, NULL, NULL,
                               CHUNK_EVENTS);

        done += n;
        if (done < b->count || e->encoder.count == CHUNK_EVENTS) {
            count_columns(e);
            encoder_start(&e->encoder, 0);
        }
    }
}

static int encode_all(struct encoding *e, struct trace *t, double *cpu, struct error *err)
{
    struct batch b;
    double cost = cpu_seconds_cost();
    int r, written = 0;

    while ((r = trace_next(t, &b, err)) > 0 && written == 0) {
        double start = cpu_seconds();

        if (e->writer)
            written = hdl_write(e->writer, &b, err);
        else
            encode_batch(e, &b);
        *cpu += cpu_seconds() - start - cost;
        e->events += b.count;
    }
    count_columns(e);
    return r < 0 ? r : written;
}

static struct hdl_writer *open_writer(const char *how, const char *path, const struct trace *t,
                                      struct error *err)
{
    struct hdl_options o = { .compression = strcmp(how, "lz4") ? HDL_ZSTD : HDL_LZ4,
                             .order = TRACE_EXACT };

    return hdl_create(path, trace_tables(t), &o, err);
}

static int run_encode(struct encoding *e, const char *how, struct trace *t, const char *out,
                      struct error *err)
{
    double cpu = 0, start;

    if (strcmp(how, "none") && !(e->writer = open_writer(how, out, t, err)))
        return -1;
    if (encode_all(e, t, &cpu, err) < 0) {
        if (e->writer)
            hdl_abort(e->writer);
        return -1;
    }
    start = cpu_seconds();
    if (e->writer && hdl_finish(e->writer, err) < 0)
        return -1;
    cpu += cpu_seconds() - start;
    printf("cpu=%.6f events=%llu raw=%llu\n", cpu, (unsigned long long)e->events,
           (unsigned long long)e->raw_bytes);
    return 0;
}

static int cmd_encode(char **arguments)
{
    struct encoding e = { .events = 0 };
    struct error err;
    struct trace *t = trace_open(arguments[1], &err);
    int r;

    if (!t)
        return fail(arguments[1], &err);
    encoder_init(&e.encoder, CONTEXT_BITS, false);
    encoder_start(&e.encoder, 0);
    r = run_encode(&e, arguments[0], t, arguments[2], &err);
    encoder_release(&e.encoder);
    trace_close(t);
    return r < 0 ? fail(arguments[1], &err) : 0;
}

static const struct command {
    const char *name;
    int (*run)(char **arguments);
    int arguments;
} commands[] = {
    { "analyze", cmd_analyze, 2 },
    { "phases", cmd_phases, 2 },
    { "decode", cmd_decode, 1 },
    { "encode", cmd_encode, 2 }, /* and OUT, where there is something to write */
};

int main(int argc, char **argv)
{
    bool writes = argc > 2 && !strcmp(argv[1], "encode") && strcmp(argv[2], "none");

    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (argc > 1 && !strcmp(argv[1], commands[i].name) &&
            argc - 2 == commands[i].arguments + writes)
            return commands[i].run(argv + 2);
    fputs("usage: heddle-bench analyze ENGINE FILE | phases ENGINE FILE.hdl | decode FILE.hdl |\n"
          "                    encode none FILE | encode lz4|zstd FILE OUT\n",
          stderr);
    return 129;
}
