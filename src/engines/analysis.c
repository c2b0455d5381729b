/* analysis.c - one decode feeds all engines, which then decide one by one */
#include "engines/analysis.h"
#include "engines/actual.h"
#include "base/alloc.h"
#include "base/seconds.h"
#include "engines/certain.h"
#include "engines/feed.h"
#include "engines/gist.h"
#include "engines/exact/judge.h"
#include "engines/long.h"
#include "engines/values/relax_judge.h"
#include "engines/showable.h"
#include "engines/sieve.h"
#include "engines/effort.h"
#include "engines/whole.h"
#include "engines/whole_parts.h"
#include "engines/whole_run.h"
#include "order/memory.h"
#include "trace/ahead.h"

#include <stdlib.h>
#include <unistd.h>

/* A word that matters is up to eight variables, and each engine keeps some 100 bytes for each: half
 * a million words are 2 GB for six of them. Beyond, fewer engines run at a time, and the trace is
 * decoded more often. (zstd, 90 M events: 15.6 GB all together.) */
enum { WORDS_TOGETHER = 500000, ENGINES_TOGETHER = 6 };

void analysis_release(struct analysis *a)
{
    for (size_t i = 0; i < a->count; i++) {
        race_table_release(&a->runs[i].result.races);
        deadlock_table_release(&a->runs[i].result.deadlocks);
        map_release(&a->runs[i].result.open);
        free(a->runs[i].result.left);
    }
    free(a->runs);
    *a = (struct analysis){ 0 };
}

/* ---- who may look at results ---- */

/* Sequentially consistent, all of it: either the change is seen not to be ready, or the one who
 * wants to make it sees that it is too late. */
void analysis_abandon(struct analysis *a)
{
    __atomic_store_n(&a->abandoned, true, __ATOMIC_SEQ_CST);
}

void analysis_take(struct analysis *a, size_t run)
{
    __atomic_store_n(&a->runs[run].ready, false, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&a->abandoned, __ATOMIC_SEQ_CST))
        pause(); /* the process is about to end */
}

void analysis_give(struct analysis *a, size_t run)
{
    __atomic_store_n(&a->runs[run].ready, true, __ATOMIC_SEQ_CST);
}

/* ---- the passes ---- */

/* An analysis under way. */
struct work {
    struct analysis *a;
    struct trace *trace;
    struct sieve *sieve; /* or NULL */
    struct gist *gist;   /* or NULL: the trace is all there is */
    struct whole *whole;
    const struct engine_options *options;
    const struct analysis_hooks *hooks;
    uint64_t left; /* units for deciding; UINT64_MAX: any number */
    bool suspects; /* the sieve knows which words can race at all */
    bool divided;  /* into turns */
    struct engine_run
        certain; /* engine_certain, in the first pass of the first turn; or no state */
};

/* Does the run take part now? */
static bool has_turn(const struct analysis *a, size_t i)
{
    return a->runs[i].turn == a->turn && !a->runs[i].over;
}

static bool stop_asked(const struct analysis_hooks *hooks, const struct trace_info *info)
{
    return hooks && hooks->progress && hooks->progress(hooks->arg, info);
}

static void prepare_sieve(void *arg, struct batch *b, unsigned slot)
{
    sieve_prepare(arg, b, slot);
}

/* A pass for the sieve. 0 at the end of the trace, 1 when stopped, -1 on an error. */
static int learn_sieve(struct sieve *s, struct trace *t, unsigned threads,
                       const struct analysis_hooks *hooks, struct error *err)
{
    const struct ahead_work work = { prepare_sieve, s };
    struct ahead *a = ahead_new(t, threads, &work);
    struct batch batch;
    int r;

    while ((r = ahead_next(a, &batch, err)) > 0) {
        sieve_learn(s, &batch, ahead_slot(a));
        if (stop_asked(hooks, ahead_info(a)))
            break;
    }
    ahead_free(a);
    sieve_ready(s);
    return r ? r : trace_rewind(t, err);
}

/* ---- what the sieve's pass decides ---- */

static struct engine_run *run_of(const struct analysis *a, const struct engine *e)
{
    for (size_t i = 0; e && i < a->count; i++)
        if (a->runs[i].engine == e)
            return &a->runs[i];
    return NULL;
}

/* The run of an engine to which the steps of synchronisation are enough, or NULL. */
static struct engine_run *early_run(const struct work *w)
{
    return w->options->cascade ? run_of(w->a, &engine_deadlock) : NULL;
}

