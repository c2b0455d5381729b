/* relax_facts.c - what the computation of values needs to know of a trace
 *
 * Conditions and pins belong to events; most events are no nodes of the solver. They are
 * due at the thread's next node: what lies in between comes right before it.
 *
 * Pins. An event that the walk does not know, and what a callback reads inside a call of
 * untraced code, needs all earlier reads of its thread as they were. So does what follows
 * a read by a modelled function (strlen) for this read.
 *
 * What is there first: 0 for named variables; else what reads saw who found nothing
 * written before. In a recording the order of plain accesses is not exact, so there only a
 * value that nobody writes counts.
 */
#include "engines/values/relax_values.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

bool value_recorded_read(const struct event *e, uint64_t *value)
{
    *value = e->op == OP_RMW ? e->old : e->value;
    return op_is_access(e->op) && op_table[e->op].reads && e->size <= 8 &&
           e->flags & (e->op == OP_RMW ? EV_OLD : EV_VALUE);
}

bool value_recorded_write(const struct execution *e, uint32_t event, u128 *value)
{
    const struct event *ev = &e->trace->events[event];
    expr x = e->events[event].value;

    if (!op_is_access(ev->op) || !op_table[ev->op].writes)
        return false;
    *value = ev->value;
    if (ev->flags & EV_VALUE && ev->size <= 8)
        return true;
    *value = expr_get(e->x, x)->value;
    return x && e->events[event].known && expr_get(e->x, x)->flags & EXPR_KNOWN;
}

unsigned touch_pieces(const struct relax_facts *f, uint32_t touch, struct touch_pieces *out)
{
    const struct problem_touch *t = &f->m->problem.touches[touch];
    const struct view_cell *c = &f->view->cells[f->m->view_cell[t->cell]];
    uint32_t event = f->m->event_of[t->node];
    const struct execution_event *x = &f->e->events[event];
    uint64_t offset = c->address - f->view->events[event].target;
    uint64_t each = x->piece_bytes;
    unsigned n = 0;

    if (!x->npieces || !x->known || c->bytes > 8 || offset + c->bytes > each * x->npieces)
        return 0;
    for (uint64_t k = offset / each; k <= (offset + c->bytes - 1) / each; k++) {
        out->list[n++] = f->e->pieces[x->pieces + k];
        if (!out->list[n - 1])
            return 0;
    }
    out->bits = 8 * (unsigned)each;
    out->shift = 8 * (unsigned)(offset % each);
    out->mask = (uint64_t)expr_mask(8 * (unsigned)c->bytes);
    return n;
}

bool value_recorded_part(const struct relax_facts *f, uint32_t touch, u128 *part)
{
    uint32_t event = f->m->event_of[f->m->problem.touches[touch].node];
    struct touch_pieces p;
    u128 values[PIECES_OF_CELL], v;
    unsigned n;

    if (value_recorded_write(f->e, event, &v))
        return touch_part(f, touch, v, part);
    n = touch_pieces(f, touch, &p);
    for (unsigned i = 0; i < n; i++) {
        if (!(expr_get(f->e->x, p.list[i])->flags & EXPR_KNOWN))
            return false;
        values[i] = expr_get(f->e->x, p.list[i])->value;
    }
    *part = join_pieces(&p, values, n);
    return n > 0;
}

/* ---- which cells matter ---- */

static bool pieces_vary(const struct execution *e, const struct execution_event *x)
{
    for (uint32_t k = 0; k < x->npieces; k++)
        if (!e->pieces[x->pieces + k] || expr_varies(e->x, e->pieces[x->pieces + k]))
            return true;
    return !x->npieces;
}

/* Does it write something that other schedules may change? */
static bool varies(const struct execution *e, uint32_t i)
{
    const struct event *ev = &e->trace->events[i];
    const struct execution_event *x = &e->events[i];

    if (!op_is_access(ev->op) || !op_table[ev->op].writes)
        return false;
    return !x->known || (x->value ? expr_varies(e->x, x->value) : pieces_vary(e, x));
}

bool *relax_cells(const struct view *v, const struct execution *e)
{
    bool *cells = xcalloc((size_t)v->ncells + 1, sizeof(*cells));

    for (uint32_t i = 0; i < v->count; i++)
        for (uint32_t k = v->cell_first[i]; k < v->cell_first[i + 1]; k++)
            cells[v->cell[k]] |= varies(e, i) || v->events[i].op == OP_CALL;
    return cells;
}

/* ---- conditions and pins ---- */

