/* prepare.c - a trace made ready for the checker
 *
 * Cells (cells.c), hard edges (edges.c), each event's place in its thread, and
 * for each cell an event touches the writer it saw and the lifetime it belongs
 * to; where calls of untraced code count, what these list.
 */
#include "witness/witness_inside.h"

#include <stdlib.h>

/* `now` says for each cell what its next event will see. */
static void prepare_touches(struct witness_trace *w, struct touch *now, uint32_t i)
{
    const struct event *e = &w->events[i];
    struct place *p = &w->places[i];
    uint64_t from, to;

    p->touch = w->ntouches;
    if (!event_range(e, &from, &to))
        return;
    p->cell = cells_find(&w->cells, from);
    for (uint32_t c = p->cell; w->cells.start[c] < to; c++) {
        if (e->op == OP_ALLOC)
            now[c] = (struct touch){ NONE, w->nlives++ };
        GROW(w->touches, w->touches_cap, w->ntouches + 1);
        w->touches[w->ntouches++] = now[c];
        p->count++;
        if (is_writer(e->op))
            now[c].writer = i;
    }
}

static void prepare_lock(struct witness_trace *w, struct map *locks, uint32_t i)
{
    const struct event *e = &w->events[i];
    uint32_t lock = *map_put(locks, object_key(e), (uint32_t)locks->count);

    GROW(w->handed, w->handed_cap, (size_t)lock + 1);
    w->handed[lock] |= (e->flags & EV_FOREIGN) != 0;
    w->places[i].lock = lock;
}

/* A semaphore that is initialised again is another one. Its first value is the least that lets the
 * waits of the trace be where they are; what sem_init() gave it are posts. */
struct semaphores {
    struct map of; /* object -> number */
    uint32_t *left;
    size_t cap;
};

static void prepare_semaphore(struct witness_trace *w, struct semaphores *s, uint32_t i)
{
    const struct event *e = &w->events[i];
    uint32_t *n = map_put(&s->of, object_key(e), (uint32_t)w->nsemaphores);

    if (event_begins_semaphore(e))
        *n = (uint32_t)w->nsemaphores;
    if (*n == w->nsemaphores) {
        GROW(w->posts, w->posts_cap, w->nsemaphores + 1);
        GROW(s->left, s->cap, w->nsemaphores + 1);
        w->nsemaphores++;
    }
    w->places[i].semaphore = *n;
    if (event_begins_semaphore(e))
        return;
    if (e->op == OP_SEM_POST)
        s->left[*n]++;
    else if (s->left[*n])
        s->left[*n]--;
    else
        w->posts[*n]++;
}

static void prepare_events(struct witness_trace *w)
{
    struct touch *now = xcalloc(w->cells.count + 1, sizeof(*now));
    uint32_t *length = xcalloc(w->nthreads + 1, sizeof(*length));
    size_t *last = xcalloc(w->nthreads + 1, sizeof(*last));
    struct map locks = { 0 };
    struct semaphores semaphores = { 0 };

    for (; w->nlives < w->cells.count; w->nlives++)
        now[w->nlives] = (struct touch){ NONE, w->nlives };
    for (size_t i = 0; i < w->count; i++) {
        const struct event *e = &w->events[i];

        if (e->flags & EV_IGNORED) {
            w->places[i].rank = NONE;
            continue;
        }
        w->places[i].rank = length[e->thread]++;
        last[e->thread] = i;
        if (e->op == OP_JOIN && e->target < w->nthreads && length[e->target])
            w->places[last[e->target]].over = true;
        if (op_is_on_lock(e->op))
            prepare_lock(w, &locks, (uint32_t)i);
        if (op_class_of(e->op) == CLASS_SEM)
            prepare_semaphore(w, &semaphores, (uint32_t)i);
        prepare_touches(w, now, (uint32_t)i);
    }
    w->nlocks = locks.count;
    map_release(&locks);
    map_release(&semaphores.of);
    free(semaphores.left);
    free(length);
    free(last);
    free(now);
}