static void open_early(struct work *w)
{
    struct engine_run *run = early_run(w);

    if (run) {
        run->state = run->engine->open(&run->result, w->options);
        sieve_watch(w->sieve, run->engine->steps, run->state);
    }
}

static void forget_result(struct engine_result *r)
{
    race_table_release(&r->races);
    deadlock_table_release(&r->deadlocks);
    *r = (struct engine_result){ .complete = true };
    race_table_init(&r->races);
}

/* If there is anything to decide the engine comes again in its turn: what it has seen here has
 * other positions than the gist. */
static void close_early(struct work *w, bool good)
{
    struct engine_run *run = early_run(w);
    double start = seconds_now();

    if (!run)
        return;
    if (good)
        run->engine->finish(run->state);
    run->over = good && deadlock_finds_nothing(run->state);
    run->engine->close(run->state);
    run->state = NULL;
    if (!run->over)
        forget_result(&run->result);
    run->seconds += seconds_now() - start;
}

static int learn_with(struct work *w, bool handovers, struct error *err)
{
    int r;

    w->sieve = sieve_new(handovers);
    open_early(w);
    r = learn_sieve(w->sieve, w->trace, w->options->jobs, w->hooks, err);
    close_early(w, r == 0 && handovers == !trace_info(w->trace)->values);
    if (r > 0) /* no engine has seen more */
        w->a->seen = *trace_info(w->trace);
    return r;
}

/* Only at its end is it known that a trace has no values. */
static int make_sieve(struct work *w, struct error *err)
{
    bool handovers = !trace_info(w->trace)->values;
    int r = learn_with(w, handovers, err);

    if (r || !handovers || !trace_info(w->trace)->values)
        return r;
    sieve_free(w->sieve);
    return learn_with(w, false, err);
}

/* In the cascade rdit takes the place of mc where calls of untraced code are in the trace; engines
 * over the program's code need a full recording. */
static bool is_idle(const struct work *w, const struct engine *e)
{
    if (!w->options->cascade)
        return false;
    if (e->needs_code)
        return !trace_tables(w->trace)->nmodules || !trace_info(w->trace)->values;
    return trace_info(w->trace)->calls ? e == &engine_mc : e == &engine_rdit || e == &engine_sb;
}

/* In the first turn of a divided cascade all engines report races of hb. */
static bool goes_by_suspects(const struct work *w)
{
    return w->suspects && w->divided && w->a->turn == 0;
}

/* ---- engines that follow others ---- */

/* Without values and branches every reordering that an engine looks for keeps what reads see, but
 * for loose ones. */
static bool reads_stay(const struct work *w)
{
    return !trace_info(w->trace)->values && !trace_info(w->trace)->branches;
}

static bool all_reads_stay(const struct work *w)
{
    return reads_stay(w) && !trace_info(w->trace)->loose;
}

/* Has the engine that this one follows proven that there is nothing to find? hb has each pair that
 * shb and sshb may have. Where syncp suspects no variable, no two accesses can meet in a
 * reordering in which reads see what they saw; what wcp predicts there the cascade would refute. */
static bool is_moot(const struct work *w, const struct engine *e)
{
    const struct engine_options *o = w->options;
    const struct engine_run *first = o->cascade && !o->see_all ? run_of(w->a, e->follows) : NULL;

    if (!first || !first->finished || first->idle || !first->result.complete)
        return false;
    if (e->follows == &engine_hb)
        return !first->result.races.count;
    return first->result.no_suspects && all_reads_stay(w) && !o->find_only;
}

/* Does the engine come late, in a pass after that for the one it follows? */
static bool is_late(const struct work *w, size_t from, size_t i)
{
    const struct engine_run *run = &w->a->runs[i];

    if (goes_by_suspects(w))
        return false; /* what it sees costs nothing */
    for (size_t k = from; w->options->cascade && !w->options->see_all && k < i; k++)
        if (w->a->runs[k].engine == run->engine->follows && has_turn(w->a, k))
            return true;
    return false;
}

static bool takes_steps(const struct work *w, size_t from, size_t i, bool late)
{
    return has_turn(w->a, i) && is_late(w, from, i) == late && !w->a->runs[i].settled &&
           !(late && w->a->runs[i].engine->inherit);
}

/* Who wants steps of the pass over the engines [from, to). */
static struct feed *feed_runs(struct work *w, size_t from, size_t to, bool late)
{
    struct engine_run **runs = xcalloc(to - from + 1, sizeof(struct engine_run *));
    struct feed *f;
    size_t n = 0;

