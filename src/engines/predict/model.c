/* model.c - the ordering solver's problem made from a view
 *
 * The rules for values are those of docs/design/proof.md, "Reads". A read that
 * only one writer can satisfy always needs that writer; such edges go into the
 * problem's needs (with branches, where a read need not be right: into keep),
 * so the solver need not find them out. Writers are counted by (cell, value)
 * in a hash table without a check of the key: a collision only hides that a
 * writer is the only one.
 */
#include "engines/predict/model.h"
#include "base/alloc.h"
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

struct builder {
    struct model *m;
    const struct view *v;
    struct problem *p;
    bool values, loose;
    const bool *free_cells; /* or NULL: the solver's reads and writes all fit, and these cells of
                               the view count as shared */
    bool *shared_cell, *shared_lock; /* by several threads, and written (or odd) */
    bool *pick;                      /* event -> is a node */
    uint32_t *cell_of, *lock_of;     /* view's numbers -> the problem's */
    struct map givers;               /* (cell, value) -> how many writers give it */
    size_t need_cap, keep_cap;
};

/* ---- values ---- */

/* What a value of an access says about one of its cells. */
static uint64_t cell_value(const struct view *v, uint32_t cell, const struct event *e,
                           uint64_t value)
{
    const struct view_cell *c = &v->cells[cell];

    value >>= 8 * (c->address - e->target);
    return c->bytes < 8 ? value & ((1ull << (8 * c->bytes)) - 1) : value;
}

static void fill_values(const struct builder *b, struct problem_touch *t, uint32_t cell,
                        const struct event *e)
{
    bool usable = b->values && op_is_access(e->op) && e->size <= 8;
    uint64_t saw;

    if (op_table[e->op].reads || e->op == OP_CALL)
        t->flags |= TOUCH_READS;
    if (op_table[e->op].writes || e->op == OP_ALLOC || op_class_of(e->op) == CLASS_CALL)
        t->flags |= TOUCH_WRITES;
    if (b->free_cells) {
        t->flags |= TOUCH_WANTS | TOUCH_GIVES;
        return;
    }
    if (t->flags & TOUCH_READS && usable && event_saw(e, &saw)) {
        t->flags |= TOUCH_WANTS;
        t->wants = cell_value(b->v, cell, e, saw);
    }
    if (t->flags & TOUCH_WRITES && usable && e->flags & EV_VALUE) {
        t->flags |= TOUCH_GIVES;
        t->gives = cell_value(b->v, cell, e, e->value);
    }
}

/* Inside a call of untraced code all reads matter. */
static bool is_loose(const struct builder *b, uint32_t event)
{
    return b->loose && b->v->events[event].flags & EV_LOOSE && !b->v->decides[event];
}

static struct problem_cell first_value(const struct view_cell *c)
{
    return (struct problem_cell){ 0, !c->allocated && is_named(c->address) };
}

/* Is the value of a read another one than the trace says? Then it is no matter of course, even in
 * a cell of one thread. */
static bool is_odd(const struct builder *b, uint32_t event, uint32_t k)
{
    const struct view *v = b->v;
    struct problem_touch r = { 0 }, w = { 0 };
    struct problem_cell first = first_value(&v->cells[v->cell[k]]);

    fill_values(b, &r, v->cell[k], &v->events[event]);
    if (!(r.flags & TOUCH_WANTS))
        return false;
    if (v->writer[k] == VIEW_NONE)
        return first.known && r.wants != first.value;
    fill_values(b, &w, v->cell[k], &v->events[v->writer[k]]);
    return w.flags & TOUCH_GIVES && w.gives != r.wants;
}

/* ---- which events are nodes ---- */

