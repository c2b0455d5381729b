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
#include "base/assert.h"
#include "base/map.h"
#include "base/sorted.h"
#include "order/call_pairs.h"
#include "order/number_set.h"
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

    /* With calls of untraced code: */
    const struct trace_mem *trace;
    enum call_rule rule;
    struct call_order *order; /* or NULL */
    uint32_t *seen_of;        /* cell -> its last writer that is no call or return */
    size_t seen_of_cap;
    struct marks dirty; /* pieces written since a call or return wrote them; at first all that are
                           ever written */
    uint32_t *last_of;  /* thread -> its last event that takes part, where it has no end event */
    uint32_t *narrow;   /* piece -> pieces before it that count, where not all do; else NULL */

    /* Where a value of the trace is a pointer into memory: */
    bool *pointed;   /* piece -> such a value leads there; or NULL: no value does */
    uint32_t *freed; /* piece -> its last free, + 1 */
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

static bool takes_part(const struct event *e)
{
    return !(e->flags & EV_IGNORED);
}

/* ---- pieces of memory ---- */

static void add_border(struct builder *b, uint64_t address, size_t *cap)
{
    size_t n = b->piece_at.count;

    map_put(&b->piece_at, address, 0);
    if (b->piece_at.count == n)
        return;
    GROW(b->start, *cap, n + 1);
    b->start[n] = address;
}

static void add_borders(struct builder *b, uint64_t from, uint64_t to, size_t *cap)
{
    add_border(b, from, cap);
    add_border(b, to, cap);
}

/* What calls may touch, and the first byte of synchronisation objects. */
static void cut_for_calls(struct builder *b, const struct event *e, size_t *cap)
{
    uint64_t from, to;

    if (call_pairs_on_object(e->op) && !is_named(e->target))
        add_borders(b, e->target, e->target + 1, cap);
    for (uint64_t k = 0; e->op == OP_CALL && k < e->old; k++)
        if (call_pairs_range(b->trace->extra + e->value + 2 * k, &from, &to))
            add_borders(b, from, to, cap);
}

