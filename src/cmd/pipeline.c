/* pipeline.c - from a trace to findings */
#include "cmd/pipeline.h"
#include "cmd/choice.h"
#include "cmd/exclusion.h"
#include "cmd/mpi.h"
#include "cmd/noise.h"
#include "cmd/progress.h"
#include "cmd/runs.h"
#include "base/alloc.h"
#include "base/plural.h"
#include "base/seconds.h"
#include "engines/analysis.h"
#include "report/ci.h"
#include "report/html.h"
#include "report/json.h"
#include "report/sarif.h"
#include "report/text.h"
#include "report/undecided.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool abandoned_work;

/* Requests for locks are worth a look where somebody looks for deadlocks. */
static bool wants_locks(const struct choice *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->engines[i] == &engine_deadlock)
            return true;
    return false;
}

static bool has_traced_code(const struct tables *t)
{
    for (size_t i = 0; i < t->nimages; i++)
        if (t->images[i].traced || t->images[i].modules)
            return true;
    return false;
}

/* Accesses that were made may be missing. */
static bool may_lack_accesses(const struct trace *t)
{
    const struct process *p = &trace_tables(t)->process;

    return process_was_paused(p) || p->numbers[PROCESS_LOST] || trace_info(t)->loss[0];
}

/* What makes a trace worth analysing. A program that was built for this and accesses nothing is
 * clean; one that was not is no clean bill, whatever locks it takes. */
enum { WORTH_ACCESSES = 1, WORTH_LOCKS = 2, WORTH_ANYTHING = 4 };

static unsigned worth(const struct result *r, const struct choice *c)
{
    const struct tables *t = trace_tables(r->trace);

    if (!t->process.known)
        return wants_locks(c) ? WORTH_ACCESSES | WORTH_LOCKS : WORTH_ACCESSES;
    return has_traced_code(t) && !trace_excluded(r->trace) ? WORTH_ANYTHING : WORTH_ACCESSES;
}

static bool is_worth(const struct event *e, unsigned what)
{
    if (e->flags & EV_EXCLUDED)
        return false;
    return what & WORTH_ANYTHING || op_is_access(e->op) || e->op == OP_FREE ||
           (what & WORTH_LOCKS && op_class_of(e->op) == CLASS_LOCK);
}

/* A plain access: without any there is no race to be seen. */
static bool pipeline_is_seen(const struct event *e, unsigned unused)
{
    (void)unused;
    return op_is_access(e->op) && !op_is_atomic(e->op);
}

/* Look for the first event of a kind; then start again, unless there is none. */
static int find_event(struct result *r, bool (*wanted)(const struct event *, unsigned),
                      unsigned what, bool *found)
{
    struct batch b;
    struct error err;
    int got = 0;

    *found = false;
    while (!*found && !interrupts_came() && (got = trace_next(r->trace, &b, &err)) > 0)
        for (size_t i = 0; i < b.count && !*found; i++)
            *found = wanted(&b.events[i], what);
    if (got < 0 || ((*found || interrupts_came()) && trace_rewind(r->trace, &err) < 0))
        return operand_error(&r->from, &err);
    return 0;
}

/* Where deadlocks alone can be found, and a race could not, that nothing was found says nothing. */
static int find_access(struct result *r, const struct choice *c)
{
    bool found;
    int code = find_event(r, is_worth, worth(r, c), &found);

    r->empty = !found && !interrupts_came();
    if (code == 0 && !r->empty && may_lack_accesses(r->trace)) {
        struct error err;

        code = find_event(r, pipeline_is_seen, 0, &found);
        r->blind = !found && !interrupts_came();
        if (r->blind && trace_rewind(r->trace, &err) < 0)
            code = operand_error(&r->from, &err);
    }
    return code;
}

static bool is_shown(void *unused, const struct race *r)
{
    (void)unused;
    return r->strength <= STRENGTH_WITNESSED;
}

/* What was found by a run that was abandoned, with positions in the trace: copies, since the
 * engines may still look at theirs. Schedules in other numbers are only counted. */
static void add_abandoned_races(struct findings *f, size_t e, const struct analysis *a,
                                const struct engine_run *run, const struct tables *tables)
{
    struct race_table t = run->result.races;

    t.races = xcalloc(t.count + 1, sizeof(*t.races));
    t.count = 0;
    for (size_t i = 0; i < run->result.races.count; i++) {
        struct race r = run->result.races.races[i];

        if (run->shown_only && !is_shown(NULL, &r))
            continue;
        r.first.position = analysis_position(a, run, r.first.position);
        r.second.position = analysis_position(a, run, r.second.position);
        if (run->levels && r.witness) {
            r.long_witness = r.nwitness;
            r.nwitness = 0;
            r.witness = NULL;
        }
        t.races[t.count++] = r;
    }
    findings_add_races(f, e, &t, tables);
    free(t.races);
}

