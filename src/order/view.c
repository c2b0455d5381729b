/* view.c - a trace in memory with its orders spelled out
 *
 * Three passes: where accesses begin and end (that cuts memory into pieces),
 * then one walk that numbers cells and sections and finds writers and needs
 * (needs.c), then the packing of lists by thread, cell and lock.
 *
 * A piece is a range of bytes that no event divides; a cell is a piece in one
 * lifetime. An alloc or free lists all pieces of its range, also those that
 * nobody touches in that lifetime.
 */
#include "order/view.h"
#include "base/alloc.h"
#include "base/map.h"
#include "order/needs.h"

#include <stdlib.h>
#include <string.h>

/* Sections that a thread is in, latest first. */
struct holds {
    uint32_t *section;
    size_t count, cap;
};

struct builder {
    struct view *v;
    uint64_t *start; /* npieces + 1: piece p is [start[p], start[p + 1]) */
    uint32_t npieces;
    struct map piece_at; /* address -> piece that starts there */
    uint32_t *cell_of;   /* piece -> its present cell, VIEW_NONE: not touched yet */
    uint32_t *writer_of; /* cell -> its last writer */
    size_t writer_cap, cells_cap;
    size_t need_cap, touch_cap, seen_cap, sections_cap;
    struct holds *holds; /* by thread */
    uint32_t *last;      /* thread -> its latest event */
    struct map locks;
    struct needs *needs;
};

static bool event_span(const struct event *e, uint64_t *from, uint64_t *to)
{
    uint64_t bytes = op_is_access(e->op)                     ? e->size
                     : e->op == OP_ALLOC || e->op == OP_FREE ? e->value
                                                             : 0;

    *from = e->target;
    *to = bytes > UINT64_MAX - e->target ? UINT64_MAX : e->target + bytes;
    return bytes && !(e->flags & EV_IGNORED);
}

static bool is_writer(unsigned op)
{
    return op_table[op].writes || op == OP_ALLOC;
}

/* ---- pieces of memory ---- */

