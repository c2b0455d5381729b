/* execution.c - a full-mode trace in memory, with an expression for what each event did
 *
 * The walk is run once over the whole trace, with all nodes kept. What it says is checked
 * against the record once more: an event whose address, value or outcome is not what its
 * expression gives is not `known`, and neither is one at which a thread's place was lost.
 *
 * A STEP_FIXED that comes while an event is being walked is a condition of that event,
 * if the event is not taken yet; else, and where it depends on what the event itself reads
 * (a compare-exchange), of the thread's next one. So is a branch's outcome.
 */
#include "execution/execution.h"
#include "base/alloc.h"
#include "execution/exec_inside.h"

#include <stdlib.h>
#include <string.h>

/* Conditions for a thread's next event, until that is met. */
struct waiting {
    struct execution_condition *list;
    size_t count, cap;
};

struct maker {
    struct execution *e;
    struct walk *w;
    struct waiting *waiting; /* of threads */
    size_t nwaiting;
    struct execution_condition *conditions; /* `event` is whose they are, see `own` */
    uint32_t *owner;                        /* beside: the event they are conditions of */
    size_t count, cap, owner_cap, cases_cap, pieces_cap;
    uint64_t position;
    bool taken; /* the event at hand had its step */
};

/* ---- conditions ---- */

static struct waiting *waiting_of(struct maker *m, uint32_t thread)
{
    GROW(m->waiting, m->nwaiting, thread + (size_t)1);
    return &m->waiting[thread];
}

static void add_condition(struct maker *m, const struct execution_condition *c, uint32_t owner)
{
    GROW(m->conditions, m->cap, m->count + 1);
    GROW(m->owner, m->owner_cap, m->count + 1);
    m->conditions[m->count] = *c;
    m->owner[m->count++] = owner;
}

static void add_later(struct maker *m, uint32_t thread, const struct execution_condition *c)
{
    struct waiting *list = waiting_of(m, thread);

    GROW(list->list, list->cap, list->count + 1);
    list->list[list->count++] = *c;
}

/* What the thread's earlier events left for this one. */
static void add_waiting(struct maker *m, uint32_t thread, uint32_t position)
{
    struct waiting *list = waiting_of(m, thread);

    for (size_t i = 0; i < list->count; i++)
        add_condition(m, &list->list[i], position);
    list->count = 0;
}

static struct execution_condition condition(struct maker *m, enum condition_kind kind, expr value)
{
    struct execution_condition c = { .kind = (uint8_t)kind,
                                     .value = value,
                                     .event = (uint32_t)m->position };

    c.is_known = expr_value(m->e->x, value, &c.recorded);
    return c;
}

/* Does it depend on what that event read, as far as a few levels show? */
static bool reads_event(const struct exprs *x, expr e, uint64_t position, unsigned depth)
{
    const struct expr_node *n = expr_get(x, e);

    if (n->op == EX_READ)
        return (n->a | (uint64_t)n->b << 32) == position;
    if (n->op <= EX_UNKNOWN || !(n->flags & EXPR_VARIES) || depth == 0)
        return false;
    if (reads_event(x, n->a, position, depth - 1))
        return true;
    if (n->op == EX_EXTRACT || n->op == EX_ZEXT || n->op == EX_SEXT)
        return false;
    return reads_event(x, n->b, position, depth - 1) ||
           (n->op == EX_ITE && reads_event(x, n->c, position, depth - 1));
}

static void take_fixed(struct maker *m, const struct step *s)
{
    struct execution_condition c = condition(m, CONDITION_FIXED, s->value);

    if (m->taken || reads_event(m->e->x, s->value, m->position, 8))
        add_later(m, s->thread, &c);
    else
        add_condition(m, &c, (uint32_t)m->position);
}

/* ---- steps ---- */

/* Is the recorded value what the expression says? Not known counts as yes. */
static bool agrees(struct exprs *x, expr e, u128 recorded)
{
    u128 v;

    return !e || !expr_value(x, e, &v) || v == (recorded & expr_mask(expr_get(x, e)->width));
}

