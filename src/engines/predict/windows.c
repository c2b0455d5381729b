/* windows.c - the view of a part of a trace, cut out of the whole one
 *
 * Nothing is found out anew: orders, cells, sections are those of the whole
 * view, renumbered. Needs never lead forward, so none that matters inside the
 * window passes through what came before it.
 */
#include "engines/predict/windows.h"
#include "base/alloc.h"
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

struct cutter {
    struct window *w;
    const struct view *from;
    struct view *v;
    uint32_t end;     /* of the window, exclusive */
    struct map cells; /* whole cell -> the window's + 1 */
    size_t position_cap, cell_cap, cell_of_cap, before_cap, need_cap, section_cap;
    uint32_t ntouches;
};

bool window_has(const struct window *w, uint64_t position)
{
    return position >= w->first && position - w->first < w->count;
}

uint32_t window_event(const struct window *w, uint64_t position)
{
    return w->kept + (uint32_t)(position - w->first);
}

/* ---- what is kept from before ---- */

static void windows_keep(struct cutter *c, uint32_t position)
{
    GROW(c->w->position, c->position_cap, (size_t)c->w->kept + 1);
    c->w->position[c->w->kept++] = position;
}

static int compare_positions(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static bool is_open(const struct cutter *c, const struct view_section *s)
{
    return s->acquire < c->w->first && (s->end == VIEW_NONE || s->end >= c->w->first);
}

static void find_kept(struct cutter *c)
{
    const struct view *v = c->from;
    uint32_t n = 0;

    for (uint32_t k = v->cell_first[c->w->first]; k < v->cell_first[c->end]; k++)
        if (v->writer[k] != VIEW_NONE && v->writer[k] < c->w->first)
            windows_keep(c, v->writer[k]);
    for (uint32_t s = 0; s < v->nsections && v->sections[s].acquire < c->w->first; s++)
        if (is_open(c, &v->sections[s]))
            windows_keep(c, v->sections[s].acquire);
    if (!c->w->kept)
        return;
    qsort(c->w->position, c->w->kept, sizeof(*c->w->position), compare_positions);
    for (uint32_t i = 0; i < c->w->kept; i++)
        if (!i || c->w->position[i] != c->w->position[i - 1])
            c->w->position[n++] = c->w->position[i];
    c->w->kept = n;
}

/* Whole position -> event of the window's view, VIEW_NONE: not in it. */
static uint32_t local(const struct cutter *c, uint32_t position)
{
    const struct window *w = c->w;
    uint32_t low = 0, high = w->kept;

    if (position == VIEW_NONE || position >= c->end)
        return VIEW_NONE;
    if (position >= w->first)
        return w->kept + position - w->first;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (w->position[middle] < position)
            low = middle + 1;
        else
            high = middle;
    }
    return low < w->kept && w->position[low] == position ? low : VIEW_NONE;
}

static uint32_t position_of(const struct window *w, uint32_t event)
{
    return event < w->kept ? w->position[event] : w->first + event - w->kept;
}

/* What was read before the window does not matter any more. */
static struct event without_reading(struct event e)
{
    if (e.op == OP_RMW)
        e.op = OP_STORE;
    else if (e.op == OP_CALL)
        e.op = OP_RETURN;
    return e;
}

static void copy_events(struct cutter *c)
{
    struct window *w = c->w;

    c->v->count = w->kept + w->count;
    w->events = xcalloc((size_t)c->v->count + 1, sizeof(*w->events));
    for (uint32_t i = 0; i < w->kept; i++)
        w->events[i] = without_reading(c->from->events[w->position[i]]);
    memcpy(w->events + w->kept, c->from->events + w->first, w->count * sizeof(*w->events));
    c->v->events = w->events;
}

/* ---- threads and needs ---- */

static void list_threads(struct cutter *c)
{
    struct view *v = c->v;

    v->nthreads = c->from->nthreads;
    v->rank = xcalloc((size_t)v->count + 1, sizeof(*v->rank));
    v->thread_first = xcalloc((size_t)v->nthreads + 2, sizeof(*v->thread_first));
    v->thread_event = xcalloc((size_t)v->count + 1, sizeof(*v->thread_event));
    for (uint32_t i = 0; i < v->count; i++)
        v->rank[i] = c->from->rank[position_of(c->w, i)] == VIEW_NONE
                         ? VIEW_NONE
                         : v->thread_first[v->events[i].thread + 1]++;
    for (uint32_t t = 0; t < v->nthreads; t++)
        v->thread_first[t + 1] += v->thread_first[t];
    for (uint32_t i = 0; i < v->count; i++)
        if (v->rank[i] != VIEW_NONE)
            v->thread_event[v->thread_first[v->events[i].thread] + v->rank[i]] = i;
}

static void copy_needs(struct cutter *c)
{
    const struct view *from = c->from;
    struct view *v = c->v;
    uint32_t n = 0;

    v->need_first = xcalloc((size_t)v->count + 2, sizeof(*v->need_first));
    v->decides = xcalloc((size_t)v->count + 1, sizeof(*v->decides));
    for (uint32_t i = 0; i < v->count; i++) {
        uint32_t p = position_of(c->w, i);

        for (uint32_t k = from->need_first[p]; i >= c->w->kept && k < from->need_first[p + 1];
             k++) {
            if (from->need[k] < c->w->first)
                continue;
            GROW(v->need, c->need_cap, (size_t)n + 1);
            v->need[n++] = local(c, from->need[k]);
        }
        v->need_first[i + 1] = n;
        v->decides[i] = i >= c->w->kept && from->decides[p];
    }
}

/* ---- cells ---- */