    for (size_t i = from; i < to; i++)
        if (takes_steps(w, from, i, late))
            runs[n++] = &w->a->runs[i];
    if (w->certain.state && w->a->turn == 0 && from == 0 && !late)
        runs[n++] = &w->certain;
    f = feed_new(runs, n, w->options->jobs);
    free(runs);
    return f;
}

static void mark(struct work *w, struct batch *b)
{
    if (goes_by_suspects(w))
        sieve_mark_suspects(w->sieve, b);
    else
        sieve_mark(w->sieve, b);
}

/* What makes no steps need not even come. */
static struct trace_thin thin_for(const struct work *w)
{
    return (struct trace_thin){ goes_by_suspects(w) ? sieve_drops_all_but_suspects : sieve_drops,
                                w->sieve };
}

/* The pass for the engines; the result is as above. */
static int feed_engines(struct work *w, size_t from, size_t to, bool late, struct error *err)
{
    struct memory *m = memory_new();
    struct feed *f = feed_runs(w, from, to, late);
    const struct trace_thin thin = thin_for(w);
    struct ahead *a;
    struct batch batch;
    struct span span;
    double start = seconds_now();
    int r;

    trace_thin(w->trace, w->sieve ? &thin : NULL);
    a = ahead_new(w->trace, w->options->jobs, NULL);
    while ((r = ahead_next(a, &batch, err)) > 0) {
        if (w->sieve)
            mark(w, &batch);
        memory_steps(m, &batch, &span);
        w->a->decode_seconds += seconds_now() - start;
        feed_put(f, &span);
        start = seconds_now();
        if (stop_asked(w->hooks, ahead_info(a)))
            break;
    }
    w->a->decode_seconds += seconds_now() - start;
    ahead_free(a);
    trace_thin(w->trace, NULL);
    feed_free(f);
    memory_free(m);
    return r;
}

static void finish(struct engine_run *run)
{
    double start = seconds_now();

    if (run->engine->finish)
        run->engine->finish(run->state);
    run->seconds += seconds_now() - start;
}

static bool is_shown(void *arg, const struct race *r)
{
    (void)arg;
    return r->strength <= STRENGTH_WITNESSED;
}

/* Where the order of plain accesses is not exact, a predicted race without a schedule may rest on
 * a read that saw something else: the cascade only counts it. (Of shb, where it has not seen all:
 * hb has it, or a pair of accesses that are nearer to each other.) */
static bool must_be_shown(const struct engine_run *run, const struct whole *w)
{
    return whole_options(w)->cascade && (run->engine->predicts || run->turn) &&
           whole_info(w)->order != TRACE_EXACT && !whole_options(w)->find_only;
}

static void leave_out_unshown(struct engine_run *run, const struct whole *w)
{
    struct race_table *races = &run->result.races;
    size_t before = races->count;

    if (!must_be_shown(run, w))
        return;
    race_table_keep(races, is_shown, NULL);
    if (races->count < before)
        engine_count(&run->result, "not_shown", before - races->count);
}

/* For is_possible(): the analysis, and the run of mc. */
struct refutation {
    const struct analysis *a;
    const struct engine_run *mc;
};

/* Observed, shown, found or left open by mc? */
static bool is_possible(void *arg, const struct race *r)
{
    const struct refutation *x = arg;
    uint32_t a = r->first.site, b = r->second.site;

    for (const struct engine_run *run = x->a->runs; run < x->mc; run++)
        if (!run->engine->predicts && race_table_find(&run->result.races, a, b))
            return true;
    return is_shown(NULL, r) || race_table_find(&x->mc->result.races, a, b) ||
           map_get(&x->mc->result.open, site_pair(a, b));
}

/* What mc has shown to be impossible is no race that others may have predicted. */
static void leave_out_refuted(struct analysis *a, struct engine_run *mc, const struct whole *w)
{
    struct refutation x = { a, mc };
    uint64_t refuted = 0;

    if (!whole_options(w)->cascade || mc->engine != &engine_mc || !mc->result.refutes)
        return;
    for (struct engine_run *run = a->runs; run < mc; run++) {
        size_t before = run->result.races.count;

        if (run->engine->predicts)
            race_table_keep(&run->result.races, is_possible, &x);
        refuted += before - run->result.races.count;
    }
    if (refuted)
        engine_count(&mc->result, "refuted", refuted);
}