static void find_shared_cells(struct builder *b)
{
    const struct view *v = b->v;

    b->shared_cell = xcalloc((size_t)v->ncells + 1, sizeof(*b->shared_cell));
    for (uint32_t c = 0; c < v->ncells; c++) {
        bool several = false, written = false;

        for (uint32_t k = v->access_first[c]; k < v->access_first[c + 1]; k++) {
            const struct event *e = &v->events[v->access[k]];

            several |= e->thread != v->events[v->access[v->access_first[c]]].thread;
            written |= op_table[e->op].writes || e->op == OP_ALLOC;
        }
        b->shared_cell[c] = several && written;
    }
    for (uint32_t i = 0; b->loose && i < v->count; i++) /* a read of its own thread may see it */
        for (uint32_t k = v->cell_first[i]; k < v->cell_first[i + 1]; k++)
            b->shared_cell[v->cell[k]] |= is_loose(b, i);
    for (uint32_t c = 0; b->free_cells && c < v->ncells; c++)
        b->shared_cell[c] |= b->free_cells[c];
    for (uint32_t i = 0; b->values && i < v->count; i++)
        for (uint32_t k = v->cell_first[i]; k < v->cell_first[i + 1]; k++)
            b->shared_cell[v->cell[k]] |= is_odd(b, i, k);
    for (uint32_t i = 0; b->p->branches && i < v->count; i++) /* by whom it was written counts */
        for (uint32_t k = v->cell_first[i]; k < v->cell_first[i + 1]; k++)
            b->shared_cell[v->cell[k]] |= v->events[i].op == OP_CALL;
}

static void find_shared_locks(struct builder *b)
{
    const struct view *v = b->v;

    b->shared_lock = xcalloc((size_t)v->nlocks + 1, sizeof(*b->shared_lock));
    for (uint32_t l = 0; l < v->nlocks; l++) {
        uint32_t from = v->lock_first[l], to = v->lock_first[l + 1];

        for (uint32_t k = from; k < to; k++)
            if (v->sections[v->lock_section[k]].thread != v->sections[v->lock_section[from]].thread)
                b->shared_lock[l] = true;
    }
}

static bool has_touches(const struct builder *b, uint32_t i)
{
    for (uint32_t k = b->v->cell_first[i]; k < b->v->cell_first[i + 1]; k++)
        if (b->shared_cell[b->v->cell[k]])
            return true;
    return false;
}

static void pick_sections(struct builder *b)
{
    for (uint32_t s = 0; s < b->v->nsections; s++) {
        const struct view_section *x = &b->v->sections[s];

        if (!b->shared_lock[x->lock])
            continue;
        b->pick[x->acquire] = true;
        if (x->end != VIEW_NONE)
            b->pick[x->end] = true;
    }
}

/* A branch matters where a read that matters comes before it and after the last one. */
static void pick_branches(struct builder *b)
{
    bool *reads = xcalloc((size_t)b->v->nthreads + 1, sizeof(*reads));

    for (uint32_t i = 0; i < b->v->count; i++) {
        const struct event *e = &b->v->events[i];

        if (b->v->rank[i] == VIEW_NONE)
            continue;
        if (e->op == OP_BRANCH || e->op == OP_CALL) {
            b->pick[i] |= reads[e->thread];
            reads[e->thread] = false;
        }
        reads[e->thread] |= b->pick[i] && op_table[e->op].reads;
    }
    free(reads);
}

static void pick_nodes(struct builder *b)
{
    const struct view *v = b->v;

    b->pick = xcalloc((size_t)v->count + 1, sizeof(*b->pick));
    for (uint32_t i = 0; i < v->count; i++) {
        b->pick[i] |= v->need_first[i] < v->need_first[i + 1] || has_touches(b, i);
        for (uint32_t k = v->need_first[i]; k < v->need_first[i + 1]; k++)
            b->pick[v->need[k]] = true;
    }
    pick_sections(b);
    if (b->p->branches)
        pick_branches(b);
}

static void number_nodes(struct builder *b)
{
    const struct view *v = b->v;
    struct problem *p = b->p;

    b->m->node_of = xmalloc(((size_t)v->count + 1) * sizeof(uint32_t));
    for (uint32_t i = 0; i < v->count; i++)
        b->m->node_of[i] = b->pick[i] ? p->nnodes++ : SOLVE_NONE;
    b->m->event_of = xmalloc(((size_t)p->nnodes + 1) * sizeof(uint32_t));
    p->thread = xmalloc(((size_t)p->nnodes + 1) * sizeof(uint32_t));
    p->rank = xmalloc(((size_t)p->nnodes + 1) * sizeof(uint32_t));
    p->thread_node = xmalloc(((size_t)p->nnodes + 1) * sizeof(uint32_t));
    p->thread_first = xcalloc((size_t)p->nthreads + 1, sizeof(uint32_t));
    for (uint32_t i = 0; i < v->count; i++) {
        uint32_t n = b->m->node_of[i];

        if (n == SOLVE_NONE)
            continue;
        b->m->event_of[n] = i;
        p->thread[n] = v->events[i].thread;
        p->rank[n] = p->thread_first[p->thread[n] + 1]++;
    }
    for (uint32_t t = 0; t < p->nthreads; t++)
        p->thread_first[t + 1] += p->thread_first[t];
    for (uint32_t n = 0; n < p->nnodes; n++)
        p->thread_node[p->thread_first[p->thread[n]] + p->rank[n]] = n;
}