static uint32_t local_cell(struct cutter *c, uint32_t k)
{
    struct window *w = c->w;
    uint32_t *known = map_put(&c->cells, c->from->cell[k], 0), n = c->v->ncells;

    if (!*known) {
        GROW(c->v->cells, c->cell_cap, (size_t)n + 1);
        GROW(w->cell_of, c->cell_of_cap, (size_t)n + 1);
        GROW(w->before, c->before_cap, (size_t)n + 1);
        c->v->cells[n] = c->from->cells[c->from->cell[k]];
        w->cell_of[n] = c->from->cell[k];
        w->before[n] = c->from->writer[k]; /* of the first touch: from before the window */
        *known = ++c->v->ncells;
    }
    return *known - 1;
}

static void number_cells(struct cutter *c)
{
    for (uint32_t k = c->from->cell_first[c->w->first]; k < c->from->cell_first[c->end]; k++)
        local_cell(c, k);
}

static void copy_touches(struct cutter *c)
{
    const struct view *from = c->from;
    struct view *v = c->v;
    size_t cap = 0, writer_cap = 0;
    uint32_t n = 0;

    v->cell_first = xcalloc((size_t)v->count + 2, sizeof(*v->cell_first));
    GROW(v->cell, cap, 1);
    GROW(v->writer, writer_cap, 1);
    for (uint32_t i = 0; i < v->count; i++) {
        uint32_t p = position_of(c->w, i);

        for (uint32_t k = from->cell_first[p]; k < from->cell_first[p + 1]; k++) {
            const uint32_t *cell = map_get(&c->cells, from->cell[k]);

            if (!cell)
                continue;
            GROW(v->cell, cap, (size_t)n + 1);
            GROW(v->writer, writer_cap, (size_t)n + 1);
            v->cell[n] = *cell - 1;
            v->writer[n++] = i < c->w->kept ? VIEW_NONE : local(c, from->writer[k]);
        }
        v->cell_first[i + 1] = n;
    }
}

/* As in the whole view: not calls and returns. */
static void list_accesses(struct view *v)
{
    uint32_t *next;

    v->access_first = xcalloc((size_t)v->ncells + 2, sizeof(*v->access_first));
    v->access = xcalloc((size_t)v->cell_first[v->count] + 1, sizeof(*v->access));
    for (uint32_t i = 0; i < v->count; i++)
        for (uint32_t k = v->cell_first[i]; k < v->cell_first[i + 1]; k++)
            v->access_first[v->cell[k] + 1] += op_class_of(v->events[i].op) != CLASS_CALL;
    for (uint32_t c = 0; c < v->ncells; c++)
        v->access_first[c + 1] += v->access_first[c];
    next = xcalloc((size_t)v->ncells + 1, sizeof(*next));
    memcpy(next, v->access_first, v->ncells * sizeof(*next));
    for (uint32_t i = 0; i < v->count; i++)
        for (uint32_t k = v->cell_first[i]; k < v->cell_first[i + 1]; k++)
            if (op_class_of(v->events[i].op) != CLASS_CALL)
                v->access[next[v->cell[k]]++] = i;
    free(next);
}

/* ---- sections ---- */

static void copy_sections(struct cutter *c)
{
    const struct view *from = c->from;
    struct view *v = c->v;

    v->section_of = xmalloc(((size_t)v->count + 1) * sizeof(*v->section_of));
    memset(v->section_of, 0xff, ((size_t)v->count + 1) * sizeof(*v->section_of));
    v->nlocks = from->nlocks;
    GROW(v->sections, c->section_cap, 1);
    for (uint32_t s = 0; s < from->nsections && from->sections[s].acquire < c->end; s++) {
        struct view_section x = from->sections[s];

        if (x.acquire < c->w->first && !is_open(c, &x))
            continue;
        x.acquire = local(c, x.acquire);
        x.end = local(c, x.end);
        x.release = local(c, x.release);
        v->section_of[x.acquire] = v->nsections;
        if (x.release != VIEW_NONE)
            v->section_of[x.release] = v->nsections;
        GROW(v->sections, c->section_cap, (size_t)v->nsections + 1);
        v->sections[v->nsections++] = x;
    }
}

static void list_sections(struct view *v)
{
    uint32_t *next;

    v->lock_first = xcalloc((size_t)v->nlocks + 2, sizeof(*v->lock_first));
    v->lock_section = xcalloc((size_t)v->nsections + 1, sizeof(*v->lock_section));
    for (uint32_t s = 0; s < v->nsections; s++)
        v->lock_first[v->sections[s].lock + 1]++;
    for (uint32_t l = 0; l < v->nlocks; l++)
        v->lock_first[l + 1] += v->lock_first[l];
    next = xcalloc((size_t)v->nlocks + 1, sizeof(*next));
    memcpy(next, v->lock_first, v->nlocks * sizeof(*next));
    for (uint32_t s = 0; s < v->nsections; s++)
        v->lock_section[next[v->sections[s].lock]++] = s;
    free(next);
}

/* ---- life cycle ---- */

struct window *window_new(const struct view *whole, uint32_t first, uint32_t count)
{
    struct window *w = xcalloc(1, sizeof(*w));
    struct cutter c = { .w = w, .from = whole, .v = &w->view, .end = first + count };

    w->whole = whole;
    w->first = first;
    w->count = count;
    find_kept(&c);
    copy_events(&c);
    list_threads(&c);
    copy_needs(&c);
    number_cells(&c);
    copy_touches(&c);
    list_accesses(&w->view);
    copy_sections(&c);
    list_sections(&w->view);
    map_release(&c.cells);
    return w;
}

void window_free(struct window *w)
{
    if (!w)
        return;
    view_release(&w->view);
    free(w->events);
    free(w->position);
    free(w->cell_of);
    free(w->before);
    free(w);
}