/* How many are still to decide. */
static size_t deciders(const struct analysis *a, size_t from)
{
    size_t n = 0;

    for (size_t i = 0; i < a->count; i++)
        n += a->runs[i].engine->decide != NULL && !a->runs[i].over && !a->runs[i].settled &&
             (a->runs[i].turn > a->turn || (has_turn(a, i) && i >= from));
    return n;
}

/* Is the user's patience over? Then it is for every engine that has not come to its end. */
static bool ends_here(struct work *w, size_t i)
{
    const struct analysis_hooks *hooks = w->hooks;

    return hooks && hooks->deciding && hooks->deciding(hooks->arg, w->a->runs[i].engine->name, 1);
}

uint64_t budget_share(uint64_t left, size_t among)
{
    return left == UINT64_MAX ? left : left / (among ? among : 1);
}

void budget_use(uint64_t *left, const struct whole *w)
{
    uint64_t used = whole_spent(w);

    if (*left != UINT64_MAX)
        *left = used < *left ? *left - used : 0;
}

/* Half a second for judging what was found, whatever that took, and the view for it: a race that is
 * not judged is not reported. */
static uint64_t judge_share(const struct whole *w, const struct engine *rdit, uint64_t share)
{
    uint64_t events = whole_info(w)->events, limit = whole_limit(w);
    uint64_t needed = whole_view_units(w, rdit, events < limit ? events : limit);

    needed += UNITS_A_SECOND / 2;
    return share > needed ? share : needed;
}

/* The engine's share of the budget: what is left, divided among those still to come. */
static int decide_one(struct analysis *a, size_t i, struct whole *w, uint64_t *left,
                      struct error *err)
{
    struct engine_run *run = &a->runs[i];
    double start = seconds_now();
    int r;

    analysis_take(a, i);
    run->shown_only = must_be_shown(run, w);
    whole_begin(w, run->engine, budget_share(*left, deciders(a, i)));
    if (relax_judges(run, w))
        whole_hold(w);
    r = run->engine->decide(run->state, w, err);
    if (r == 0 && relax_judges(run, w))
        r = relax_judge(run, w, err);
    whole_end(w, &run->result);
    if (r == 0 && whole_options(w)->cascade && run->engine == &engine_rdit) {
        budget_use(left, w);
        whole_begin(w, run->engine,
                    judge_share(w, run->engine, budget_share(*left, deciders(a, i))));
        r = judge(a, i, w, err);
    }
    if (!whole_has_parts(w)) /* else they may still be shown */
        leave_out_unshown(run, w);
    if (r == 0)
        leave_out_refuted(a, run, w);
    budget_use(left, w);
    run->seconds += seconds_now() - start;
    if (r == 0 && whole_was_interrupted(w))
        engine_leave(&run->result, "interrupted", 1); /* it was stopped before its end */
    analysis_give(a, i);
    return r;
}

/* Suspects are enough for engines that report races of hb: on other words all conflicting accesses
 * are in order, or in sections of one lock, which puts them in order. */
static bool goes_by_hb(const struct engine *e)
{
    return e == &engine_hb || e == &engine_shb || e == &engine_sshb || e == &engine_fasttrack ||
           e == &engine_deadlock;
}

static bool knows_suspects(const struct work *w)
{
    const struct trace_info *info = trace_info(w->trace);

    return w->sieve && w->options->cascade && !w->options->see_safe && !info->values &&
           !info->branches && info->order != TRACE_UNKNOWN && !trace_excluded(w->trace) &&
           sieve_knows_suspects(w->sieve);
}

/* Where no word can race, no engine finds a race, in whatever order it may see the trace. */
static void settle_all(struct work *w)
{
    w->suspects = knows_suspects(w);
    if (!w->suspects || sieve_suspects(w->sieve))
        return;
    for (size_t i = 0; i < w->a->count; i++) {
        struct engine_run *run = &w->a->runs[i];

        if (run->engine != &engine_deadlock && !run->engine->on_request) {
            run->idle = is_idle(w, run->engine);
            run->over = true;
            analysis_give(w->a, i);
        }
    }
}

/* syncp has shown that no two accesses can meet in any reordering in which reads see what they saw
 * (suspects.c), which without values and branches is all that these engines look for; and
 * there is no race of another engine to judge. */
