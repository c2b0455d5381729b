/* walk.c - walks a full-mode trace and says how much of it was computed
 *
 *   walk [-s] [-p] [-x] [-n COUNT] TRACE
 *      -s  nothing is private to a thread: every recorded load is a read of its own
 *      -p  print the expressions of each step
 *      -n  at most so many events
 *      -x  spoil every 50th recorded value: the walk must notice
 *
 * One line "name number" for each number; disagreements on stderr. Exit 1: some value
 * that the walk computed is not the recorded one.
 */
#include "base/buf.h"
#include "execution/program.h"
#include "trace/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct printer {
    struct walk *w;
    const struct tables *tables;
};

static void print_step(void *arg, const struct step *s)
{
    static const char *const kinds[] = { "read",   "write", "update", "branch",
                                         "result", "fixed", "other" };
    const struct printer *p = arg;
    struct buf b = { 0 };

    if (s->kind == STEP_OTHER)
        return;
    buf_addf(&b, "%" PRIu64 " T%u %s", s->position, s->thread, kinds[s->kind]);
    if (s->address) {
        buf_addstr(&b, " [");
        expr_print(walk_exprs(p->w), s->address, 8, &b);
        buf_addch(&b, ']');
    }
    if (s->value) {
        buf_addstr(&b, " ");
        expr_print(walk_exprs(p->w), s->value, 8, &b);
    }
    if (s->kind == STEP_BRANCH)
        buf_addf(&b, " -> %" PRIu64, s->outcome);
    if (s->event)
        buf_addf(&b, "  %s", tables_location(p->tables, s->event->site));
    puts(b.data);
    buf_release(&b);
}

static void complain(void *arg, const char *line)
{
    (void)arg;
    fprintf(stderr, "%s\n", line);
}

static int fail(const char *what)
{
    fprintf(stderr, "walk: %s\n", what);
    return 2;
}

static void print_tally(const char *name, const struct walk_tally *t)
{
    printf("%s.right %" PRIu64 "\n%s.learned %" PRIu64 "\n%s.wrong %" PRIu64 "\n", name, t->right,
           name, t->learned, name, t->wrong);
}

static void print_stats(const struct walk_stats *s, double seconds)
{
    const struct {
        const char *name;
        uint64_t n;
    } numbers[] = { { "events", s->events },
                    { "walked", s->walked },
                    { "outside", s->outside },
                    { "lost", s->lost },
                    { "losses", s->losses },
                    { "instructions", s->instructions },
                    { "private_reads", s->private_reads },
                    { "changed", s->changed },
                    { "opaque", s->opaque },
                    { "unknown", s->unknown },
                    { "fixed", s->fixed },
                    { "frames", s->frames },
                    { "collections", s->collections },
                    { "nodes_most", s->nodes_most } };

    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        printf("%s %" PRIu64 "\n", numbers[i].name, numbers[i].n);
    print_tally("addresses", &s->addresses);
    print_tally("values", &s->values);
    print_tally("branches", &s->branches);
    print_tally("results", &s->results);
    printf("milliseconds %.0f\n", seconds * 1000);
}

struct job {
    const char *path;
    bool shared, print, spoil;
    uint64_t most;
    struct trace *trace;
    struct program *program;
    struct sharing *sharing;
    double seconds;
};

/* Of this process: others may be busy, too. */
static double seconds_cpu(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static int run_sharing(struct job *j, struct error *err)
{
    struct batch b;
    int r;

    while ((r = trace_next(j->trace, &b, err)) > 0)
        for (size_t i = 0; i < b.count; i++)
            sharing_event(j->sharing, &b.events[i]);
    return r < 0 ? r : trace_rewind(j->trace, err);
}

static void spoil(struct batch *b)
{
    for (size_t i = 0; i < b->count; i++)
        if ((b->first + i) % 50 == 0 && b->events[i].flags & EV_VALUE)
            b->events[i].value ^= 1;
}

static int run_walk(struct job *j, struct walk *w, struct error *err)
{
    struct batch b;
    int r;

    while ((r = trace_next(j->trace, &b, err)) > 0 && b.first < j->most) {
        double start = seconds_cpu();

        if (j->spoil)
            spoil(&b);
        for (size_t i = 0; i < b.count; i++)
            walk_event(w, b.first + i, &b.events[i]);
        j->seconds += seconds_cpu() - start;
    }
    return r;
}

static int run(struct job *j, struct error *err)
{
    struct printer printer = { .tables = trace_tables(j->trace) };
    struct walk_options options = { .complain = complain, .arg = &printer };
    const struct walk_stats *s;
    uint64_t wrong;
    struct walk *w;

    j->program = program_open(trace_tables(j->trace), err);
    if (!j->program)
        return -1;
    if (!j->shared) {
        j->sharing = sharing_new();
        if (run_sharing(j, err) < 0)
            return -1;
        options.is_private = sharing_is_private;
        options.private_arg = j->sharing;
    }
    if (j->print)
        options.step = print_step;
    w = walk_new(j->program, &options);
    printer.w = w;
    if (run_walk(j, w, err) < 0)
        return -1;
    for (size_t i = 0; program_note(j->program, i); i++)
        fprintf(stderr, "walk: %s\n", program_note(j->program, i));
    s = walk_stats(w);
    print_stats(s, j->seconds);
    wrong = s->addresses.wrong + s->values.wrong + s->branches.wrong + s->results.wrong;
    walk_free(w);
    return wrong ? 1 : 0;
}

int main(int argc, char **argv)
{
    struct job j = { .most = UINT64_MAX };
    struct error err = { "" };
    int c, r;

    while ((c = getopt(argc, argv, "spxn:")) != -1) {
        j.shared |= c == 's';
        j.print |= c == 'p';
        j.spoil |= c == 'x';
        if (c == 'n')
            j.most = strtoull(optarg, NULL, 10);
        if (c == '?')
            return 2;
    }
    if (optind + 1 != argc)
        return fail("one trace is needed");
    j.trace = trace_open(argv[optind], &err);
    r = j.trace ? run(&j, &err) : -1;
    if (r < 0)
        r = fail(err.text);
    sharing_free(j.sharing);
    program_close(j.program);
    trace_close(j.trace);
    return r;
}