expr step_taken(struct exprs *x, const struct step *s)
{
    expr any = 0;

    if (!s->cases)
        return s->value;
    if (s->outcome)
        return expr_binary(x, EX_EQ, s->value, s->cases[s->outcome - 1]);
    for (size_t i = 0; i < s->ncases; i++) {
        expr same = expr_binary(x, EX_EQ, s->value, s->cases[i]);
        any = any ? expr_binary(x, EX_OR, any, same) : same;
    }
    return any;
}

static void take_branch(struct maker *m, struct execution_event *ev, const struct step *s)
{
    struct exprs *x = m->e->x;
    expr value = step_taken(x, s);
    struct execution_condition c;

    ev->outcome = (uint32_t)s->outcome;
    ev->cases = (uint32_t)m->e->ncases;
    ev->ncases = (uint32_t)s->ncases;
    GROW(m->e->cases, m->cases_cap, m->e->ncases + s->ncases);
    for (size_t i = 0; i < s->ncases; i++)
        m->e->cases[m->e->ncases++] = s->cases[i];
    ev->known &= value != 0;
    if (!value)
        return;
    c = condition(m, CONDITION_BRANCH, value);
    c.recorded = s->cases ? s->outcome != 0 : s->outcome;
    c.is_known = true;
    ev->known &= agrees(x, value, c.recorded);
    if (expr_varies(x, value))
        add_later(m, s->thread, &c);
}

static void take_pieces(struct maker *m, struct execution_event *ev, const struct step *s)
{
    struct execution *e = m->e;

    ev->pieces = (uint32_t)e->npieces;
    ev->npieces = (uint32_t)s->npieces;
    ev->piece_bytes = (uint8_t)s->piece_bytes;
    GROW(e->pieces, m->pieces_cap, e->npieces + s->npieces);
    for (size_t i = 0; i < s->npieces; i++)
        e->pieces[e->npieces++] = s->pieces[i];
}

static void take_access(struct maker *m, struct execution_event *ev, const struct step *s)
{
    struct exprs *x = m->e->x;
    const struct event *e = s->event;
    bool valued = e->flags & EV_VALUE && e->size <= 8;
    struct execution_condition c;

    if (s->kind != STEP_READ && valued)
        ev->known &= agrees(x, s->value, e->value);
    if (s->kind == STEP_UPDATE && e->flags & EV_OLD && e->size <= 8)
        ev->known &= agrees(x, s->old, e->old);
    if (s->pieces)
        take_pieces(m, ev, s);
    if (s->address && expr_varies(x, s->address)) {
        c = condition(m, CONDITION_ADDRESS, s->address);
        add_condition(m, &c, (uint32_t)s->position);
    }
    if (s->kind == STEP_UPDATE || s->kind == STEP_WRITE) /* all of its bytes, or nothing */
        if (ev->value && expr_get(x, ev->value)->width != 8 * e->size)
            ev->value = expr_get(x, ev->value)->width > 8 * (e->size - 1) && e->size <= 16
                            ? expr_resize(x, 8 * e->size, ev->value)
                            : 0;
}

/* The walk's frame does not know where it is, or has no code. */
static bool is_dark(const struct maker *m, uint32_t thread)
{
    const struct thread *t = thread < m->w->nthreads ? m->w->threads[thread] : NULL;

    return t && t->depth && t->frames[t->depth - 1].lost;
}

static void take_step(void *arg, const struct step *s)
{
    struct maker *m = arg;
    struct execution_event *ev;

    if (s->kind == STEP_FIXED) {
        take_fixed(m, s);
        return;
    }
    ev = &m->e->events[s->position];
    *ev = (struct execution_event){
        .kind = (uint8_t)s->kind, .address = s->address, .value = s->value, .old = s->old
    };
    ev->known = s->kind != STEP_OTHER || !(op_is_access(s->event->op) || is_dark(m, s->thread));
    m->taken = true;
    if (s->kind == STEP_BRANCH)
        take_branch(m, ev, s);
    else if (s->kind <= STEP_UPDATE)
        take_access(m, ev, s);
}

/* ---- the whole ---- */