static bool is_settled(const struct work *w, const struct engine *e)
{
    bool settled = false;

    if (!w->options->cascade || !all_reads_stay(w) ||
        (e != &engine_mc && e != &engine_rdit && e != &engine_sb))
        return false;
    for (size_t i = 0; i < w->a->count; i++) {
        const struct engine_result *r = &w->a->runs[i].result;

        if (!has_turn(w->a, i) && !trace_info(w->trace)->calls)
            continue;
        if (r->races.count)
            return false; /* with calls they are to be judged */
        settled |= r->no_suspects && r->complete;
    }
    return settled;
}

static void settle(struct work *w, size_t i, const char *counter)
{
    analysis_take(w->a, i);
    w->a->runs[i].settled = true;
    engine_count(&w->a->runs[i].result, counter, 1);
    analysis_give(w->a, i);
}

/* What lies behind the events in memory. */
static int decide_rest(struct work *w, size_t from, size_t to, const struct showable *showable,
                       struct error *err)
{
    int r = long_decide(w->a, from, to, w->whole, showable, &w->left, err);

    for (size_t i = from; i < to && r >= 0; i++)
        if (w->a->runs[i].engine->decide && !w->a->runs[i].idle && has_turn(w->a, i)) {
            analysis_take(w->a, i);
            leave_out_unshown(&w->a->runs[i], w->whole);
            analysis_give(w->a, i);
        }
    return r;
}

/* 0, 1 when stopped, -1 on an error. */
static int decide(struct work *w, size_t from, size_t to, struct error *err)
{
    int r = 0;

    for (size_t i = from; i < to && r == 0; i++) {
        const struct engine *e = w->a->runs[i].engine;

        if (!e->decide || w->a->runs[i].idle || w->a->runs[i].settled || !has_turn(w->a, i))
            continue;
        if (is_settled(w, e)) {
            settle(w, i, "settled_by_syncp");
            continue;
        }
        r = decide_one(w->a, i, w->whole, &w->left, err);
        if (r == 0 && ends_here(w, i))
            r = 1;
    }
    return r == 0 && whole_has_parts(w->whole) ? decide_rest(w, from, to, NULL, err) : r;
}

static bool is_to_be_fed(const struct work *w, size_t from, size_t to, bool late)
{
    for (size_t i = from; i < to; i++)
        if (takes_steps(w, from, i, late) && w->a->runs[i].engine->steps &&
            !is_idle(w, w->a->runs[i].engine) && !is_settled(w, w->a->runs[i].engine))
            return true;
    return from == 0 && w->a->turn == 0 && !late; /* the trace is read once in any case */
}

/* The end of the pass, or of the late one; `r` as above. */
static void finish_all(struct work *w, size_t from, size_t to, bool late, int r)
{
    struct engine_run *runs = w->a->runs;

    for (size_t i = from; i < to; i++) {
        if (!has_turn(w->a, i) || is_late(w, from, i) != late)
            continue;
        if (late && runs[i].engine->inherit && !runs[i].settled)
            runs[i].engine->inherit(runs[i].state, run_of(w->a, runs[i].engine->follows)->state);
        else if (!runs[i].settled)
            finish(&runs[i]);
        runs[i].finished = r == 0;
        runs[i].idle = is_idle(w, runs[i].engine);
        if (r == 0 && !runs[i].engine->decide)
            analysis_give(w->a, i);
    }
}

/* A pass for the engines that follow others, or for those that do not. */
static int run_pass(struct work *w, size_t from, size_t to, bool late, struct error *err)
{
    int r = 0;

    for (size_t i = from; i < to; i++)
        if (has_turn(w->a, i) && is_late(w, from, i) == late && is_moot(w, w->a->runs[i].engine))
            settle(w, i,
                   w->a->runs[i].engine->follows == &engine_hb ? "settled_by_hb"
                                                               : "settled_by_syncp");
    if (is_to_be_fed(w, from, to, late)) {
        r = from || w->a->turn || late ? trace_rewind(w->trace, err) : 0;
        if (r == 0)
            r = feed_engines(w, from, to, late, err);
    }
    if (w->a->turn == 0 && !w->gist && !late)
        w->a->seen = *trace_info(w->trace);
    if (r >= 0)
        finish_all(w, from, to, late, r);
    return r;
}

/* The engines [from, to) whose turn it is from their opening to their end; the result is as above.
 */