/* ---- touches ---- */

static uint32_t touch_cell(struct builder *b, uint32_t cell, size_t *cap)
{
    struct problem *p = b->p;

    if (b->cell_of[cell] == SOLVE_NONE) {
        GROW(p->cells, *cap, (size_t)p->ncells + 1);
        p->cells[p->ncells] =
            b->free_cells ? (struct problem_cell){ 0, true } : first_value(&b->v->cells[cell]);
        b->cell_of[cell] = p->ncells++;
    }
    return b->cell_of[cell];
}

static void add_touches(struct builder *b)
{
    const struct view *v = b->v;
    struct problem *p = b->p;
    size_t cap = 0, cells_cap = 0;
    uint32_t n = 0, *last; /* view's cell -> touch that wrote it */

    b->cell_of = xmalloc(((size_t)v->ncells + 1) * sizeof(uint32_t));
    memset(b->cell_of, 0xff, ((size_t)v->ncells + 1) * sizeof(uint32_t));
    last = xmalloc(((size_t)v->ncells + 1) * sizeof(uint32_t));
    memset(last, 0xff, ((size_t)v->ncells + 1) * sizeof(uint32_t));
    p->touch_first = xcalloc((size_t)p->nnodes + 1, sizeof(uint32_t));
    GROW(p->touches, cap, 1);
    GROW(p->cells, cells_cap, 1);
    for (uint32_t node = 0; node < p->nnodes; node++) {
        uint32_t i = b->m->event_of[node];

        for (uint32_t k = v->cell_first[i]; k < v->cell_first[i + 1]; k++) {
            struct problem_touch t = { .node = node, .writer = last[v->cell[k]] };

            if (!b->shared_cell[v->cell[k]])
                continue;
            t.cell = touch_cell(b, v->cell[k], &cells_cap);
            fill_values(b, &t, v->cell[k], &v->events[i]);
            if (is_loose(b, i)) {
                t.flags |= TOUCH_LOOSE;
                p->loose = true;
            }
            if (t.writer != SOLVE_NONE && b->m->event_of[p->touches[t.writer].node] != v->writer[k])
                t.writer = SOLVE_NONE; /* contradicts what is before a call: see view.h */
            if (t.flags & TOUCH_WRITES)
                last[v->cell[k]] = n;
            GROW(p->touches, cap, (size_t)n + 1);
            p->touches[n++] = t;
        }
        p->touch_first[node + 1] = n;
    }
    free(last);
}

static void name_cells(struct builder *b)
{
    b->m->view_cell = xmalloc(((size_t)b->p->ncells + 1) * sizeof(uint32_t));
    for (uint32_t c = 0; c < b->v->ncells; c++)
        if (b->cell_of[c] != SOLVE_NONE)
            b->m->view_cell[b->cell_of[c]] = c;
}

static void list_writers(struct builder *b)
{
    struct problem *p = b->p;
    uint32_t touches = p->touch_first[p->nnodes], *next;

    p->writer_first = xcalloc((size_t)p->ncells + 2, sizeof(uint32_t));
    p->writer = xmalloc(((size_t)touches + 1) * sizeof(uint32_t));
    for (uint32_t k = 0; k < touches; k++)
        p->writer_first[p->touches[k].cell + 1] += (p->touches[k].flags & TOUCH_WRITES) != 0;
    for (uint32_t c = 0; c < p->ncells; c++)
        p->writer_first[c + 1] += p->writer_first[c];
    next = xmalloc(((size_t)p->ncells + 1) * sizeof(*next));
    memcpy(next, p->writer_first, ((size_t)p->ncells + 1) * sizeof(*next));
    for (uint32_t k = 0; k < touches; k++)
        if (p->touches[k].flags & TOUCH_WRITES)
            p->writer[next[p->touches[k].cell]++] = k;
    free(next);
}

/* ---- edges ---- */