static void walk_all(struct maker *m)
{
    const struct trace_mem *t = m->e->trace;
    uint64_t losses = 0;

    for (size_t i = 0; i < t->count; i++) {
        m->position = i;
        m->taken = false;
        add_waiting(m, t->events[i].thread, (uint32_t)i);
        walk_event(m->w, i, &t->events[i]);
        if (!m->taken || walk_stats(m->w)->losses != losses)
            m->e->events[i].known = false;
        losses = walk_stats(m->w)->losses;
    }
}

/* The conditions by the events whose they are. */
static void sort_conditions(struct maker *m)
{
    struct execution *e = m->e;
    size_t n = e->trace->count;
    uint32_t *next = xcalloc(n + 2, sizeof(*next));

    e->condition_first = xcalloc(n + 2, sizeof(*e->condition_first));
    e->conditions = xcalloc(m->count + 1, sizeof(*e->conditions));
    for (size_t i = 0; i < m->count; i++)
        e->condition_first[m->owner[i] + 1]++;
    for (size_t i = 0; i < n; i++)
        e->condition_first[i + 1] += e->condition_first[i];
    memcpy(next, e->condition_first, (n + 1) * sizeof(*next));
    for (size_t i = 0; i < m->count; i++)
        e->conditions[next[m->owner[i]]++] = m->conditions[i];
    free(next);
}

/* Values that the record told later in the trace. */
static void learn_conditions(struct maker *m)
{
    for (size_t i = 0; i < m->count; i++)
        if (!m->conditions[i].is_known)
            m->conditions[i].is_known =
                expr_value(m->e->x, m->conditions[i].value, &m->conditions[i].recorded);
}

static struct sharing *find_sharing(const struct trace_mem *trace)
{
    struct sharing *s = sharing_new();

    for (size_t i = 0; i < trace->count; i++)
        sharing_event(s, &trace->events[i]);
    return s;
}

struct execution *execution_make(const struct trace_mem *trace, struct program *p,
                                 struct sharing *sharing, struct flips *flips)
{
    struct maker m = { 0 };
    struct walk_options options = { .step = take_step,
                                    .arg = &m,
                                    .is_private = sharing_is_private,
                                    .private_arg = sharing,
                                    .keep_all = true,
                                    .flips = flips };

    m.e = xcalloc(1, sizeof(*m.e));
    m.e->trace = trace;
    m.e->events = xcalloc(trace->count + 1, sizeof(*m.e->events));
    m.w = walk_new(p, &options);
    m.e->x = walk_exprs(m.w);
    walk_all(&m);
    learn_conditions(&m);
    sort_conditions(&m);
    firsts_list(&m.e->first, m.w, trace);
    m.e->walked = walk_stats(m.w)->walked;
    m.e->outside = walk_stats(m.w)->outside;
    m.e->lost = walk_stats(m.w)->lost;
    m.e->x = xcalloc(1, sizeof(*m.e->x)); /* the nodes outlive the walk */
    *m.e->x = *walk_exprs(m.w);
    exprs_init(walk_exprs(m.w));
    walk_free(m.w);
    for (size_t i = 0; i < m.nwaiting; i++)
        free(m.waiting[i].list);
    free(m.waiting);
    free(m.conditions);
    free(m.owner);
    return m.e;
}

bool execution_has_code(const struct tables *tables)
{
    struct error why;
    struct program *p = program_open(tables, &why);

    program_close(p);
    return p;
}

struct execution *execution_new(const struct trace_mem *trace, const struct tables *tables,
                                struct error *err)
{
    struct program *p = program_open(tables, err);
    struct sharing *sharing;
    struct execution *e;

    if (!p)
        return NULL;
    sharing = find_sharing(trace);
    e = execution_make(trace, p, sharing, NULL);
    sharing_free(sharing);
    program_close(p);
    return e;
}

void execution_free(struct execution *e)
{
    if (!e)
        return;
    exprs_release(e->x);
    free(e->x);
    free(e->events);
    free(e->condition_first);
    free(e->conditions);
    free(e->cases);
    free(e->pieces);
    firsts_release(&e->first);
    free(e);
}

bool execution_first_value(const struct execution *e, uint64_t address, uint64_t bytes,
                           uint64_t *value)
{
    return firsts_value(&e->first, address, bytes, value);
}
