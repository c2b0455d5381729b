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
 * was left out. With a limit on work the search gets a part of it; then the
 * same with an early part of the trace frozen as observed (freeze.c), where
 * "no" does not count; then the rest.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "solve/solver_inside.h"

#include <stdlib.h>

#include <time.h>

/* Writers a read may choose from in the first attempt; in the second all. Flags and counters have
 * thousands of writers of the same value, and the nearest nearly always do. */
enum { FIRST_CHOICES = 16 };

/* What is not frozen: so many nodes before the first of the two accesses, and all behind. Each
 * attempt gets 1/FROZEN_PART of the work, the first search 1/FIRST_PART. */
static const uint32_t unfrozen[] = { 200, 2000, 20000 };
enum { FROZEN_PART = 12, FIRST_PART = 8 };

static double thread_seconds(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

bool out_of_budget(const struct solver *s)
{
    if (s->work_limit && s->work > s->work_limit)
        return true;
    return s->budget.seconds > 0 && thread_seconds() - s->started > s->budget.seconds;
}

/* ---- life cycle ---- */

struct solver *solver_new(const struct problem *p)
{
    struct solver *s = xcalloc(1, sizeof(*s));
    size_t touches = p->touch_first[p->nnodes];

    s->p = p;
    s->nchains = has_con_chains(p) ? 2 * p->nthreads : p->nthreads;
    s->chains = xcalloc((size_t)s->nchains + 1, sizeof(*s->chains));
    s->in_var = xcalloc((size_t)p->nnodes + 1, sizeof(*s->in_var));
    s->con_var = xcalloc(has_con_chains(p) ? (size_t)p->nnodes + 1 : 1, sizeof(*s->con_var));
    s->out_of = xcalloc((size_t)p->nnodes + 1, sizeof(*s->out_of));
    s->into = xcalloc((size_t)p->nnodes + 1, sizeof(*s->into));
    s->place = xcalloc((size_t)p->nnodes + 1, sizeof(*s->place));
    s->placed = xcalloc((size_t)p->nnodes + 1, sizeof(*s->placed));
    s->reached = xcalloc((size_t)p->nthreads + 1, sizeof(*s->reached));
    s->behind = xcalloc((size_t)p->nthreads + 1, sizeof(*s->behind));
    s->expanded = xcalloc((size_t)p->nthreads + 1, sizeof(*s->expanded));
    s->executed = xcalloc((size_t)p->nthreads + 1, sizeof(*s->executed));
    s->choice_of = xcalloc(touches + 1, sizeof(*s->choice_of));
    s->scanned = xcalloc((size_t)s->nchains + 1, sizeof(*s->scanned));
    s->latest = xcalloc((size_t)p->nlocks + 1, sizeof(*s->latest));
    s->frozen_count = xcalloc((size_t)p->nthreads + 1, sizeof(*s->frozen_count));
    s->frozen_last = xcalloc((size_t)p->ncells + 1, sizeof(*s->frozen_last));
    s->possible = xcalloc((size_t)p->nthreads + 1, sizeof(*s->possible));
    s->rows = (struct rows){ .p = p, .rest = p->must_con, .possible = s->possible };
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
    value_faults_release(s);
    free(s->frozen_count);
    free(s->frozen_last);
    free(s->frozen_cells.items);
    free(s->frozen_open.items);
    free(s->possible);
    free(s->order.items);
    free(s->when);
    free(s->saw);
    free(s->chains);
    free(s->bounds);
    free(s->raises.items);
    free(s->in_var);
    free(s->con_var);
    free(s->edges);
    free(s->out_of);
    free(s->into);
    free(s->place);
    free(s->placed);
    free(s->behind);
    free(s->executed);
    graph_discard(s);
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
    s->possible[thread] = hi;
}

static void forget_answer(struct solver *s)
{
    s->conflicts = s->rounds = s->work = 0;
    s->order.count = 0;
    s->too_long = false;
}

static void solver_begin(struct solver *s, uint32_t a, uint32_t b,
                         const struct solve_budget *budget)
{
    const struct problem *p = s->p;

    s->a = a;
    s->b = b;
    s->budget = *budget;
    s->started = thread_seconds();
    s->work_limit = budget->work;
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

/* The problem's own beginning is frozen all the time. */
static bool freeze_start(struct solver *s)
{
    if (s->frozen == s->p->start)
        return true;
    freeze_end(s);
    if (freeze_up_to(s, s->p->start))
        return true;
    freeze_end(s);
    return false;
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

bool solver_need(struct solver *s, uint32_t a, uint32_t b)
{
    return need_next(s, a) && need_next(s, b);
}

/* Executing this node takes, by the clocks, what may not be executed. */
static bool takes_too_much(const struct solver *s, uint32_t node)
{
    const struct problem *p = s->p;
    const uint32_t *row = problem_row(p, p->must, node);
    bool too_much = p->rank[node] >= s->chains[in_chain(p->thread[node])].hi;

    for (uint32_t t = 0; t < p->nthreads && !too_much; t++)
        too_much = row[t] > s->chains[in_chain(t)].hi;
    return too_much;
}

/* The node cannot be next, by the clocks alone: that takes no look at what comes before it, and
 * answers most questions about programs. */
static bool is_out_of_reach(const struct solver *s, uint32_t node)
{
    const struct problem *p = s->p;
    uint32_t rank = p->rank[node];

    if (!p->must)
        return false;
    if (rank && takes_too_much(s, p->thread_node[p->thread_first[p->thread[node]] + rank - 1]))
        return true;
    for (uint32_t k = p->need_first[node]; k < p->soft_first[node]; k++)
        if (takes_too_much(s, p->need[k]))
            return true;
    return false;
}

/* Executing this node takes, by the clocks, one of the two. */
static bool takes_one(const struct problem *p, uint32_t node, uint32_t a, uint32_t b)
{
    const uint32_t *row = problem_row(p, p->must, node);

    return row[p->thread[a]] > p->rank[a] || row[p->thread[b]] > p->rank[b];
}

/* The same as is_out_of_reach() for what the two are to each other alone. No look at other threads:
 * of a chain of thousands most questions are about accesses that follow each other. */
static bool is_after_other(const struct problem *p, uint32_t node, uint32_t a, uint32_t b)
{
    uint32_t rank = p->rank[node];

    if (rank && takes_one(p, p->thread_node[p->thread_first[p->thread[node]] + rank - 1], a, b))
        return true;
    for (uint32_t k = p->need_first[node]; k < p->soft_first[node]; k++)
        if (takes_one(p, p->need[k], a, b))
            return true;
    return false;
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
            *spent =
                (s->budget.conflicts && s->conflicts > s->budget.conflicts) || out_of_budget(s);
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

static enum solve_answer solver_search(struct solver *s)
{
    bool spent = false;

    for (;;) {
        if (!satisfy(s, &spent))
            return spent || s->choices_cut ? SOLVE_UNDECIDED : SOLVE_INFEASIBLE;
        if (!replay_run(s, true))
            return SOLVE_UNDECIDED;
        if (!s->nfaults)
            return SOLVE_FEASIBLE;
        if (out_of_budget(s))
            return SOLVE_UNDECIDED;
        s->rounds++;
        search_undo(s, 0);
        for (size_t i = 0; i < s->nfaults; i++)
            constraints_add(s, &s->faults[i]);
    }
}

/* The replay without faults is the answer. */
static void keep_order(struct solver *s)
{
    uint32_t count;
    const uint32_t *order = replay_order(s->replay, &count);

    s->order.count = 0;
    for (uint32_t n = 0; n < s->frozen; n++)
        if (is_in(s, n))
            list_push(&s->order, n);
    for (uint32_t i = 0; i < count; i++)
        list_push(&s->order, order[i]);
}

/* One search, with so many choices a read and so much work (0: the rest). *cut: it is undecided
 * because writers were left out. */
static enum solve_answer attempt(struct solver *s, uint32_t choices, uint64_t work, bool *cut)
{
    uint64_t limit = s->budget.work;
    size_t bounds = s->nbounds;
    enum solve_answer answer;

    s->choice_limit = choices;
    s->work_limit = work && s->work + work < limit ? s->work + work : limit;
    answer = solver_search(s);
    if (answer == SOLVE_FEASIBLE)
        keep_order(s);
    *cut = answer == SOLVE_UNDECIDED && s->choices_cut && !out_of_budget(s);
    forget_search(s);
    chains_undo(s, bounds);
    s->work_limit = limit;
    return answer;
}

/* First with few writers a read; if that cannot be and some were left out, with all. */
static enum solve_answer attempt_both(struct solver *s, uint64_t work)
{
    bool cut;
    enum solve_answer answer = attempt(s, FIRST_CHOICES, work, &cut);

    return cut ? attempt(s, 0, work, &cut) : answer;
}

/* With all nodes below this one frozen. */
static enum solve_answer attempt_frozen(struct solver *s, uint32_t node)
{
    enum solve_answer answer = SOLVE_UNDECIDED;
    size_t bounds = s->nbounds;
    bool cut;

    if (node <= s->p->start)
        return answer;
    freeze_end(s);
    if (freeze_up_to(s, node) && freeze_raise(s))
        answer = attempt(s, FIRST_CHOICES, s->budget.work / FROZEN_PART, &cut);
    chains_undo(s, bounds);
    freeze_end(s);
    freeze_start(s);
    return answer == SOLVE_FEASIBLE ? answer : SOLVE_UNDECIDED;
}

static enum solve_answer search_frozen(struct solver *s, uint32_t first)
{
    enum solve_answer answer = SOLVE_UNDECIDED;

    for (size_t i = 0; i < sizeof(unfrozen) / sizeof(unfrozen[0]) && first > unfrozen[i]; i++)
        if (answer == SOLVE_UNDECIDED && !out_of_budget(s))
            answer = attempt_frozen(s, first - unfrozen[i]);
    return answer;
}

static enum solve_answer search_all(struct solver *s, uint32_t a, uint32_t b)
{
    uint32_t first = a < b ? a : b;
    enum solve_answer answer;

    if (s->budget.unfrozen && s->budget.unfrozen < first &&
        attempt_frozen(s, first - s->budget.unfrozen) == SOLVE_FEASIBLE)
        return SOLVE_FEASIBLE;
    answer = attempt_both(s, s->budget.work / FIRST_PART);
    if (answer == SOLVE_UNDECIDED && s->budget.work && !out_of_budget(s))
        answer = search_frozen(s, first);
    if (answer == SOLVE_UNDECIDED && s->budget.work && !out_of_budget(s))
        answer = attempt_both(s, 0);
    return answer;
}

/* Is what is executed a prefix of each thread, without a and b, after which both are next? */
static bool leads_to_both(struct solver *s, uint32_t a, uint32_t b)
{
    const struct problem *p = s->p;
    uint32_t *next = s->executed;

    for (uint32_t t = 0; t < p->nthreads; t++)
        next[t] = 0;
    for (size_t i = 0; i < s->order.count; i++) {
        uint32_t n = s->order.items[i];

        if (p->rank[n] != next[p->thread[n]]++)
            return false;
    }
    return next[p->thread[a]] == p->rank[a] && next[p->thread[b]] == p->rank[b];
}

static enum solve_answer decide_in_solver(struct solver *s, uint32_t a, uint32_t b,
                                          const struct solve_budget *budget)
{
    enum solve_answer answer;

    s->way = SOLVE_BY_NEEDS;
    forget_answer(s);
    if (s->p->must && (is_after_other(s->p, a, a, b) || is_after_other(s->p, b, a, b)))
        return SOLVE_INFEASIBLE;
    solver_begin(s, a, b, budget);
    if (is_out_of_reach(s, a) || is_out_of_reach(s, b))
        return SOLVE_INFEASIBLE;
    if (!freeze_start(s) || !freeze_raise(s))
        return SOLVE_UNDECIDED;
    if ((a != b && s->p->thread[a] == s->p->thread[b]) || !solver_need(s, a, b))
        return SOLVE_INFEASIBLE;
    if (budget->nodes && needed(s) > budget->nodes) {
        s->too_long = true;
        return SOLVE_UNDECIDED;
    }
    s->way = SOLVE_BY_OBSERVED;
    if (observed_try(s)) {
        keep_order(s);
        return SOLVE_FEASIBLE;
    }
    s->way = SOLVE_BY_SEARCH;
    answer = search_all(s, a, b);
    if (answer == SOLVE_FEASIBLE)
        shorten_order(s, a, b);
    return answer;
}

enum solve_answer solver_decide(struct solver *s, uint32_t a, uint32_t b,
                                const struct solve_budget *budget)
{
    enum solve_answer answer = decide_in_solver(s, a, b, budget);

    invariant(answer != SOLVE_FEASIBLE || leads_to_both(s, a, b));
    return answer;
}

/* ---- answers ---- */

const uint32_t *solver_order(const struct solver *s, uint32_t *count)
{
    *count = (uint32_t)s->order.count;
    return s->order.items;
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

uint64_t solver_work(const struct solver *s)
{
    return s->work;
}