/* Requests are found by their positions, so without these there is nothing to tell. */
static void add_abandoned(struct findings *f, size_t e, const struct analysis *a,
                          struct engine_run *run, const struct tables *t)
{
    add_abandoned_races(f, e, a, run, t);
    if (!run->levels)
        findings_add_deadlocks(f, e, &run->result.deadlocks, t);
}

/* Nobody has seen what the trace has lost. */
static void note_cut(struct findings *f, size_t e)
{
    if (!f->trace.loss)
        return;
    f->engines[e].complete = false;
    findings_add_counter(f, e, UNDECIDED_CUT, 1);
}

static void add_left(struct findings *f, const struct engine_result *er, const struct tables *t)
{
    for (size_t i = 0; i < er->nleft; i++) {
        const struct left_pair *p = &er->left[i];
        struct findings_left left = { .first = tables_location(t, p->first),
                                      .second = tables_location(t, p->second) };

        for (uint32_t k = 0; k < p->ncalls; k++)
            left.calls[k] =
                p->calls[k] < t->functions.count ? intern_get(&t->functions, p->calls[k]) : NULL;
        findings_add_left(f, &left);
    }
}

/* Of an analysis that was abandoned only what is ready can be looked at. */
static void add_run(struct findings *f, struct analysis *a, struct engine_run *run,
                    const struct tables *t)
{
    struct engine_result *er = &run->result;
    bool ready = __atomic_load_n(&run->ready, __ATOMIC_SEQ_CST), whole = !a->abandoned || ready;
    size_t e = findings_add_engine(f, run->engine->name, run->seconds,
                                   whole && er->complete && (ready || !a->interrupted));

    note_cut(f, e);
    if (!whole)
        return;
    for (size_t k = 0; k < er->ncounters; k++)
        findings_add_counter(f, e, er->counters[k].name, er->counters[k].value);
    if (a->abandoned) {
        add_abandoned(f, e, a, run, t);
        return;
    }
    findings_add_races(f, e, &er->races, t);
    findings_add_deadlocks(f, e, &er->deadlocks, t);
    add_left(f, er, t);
}

static void add_runs(struct findings *f, struct analysis *a, const struct tables *t)
{
    for (size_t i = 0; i < a->count; i++)
        if (!a->runs[i].idle)
            add_run(f, a, &a->runs[i], t);
}

/* A result says that code was left out, also long after. */
static void add_excluded(struct findings *f, const struct exclude_stats *x)
{
    for (size_t e = 0; x && e < f->nengines; e++) {
        findings_add_counter(f, e, "left_out_events", x->events);
        findings_add_counter(f, e, "left_out_calls", x->pairs);
    }
}

/* ---- the engines themselves ---- */

/* They run in a thread of their own. Asked to stop (Ctrl-C, SIGTERM, SIGHUP) an engine looks up now
 * and then; one that does not within PATIENCE_S is left to itself, and the report says what the
 * others have found. The thread has all it needs in here: nothing of it is ever freed then. */
struct job {
    struct trace *trace;
    struct choice choice;
    struct progress progress;
    struct analysis_hooks hooks;
    struct analysis analysis;
    struct error err;
    int got;
    bool over; /* under lock */
    pthread_mutex_t lock;
    pthread_cond_t change;
};

#define PATIENCE_S 1.0
enum { JOB_STACK = 256 << 20 /* touched as far as engines recur; as much as any ulimit -s */ };

static void *run_job(void *arg)
{
    struct job *j = arg;

    j->got = analysis_run(j->trace, j->choice.engines, j->choice.count, &j->choice.options,
                          &j->hooks, &j->analysis, &j->err);
    pthread_mutex_lock(&j->lock);
    j->over = true;
    pthread_cond_signal(&j->change);
    pthread_mutex_unlock(&j->lock);
    return NULL;
}

/* Looks ten times a second whether a signal came; true when the job is over. */
static bool wait_for_job(struct job *j)
{
    double asked = 0;
    bool over;

    pthread_mutex_lock(&j->lock);
    while (!j->over && !(asked > 0 && seconds_now() - asked > PATIENCE_S)) {
        struct timespec until;

        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 100000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&j->change, &j->lock, &until);
        if (asked <= 0 && interrupts_came())
            asked = seconds_now();
    }
    over = j->over;
    pthread_mutex_unlock(&j->lock);
    return over;
}