static uint64_t giver_key(uint32_t cell, uint64_t value)
{
    return (value + cell) * 0x9e3779b97f4a7c15u ^ (uint64_t)cell << 40;
}

static void count_givers(struct builder *b)
{
    const struct problem *p = b->p;

    for (uint32_t k = 0; k < p->touch_first[p->nnodes]; k++)
        if (p->touches[k].flags & TOUCH_GIVES)
            ++*map_put(&b->givers, giver_key(p->touches[k].cell, p->touches[k].gives), 0);
    for (uint32_t c = 0; c < p->ncells; c++)
        if (p->cells[c].known)
            ++*map_put(&b->givers, giver_key(c, p->cells[c].value), 0);
}

/* Can no other writer satisfy the read than the one it had? */
static bool has_one_writer(const struct builder *b, const struct problem_touch *t)
{
    const struct problem *p = b->p;
    const uint32_t *others;

    if (b->free_cells || !(t->flags & TOUCH_READS) || t->writer == SOLVE_NONE ||
        t->flags & TOUCH_LOOSE || !problem_allows(p, t, t->writer))
        return false;
    if (!(t->flags & TOUCH_WANTS))
        return true;
    others = map_get(&b->givers, giver_key(t->cell, t->wants));
    return (others ? *others : 0) == (p->touches[t->writer].flags & TOUCH_GIVES ? 1 : 0);
}

static void model_push(uint32_t **list, size_t *cap, uint32_t *count, uint32_t item)
{
    GROW(*list, *cap, (size_t)*count + 1);
    (*list)[(*count)++] = item;
}

static void add_needs(struct builder *b, uint32_t node, uint32_t *needs, uint32_t *keeps)
{
    const struct view *v = b->v;
    struct problem *p = b->p;
    uint32_t i = b->m->event_of[node];

    for (uint32_t k = v->need_first[i]; k < v->need_first[i + 1]; k++)
        model_push(&p->need, &b->need_cap, needs, b->m->node_of[v->need[k]]);
    p->soft_first[node] = *needs;
    for (uint32_t k = p->touch_first[node]; k < p->touch_first[node + 1]; k++) {
        uint32_t w;

        if (!has_one_writer(b, &p->touches[k]))
            continue;
        p->touches[k].flags |= TOUCH_ONE;
        w = p->touches[p->touches[k].writer].node;
        if (p->branches)
            model_push(&p->keep, &b->keep_cap, keeps, w);
        else if (p->thread[w] != p->thread[node])
            model_push(&p->need, &b->need_cap, needs, w);
    }
    p->need_first[node + 1] = *needs;
    p->keep_first[node + 1] = *keeps;
}

static void add_edges(struct builder *b)
{
    struct problem *p = b->p;
    uint32_t needs = 0, keeps = 0;

    p->need_first = xcalloc((size_t)p->nnodes + 1, sizeof(uint32_t));
    p->soft_first = xcalloc((size_t)p->nnodes + 1, sizeof(uint32_t));
    p->keep_first = xcalloc((size_t)p->nnodes + 1, sizeof(uint32_t));
    p->decides = xcalloc((size_t)p->nnodes + 1, sizeof(*p->decides));
    count_givers(b);
    for (uint32_t n = 0; n < p->nnodes; n++) {
        p->decides[n] = b->v->decides[b->m->event_of[n]];
        add_needs(b, n, &needs, &keeps);
    }
    map_release(&b->givers);
}

/* The needs the other way round. */
static void turn_edges(struct builder *b)
{
    struct problem *p = b->p;
    uint32_t total = p->need_first[p->nnodes], *next;

    p->out_first = xcalloc((size_t)p->nnodes + 2, sizeof(uint32_t));
    p->out = xmalloc(((size_t)total + 1) * sizeof(uint32_t));
    for (uint32_t k = 0; k < total; k++)
        p->out_first[p->need[k] + 1]++;
    for (uint32_t n = 0; n < p->nnodes; n++)
        p->out_first[n + 1] += p->out_first[n];
    next = xmalloc(((size_t)p->nnodes + 1) * sizeof(*next));
    memcpy(next, p->out_first, ((size_t)p->nnodes + 1) * sizeof(*next));
    for (uint32_t n = 0; n < p->nnodes; n++)
        for (uint32_t k = p->need_first[n]; k < p->need_first[n + 1]; k++)
            p->out[next[p->need[k]]++] = n;
    free(next);
}

