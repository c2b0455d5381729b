/* relax_judge.c - races of mc and rdit whose schedules change an address
 *
 * Most schedules change no value, and nothing is to be done. The others are computed:
 * those that hold get their list of changed values; for the rest another schedule is
 * searched (relax.h). A race goes when there is none, and when that is not decided.
 */
#include "engines/values/relax_judge.h"
#include "base/alloc.h"
#include "engines/predict/prove.h"
#include "engines/values/relax.h"
#include "engines/whole.h"
#include "engines/whole_code.h"

#include <stdlib.h>
#include <string.h>

struct judging {
    struct whole *w;
    const struct view *view;
    const struct execution *e;
    struct relax *relax; /* made when needed */
    uint64_t gone, undecided;
};

static struct relax *relax_of(struct judging *j)
{
    struct relax_options options = { .exact = whole_info(j->w)->order == TRACE_EXACT };

    if (!j->relax)
        j->relax = relax_new(j->view, j->e, &options);
    return j->relax;
}

/* The schedule it has, with values; false: it does not hold. */
static bool own_schedule_holds(struct judging *j, struct race *r)
{
    size_t n;
    struct value_change *changes = relax_changes(relax_of(j), r->witness, r->nwitness, &n);
    uint64_t *list;
    struct error why;

    if (!n) {
        free(changes);
        return true;
    }
    list = xmalloc(r->nwitness * sizeof(*list));
    memcpy(list, r->witness, r->nwitness * sizeof(*list));
    return whole_show_again(j->w, r, list, r->nwitness, changes, n, &why) == 1;
}

/* Another one, for the first or the last instance. */
static bool has_schedule(struct judging *j, struct race *r)
{
    struct instance instances[2];
    size_t n = race_instances(r, j->w, instances);
    const struct predict_budget budget = PREDICT_BUDGET;
    bool undecided = false;

    for (size_t i = 0; i < n; i++) {
        struct relax_answer a;
        enum predict_answer answer =
            relax_decide(relax_of(j), instances[i].first, instances[i].second, &budget, &a);
        struct error why;

        undecided |= answer == PREDICT_UNDECIDED || answer == PREDICT_TOO_LONG;
        if (answer != PREDICT_FEASIBLE)
            continue;
        r->first.position = instances[i].first;
        r->second.position = instances[i].second;
        return whole_show_values(j->w, r, a.list, a.count, a.changes, a.nchanges, &why) == 1;
    }
    j->undecided += undecided;
    return false;
}

static bool relax_judge_stays(void *arg, const struct race *race)
{
    struct judging *j = arg;
    struct race *r = (struct race *)race; /* the table's own, which is ours to change */

    if (r->second.position >= j->view->count || (r->witness && own_schedule_holds(j, r)))
        return true;
    if (has_schedule(j, r))
        return true;
    j->gone++;
    return false;
}

bool relax_judges(const struct engine_run *run, const struct whole *w)
{
    const struct engine *e = run->engine;

    return whole_info(w)->branches && (e == &engine_mc || e == &engine_rdit || e == &engine_sb);
}

int relax_judge(struct engine_run *run, struct whole *w, struct error *err)
{
    struct judging j = { .w = w };

    if (!run->result.races.count)
        return 0;
    j.view = whole_view(w, err);
    if (!j.view)
        return -1;
    j.e = whole_execution(w, NULL);
    if (!j.e)
        return 0;
    race_table_keep(&run->result.races, relax_judge_stays, &j);
    relax_free(j.relax);
    if (j.gone)
        engine_count(&run->result, "refuted_by_values", j.gone);
    engine_leave(&run->result, "not_decided_by_values", j.undecided);
    return 0;
}