/* MPI is used by the thread that has begun with it. */
static bool start_job(struct job *j, const struct options *o, pthread_t *thread)
{
    pthread_attr_t attr;
    bool started;

    if (option_is(o, OPT_MPI))
        return false;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, JOB_STACK);
    started = pthread_create(thread, &attr, run_job, j) == 0;
    pthread_attr_destroy(&attr);
    return started;
}

/* The caller frees it, unless it was abandoned. */
static struct job *run_engines(struct result *r, const struct options *o, const struct choice *c)
{
    struct job *j = xcalloc(1, sizeof(*j));
    pthread_t thread;

    *j = (struct job){ .trace = r->trace, .choice = *c };
    j->hooks = (struct analysis_hooks){ progress_tick, progress_deciding, &j->progress };
    pthread_mutex_init(&j->lock, NULL);
    pthread_cond_init(&j->change, NULL);
    progress_start(&j->progress, !option_is(o, OPT_QUIET), NULL);
    if (!start_job(j, o, &thread))
        run_job(j);
    else if (wait_for_job(j))
        pthread_join(thread, NULL);
    else
        analysis_abandon(&j->analysis);
    progress_stop(&j->progress);
    return j;
}

static void warn_about_counter(const struct findings_engine *e, const struct findings_counter *c)
{
    if (!c->value)
        return;
    if (strcmp(c->name, "witness_refused") == 0)
        warn("warning",
             "the checker refused %" PRIu64 " schedule%s of engine '%s': this is a bug in heddle, "
             "please report it",
             c->value, c->value == 1 ? "" : "s", e->name);
    if (strcmp(c->name, "witness_contradicted") == 0)
        warn("warning",
             "the values of the trace contradict its order: %" PRIu64 " race%s of engine '%s' "
             "could not be shown to be possible",
             c->value, c->value == 1 ? "" : "s", e->name);
}

/* An engine whose schedule is refused has a bug: that is said even with --quiet. */
static void warn_about_refused(const struct findings *f)
{
    for (size_t i = 0; i < f->nengines; i++)
        for (size_t k = 0; k < f->engines[i].ncounters; k++)
            warn_about_counter(&f->engines[i], &f->engines[i].counters[k]);
}

/* A signal that came while engines ran is theirs: what they found gets its details. One that comes
 * now means these. */
struct details {
    struct progress progress;
    bool heeds;
};

static bool tick_details(void *details, const struct trace_info *info)
{
    struct details *d = details;

    progress_show(&d->progress, info);
    return d->heeds && interrupts_came();
}

enum { UNTOLD_LISTED = 20 };

/* What has no details has its places. */
static void warn_about_untold(const struct findings *f)
{
    size_t n = f->untold.count;

    if (f->stopped)
        warn("warning",
             "interrupted while the details of what was found were collected: where memory comes "
             "from and schedules are not shown");
    for (size_t i = 0; i < n && i < UNTOLD_LISTED; i++)
        warn("warning", "found, and not in the report: %s", f->untold.names[i]);
    if (n > UNTOLD_LISTED)
        warn("warning", "found, and not in the report: %zu more", n - UNTOLD_LISTED);
}

/* What engines found becomes findings, with everything a report shows. */
static int make_findings(struct result *r, const struct options *o, struct job *j,
                         struct error *err)
{
    struct findings *f = &r->findings;
    struct analysis *a = &j->analysis;
    struct details details = { .heeds = !interrupts_came() };
    int got;

    findings_set_trace(f, r->from.shown, j->trace);
    if (a->abandoned)
        f->trace.events = a->seen.events;
    add_runs(f, a, trace_tables(j->trace));
    add_excluded(f, trace_excluded(j->trace));
    warn_about_refused(f);
    progress_start(&details.progress, !option_is(o, OPT_QUIET), "collecting details");
    f->progress = tick_details;
    f->progress_arg = &details;
    got = findings_finish(f, r->trace, err);
    f->progress = NULL;
    progress_stop(&details.progress);
    warn_about_untold(f);
    return got;
}

/* The engines still have the trace: another look at it. */
static int open_again(struct result *r, const struct options *o)
{
    r->trace = operand_trace(&r->from);
    if (!r->trace)
        return EXIT_BAD_INPUT;
    abandoned_work = true;
    return exclusion_apply(o, &r->from, r->trace);
}

