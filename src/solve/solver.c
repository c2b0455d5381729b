/* solver.c - one question after the other
 *
 * What the two accesses need for sure comes first: if that contains one of
 * them the answer is no. Then the reordering that keeps the observed writers
 * and lock order is tried: mostly it works. The rest goes to the search, which
 * begins without constraints: it replays what is needed, turns what is wrong
 * into clauses, and decides until they hold, until nothing is wrong or the
 * clauses contradict each other.
 *
 * A read may choose among few writers at first; "no" counts only when none
 * was left out.
 */
#include "base/alloc.h"
#include "solve/inside.h"

#include <stdlib.h>

#include <time.h>

/* Writers a read may choose from in the first attempt; in the second all. Flags and counters have
 * thousands of writers of the same value, and the nearest nearly always do. */
enum { FIRST_CHOICES = 16 };

double thread_seconds(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

bool out_of_time(const struct solver *s)
{
    return s->budget.seconds > 0 && thread_seconds() - s->started > s->budget.seconds;
}

/* ---- life cycle ---- */

struct solver *solver_new(const struct problem *p)
{
    struct solver *s = xcalloc(1, sizeof(*s));
    size_t touches = p->touch_first[p->nnodes];

    s->p = p;
    s->nchains = p->branches ? 2 * p->nthreads : p->nthreads;
    s->chains = xcalloc((size_t)s->nchains + 1, sizeof(*s->chains));
    s->in_var = xcalloc((size_t)p->nnodes + 1, sizeof(*s->in_var));
    s->con_var = xcalloc(p->branches ? (size_t)p->nnodes + 1 : 1, sizeof(*s->con_var));
    s->out_of = xcalloc((size_t)p->nnodes + 1, sizeof(*s->out_of));
    s->into = xcalloc((size_t)p->nnodes + 1, sizeof(*s->into));
    s->place = xcalloc((size_t)p->nnodes + 1, sizeof(*s->place));
    s->placed = xcalloc((size_t)p->nnodes + 1, sizeof(*s->placed));
    s->reached = xcalloc((size_t)p->nthreads + 1, sizeof(*s->reached));
    s->behind = xcalloc((size_t)p->nthreads + 1, sizeof(*s->behind));
    s->expanded = xcalloc((size_t)p->nthreads + 1, sizeof(*s->expanded));
    s->choice_of = xcalloc(touches + 1, sizeof(*s->choice_of));
    s->scanned = xcalloc((size_t)s->nchains + 1, sizeof(*s->scanned));
    s->latest = xcalloc((size_t)p->nlocks + 1, sizeof(*s->latest));
    s->replay = replay_new(p);
    graph_init(s);
    list_push(&s->mem, 0); /* no clause has number 0 */
    search_new_var(s, KIND_IN, 0, 0);
    s->vars[0].value = 1;
    return s;
}

static void release_search(struct solver *s)
{
    free(s->vars);
    free(s->watch);
    free(s->mem.items);
    free(s->clauses.items);
    free(s->trail.items);
    free(s->levels);
    free(s->conflict.items);
    free(s->learned.items);
    free(s->choices);
    free(s->choice_of);
    free(s->faults);
    map_release(&s->order_var);
}

void solver_free(struct solver *s)
{
    if (!s)
        return;
    release_search(s);
    free(s->chains);
    free(s->bounds);
    free(s->work.items);
    free(s->in_var);
    free(s->con_var);
    free(s->edges);
    free(s->out_of);
    free(s->into);
    free(s->place);
    free(s->placed);
    free(s->behind);
    graph_release(s);
    free(s->reached);
    free(s->expanded);
    free(s->records);
    free(s->round.items);
    free(s->later.items);
    free(s->scanned);
    free(s->latest);
    free(s->locks.items);
    replay_free(s->replay);
    free(s);
}

/* ---- a question ---- */

/* Forget the variables and clauses of the last attempt; bounds stay. */
static void forget_search(struct solver *s)
{
    search_undo(s, 0);
    graph_undo(s, 0);
    graph_clear_knots(s);
    for (size_t v = 1; v < s->nvars; v++) {
        if (s->vars[v].kind == KIND_IN)
            s->in_var[s->vars[v].x] = 0;
        else if (s->vars[v].kind == KIND_CON)
            s->con_var[s->vars[v].x] = 0;
    }
    for (size_t i = 0; i < s->nchoices; i++)
        s->choice_of[s->choices[i].touch] = 0;
    for (uint32_t c = 0; c < s->nchains; c++)
        s->chains[c].vars = 0;
    s->nvars = 1;
    s->nchoices = s->clauses.count = s->trail.count = s->head = s->scan = 0;
    s->mem.count = 1;
    map_release(&s->order_var);
    s->unsatisfiable = s->choices_cut = false;
}

static void limit_chain(struct solver *s, uint32_t thread, uint32_t hi)
{
    s->chains[in_chain(thread)].hi = hi;
    s->chains[con_chain(s, thread)].hi = hi;
}

static void begin(struct solver *s, uint32_t a, uint32_t b, const struct solve_budget *budget)
{
    const struct problem *p = s->p;

    s->budget = *budget;
    s->started = thread_seconds();
    s->conflicts = s->rounds = 0;
    s->too_long = false;
    s->replays++; /* places of the last question do not count */
    s->nbounds = 0;
    for (uint32_t t = 0; t < p->nthreads; t++) {
        uint32_t length = p->thread_first[t + 1] - p->thread_first[t];

        s->chains[in_chain(t)] = (struct chain){ .hi_lit = LIT_NONE };
        s->chains[con_chain(s, t)] = (struct chain){ .hi_lit = LIT_NONE };
        limit_chain(s, t, length);
    }
    limit_chain(s, p->thread[a], p->rank[a]);
    limit_chain(s, p->thread[b], p->rank[b]);
}

/* What has to be there for a node to be next. */
static bool need_next(struct solver *s, uint32_t node)
{
    const struct problem *p = s->p;

    if (!chains_raise(s, in_chain(p->thread[node]), p->rank[node], LIT_NONE))
        return false;
    for (uint32_t k = p->need_first[node]; k < p->soft_first[node]; k++)
        if (!chains_raise(s, in_chain(p->thread[p->need[k]]), p->rank[p->need[k]] + 1, LIT_NONE))
            return false;
    return true;
}

static uint64_t needed(const struct solver *s)
{
    uint64_t n = 0;

    for (uint32_t t = 0; t < s->p->nthreads; t++)
        n += s->chains[t].lo;
    return n;
}

/* Decide until all clauses hold; false: they cannot, or the budget is spent. */
static bool satisfy(struct solver *s, bool *spent)
{
    for (;;) {
        uint32_t lit;

        if (s->unsatisfiable)
            return false;
        if (!search_propagate(s)) {
            if (!s->nlevels)
                return false;
            search_learn(s);
            s->conflicts++;
            *spent = (s->budget.conflicts && s->conflicts > s->budget.conflicts) || out_of_time(s);
            if (*spent)
                return false;
            continue;
        }
        lit = search_open_literal(s);
        if (lit == LIT_NONE)
            return true;
        search_decide(s, lit);
    }
}

static enum solve_answer search(struct solver *s)
{
    bool spent = false;

    for (;;) {
        if (!satisfy(s, &spent))
            return spent || s->choices_cut ? SOLVE_UNDECIDED : SOLVE_INFEASIBLE;
        if (!replay_run(s, true) || out_of_time(s))
            return SOLVE_UNDECIDED;
        if (!s->nfaults)
            return SOLVE_FEASIBLE;
        s->rounds++;
        search_undo(s, 0);
        for (size_t i = 0; i < s->nfaults; i++)
            constraints_add(s, &s->faults[i]);
    }
}

static enum solve_answer search_all(struct solver *s)
{
    size_t bounds = s->nbounds;
    enum solve_answer answer;

    s->choice_limit = FIRST_CHOICES;
    answer = search(s);
    if (answer == SOLVE_UNDECIDED && s->choices_cut && !out_of_time(s)) {
        forget_search(s);
        chains_undo(s, bounds);
        s->choice_limit = 0;
        answer = search(s);
    }
    return answer;
}

enum solve_answer solver_decide(struct solver *s, uint32_t a, uint32_t b,
                                const struct solve_budget *budget)
{
    enum solve_answer answer;

    begin(s, a, b, budget);
    s->way = SOLVE_BY_NEEDS;
    if (s->p->thread[a] == s->p->thread[b] || !need_next(s, a) || !need_next(s, b))
        return SOLVE_INFEASIBLE;
    if (budget->nodes && needed(s) > budget->nodes) {
        s->too_long = true;
        return SOLVE_UNDECIDED;
    }
    s->way = SOLVE_BY_OBSERVED;
    if (observed_try(s))
        return SOLVE_FEASIBLE;
    s->way = SOLVE_BY_SEARCH;
    answer = search_all(s);
    forget_search(s);
    return answer;
}

/* ---- answers ---- */

const uint32_t *solver_order(const struct solver *s, uint32_t *count)
{
    return replay_order(s->replay, count);
}

enum solve_way solver_way(const struct solver *s)
{
    return s->way;
}

bool solver_too_long(const struct solver *s)
{
    return s->too_long;
}

uint64_t solver_conflicts(const struct solver *s)
{
    return s->conflicts;
}

uint64_t solver_rounds(const struct solver *s)
{
    return s->rounds;
}