static void cut_memory(struct builder *b)
{
    uint64_t from, to;
    size_t cap = 0, n;

    for (uint32_t i = 0; i < b->v->count; i++) {
        if (event_span(&b->v->events[i], &from, &to))
            add_borders(b, from, to, &cap);
        if (b->rule && takes_part(&b->v->events[i]))
            cut_for_calls(b, &b->v->events[i], &cap);
    }
    n = b->piece_at.count;
    if (n)
        qsort(b->start, n, sizeof(*b->start), sorted_compare);
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
    if (b->order) {
        GROW(b->seen_of, b->seen_of_cap, (size_t)c + 1);
        b->seen_of[c] = VIEW_NONE;
    }
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

static void add_touch(struct builder *b, uint32_t i, uint32_t cell, uint32_t writer)
{
    struct view *v = b->v;
    uint32_t n = v->cell_first[i + 1]++;

    if (n >= b->touch_cap)
        GROW_LARGE(v->cell, b->touch_cap, (size_t)n + 1);
    if (n >= b->seen_cap)
        GROW_LARGE(v->writer, b->seen_cap, (size_t)n + 1);
    v->cell[n] = cell;
    v->writer[n] = writer;
}

static uint64_t low_bytes(uint64_t value, uint64_t bytes)
{
    return bytes < 8 ? value & ((1ull << (8 * bytes)) - 1) : value;
}

/* Does the value of a read contradict the last write of the cell in the trace? */
static bool contradicts(const struct builder *b, const struct event *r, uint32_t cell)
{
    const struct view_cell *c = &b->v->cells[cell];
    const struct event *w = b->seen_of[cell] == VIEW_NONE ? NULL : &b->v->events[b->seen_of[cell]];
    uint64_t read, written = 0;

    if (!op_table[r->op].reads || r->size > 8 || !event_saw(r, &read))
        return false;
    if (w ? !op_is_access(w->op) || !(w->flags & EV_VALUE) || w->size > 8
          : c->allocated || !is_named(c->address))
        return false;
    if (w)
        written = w->value >> (8 * (c->address - w->target));
    read >>= 8 * (c->address - r->target);
    return low_bytes(read, c->bytes) != low_bytes(written, c->bytes);
}

/* Does it count that calls may write it? */
static bool counts(const struct builder *b, uint32_t piece)
{
    return !b->narrow || b->narrow[piece] < b->narrow[piece + 1];
}

static void touch_cell(struct builder *b, uint32_t i, uint32_t piece)
{
    const struct event *e = &b->v->events[i];
    uint32_t c = cell_for(b, piece, e->op == OP_ALLOC);
    bool other = b->order && contradicts(b, e, c);

    add_touch(b, i, c, other ? b->seen_of[c] : b->writer_of[c]);
    if (!is_writer(e->op))
        return;
    b->writer_of[c] = i;
    if (b->order) {
        b->seen_of[c] = i;
        if (counts(b, piece))
            marks_add(&b->dirty, piece);
    }
}

/* The pieces [*first, *last) that an access, alloc or free touches. */
static void add_touches(struct builder *b, uint32_t i, uint32_t *first, uint32_t *last)
{
    uint64_t from, to;

    *first = *last = 0;
    if (!event_span(&b->v->events[i], &from, &to))
        return;
    *first = *last = *map_get(&b->piece_at, from);
    for (; b->start[*last] < to; ++*last)
        touch_cell(b, i, *last);
}

/* ---- memory that is used again ---- */

static void append_needs(struct builder *b, uint32_t i, const uint32_t *needs, uint32_t count)
{
    struct view *v = b->v;
    uint32_t n = v->need_first[i + 1];

    GROW_LARGE(v->need, b->need_cap, (size_t)n + count + 1);
    if (count)
        memcpy(v->need + n, needs, count * sizeof(*needs));
    v->need_first[i + 1] = n + count;
}

static bool is_pointer(const struct builder *b, const struct event *e)
{
    return b->npieces && op_is_access(e->op) && e->size == 8 && e->flags & EV_VALUE &&
           e->value >= b->start[0] && e->value < b->start[b->npieces];
}

static void find_pointers(struct builder *b)
{
    for (uint32_t i = 0; i < b->v->count; i++) {
        const struct event *e = &b->v->events[i];
        size_t p;

        if (!is_pointer(b, e))
            continue;
        if (!b->pointed) {
            b->pointed = xcalloc((size_t)b->npieces + 1, sizeof(*b->pointed));
            b->freed = xcalloc((size_t)b->npieces + 1, sizeof(*b->freed));
        }
        p = sorted_first_from(b->start, (size_t)b->npieces + 1, e->value);
        b->pointed[b->start[p] > e->value ? p - 1 : p] = true;
    }
}

/* Where reads may see any write of their value, a pointer to memory that was freed and allocated
 * again would pass for one to what was there before. So an alloc of what pointers lead to comes
 * after the free before it, as with any allocator. Reads that keep their writers need no such
 * order (docs/design/proof.md, "Lifetimes"). */
static void add_reuse(struct builder *b, uint32_t i, uint32_t first, uint32_t last)
{
    const struct event *e = &b->v->events[i];
    bool pointed = false;
    uint32_t before = VIEW_NONE;

    for (uint32_t p = first; p < last && !pointed; p++)
        pointed = b->pointed[p];
    for (uint32_t p = first; p < last; p++) {
        uint32_t f = b->freed[p] ? b->freed[p] - 1 : VIEW_NONE;

        if (e->op == OP_FREE)
            b->freed[p] = i + 1;
        else if (pointed && f != VIEW_NONE && f != before && b->v->events[f].thread != e->thread)
            append_needs(b, i, &f, 1);
        before = f;
    }
}

/* ---- calls ---- */

/* A call or return writes what the D of the call lists. Where nobody has written since the last one
 * did, that is no news. */
static void touch_listed(struct builder *b, uint32_t i, uint32_t lo, uint32_t hi)
{
    for (uint32_t p = marks_next(&b->dirty, lo); p < hi; p = marks_next(&b->dirty, p + 1)) {
        uint32_t c = cell_for(b, p, false);

        add_touch(b, i, c, b->writer_of[c]);
        b->writer_of[c] = i;
        marks_remove(&b->dirty, p);
    }
}

static void add_call_touches(struct builder *b, uint32_t i, uint32_t call)
{
    const struct event *e = &b->v->events[call];

    for (uint64_t k = 0; k < e->old; k++) {
        const uint64_t *entry = b->trace->extra + e->value + 2 * k;
        uint64_t from, to;

        if (D_KIND(entry[0]) == D_ALL_KIND)
            touch_listed(b, i, 0, b->npieces);
        else if (call_pairs_range(entry, &from, &to))
            touch_listed(b, i, *map_get(&b->piece_at, from), *map_get(&b->piece_at, to));
    }
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
    uint32_t first = v->cell_first[i], count;
    const uint32_t *needs = needs_event(b->needs, i, &v->events[i], &v->cell[first],
                                        v->cell_first[i + 1] - first, &count);

    append_needs(b, i, needs, count);
}

static bool is_unmatched_release(const struct view *v, uint32_t i)
{
    const struct event *e = &v->events[i];
    bool shared = e->op == OP_RELEASE_SHARED;

    return (e->op == OP_RELEASE || shared) && !(e->flags & EV_NESTED) &&
           (v->section_of[i] == VIEW_NONE || v->sections[v->section_of[i]].shared != shared);
}

/* After all else of the event is known. */
static void add_calls(struct builder *b, uint32_t i, uint32_t first, uint32_t last)
{
    struct view *v = b->v;
    const struct event *e = &v->events[i];
    uint32_t call = call_pairs_open_call(b->order, e->thread), count;
    struct call_pairs_event be = { i,
                                   first,
                                   last,
                                   v->rank[i] == 0 || e->op == OP_BEGIN,
                                   e->op == OP_END || b->last_of[e->thread] == i,
                                   is_unmatched_release(v, i) };
    const uint32_t *needs = call_pairs_step(b->order, &be, &count);

    append_needs(b, i, needs, count);
    v->decides[i] |= call != VIEW_NONE && op_table[e->op].reads;
    if (e->op == OP_CALL)
        add_call_touches(b, i, i);
    else if (e->op == OP_RETURN && call != VIEW_NONE)
        add_call_touches(b, i, call);
}

static void view_visit(struct builder *b, uint32_t i)
{
    struct view *v = b->v;
    const struct event *e = &v->events[i];
    uint32_t first, last;

    v->cell_first[i + 1] = v->cell_first[i];
    v->need_first[i + 1] = v->need_first[i];
    v->section_of[i] = v->rank[i] = VIEW_NONE;
    if (!takes_part(e))
        return;
    v->rank[i] = v->thread_first[e->thread + 1]++;
    v->decides[i] = e->op == OP_BRANCH || e->op == OP_CALL;
    b->last[e->thread] = i;
    add_touches(b, i, &first, &last);
    add_needs(b, i);
    if (b->pointed && (e->op == OP_ALLOC || e->op == OP_FREE))
        add_reuse(b, i, first, last);
    if (op_class_of(e->op) == CLASS_LOCK)
        at_lock(b, i);
    else if (e->op == OP_END)
        end_sections(b, e->thread, i);
    else if (e->op == OP_JOIN && e->target < v->nthreads)
        end_sections(b, (uint32_t)e->target, b->last[e->target]);
    if (b->order)
        add_calls(b, i, first, last);
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

/* Touches of calls and returns are no accesses. */
static uint32_t accesses_end(const struct view *v, uint32_t i)
{
    return op_class_of(v->events[i].op) == CLASS_CALL ? v->cell_first[i] : v->cell_first[i + 1];
}

static void list_accesses(struct view *v)
{
    uint32_t *next;

    v->access_first = xcalloc((size_t)v->ncells + 2, sizeof(uint32_t));
    v->access = xmalloc(((size_t)v->cell_first[v->count] + 1) * sizeof(uint32_t));
    for (uint32_t i = 0; i < v->count; i++)
        for (uint32_t k = v->cell_first[i]; k < accesses_end(v, i); k++)
            v->access_first[v->cell[k] + 1]++;
    sum_up(v->access_first, v->ncells);
    next = xmalloc(((size_t)v->ncells + 1) * sizeof(*next));
    memcpy(next, v->access_first, ((size_t)v->ncells + 1) * sizeof(*next));
    for (uint32_t i = 0; i < v->count; i++)
        for (uint32_t k = v->cell_first[i]; k < accesses_end(v, i); k++)
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

static void builder_init(struct builder *b, const struct trace_mem *t, enum call_rule rule)
{
    struct view *v = xcalloc(1, sizeof(*v));
    size_t n = t->count + 1;

    *b = (struct builder){ .v = v, .trace = t, .rule = rule };
    v->events = t->events;
    v->count = (uint32_t)t->count;
    for (size_t i = 0; i < t->count; i++)
        if (t->events[i].thread >= v->nthreads)
            v->nthreads = t->events[i].thread + 1;
    v->rank = xmalloc(n * sizeof(*v->rank));
    v->section_of = xmalloc(n * sizeof(*v->section_of));
    v->decides = xcalloc(n, sizeof(*v->decides));
    v->thread_first = xcalloc((size_t)v->nthreads + 1, sizeof(*v->thread_first));
    v->need_first = xcalloc(n, sizeof(*v->need_first));
    v->cell_first = xcalloc(n, sizeof(*v->cell_first));
    GROW_LARGE(v->need, b->need_cap, 1);
    GROW_LARGE(v->cell, b->touch_cap, 1);
    GROW_LARGE(v->writer, b->seen_cap, 1);
    b->holds = xcalloc((size_t)v->nthreads + 1, sizeof(*b->holds));
    b->last = xcalloc((size_t)v->nthreads + 1, sizeof(*b->last));
    b->needs = needs_new(v->nthreads);
}

/* A thread without an end event is over after its last event. */
static void find_ends(struct builder *b)
{
    const struct view *v = b->v;

    b->last_of = xmalloc(((size_t)v->nthreads + 1) * sizeof(*b->last_of));
    memset(b->last_of, 0xff, ((size_t)v->nthreads + 1) * sizeof(*b->last_of));
    for (uint32_t i = 0; i < v->count; i++)
        if (takes_part(&v->events[i]))
            b->last_of[v->events[i].thread] = i;
    for (uint32_t i = 0; i < v->count; i++)
        if (v->events[i].op == OP_END && takes_part(&v->events[i]))
            b->last_of[v->events[i].thread] = VIEW_NONE;
}

/* The rule, or none where it makes no difference. */
static enum call_rule choose_rule(const struct trace_mem *t, enum call_rule rule)
{
    bool calls = false, by_call = false;

    for (size_t i = 0; i < t->count && rule != CALL_RULE_NONE; i++) {
        calls |= t->events[i].op == OP_CALL && takes_part(&t->events[i]);
        by_call |= t->events[i].flags & EV_BY_CALL && takes_part(&t->events[i]);
        if (calls && (by_call || rule != CALL_RULE_UNSEEN))
            return rule;
    }
    return CALL_RULE_NONE;
}

/* The pieces that calls are known to have written. */
static void find_narrow(struct builder *b)
{
    b->narrow = xcalloc((size_t)b->npieces + 2, sizeof(*b->narrow));
    for (uint32_t i = 0; i < b->v->count; i++) {
        uint64_t from, to;

        if (!(b->v->events[i].flags & EV_BY_CALL) || !event_span(&b->v->events[i], &from, &to))
            continue;
        for (uint32_t p = *map_get(&b->piece_at, from); b->start[p] < to; p++)
            b->narrow[p + 1] = 1;
    }
    for (uint32_t p = 0; p < b->npieces; p++)
        b->narrow[p + 1] += b->narrow[p];
}

static void start_calls(struct builder *b, const struct tables *names)
{
    struct call_pairs_input in = { b->trace,   b->rule,      names,    b->v->nthreads,
                                   b->npieces, &b->piece_at, b->narrow };
    uint64_t from, to;

    if (b->rule == CALL_RULE_UNSEEN)
        find_narrow(b);
    in.narrow = b->narrow;
    b->order = call_pairs_new(&in);
    marks_init(&b->dirty, b->npieces + 1);
    for (uint32_t i = 0; i < b->v->count; i++)
        if (event_span(&b->v->events[i], &from, &to) && is_writer(b->v->events[i].op))
            for (uint32_t p = *map_get(&b->piece_at, from); b->start[p] < to; p++)
                if (counts(b, p))
                    marks_add(&b->dirty, p);
    find_ends(b);
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
    call_pairs_free(b->order);
    marks_release(&b->dirty);
    free(b->seen_of);
    free(b->last_of);
    free(b->narrow);
    free(b->pointed);
    free(b->freed);
}

/* What engines and solver take for granted of an event: needs and writers are earlier events that
 * take part, needs of other threads. */
static bool is_sound_event(const struct view *v, uint32_t i)
{
    uint32_t thread = v->events[i].thread;

    for (uint32_t k = v->need_first[i]; k < v->need_first[i + 1]; k++)
        if (v->need[k] >= i || v->rank[v->need[k]] == VIEW_NONE ||
            v->events[v->need[k]].thread == thread)
            return false;
    for (uint32_t k = v->cell_first[i]; k < v->cell_first[i + 1]; k++)
        if (v->cell[k] >= v->ncells || (v->writer[k] != VIEW_NONE && v->writer[k] >= i))
            return false;
    return v->rank[i] == VIEW_NONE || v->thread_event[v->thread_first[thread] + v->rank[i]] == i;
}

static bool is_sound(const struct view *v)
{
    for (uint32_t i = 0; i < v->count; i++)
        if (!is_sound_event(v, i))
            return false;
    for (uint32_t i = 0; i < v->nsections; i++) {
        const struct view_section *s = &v->sections[i];

        if (s->lock >= v->nlocks || v->section_of[s->acquire] != i || s->end < s->acquire ||
            (s->release != VIEW_NONE && s->release <= s->acquire))
            return false;
    }
    return true;
}

struct view *view_new(const struct trace_mem *t, enum call_rule rule)
{
    return view_new_named(t, rule, NULL);
}

struct view *view_new_named(const struct trace_mem *t, enum call_rule rule,
                            const struct tables *names)
{
    struct builder b;
    struct view *v;

    builder_init(&b, t, choose_rule(t, rule));
    v = b.v;
    cut_memory(&b);
    find_pointers(&b);
    if (b.rule)
        start_calls(&b, names);
    for (uint32_t i = 0; i < v->count; i++)
        view_visit(&b, i);
    v->nlocks = (uint32_t)b.locks.count;
    list_threads(v);
    list_accesses(v);
    list_sections(v);
    builder_release(&b);
    invariant(is_sound(v));
    return v;
}

void view_release(struct view *v)
{
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
    free(v->decides);
    free(v->lock_first);
    free(v->lock_section);
}

void view_free(struct view *v)
{
    if (!v)
        return;
    view_release(v);
    free(v);
}