static void prepare_quiet(struct witness_trace *w)
{
    uint32_t *end = xcalloc(w->nthreads + 1, sizeof(*end));

    for (size_t i = 0; i < w->count; i++)
        if (w->places[i].rank != NONE)
            end[w->events[i].thread] = w->places[i].rank + 1;
    for (size_t i = w->count; i-- > 0;) {
        const struct event *e = &w->events[i];
        struct place *p = &w->places[i];

        if (p->rank == NONE)
            continue;
        p->quiet_end = e->op == OP_READ || e->op == OP_WRITE ? end[e->thread] : p->rank + 1;
        if (ends_quiet(e))
            end[e->thread] = p->rank;
    }
    free(end);
}

/* Named variables start with 0; what other memory holds at first is not known. */
struct content initial_content(const struct witness_trace *w, uint32_t life)
{
    return (struct content){ .writer = NONE,
                             .known = !is_allocated(w, life) && is_named(w->cells.start[life]) };
}

static struct scratch *scratch_new(const struct witness_trace *w)
{
    struct scratch *s = xcalloc(1, sizeof(*s));

    s->contents = xcalloc((size_t)w->nlives + 1, sizeof(*s->contents));
    s->locks = xcalloc(w->nlocks + 1, sizeof(*s->locks));
    s->threads = xcalloc(w->nthreads + 1, sizeof(*s->threads));
    s->posts = xcalloc(w->nsemaphores + 1, sizeof(*s->posts));
    for (size_t n = 0; n < w->nsemaphores; n++)
        s->posts[n] = w->posts[n];
    s->next = xmalloc((w->edges.nmembers + 1) * sizeof(*s->next));
    for (uint32_t life = 0; life < w->nlives; life++)
        s->contents[life] = initial_content(w, life);
    for (size_t l = 0; l < w->nlocks; l++)
        s->locks[l].owner = NONE;
    for (size_t t = 0; t < w->nthreads; t++)
        s->threads[t].holds = NONE;
    for (size_t m = 0; m <= w->edges.nmembers; m++)
        s->next[m] = (uint32_t)m;
    return s;
}

struct witness_trace *witness_trace_new(const struct trace_mem *t, const struct trace_info *info)
{
    struct witness_trace *w = xcalloc(1, sizeof(*w));

    w->trace = t;
    w->events = t->events;
    w->count = t->count;
    w->values = info->values;
    w->branches = info->branches;
    w->loose = info->loose && !info->branches;
    w->exact = info->order == TRACE_EXACT;
    w->quiet = info->order == TRACE_SYNC_EXACT && !info->values;
    for (size_t i = 0; i < t->count; i++) {
        if (t->events[i].thread >= w->nthreads)
            w->nthreads = (size_t)t->events[i].thread + 1;
        w->by_call |= t->events[i].flags & EV_BY_CALL && !(t->events[i].flags & EV_IGNORED);
    }
    cells_init(&w->cells, t);
    edges_init(&w->edges, t, &w->cells);
    w->places = xcalloc(t->count + 1, sizeof(*w->places));
    prepare_events(w);
    prepare_quiet(w);
    w->scratch = scratch_new(w);
    return w;
}

static void forget_calls(struct witness_trace *w)
{
    call_rules_release(&w->call_rules);
    free(w->listed);
    free(w->behind);
    w->listed = NULL;
    w->behind = NULL;
}

void witness_trace_free(struct witness_trace *w)
{
    if (!w)
        return;
    forget_calls(w);
    changing_free(w->changing);
    free(w->scratch->contents);
    free(w->scratch->locks);
    free(w->scratch->posts);
    free(w->posts);
    free(w->scratch->threads);
    free(w->scratch->next);
    free(w->scratch->holds);
    free(w->scratch->reads);
    free(w->scratch->loose);
    free(w->scratch->saved);
    free(w->scratch);
    free(w->places);
    free(w->touches);
    free(w->handed);
    cells_release(&w->cells);
    edges_release(&w->edges);
    free(w);
}