static int run_engines(struct work *w, size_t from, size_t to, struct error *err)
{
    struct engine_run *runs = w->a->runs;
    int r;

    for (size_t i = from; i < to; i++)
        if (has_turn(w->a, i)) {
            runs[i].levels = !!w->a->gist + !!w->a->selected;
            runs[i].state = runs[i].engine->open(&runs[i].result, w->options);
        }
    r = run_pass(w, from, to, false, err);
    if (r == 0)
        r = run_pass(w, from, to, true, err);
    w->a->seen_all |= w->a->turn == 0 && r == 0;
    if (r == 0)
        r = decide(w, from, to, err);
    for (size_t i = from; i < to; i++)
        if (has_turn(w->a, i)) {
            engine_leave(&runs[i].result, "instances_dropped", runs[i].result.races.dropped);
            runs[i].engine->close(runs[i].state);
        }
    return r;
}

/* How many engines see one decoding: all, except where that would need too much memory. */
static size_t at_a_time(const struct work *w)
{
    bool suspects = goes_by_suspects(w);
    uint64_t words = !w->sieve ? 0 : suspects ? sieve_suspects(w->sieve) : sieve_words(w->sieve), n;

    if (w->options->one_by_one)
        return 1;
    if (words <= WORDS_TOGETHER)
        return w->a->count;
    n = (uint64_t)WORDS_TOGETHER * ENGINES_TOGETHER / words;
    return n ? n : 1;
}

static int run_turn(struct work *w, struct error *err)
{
    size_t n = w->a->count, each = at_a_time(w);
    int r = 0;

    for (size_t i = 0; i < n && r == 0; i += each)
        r = run_engines(w, i, i + each < n ? i + each : n, err);
    return r;
}

/* ---- the gist ---- */

/* A long recording of which less may be held. Where values or branches count, the accesses that are
 * left out may, too: what a read saw decides where its thread goes. */
static bool may_be_shortened(const struct work *w)
{
    const struct engine_options *o = w->options;

    return w->sieve && reads_stay(w) && !trace_excluded(w->trace) && !o->crew && !o->part &&
           !o->window && trace_info(w->trace)->events >= (o->gist_from ? o->gist_from : GIST_FROM);
}

static int take_gist(struct work *w, const struct gist_limits *limits, struct error *err)
{
    int r = gist_take(&w->gist, w->trace, w->sieve, limits, w->options->jobs, w->hooks, err);

    if (!w->gist)
        return r;
    w->a->seen = *trace_info(w->trace);
    w->a->seen.events = trace_held_of(w->trace);
    w->a->gist = gist_positions(w->gist);
    return r;
}

/* Half of the memory is for what the pass needs. Engines that predict need more than a unit for
 * each event that they see, whatever it is: what the effort leaves no room for they do not. */
static size_t gist_max(const struct work *w)
{
    uint64_t limit = whole_limit(w->whole), memory = w->options->memory;
    uint64_t effort = w->options->work / UNITS_A_PREDICTED_EVENT;

    if (memory && memory / 2 / GIST_EVENT_BYTES < limit)
        limit = memory / 2 / GIST_EVENT_BYTES;
    if (memory && w->options->work && effort < limit)
        limit = effort > WHOLE_EVENTS_MIN ? effort : WHOLE_EVENTS_MIN;
    return limit + !limit;
}

/* Where memory is limited, the gist is what matters of a beginning (all of it, where calls of
 * untraced code may make anything matter), and what the engines that go by suspects need of the
 * rest. Else what is left out matters where such a call can reach anything, too. */
static int take_first_gist(struct work *w, struct error *err)
{
    struct gist_limits limits = { GIST_OF_ALL, gist_max(w), 0 };

    if (w->options->memory && w->suspects) {
        limits.of = sieve_lists_all(w->sieve) ? GIST_BEGINNING : GIST_OF_BEGINNING;
        limits.suspects = w->options->memory / 2 / GIST_SUSPECT_BYTES + 1;
        if (sieve_others(w->sieve) > limits.max + limits.suspects)
            return 0; /* they alone are too many */
    } else if (sieve_lists_all(w->sieve)) {
        return 0;
    }
    return take_gist(w, &limits, err);
}

/* `r` as above. */
static int return_gist(struct work *w, int r, struct error *err)
{
    struct gist *g = w->gist;

    if (!g)
        return r;
    if (gist_return(g, r >= 0 ? w->a : NULL, w->options, err) < 0)
        r = -1;
    w->a->gist = NULL;
    return r;
}

/* ---- engines that only add schedules ---- */