static int analyse_trace(struct result *r, const struct options *o, const struct choice *c)
{
    struct job *j = run_engines(r, o, c);
    struct error err = j->err;
    int code = 0;

    if (j->analysis.abandoned)
        code = open_again(r, o);
    else if (j->got < 0)
        code = operand_error(&r->from, &err);
    r->interrupted = code == 0 && (j->analysis.interrupted || j->analysis.abandoned);
    if (code == 0 && make_findings(r, o, j, &err) < 0)
        code = operand_error(&r->from, &err);
    if (j->analysis.abandoned)
        return code;
    if (j->got == 0)
        analysis_release(&j->analysis);
    pthread_cond_destroy(&j->change);
    pthread_mutex_destroy(&j->lock);
    free(j);
    return code;
}

static int analyse_operand(struct result *r, const struct options *o)
{
    struct choice c = { .count = 0 };
    int code = choice_make(&c, o);

    interrupts_on();

    if (code)
        return code;
    r->trace = operand_trace(&r->from);
    if (!r->trace)
        return EXIT_BAD_INPUT;
    code = exclusion_apply(o, &r->from, r->trace);
    if (code == 0)
        code = find_access(r, &c);
    if (code || r->empty)
        return code;
    code = mpi_announce(&r->from);
    if (code == 0)
        code = analyse_trace(r, o, &c);
    if (code == 0 && !option_is(o, OPT_QUIET))
        warn_about_trace(&r->findings.trace);
    if (code == 0 && r->interrupted)
        warn("warning", "interrupted after %" PRIu64 " event%s; what was found so far follows",
             r->findings.trace.events, plural(r->findings.trace.events));
    return code;
}

static int nothing_to_analyse(const struct result *r)
{
    const struct trace_info *i = trace_info(r->trace);
    const struct process *p = &trace_tables(r->trace)->process;

    return bad_input("nothing to analyse: '%s' has no %s%s%s%s", r->from.shown,
                     !i->events ? "events"
                     : r->blind ? "plain memory access"
                                : "memory access",
                     i->loss[0] ? "; lost: " : "", i->loss,
                     process_was_paused(p) ? "; " PROCESS_PAUSED : "");
}

/* Of several traces one that was seen is enough. */
static bool is_blind(const struct result *r)
{
    for (size_t i = 0; i < r->nparts; i++)
        if (!r->parts[i].blind)
            return false;
    return r->nparts || r->blind;
}

/* The operand is open. */
static int analyse_one(struct result *r, const struct options *o, bool may_be_empty)
{
    int code = analyse_operand(r, o);

    if (code == 0 && r->empty && !may_be_empty)
        code = nothing_to_analyse(r);
    if (code)
        result_release(r);
    return code;
}

int result_analyse_one(struct result *r, const struct options *o, const char *path)
{
    int code;

    *r = (struct result){ 0 };
    code = operand_open(&r->from, path);
    return code ? code : analyse_one(r, o, true);
}

/* The one trace of the directory; it is shown as the directory. */
static int analyse_only(struct result *r, const struct options *o, const char *shown,
                        const char *path)
{
    int code;

    *r = (struct result){ 0 };
    code = operand_open(&r->from, path);
    if (code)
        return code;
    if (shown != path)
        r->from.shown = shown;
    return analyse_one(r, o, false);
}

static void drop_empty(struct result *part)
{
    const struct trace_info *i = trace_info(part->trace);

    if (i->loss[0])
        warn("warning", "nothing to analyse in '%s'; lost: %s", part->from.shown, i->loss);
    result_release(part);
}

/* Each trace that has accesses becomes a part. A trace that cannot be read is no reason to say
 * nothing about the others: 0, or the last exit code. */
static int analyse_parts(struct result *r, const struct options *o, const struct tracedir *d)
{
    int worst = 0;

    r->parts = xcalloc(d->count, sizeof(*r->parts));
    for (size_t i = 0; i < d->count && !interrupts_came(); i++) {
        struct result *part = &r->parts[r->nparts];
        int code = result_analyse_one(part, o, d->files[i].path);

        if (code)
            worst = code;
        else if (part->empty)
            drop_empty(part);
        else
            r->nparts++;
        r->interrupted |= part->interrupted;
    }
    r->interrupted |= interrupts_came();
    return worst;
}

int result_analyse_all(struct result *r, const struct options *o, const char *shown,
                       const struct tracedir *d)
{
    int code;

    if (d->count == 1)
        return analyse_only(r, o, shown, d->files[0].path);
    *r = (struct result){ .from = { .shown = shown, .spool = -1 } };
    code = analyse_parts(r, o, d);
    if (r->nparts) {
        result_combine(r, shown);
        return 0;
    }
    result_release(r);
    return code ? code
                : bad_input("nothing to analyse: no trace in '%s' has a memory access", shown);
}