/* Event -> the thread's next node at or after it; SOLVE_NONE. */
static uint32_t *find_due(const struct relax_facts *f)
{
    const struct view *v = f->view;
    uint32_t *due = xmalloc(((size_t)v->count + 1) * sizeof(*due));
    uint32_t *next = xmalloc(((size_t)v->nthreads + 1) * sizeof(*next));

    memset(next, 0xff, ((size_t)v->nthreads + 1) * sizeof(*next));
    for (uint32_t i = v->count; i-- > 0;) {
        if (f->m->node_of[i] != SOLVE_NONE)
            next[v->events[i].thread] = f->m->node_of[i];
        due[i] = next[v->events[i].thread];
    }
    free(next);
    return due;
}

static void place_conditions(struct relax_facts *f, const uint32_t *due)
{
    const struct execution *e = f->e;
    uint32_t nodes = f->m->problem.nnodes, *next, count = e->condition_first[f->view->count];

    f->condition_first = xcalloc((size_t)nodes + 2, sizeof(uint32_t));
    f->condition = xmalloc(((size_t)count + 1) * sizeof(uint32_t));
    for (uint32_t i = 0; i < f->view->count; i++)
        if (due[i] != SOLVE_NONE)
            f->condition_first[due[i] + 1] += e->condition_first[i + 1] - e->condition_first[i];
    for (uint32_t n = 0; n < nodes; n++)
        f->condition_first[n + 1] += f->condition_first[n];
    next = xmalloc(((size_t)nodes + 1) * sizeof(*next));
    memcpy(next, f->condition_first, ((size_t)nodes + 1) * sizeof(*next));
    for (uint32_t i = 0; i < f->view->count; i++)
        for (uint32_t k = e->condition_first[i]; k < e->condition_first[i + 1]; k++)
            if (due[i] != SOLVE_NONE)
                f->condition[next[due[i]]++] = k;
    free(next);
}

static bool is_inside_call(const struct relax_facts *f, uint32_t i)
{
    uint8_t op = f->view->events[i].op;

    return f->view->decides[i] && op != OP_BRANCH && op != OP_CALL;
}

/* A read whose value goes where no expression shows. */
static bool vanishes(const struct relax_facts *f, uint32_t i)
{
    const struct execution_event *x = &f->e->events[i];

    return op_is_access(f->view->events[i].op) && op_table[f->view->events[i].op].reads &&
           !x->value && !x->old && !x->address;
}

static void place_pins(struct relax_facts *f, const uint32_t *due)
{
    const struct view *v = f->view;
    uint32_t *pin = xmalloc(((size_t)v->nthreads + 1) * sizeof(*pin));  /* of the next pin */
    uint32_t *next = xmalloc(((size_t)v->nthreads + 1) * sizeof(*pin)); /* of the next event */

    memset(pin, 0xff, ((size_t)v->nthreads + 1) * sizeof(*pin));
    memset(next, 0xff, ((size_t)v->nthreads + 1) * sizeof(*pin));
    f->pin = xmalloc(((size_t)f->m->problem.nnodes + 1) * sizeof(*f->pin));
    f->pinned = xcalloc((size_t)f->m->problem.nnodes + 1, sizeof(*f->pinned));
    for (uint32_t i = v->count; i-- > 0;) {
        uint32_t t = v->events[i].thread, n = f->m->node_of[i];

        if (is_inside_call(f, i))
            pin[t] = due[i]; /* its own read counts, too */
        if (n != SOLVE_NONE)
            f->pin[n] = vanishes(f, i) ? next[t] : pin[t];
        if (!f->e->events[i].known)
            pin[t] = due[i];
        if (due[i] != SOLVE_NONE)
            f->pinned[due[i]] |= is_inside_call(f, i) || !f->e->events[i].known;
        next[t] = due[i];
    }
    free(pin);
    free(next);
}

/* ---- values ---- */

/* A recorded read behind a write of code that was not executed: it did not see that. */
static bool missed_writer(const struct relax_facts *f, const struct problem_touch *t)
{
    const struct problem *p = &f->m->problem;

    return t->writer != SOLVE_NONE && !f->e->events[f->m->event_of[t->node]].is_new &&
           f->e->events[f->m->event_of[p->touches[t->writer].node]].is_new;
}

static void find_odd(struct relax_facts *f)
{
    const struct problem *p = &f->m->problem;

    f->odd = xcalloc((size_t)p->touch_first[p->nnodes] + 1, sizeof(*f->odd));
    for (uint32_t k = 0; k < p->touch_first[p->nnodes]; k++) {
        const struct problem_touch *t = &p->touches[k];
        u128 read, wrote;
        uint64_t value;

        f->odd[k] = t->flags & TOUCH_READS && missed_writer(f, t);
        if (!(t->flags & TOUCH_READS) || f->odd[k] ||
            !value_recorded_read(&f->view->events[f->m->event_of[t->node]], &value) ||
            !touch_part(f, k, value, &read))
            continue;
        if (t->writer == SOLVE_NONE)
            f->odd[k] = f->first[t->cell].known && f->first[t->cell].value != (uint64_t)read;
        else if (value_recorded_part(f, t->writer, &wrote))
            f->odd[k] = wrote != read;
    }
}