/* Is it worth while to find out what schedules of this trace can hold? (All of it where the order
 * of accesses is exact, or values tell who was read.) */
static bool has_limits(const struct work *w)
{
    const struct trace_info *info = trace_info(w->trace);
    const struct engine_options *o = w->options;

    return o->cascade && w->sieve && info->order == TRACE_SYNC_EXACT && !info->values &&
           !info->branches && !info->calls && !trace_excluded(w->trace) && !o->find_only &&
           !o->see_all && !o->crew && !o->part && !o->window;
}

/* Of what it finds beyond hb only schedules count (must_be_shown()). */
static bool only_shows(const struct engine *e)
{
    return e->predicts || e == &engine_shb;
}

static bool has_cut(const struct work *w)
{
    return w->gist && gist_cut(w->gist);
}

/* Is all that the second turn looks at more than there is room for? */
static bool needs_beginning(const struct work *w)
{
    return has_cut(w) || (w->options->memory && !w->gist && may_be_shortened(w) &&
                          trace_info(w->trace)->events > gist_max(w));
}

/* Engines that predict, named by the user: where memory is limited they look at what they would
 * look at in the cascade. */
static bool is_limited(const struct work *w)
{
    return !w->options->cascade && w->sieve && needs_beginning(w);
}

static void divide(struct work *w)
{
    bool limits = has_limits(w);

    w->divided = limits || w->suspects || is_limited(w);
    if (limits ||
        (w->divided && trace_info(w->trace)->order != TRACE_EXACT && needs_beginning(w))) {
        w->certain.engine = &engine_certain;
        w->certain.state = engine_certain.open(NULL, w->options);
    }
    for (size_t i = 0; w->divided && i < w->a->count; i++) {
        struct engine_run *run = &w->a->runs[i];

        run->turn = limits ? only_shows(run->engine) : !goes_by_hb(run->engine);
    }
}

static void map_race(struct race *r, const uint64_t *positions)
{
    r->first.position = positions[r->first.position];
    r->second.position = positions[r->second.position];
    r->last_first = positions[r->last_first];
    r->last_second = positions[r->last_second];
    for (size_t i = 0; i < r->nwitness; i++)
        r->witness[i] = positions[r->witness[i]];
}

uint64_t analysis_position(const struct analysis *a, const struct engine_run *run, uint64_t number)
{
    if (run->levels > !!a->gist)
        number = a->selected[number];
    return run->levels && a->gist ? a->gist[number] : number;
}

/* From numbers of selected events to positions in the trace, or numbers of its gist. */
static void map_races(struct analysis *a, const uint64_t *positions)
{
    for (size_t i = 0; i < a->count; i++) {
        struct race_table *races = &a->runs[i].result.races;
        bool ready = a->runs[i].ready;

        if (!has_turn(a, i))
            continue;
        analysis_take(a, i);
        for (size_t k = 0; k < races->count; k++)
            map_race(&races->races[k], positions);
        a->runs[i].levels--;
        if (ready)
            analysis_give(a, i);
    }
}

/* On the events that schedules can hold, as if they were the trace; then on parts of it. */
static int run_selected(struct work *w, const struct showable *s, struct error *err)
{
    uint64_t *positions = showable_positions(s);
    struct whole *all = w->whole;
    int r;

    w->a->selected = positions;
    trace_select(w->trace, &s->events);
    w->whole = whole_new(w->trace, w->a, w->sieve, w->options, w->hooks);
    whole_set_certain(w->whole, showable_certain(s));
    r = run_turn(w, err);
    if (r >= 0)
        map_races(w->a, positions);
    w->a->selected = NULL;
    free(positions);
    whole_free(w->whole);
    trace_select(w->trace, NULL);
    w->whole = all;
    return r == 0 && whole_has_parts(all) ? decide_rest(w, 0, w->a->count, s, err) : r;
}

/* The second turn. */
static int run_showers(struct work *w, struct error *err)
{
    uint64_t limit = whole_limit(w->whole), step = whole_part_step(w->whole);
    struct showable s;
    struct certain_marks marks = { w->sieve, w->suspects };
    struct certain *c = certain_finish(w->certain.state, w->trace, &marks, limit, step, &s, err);
    int r;

    w->certain.state = NULL;
    if (!c)
        return -1;
    whole_set_certain(w->whole, c);
    w->a->turn = 1;
    if (s.events.count <= limit)
        r = run_selected(w, &s, err);
    else
        r = run_turn(w, err);
    showable_release(&s);
    return r;
}