static int analyse_directory(struct result *r, const struct options *o, const char *path)
{
    struct tracedir d;
    int code;

    if (tracedir_read(&d, path) == 0)
        runs_select_last(&d, path);
    if (d.count == 0) /* let the reader say it */
        code = analyse_only(r, o, path, path);
    else
        code = result_analyse_all(r, o, path, &d);
    tracedir_release(&d);
    return code;
}

int result_analyse(struct result *r, const struct options *o, const char *path)
{
    if (tracedir_is(path))
        return analyse_directory(r, o, path);
    return analyse_only(r, o, path, path);
}

int result_load(struct result *r, const struct options *o, const char *path)
{
    int code;

    *r = (struct result){ 0 };
    if (tracedir_is(path))
        return analyse_directory(r, o, path);
    code = operand_open(&r->from, path);
    if (code)
        return code;
    if (!operand_is_result(&r->from))
        return analyse_one(r, o, false);
    code = operand_read_result(&r->from, &r->findings);
    if (code)
        result_release(r);
    return code;
}

int result_load_all(struct result *r, const struct options *o, char *const *paths, size_t n)
{
    int code = 0;

    if (n == 1)
        return result_load(r, o, paths[0]);
    *r = (struct result){ .from = { .shown = "several results", .spool = -1 } };
    r->parts = xcalloc(n, sizeof(*r->parts));
    for (size_t i = 0; i < n && code == 0; i++) {
        code = result_load(&r->parts[i], o, paths[i]);
        if (code == 0)
            r->nparts++;
    }
    if (code == 0)
        result_combine(r, r->from.shown);
    else
        result_release(r);
    return code;
}

void result_release(struct result *r)
{
    trace_close(r->trace);
    findings_release(&r->findings);
    for (size_t i = 0; i < r->nparts; i++)
        result_release(&r->parts[i]);
    free(r->parts);
    operand_close(&r->from);
    *r = (struct result){ .from = { .spool = -1 } };
}

static bool any_fails(const struct findings *f, const struct options *o)
{
    if (f->untold.count && strength_fails(o, f->untold_strength))
        return true;
    for (size_t i = 0; i < f->count; i++)
        if (strength_fails(o, f->races[i].strength))
            return true;
    for (size_t i = 0; i < f->ndeadlocks; i++)
        if (strength_fails(o, f->deadlocks[i].strength))
            return true;
    return false;
}

static int result_code(const struct result *r, const struct options *o)
{
    const struct findings *f = &r->findings;

    for (size_t i = 0; i < r->nparts; i++)
        if (r->parts[i].findings.untold.count &&
            strength_fails(o, r->parts[i].findings.untold_strength))
            return EXIT_RACES;
    if (any_fails(f, o))
        return EXIT_RACES;
    if ((f->count || f->ndeadlocks) && !option_is(o, OPT_QUIET))
        warn("note",
             "nothing that was found is %s or stronger: it does not count for the exit code "
             "(--fail-on)",
             o->texts[OPT_FAIL_ON]);
    if (r->interrupted)
        return EXIT_OWN_FAILURE;
    if (is_blind(r))
        return nothing_to_analyse(r->nparts ? &r->parts[0] : r);
    return EXIT_NOTHING;
}

static void write_as(const struct findings *f, const char *format, struct outfile *out)
{
    static const struct {
        const char *name;
        void (*write)(const struct findings *f, FILE *out);
    } formats[] = {
        { "json", json_write },     { "sarif", sarif_write }, { "junit", junit_write },
        { "github", github_write }, { "html", html_write },
    };

    for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
        if (strcmp(format, formats[i].name) == 0) {
            formats[i].write(f, out->file);
            return;
        }
    text_report(f, outfile_colour(out), out->file);
}

static int quieten(struct result *r, const struct options *o)
{
    struct noise n;
    int code = noise_load(&n, o);

    if (code == 0)
        noise_apply(&n, &r->findings);
    noise_release(&n);
    return code;
}

int result_show(struct result *r, const struct options *o, FILE *otherwise)
{
    struct outfile out;
    int code = quieten(r, o);

    if (code == 0)
        code = outfile_open(&out, o->texts[OPT_OUTPUT], otherwise);
    if (code)
        return code;
    while (r->findings.spared < STRENGTH_COUNT && strength_fails(o, r->findings.spared))
        r->findings.spared++;
    write_as(&r->findings, o->texts[OPT_FORMAT], &out);
    code = outfile_close(&out, true);
    return code ? code : result_code(r, o);
}
