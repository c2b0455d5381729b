/* actual.c - which races are data races of the recorded execution itself */
#include "engines/actual.h"

bool actual_engine(const struct engine *e)
{
    return !e->predicts && e->proves == STRENGTH_MAYBE &&
           (e == &engine_fasttrack || e == &engine_hb || e == &engine_shb || e == &engine_sshb);
}

static void mark_races(struct race_table *races, bool calls)
{
    for (size_t i = 0; i < races->count; i++) {
        struct race *r = &races->races[i];

        if (r->strength <= STRENGTH_OBSERVED || (calls && !r->apart_with_calls))
            continue;
        r->strength = STRENGTH_OBSERVED;
        r->independent &= !calls; /* sshb knows nothing of calls */
    }
}

void actual_mark(struct analysis *a, const struct trace *t)
{
    if (trace_doubt(t))
        return;
    for (size_t i = 0; i < a->count; i++) {
        struct engine_run *run = &a->runs[i];
        bool ready = run->ready;

        if (!actual_engine(run->engine) || run->turn)
            continue;
        analysis_take(a, i);
        mark_races(&run->result.races, a->seen.calls);
        if (ready)
            analysis_give(a, i);
    }
}