/* Does some write give the cell that value, or one that is not known? */
static bool is_written(const struct relax_facts *f, uint32_t cell, uint64_t value)
{
    const struct problem *p = &f->m->problem;
    u128 part;

    for (uint32_t i = p->writer_first[cell]; i < p->writer_first[cell + 1]; i++)
        if (!value_recorded_part(f, p->writer[i], &part) || part == value)
            return true;
    return false;
}

static void learn_first(struct relax_facts *f, bool *refuted, uint32_t touch, bool exact)
{
    const struct problem_touch *t = &f->m->problem.touches[touch];
    struct problem_cell *first = &f->first[t->cell];
    u128 part;
    uint64_t value;

    if (!(t->flags & TOUCH_READS) || t->writer != SOLVE_NONE || refuted[t->cell] ||
        !value_recorded_read(&f->view->events[f->m->event_of[t->node]], &value) ||
        !touch_part(f, touch, value, &part))
        return;
    if (!exact && is_written(f, t->cell, (uint64_t)part))
        return;
    refuted[t->cell] = first->known && first->value != (uint64_t)part;
    *first = (struct problem_cell){ (uint64_t)part, !refuted[t->cell] };
}

/* What the program's file has there. */
static bool file_value(const struct relax_facts *f, uint32_t cell, uint64_t *value)
{
    const struct view_cell *c = &f->view->cells[f->m->view_cell[cell]];

    return execution_first_value(f->e, c->address, c->bytes, value);
}

/* A read that found nothing written, and something else than that. */
static bool denies_file(const struct relax_facts *f, uint32_t touch)
{
    const struct problem_touch *t = &f->m->problem.touches[touch];
    uint64_t value, file;
    u128 part;

    return t->flags & TOUCH_READS && t->writer == SOLVE_NONE && file_value(f, t->cell, &file) &&
           value_recorded_read(&f->view->events[f->m->event_of[t->node]], &value) &&
           touch_part(f, touch, value, &part) && (uint64_t)part != file;
}

static void find_first(struct relax_facts *f, bool exact)
{
    const struct problem *p = &f->m->problem;
    bool *refuted = xcalloc((size_t)p->ncells + 1, sizeof(*refuted));

    f->first = xcalloc((size_t)p->ncells + 1, sizeof(*f->first));
    for (uint32_t c = 0; c < p->ncells; c++) {
        const struct view_cell *cell = &f->view->cells[f->m->view_cell[c]];

        refuted[c] = cell->allocated || cell->bytes > 8 || is_named(cell->address);
        f->first[c].known = !cell->allocated && is_named(cell->address);
    }
    for (uint32_t k = 0; k < p->touch_first[p->nnodes]; k++)
        learn_first(f, refuted, k, exact);
    for (uint32_t k = 0; k < p->touch_first[p->nnodes]; k++)
        refuted[p->touches[k].cell] |= denies_file(f, k);
    for (uint32_t c = 0; c < p->ncells; c++)
        if (!refuted[c] && !f->first[c].known)
            f->first[c].known = file_value(f, c, &f->first[c].value);
    free(refuted);
}

static void find_forks(struct relax_facts *f)
{
    const struct view *v = f->view;

    f->parent = xmalloc(((size_t)v->nthreads + 1) * sizeof(uint32_t));
    f->forked = xmalloc(((size_t)v->nthreads + 1) * sizeof(uint32_t));
    memset(f->parent, 0xff, ((size_t)v->nthreads + 1) * sizeof(uint32_t));
    memset(f->forked, 0, ((size_t)v->nthreads + 1) * sizeof(uint32_t));
    for (uint32_t i = 0; i < v->count; i++) {
        const struct event *e = &v->events[i];

        if (e->op != OP_FORK || e->target >= v->nthreads || e->target == e->thread ||
            v->rank[i] == VIEW_NONE)
            continue;
        f->parent[e->target] = e->thread;
        f->forked[e->target] = i;
    }
}

/* ---- life cycle ---- */

void relax_facts_init(struct relax_facts *f, const struct model *m, const struct execution *e,
                      bool exact)
{
    uint32_t *due;

    *f = (struct relax_facts){ .view = m->view, .e = e, .m = m };
    due = find_due(f);
    place_conditions(f, due);
    place_pins(f, due);
    free(due);
    find_first(f, exact);
    find_odd(f);
    find_forks(f);
}

void relax_facts_release(struct relax_facts *f)
{
    free(f->condition_first);
    free(f->condition);
    free(f->pin);
    free(f->pinned);
    free(f->odd);
    free(f->first);
    free(f->parent);
    free(f->forked);
}