bool witness_trace_set_quiet(struct witness_trace *w, bool on)
{
    bool before = w->quiet;

    w->quiet = on;
    return before;
}

void witness_trace_set_names(struct witness_trace *w, const struct tables *tables)
{
    w->names = tables;
}

/* ---- preparing for calls ---- */

/* Releases by threads that do not hold the lock in that way, by the rules of the replay. */
static bool *find_unmatched(const struct witness_trace *w)
{
    bool *unmatched = xcalloc(w->count + 1, sizeof(*unmatched));
    struct scratch *s = w->scratch;

    for (uint32_t i = 0; i < w->count; i++) {
        const struct event *e = &w->events[i];
        const struct place *p = &w->places[i];
        bool shared = e->op == OP_ACQUIRE_SHARED || e->op == OP_RELEASE_SHARED;

        if (p->rank == NONE)
            continue;
        if (op_class_of(e->op) != CLASS_LOCK || e->flags & EV_NESTED) {
            if (e->op == OP_END)
                drop_all_holds(s, e->thread);
        } else if (e->op == OP_RELEASE || e->op == OP_RELEASE_SHARED) {
            unmatched[i] = !find_hold(s, e->thread, p->lock, shared);
            replay_release(w, i);
        } else if (!find_hold(s, e->thread, p->lock, shared)) {
            add_hold(s, e->thread, p->lock, shared);
        }
        if (p->over)
            drop_all_holds(s, e->thread);
    }
    for (uint32_t i = 0; i < w->count; i++)
        if (w->places[i].rank != NONE)
            undo_event(w, i);
    s->nholds = 0;
    return unmatched;
}

/* What a walk over the trace knows of a cell. */
struct seen {
    uint32_t life, writer;
    bool behind;
};

static void see_event(struct witness_trace *w, struct seen *seen, uint32_t i)
{
    const struct place *p = &w->places[i];

    for (uint32_t k = 0; k < p->count; k++) {
        struct seen *s = &seen[p->cell + k];

        w->behind[p->touch + k] = s->behind && s->life == w->touches[p->touch + k].life;
        s->life = w->touches[p->touch + k].life;
        if (!is_writer(w->events[i].op))
            continue;
        s->writer = i;
        s->behind = false;
    }
    for (uint32_t k = w->call_rules.first_cell[i]; k < w->call_rules.first_cell[i + 1]; k++) {
        struct seen *s = &seen[w->call_rules.cell[k]];

        w->listed[k] = (struct listed){ s->life, s->writer };
        s->behind = true;
    }
}

void witness_trace_set_calls(struct witness_trace *w, enum witness_calls rule,
                             const struct tables *names)
{
    bool *unmatched;
    struct seen *seen;

    if (rule == CALLS_UNSEEN && !w->by_call)
        rule = CALLS_IGNORED;
    if (rule == w->calls)
        return;
    leave_beginning(w);
    forget_calls(w);
    w->calls = CALLS_IGNORED;
    if (rule == CALLS_IGNORED)
        return;
    unmatched = find_unmatched(w);
    call_rules_init(&w->call_rules, w->trace, &w->cells, rule, names, unmatched);
    free(unmatched);
    w->listed = xcalloc(w->call_rules.ncells + 1, sizeof(*w->listed));
    w->behind = xcalloc(w->ntouches + 1, sizeof(*w->behind));
    seen = xcalloc(w->cells.count + 1, sizeof(*seen));
    for (uint32_t c = 0; c < w->cells.count; c++)
        seen[c] = (struct seen){ c, NONE, false };
    for (uint32_t i = 0; i < w->count; i++)
        if (w->places[i].rank != NONE)
            see_event(w, seen, i);
    free(seen);
    w->calls = rule;
}
