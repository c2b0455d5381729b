/* whole_inside.h - what whole.c and whole_check.c share */
#ifndef HEDDLE_ENGINES_WHOLE_INSIDE_H
#define HEDDLE_ENGINES_WHOLE_INSIDE_H

#include <pthread.h>

#include "engines/effort.h"
#include "engines/whole.h"
#include "engines/whole_code.h"
#include "engines/whole_parts.h"
#include "engines/whole_run.h"
#include "engines/whole_show.h"
#include "order/view.h"
#include "trace/parts.h"
#include "trace/calls/unseen.h"

struct whole {
    struct trace *trace;
    struct sieve *sieve;   /* or NULL */
    struct memory *memory; /* of whole_next(), or NULL */
    const struct analysis *analysis;
    const struct engine_options *options;
    const struct analysis_hooks *hooks;
    const struct engine *engine; /* that decides now */
    struct trace_info info;      /* the trace's, but branches only if they count */
    bool code_sought, has_code;
    uint64_t beginning;        /* whole_set_beginning(), or 0 */
    uint64_t allowance, spent; /* units of this engine */
    double done;               /* as whole_stop() was told */
    bool stopped, interrupted;
    bool loaded;
    bool partial;                             /* fewer events than whole_limit() are loaded */
    struct trace_mem events;                  /* a part's are borrowed */
    struct unseen_counts unseen;              /* reads of what nobody in them wrote */
    struct view *views[CALL_RULE_SIMPLE + 1]; /* by enum call_rule */
    struct witness_trace *checker;
    struct execution *execution; /* once asked for; may be NULL all the same */
    bool execution_sought;
    struct error no_execution; /* why */
    struct certain *certain;   /* made for traces whose plain accesses are not in exact order */
    pthread_mutex_t checking;  /* one check at a time: it uses the checker's scratch memory */
    uint64_t accepted, refused, uncertain; /* of this engine; guarded by `checking` */
    uint64_t kept, checked;                /* events of its schedules that are kept, of all */
    uint64_t followed; /* up to where the checker has followed the trace for this engine */
    uint64_t held;     /* events of schedules, while `holds` */
    bool holds;        /* whole_hold() */
    uint64_t not_kept, over_budget; /* schedules */
    struct parts *parts;            /* of a long trace; or NULL */
    const struct part *part;        /* that `events` are of; NULL: the beginning of the trace */
    struct cut *cut;                /* where plain accesses are not in exact order */
    bool clean; /* what came before the part is sure, also where plain accesses are not in order */
};

#endif
