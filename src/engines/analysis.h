/* analysis.h - run engines over a trace: decode once, feed all of them, let them decide
 *
 * The pass over the trace feeds every engine with steps. With several jobs the
 * engines run in threads of their own, a piece of the trace behind the
 * decoding. Then, in the order given, each may look at the trace again
 * (engine.decide, whole.h): schedules, pairs that need random access.
 */
#ifndef HEDDLE_ENGINES_ANALYSIS_H
#define HEDDLE_ENGINES_ANALYSIS_H

#include "engines/engine.h"
#include "trace/trace.h"

struct engine_run {
    const struct engine *engine;
    struct engine_result result;
    double seconds;  /* in the engine itself, without decoding */
    void *state;     /* while analysis_run() runs */
    bool idle;       /* the cascade had nothing for it to do in this trace */
    bool finished;   /* it has seen the whole trace */
    bool settled;    /* an earlier engine has shown that it would find nothing */
    bool over;       /* decided before the engines' pass: it found nothing, and has no state */
    bool ready;      /* atomic: the result does not change, see analysis_abandon() */
    bool shown_only; /* of its races only those that are shown are to be reported */
    unsigned levels; /* of numbers between its positions and the trace's (analysis_position()) */
    unsigned turn;   /* 1: after the others, on what schedules can hold (showable.h) */
};

struct analysis {
    struct engine_run *runs;
    size_t count;
    double decode_seconds;  /* reading, checking, numbering */
    struct trace_info seen; /* at the end of the pass that feeds the engines */
    bool seen_all;          /* that pass came to the end of the trace */
    unsigned turn;          /* whose it is */
    /* From numbers to positions, or NULL: of the gist (gist.h), of what is selected of it or of
     * the trace (showable.h). */
    const uint64_t *gist, *selected;
    bool interrupted;
    bool abandoned; /* atomic */
};

/* True stops the analysis; what was found so far is kept. */
struct analysis_hooks {
    /* Called after each batch of the pass. */
    bool (*progress)(void *arg, const struct trace_info *info);
    /* Called now and then while an engine decides; done is 0 to 1. */
    bool (*deciding)(void *arg, const char *engine, double done);
    void *arg;
};

/* Engines in the order of their cost; options and hooks may be NULL. -1 only when the trace cannot
 * be read; then there is no result to release. */
int analysis_run(struct trace *t, const struct engine *const *engines, size_t n,
                 const struct engine_options *options, const struct analysis_hooks *hooks,
                 struct analysis *out, struct error *err);
void analysis_release(struct analysis *a);

/* For another thread than the one in analysis_run(), which does not stop when it is asked to: from
 * here on results that are `ready` stay as they are, and may be read. The analysis goes on, or
 * stops, and must never be released; nor may its trace be used. */
void analysis_abandon(struct analysis *a);
/* Around a change of an engine's result: it is not ready, and is ready. The first does not return
 * once the analysis was abandoned. */
void analysis_take(struct analysis *a, size_t run);
void analysis_give(struct analysis *a, size_t run);
/* What an abandoned run calls `number`, as a position in the trace. */
uint64_t analysis_position(const struct analysis *a, const struct engine_run *run, uint64_t number);
/* For long.c. Of the units that are left (UINT64_MAX: any number) the share of one among so many;
 * and take off what was done since whole_begin(). */
struct whole;
uint64_t budget_share(uint64_t left, size_t among);
void budget_use(uint64_t *left, const struct whole *w);

#endif