static int run_second(struct work *w, struct error *err)
{
    if (w->certain.state)
        return run_showers(w, err);
    w->a->turn = 1;
    return run_turn(w, err);
}

/* Where memory is limited, the second turn looks at the beginning of the trace, as far as there is
 * room: at what matters of it or, where calls of untraced code may make anything matter, at all. */
static int take_beginning(struct work *w, struct error *err)
{
    bool calls = trace_info(w->trace)->calls;
    struct gist_limits limits = { calls ? GIST_BEGINNING : GIST_OF_BEGINNING, gist_max(w), 0 };

    if (w->gist) {
        trace_shorten(w->trace, gist_cut(w->gist));
        return trace_rewind(w->trace, err);
    }
    return trace_rewind(w->trace, err) < 0 ? -1 : take_gist(w, &limits, err);
}

/* What the rest of the trace says of the beginning's reads: an access behind it may have come
 * before them, where the order of accesses is not exact. (Otherwise run_showers() asks.) */
static int keep_uncertain(struct work *w, struct error *err)
{
    struct certain_marks marks = { w->sieve, w->suspects };
    struct certain *c;

    if (!w->certain.state || has_limits(w))
        return 0;
    c = certain_finish(w->certain.state, w->trace, &marks, 0, 0, NULL, err);
    w->certain.state = NULL;
    if (!c)
        return -1;
    whole_set_certain(w->whole, c);
    return trace_rewind(w->trace, err);
}

static int run_beginning(struct work *w, struct error *err)
{
    int r = take_beginning(w, err);

    whole_free(w->whole); /* it is about the whole trace */
    w->whole = whole_new(w->trace, w->a, w->sieve, w->options, w->hooks);
    if (r == 0)
        r = keep_uncertain(w, err);
    if (r == 0)
        r = run_second(w, err);
    for (size_t i = 0; w->gist && i < w->a->count; i++)
        if (has_turn(w->a, i))
            engine_leave(&w->a->runs[i].result, "events_not_seen", gist_missing(w->gist));
    return r;
}

static bool all_is_over(const struct analysis *a)
{
    bool over = true;

    for (size_t i = 0; i < a->count; i++)
        over &= a->runs[i].over;
    return over;
}

static int run_all(struct work *w, struct error *err)
{
    int r;

    if (all_is_over(w->a)) {
        w->a->seen = *trace_info(w->trace);
        return 0;
    }
    r = may_be_shortened(w) ? take_first_gist(w, err) : 0;
    if (r)
        return r;
    if (has_cut(w))
        whole_set_beginning(w->whole, gist_cut(w->gist));
    divide(w);
    r = run_turn(w, err);
    if (r == 0 && w->divided)
        r = needs_beginning(w) ? run_beginning(w, err) : run_second(w, err);
    if (w->certain.state)
        engine_certain.close(w->certain.state);
    return r;
}

static void name_engines(struct analysis *a, const struct engine *const *engines)
{
    for (size_t i = 0; i < a->count; i++) {
        a->runs[i].engine = engines[i];
        a->runs[i].result.complete = true;
        race_table_init(&a->runs[i].result.races);
    }
}

int analysis_run(struct trace *t, const struct engine *const *engines, size_t n,
                 const struct engine_options *options, const struct analysis_hooks *hooks,
                 struct analysis *out, struct error *err)
{
    static const struct engine_options defaults;
    struct work w = { .a = out, .trace = t, .hooks = hooks };
    int r = 0;

    w.options = options ? options : &defaults;
    w.left = w.options->work ? w.options->work : UINT64_MAX;
    *out = (struct analysis){ .runs = xcalloc(n + 1, sizeof(*out->runs)), .count = n };
    name_engines(out, engines);
    if (w.options->sieve)
        r = make_sieve(&w, err);
    if (r == 0)
        settle_all(&w);
    w.whole = whole_new(t, out, w.sieve, w.options, hooks);
    if (r == 0)
        r = run_all(&w, err);
    r = return_gist(&w, r, err);
    if (r >= 0 && out->seen_all)
        actual_mark(out, t);
    for (size_t i = 0; i < n && r > 0; i++)
        engine_leave(&out->runs[i].result, "interrupted", !out->runs[i].ready);
    whole_free(w.whole);
    sieve_free(w.sieve);
    out->interrupted = r > 0;
    if (r < 0)
        analysis_release(out);
    return r < 0 ? -1 : 0;
}