static int compare_addresses(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static void add_border(struct builder *b, uint64_t address, size_t *cap)
{
    size_t n = b->piece_at.count;

    map_put(&b->piece_at, address, 0);
    if (b->piece_at.count == n)
        return;
    GROW(b->start, *cap, n + 1);
    b->start[n] = address;
}

static void cut_memory(struct builder *b)
{
    uint64_t from, to;
    size_t cap = 0, n;

    for (uint32_t i = 0; i < b->v->count; i++) {
        if (!event_span(&b->v->events[i], &from, &to))
            continue;
        add_border(b, from, &cap);
        add_border(b, to, &cap);
    }
    n = b->piece_at.count;
    if (n)
        qsort(b->start, n, sizeof(*b->start), compare_addresses);
    for (size_t p = 0; p < n; p++)
        *map_get(&b->piece_at, b->start[p]) = (uint32_t)p;
    b->npieces = n ? (uint32_t)n - 1 : 0;
    b->cell_of = xmalloc((n + 1) * sizeof(*b->cell_of));
    memset(b->cell_of, 0xff, (n + 1) * sizeof(*b->cell_of));
}

/* ---- cells ---- */

static uint32_t new_cell(struct builder *b, uint32_t piece, bool allocated)
{
    struct view *v = b->v;
    uint32_t c = v->ncells++;

    GROW(v->cells, b->cells_cap, (size_t)c + 1);
    GROW(b->writer_of, b->writer_cap, (size_t)c + 1);
    v->cells[c] =
        (struct view_cell){ b->start[piece], b->start[piece + 1] - b->start[piece], allocated };
    b->writer_of[c] = VIEW_NONE;
    return c;
}

/* The piece's present cell; an alloc begins the next one. */
static uint32_t cell_for(struct builder *b, uint32_t piece, bool alloc)
{
    if (alloc || b->cell_of[piece] == VIEW_NONE)
        b->cell_of[piece] = new_cell(b, piece, alloc);
    return b->cell_of[piece];
}

static void add_touches(struct builder *b, uint32_t i)
{
    struct view *v = b->v;
    const struct event *e = &v->events[i];
    uint32_t n = v->cell_first[i];
    uint64_t from, to;

    if (event_span(e, &from, &to)) {
        for (uint32_t p = *map_get(&b->piece_at, from); b->start[p] < to; p++, n++) {
            uint32_t c = cell_for(b, p, e->op == OP_ALLOC);

            if (n >= b->touch_cap)
                GROW(v->cell, b->touch_cap, (size_t)n + 1);
            if (n >= b->seen_cap)
                GROW(v->writer, b->seen_cap, (size_t)n + 1);
            v->cell[n] = c;
            v->writer[n] = b->writer_of[c];
            if (is_writer(e->op))
                b->writer_of[c] = i;
        }
    }
    v->cell_first[i + 1] = n;
}

/* ---- sections ---- */

static void end_section(struct builder *b, struct holds *h, size_t at, uint32_t end)
{
    b->v->sections[h->section[at]].end = end;
    memmove(&h->section[at], &h->section[at + 1], (h->count - at - 1) * sizeof(*h->section));
    h->count--;
}

/* A thread is over: it gives up what it holds with its event `end`. */
static void end_sections(struct builder *b, uint32_t thread, uint32_t end)
{
    while (b->holds[thread].count)
        end_section(b, &b->holds[thread], b->holds[thread].count - 1, end);
}

/* Where in its list a thread's section on a lock is; count if it is in none. */
static size_t find_hold(const struct builder *b, const struct holds *h, uint32_t lock, bool shared)
{
    for (size_t i = h->count; i-- > 0;) {
        const struct view_section *s = &b->v->sections[h->section[i]];

        if (s->lock == lock && s->shared == shared)
            return i;
    }
    return h->count;
}

static void at_acquire(struct builder *b, uint32_t i, uint32_t lock)
{
    struct view *v = b->v;
    uint32_t thread = v->events[i].thread;
    struct holds *h = &b->holds[thread];
    bool shared = v->events[i].op == OP_ACQUIRE_SHARED;

    if (find_hold(b, h, lock, shared) < h->count)
        return; /* another thread's acquire confused the checker; inside all the same */
    GROW(v->sections, b->sections_cap, (size_t)v->nsections + 1);
    v->sections[v->nsections] =
        (struct view_section){ i, VIEW_NONE, VIEW_NONE, thread, lock, shared };
    GROW(h->section, h->cap, h->count + 1);
    h->section[h->count++] = v->section_of[i] = v->nsections++;
}

static void at_release(struct builder *b, uint32_t i, uint32_t lock)
{
    struct view *v = b->v;
    struct holds *h = &b->holds[v->events[i].thread];
    bool shared = v->events[i].op == OP_RELEASE_SHARED;
    size_t at = find_hold(b, h, lock, shared);

    if (at == h->count)
        at = find_hold(b, h, lock, !shared);
    if (at == h->count)
        return;
    v->section_of[i] = h->section[at];
    v->sections[h->section[at]].release = i;
    end_section(b, h, at, i);
}

static void at_lock(struct builder *b, uint32_t i)
{
    const struct event *e = &b->v->events[i];
    uint32_t lock =
        *map_put(&b->locks, sync_object_key(e->op, e->target), (uint32_t)b->locks.count);

    if (e->flags & EV_NESTED)
        return;
    if (e->op == OP_ACQUIRE || e->op == OP_ACQUIRE_SHARED)
        at_acquire(b, i, lock);
    else
        at_release(b, i, lock);
}

/* ---- the walk ---- */

static void add_needs(struct builder *b, uint32_t i)
{
    struct view *v = b->v;
    uint32_t first = v->cell_first[i], count, n = v->need_first[i];
    const uint32_t *needs = needs_event(b->needs, i, &v->events[i], &v->cell[first],
                                        v->cell_first[i + 1] - first, &count);

    GROW(v->need, b->need_cap, (size_t)n + count + 1);
    if (count)
        memcpy(v->need + n, needs, count * sizeof(*needs));
    v->need_first[i + 1] = n + count;
}

static void visit(struct builder *b, uint32_t i)
{
    struct view *v = b->v;
    const struct event *e = &v->events[i];

    v->cell_first[i + 1] = v->cell_first[i];
    v->need_first[i + 1] = v->need_first[i];
    v->section_of[i] = v->rank[i] = VIEW_NONE;
    if (e->flags & EV_IGNORED)
        return;
    v->rank[i] = v->thread_first[e->thread + 1]++;
    b->last[e->thread] = i;
    add_touches(b, i);
    add_needs(b, i);
    if (op_class_of(e->op) == CLASS_LOCK)
        at_lock(b, i);
    else if (e->op == OP_END)
        end_sections(b, e->thread, i);
    else if (e->op == OP_JOIN && e->target < v->nthreads)
        end_sections(b, (uint32_t)e->target, b->last[e->target]);
}

/* ---- packed lists ---- */

static void sum_up(uint32_t *first, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        first[i + 1] += first[i];
}

static void list_threads(struct view *v)
{
    sum_up(v->thread_first, v->nthreads);
    v->thread_event = xmalloc(((size_t)v->thread_first[v->nthreads] + 1) * sizeof(uint32_t));
    for (uint32_t i = 0; i < v->count; i++)
        if (v->rank[i] != VIEW_NONE)
            v->thread_event[v->thread_first[v->events[i].thread] + v->rank[i]] = i;
}

static void list_accesses(struct view *v)
{
    uint32_t touches = v->cell_first[v->count], *next;

    v->access_first = xcalloc((size_t)v->ncells + 2, sizeof(uint32_t));
    v->access = xmalloc(((size_t)touches + 1) * sizeof(uint32_t));
    for (uint32_t k = 0; k < touches; k++)
        v->access_first[v->cell[k] + 1]++;
    sum_up(v->access_first, v->ncells);
    next = xmalloc(((size_t)v->ncells + 1) * sizeof(*next));
    memcpy(next, v->access_first, ((size_t)v->ncells + 1) * sizeof(*next));
    for (uint32_t i = 0; i < v->count; i++)
        for (uint32_t k = v->cell_first[i]; k < v->cell_first[i + 1]; k++)
            v->access[next[v->cell[k]]++] = i;
    free(next);
}

static void list_sections(struct view *v)
{
    uint32_t *next;

    v->lock_first = xcalloc((size_t)v->nlocks + 2, sizeof(uint32_t));
    v->lock_section = xmalloc(((size_t)v->nsections + 1) * sizeof(uint32_t));
    for (uint32_t s = 0; s < v->nsections; s++)
        v->lock_first[v->sections[s].lock + 1]++;
    sum_up(v->lock_first, v->nlocks);
    next = xmalloc(((size_t)v->nlocks + 1) * sizeof(*next));
    memcpy(next, v->lock_first, ((size_t)v->nlocks + 1) * sizeof(*next));
    for (uint32_t s = 0; s < v->nsections; s++)
        v->lock_section[next[v->sections[s].lock]++] = s;
    free(next);
}

/* ---- life cycle ---- */

static void builder_init(struct builder *b, const struct trace_mem *t)
{
    struct view *v = xcalloc(1, sizeof(*v));
    size_t n = t->count + 1;

    *b = (struct builder){ .v = v };
    v->events = t->events;
    v->count = (uint32_t)t->count;
    for (size_t i = 0; i < t->count; i++)
        if (t->events[i].thread >= v->nthreads)
            v->nthreads = t->events[i].thread + 1;
    v->rank = xmalloc(n * sizeof(*v->rank));
    v->section_of = xmalloc(n * sizeof(*v->section_of));
    v->thread_first = xcalloc((size_t)v->nthreads + 1, sizeof(*v->thread_first));
    v->need_first = xcalloc(n, sizeof(*v->need_first));
    v->cell_first = xcalloc(n, sizeof(*v->cell_first));
    GROW(v->need, b->need_cap, 1);
    GROW(v->cell, b->touch_cap, 1);
    GROW(v->writer, b->seen_cap, 1);
    b->holds = xcalloc((size_t)v->nthreads + 1, sizeof(*b->holds));
    b->last = xcalloc((size_t)v->nthreads + 1, sizeof(*b->last));
    b->needs = needs_new(v->nthreads);
}

static void builder_release(struct builder *b)
{
    for (uint32_t t = 0; t < b->v->nthreads; t++)
        free(b->holds[t].section);
    free(b->holds);
    free(b->last);
    free(b->start);
    free(b->cell_of);
    free(b->writer_of);
    map_release(&b->piece_at);
    map_release(&b->locks);
    needs_free(b->needs);
}

struct view *view_new(const struct trace_mem *t, enum barriers barriers)
{
    struct builder b;
    struct view *v;

    builder_init(&b, t);
    v = b.v;
    (void)barriers; /* order/barriers.c, in the making */
    cut_memory(&b);
    for (uint32_t i = 0; i < v->count; i++)
        visit(&b, i);
    v->nlocks = (uint32_t)b.locks.count;
    list_threads(v);
    list_accesses(v);
    list_sections(v);
    builder_release(&b);
    return v;
}

void view_free(struct view *v)
{
    if (!v)
        return;
    free(v->rank);
    free(v->thread_first);
    free(v->thread_event);
    free(v->need_first);
    free(v->need);
    free(v->cell_first);
    free(v->cell);
    free(v->writer);
    free(v->cells);
    free(v->access_first);
    free(v->access);
    free(v->sections);
    free(v->section_of);
    free(v->lock_first);
    free(v->lock_section);
    free(v);
}