/* ---- sections ---- */

static void add_sections(struct builder *b)
{
    const struct view *v = b->v;
    struct problem *p = b->p;

    b->lock_of = xcalloc((size_t)v->nlocks + 1, sizeof(*b->lock_of));
    for (uint32_t l = 0; l < v->nlocks; l++)
        b->lock_of[l] = b->shared_lock[l] ? p->nlocks++ : SOLVE_NONE;
    p->sections = xcalloc((size_t)v->nsections + 1, sizeof(*p->sections));
    p->section_of = xmalloc(((size_t)p->nnodes + 1) * sizeof(uint32_t));
    memset(p->section_of, 0xff, ((size_t)p->nnodes + 1) * sizeof(uint32_t));
    for (uint32_t s = 0; s < v->nsections; s++) {
        const struct view_section *x = &v->sections[s];

        if (!b->shared_lock[x->lock])
            continue;
        p->section_of[b->m->node_of[x->acquire]] = p->nsections;
        p->sections[p->nsections++] =
            (struct problem_section){ b->m->node_of[x->acquire],
                                      x->end == VIEW_NONE ? SOLVE_NONE : b->m->node_of[x->end],
                                      x->thread, b->lock_of[x->lock], x->shared };
    }
}

static void list_ends(struct builder *b)
{
    struct problem *p = b->p;
    uint32_t *next;

    p->ends_first = xcalloc((size_t)p->nnodes + 2, sizeof(uint32_t));
    p->ends = xmalloc(((size_t)p->nsections + 1) * sizeof(uint32_t));
    for (uint32_t s = 0; s < p->nsections; s++)
        if (p->sections[s].end != SOLVE_NONE)
            p->ends_first[p->sections[s].end + 1]++;
    for (uint32_t n = 0; n < p->nnodes; n++)
        p->ends_first[n + 1] += p->ends_first[n];
    next = xmalloc(((size_t)p->nnodes + 1) * sizeof(*next));
    memcpy(next, p->ends_first, ((size_t)p->nnodes + 1) * sizeof(*next));
    for (uint32_t s = 0; s < p->nsections; s++)
        if (p->sections[s].end != SOLVE_NONE)
            p->ends[next[p->sections[s].end]++] = s;
    free(next);
}

/* ---- life cycle ---- */

static void build(struct builder *b)
{
    struct problem *p = b->p;

    find_shared_cells(b);
    find_shared_locks(b);
    pick_nodes(b);
    number_nodes(b);
    add_touches(b);
    name_cells(b);
    list_writers(b);
    add_edges(b);
    turn_edges(b);
    add_sections(b);
    list_ends(b);
    problem_prepare(p);
    free(b->shared_cell);
    free(b->shared_lock);
    free(b->pick);
    free(b->cell_of);
    free(b->lock_of);
}

void model_init(struct model *m, const struct view *v, const struct trace_info *info)
{
    struct builder b = { .m = m, .v = v, .p = &m->problem, .values = info->values };

    b.loose = info->loose && !info->branches;

    *m = (struct model){ .view = v };
    m->problem.nthreads = v->nthreads;
    m->problem.rows_max = v->rows_max;
    m->problem.branches = info->branches;
    build(&b);
}

void model_init_free(struct model *m, const struct view *v, const bool *cells)
{
    struct builder b = { .m = m, .v = v, .p = &m->problem, .free_cells = cells };

    *m = (struct model){ .view = v };
    m->problem.nthreads = v->nthreads;
    m->problem.rows_max = v->rows_max;
    build(&b);
}

void model_release(struct model *m)
{
    struct problem *p = &m->problem;

    problem_unprepare(p);
    free(p->thread);
    free(p->rank);
    free(p->thread_first);
    free(p->thread_node);
    free(p->need_first);
    free(p->soft_first);
    free(p->need);
    free(p->out_first);
    free(p->out);
    free(p->decides);
    free(p->keep_first);
    free(p->keep);
    free(p->touch_first);
    free(p->touches);
    free(p->cells);
    free(p->writer_first);
    free(p->writer);
    free(p->sections);
    free(p->section_of);
    free(p->ends_first);
    free(p->ends);
    free(m->node_of);
    free(m->event_of);
    free(m->view_cell);
    *m = (struct model){ 0 };
}
