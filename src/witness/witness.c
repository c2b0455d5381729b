/* witness.c - replays a reordering and refuses it at the first thing that cannot be
 *
 * The trace is prepared once: cells (cells.c), hard edges (edges.c), each
 * event's place in its thread, and for each cell an event touches the writer
 * it saw and the lifetime it belongs to. A check then walks the listed events
 * with the state of a machine: progress of each thread, holders of each lock,
 * and for each lifetime of each cell its last writer and its value where
 * known. Lifetimes of one cell are different memory: an allocation that was
 * given the address in the trace is given another one in the reordering where
 * that is still in use, so they may overlap. Afterwards only what was touched
 * is put back, so a short witness of a long trace is cheap.
 *
 * Which members of a list are still missing is kept as a forest (union-find):
 * next[m] is m itself or, once m's event was replayed, a later candidate.
 */
#include "witness/witness.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "witness/barriers.h"
#include "witness/cells.h"
#include "witness/edges.h"
#include "witness/values.h"

#define NONE UINT32_MAX /* no event: initial memory as a writer, no thread, no hold */

/* One cell of one event. */
struct touch {
    uint32_t writer; /* last one in the trace in this lifetime, NONE in a lifetime's first event */
    uint32_t life;   /* index of its lifetime; those below the number of cells: never allocated */
};

struct place {
    uint32_t rank; /* among the events of its thread; NONE for ignored events */
    union {
        uint32_t cell; /* the first it touches */
        uint32_t lock;
    };
    uint32_t count;   /* cells it touches */
    uint32_t stretch; /* rank in its thread at which it is surely over, see is_over() */
    bool over;        /* the last of its thread before somebody joins that */
    size_t touch;     /* its touches, one per cell */
};

/* What is in a cell, in one of its lifetimes. */
struct content {
    uint64_t value;
    uint32_t writer; /* an alloc is one, so without any the memory is initial or not there yet */
    bool known, tainted;
    uint32_t reads; /* since then, a list in scratch.reads from 1; only with `stretches` */
    bool behind;    /* a call or return may have written it since */
};

/* A cell that a call or return may write, and what the call must find there. */
struct listed {
    uint32_t life, writer;
};

/* A read of a cell, for the rule on stretches. */
struct cell_read {
    uint32_t event, next;
};

struct lock_state {
    uint32_t owner;   /* thread, or NONE */
    uint32_t sharers; /* holds, not threads */
    uint32_t since;   /* event of the latest acquire, for messages */
};

/* A lock that a thread holds, in a list per thread. */
struct hold {
    uint32_t lock, next;
    bool shared;
};

struct thread_state {
    uint32_t progress; /* events replayed */
    uint32_t holds;
    bool tainted; /* has read something else than recorded */
};

/* What a check changes; in its initial state between checks. */
struct scratch {
    struct content *contents; /* by lifetime */
    struct lock_state *locks;
    struct thread_state *threads;
    uint32_t *next; /* forest over members */
    struct hold *holds;
    size_t nholds, holds_cap;
    struct cell_read *reads; /* [0] unused */
    size_t nreads, reads_cap;
};

struct witness_trace {
    const struct trace_mem *trace;
    const struct event *events;
    size_t count;
    size_t nthreads, nlocks;
    bool *handed; /* by lock: some thread releases it that does not hold it */
    size_t handed_cap;
    uint32_t nlives; /* lifetimes of all cells: one each from the beginning, one per alloc */
    bool values, branches;
    bool stretches; /* a plain access stands for all like it up to the next synchronisation */
    enum witness_calls calls;
    struct barriers barriers;  /* the rest is there where calls count */
    struct listed *listed;     /* beside barriers.cell */
    bool *behind;              /* beside touches: what content.behind was in the trace */
    struct changing *changing; /* the values of witness_check_values(), or NULL */
    bool relaxed;              /* such a check is under way */
    bool exact;
    const struct tables *names;
    struct cells cells;
    struct edges edges;
    struct place *places;
    struct touch *touches;
    size_t ntouches, touches_cap;
    struct scratch *scratch;
};

/* ---- preparation ---- */

static bool is_writer(unsigned op)
{
    return op_table[op].writes || op == OP_ALLOC;
}

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

static void prepare_events(struct witness_trace *w)
{
    struct touch *now = xcalloc(w->cells.count + 1, sizeof(*now));
    uint32_t *length = xcalloc(w->nthreads + 1, sizeof(*length));
    size_t *last = xcalloc(w->nthreads + 1, sizeof(*last));
    struct map locks = { 0 };

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
        if (op_class_of(e->op) == CLASS_LOCK)
            prepare_lock(w, &locks, (uint32_t)i);
        prepare_touches(w, now, (uint32_t)i);
    }
    w->nlocks = locks.count;
    map_release(&locks);
    free(length);
    free(last);
    free(now);
}

/* Up to here, and no further, a recorder may take an access for a repetition of an earlier one. An
 * acquire load is no end: where it brings nothing new, it is as if it was not there. */
static bool ends_stretch(const struct event *e)
{
    if (op_is_access(e->op))
        return op_is_atomic(e->op) && e->op != OP_LOAD && order_releases(e->order);
    return e->op != OP_ENTER && e->op != OP_EXIT && e->op != OP_ALLOC && e->op != OP_FREE &&
           e->op != OP_AFTER && e->op != OP_CALL && e->op != OP_RETURN && e->op != OP_BRANCH &&
           e->op != OP_LINK && e->op != OP_OBJECT && e->op != OP_RESULT;
}

static void prepare_stretches(struct witness_trace *w)
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
        p->stretch = e->op == OP_READ || e->op == OP_WRITE ? end[e->thread] : p->rank + 1;
        if (ends_stretch(e))
            end[e->thread] = p->rank;
    }
    free(end);
}

static bool is_allocated(const struct witness_trace *w, uint32_t life)
{
    return life >= w->cells.count;
}

/* Named variables start with 0; what other memory holds at first is not known. */
static struct content initial_content(const struct witness_trace *w, uint32_t life)
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
    w->exact = info->order == TRACE_EXACT;
    w->stretches = info->order == TRACE_SYNC_EXACT && !info->values;
    for (size_t i = 0; i < t->count; i++)
        if (t->events[i].thread >= w->nthreads)
            w->nthreads = (size_t)t->events[i].thread + 1;
    cells_init(&w->cells, t);
    edges_init(&w->edges, t, &w->cells);
    w->places = xcalloc(t->count + 1, sizeof(*w->places));
    prepare_events(w);
    prepare_stretches(w);
    w->scratch = scratch_new(w);
    return w;
}

static void forget_calls(struct witness_trace *w)
{
    barriers_release(&w->barriers);
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
    free(w->scratch->threads);
    free(w->scratch->next);
    free(w->scratch->holds);
    free(w->scratch->reads);
    free(w->scratch);
    free(w->places);
    free(w->touches);
    free(w->handed);
    cells_release(&w->cells);
    edges_release(&w->edges);
    free(w);
}

bool witness_trace_set_stretches(struct witness_trace *w, bool on)
{
    bool before = w->stretches;

    w->stretches = on;
    return before;
}

void witness_trace_set_names(struct witness_trace *w, const struct tables *tables)
{
    w->names = tables;
}

/* ---- messages ---- */

struct name {
    char text[128];
};

static struct name name_thread(const struct witness_trace *w, uint32_t thread)
{
    struct name n;

    if (w->names && thread < w->names->threads.count)
        snprintf(n.text, sizeof(n.text), "%s", intern_get(&w->names->threads, thread));
    else
        snprintf(n.text, sizeof(n.text), "thread %" PRIu32, thread);
    return n;
}

static struct name name_target(const struct witness_trace *w, const struct event *e)
{
    struct buf b = { 0 };
    struct name n;

    if (w->names && op_class_of(e->op) == CLASS_LOCK)
        tables_name_object(w->names, e->target, &b);
    else if (w->names)
        tables_name_variable(w->names, e->target, op_is_access(e->op) ? e->size : e->value, &b);
    else
        buf_addf(&b, "0x%" PRIx64, e->target);
    snprintf(n.text, sizeof(n.text), "%s", b.data);
    buf_release(&b);
    return n;
}

/* Refuse an event; always false. */
#define refuse(err, position, ...)                                                                 \
    (error_set((err), __VA_ARGS__), error_prefix((err), "event %" PRIu64, (uint64_t)(position)),   \
     false)

/* ---- what an event needs to be next ---- */

static bool is_replayed(const struct witness_trace *w, uint32_t event)
{
    return w->scratch->threads[w->events[event].thread].progress > w->places[event].rank;
}

/* The first member at or after m whose event was not replayed. */
static uint32_t first_missing(struct scratch *s, uint32_t m)
{
    while (s->next[m] != m) {
        s->next[m] = s->next[s->next[m]];
        m = s->next[m];
    }
    return m;
}

static bool check_program_order(const struct witness_trace *w, uint64_t position, struct error *err)
{
    const struct place *p = &w->places[position];
    uint32_t thread, progress;

    if (p->rank == NONE)
        return refuse(err, position, "was marked as impossible and is no part of the analysis");
    thread = w->events[position].thread;
    progress = w->scratch->threads[thread].progress;
    if (p->rank < progress)
        return refuse(err, position, "is listed twice or after a later event of %s",
                      name_thread(w, thread).text);
    if (p->rank > progress)
        return refuse(err, position, "an earlier event of %s is missing before it",
                      name_thread(w, thread).text);
    return true;
}

static bool check_needs(const struct witness_trace *w, uint64_t position, struct error *err)
{
    const struct edges *g = &w->edges;

    for (uint32_t i = g->first_need[position]; i < g->first_need[position + 1]; i++) {
        struct need n = g->needs[i];
        uint32_t missing = n.lo;

        if (n.hi != NEED_EVENT) {
            uint32_t m = first_missing(w->scratch, n.lo);

            if (m >= n.hi)
                continue;
            missing = g->source[m];
        } else if (is_replayed(w, n.lo)) {
            continue;
        }
        return refuse(err, position, "needs event %" PRIu32 " (%s) before it", missing,
                      op_table[w->events[missing].op].name);
    }
    return true;
}

/* Memory must be there before it is used; nothing but its alloc brings it. */
static bool check_allocated(const struct witness_trace *w, uint64_t position, struct error *err)
{
    const struct event *e = &w->events[position];
    const struct place *p = &w->places[position];

    for (uint32_t i = 0; i < p->count && e->op != OP_ALLOC; i++) {
        uint32_t life = w->touches[p->touch + i].life;

        if (is_allocated(w, life) && w->scratch->contents[life].writer == NONE)
            return refuse(err, position, "the memory at %s is not allocated yet",
                          name_target(w, e).text);
    }
    return true;
}

static struct name name_function(const struct witness_trace *w, uint32_t call)
{
    uint64_t f = w->events[call].target;
    struct name n;

    if (w->names && f < w->names->functions.count)
        snprintf(n.text, sizeof(n.text), "%s", intern_get(&w->names->functions, (uint32_t)f));
    else
        snprintf(n.text, sizeof(n.text), "function %" PRIu64, f);
    return n;
}

/* What calls keep in order. */
static bool check_calls(const struct witness_trace *w, uint64_t position, struct error *err)
{
    const struct barriers *b = &w->barriers;

    for (uint32_t i = b->first_need[position]; i < b->first_need[position + 1]; i++) {
        uint32_t missing = b->need[i], call = b->call[missing];

        if (is_replayed(w, missing))
            continue;
        if (call == NONE)
            return refuse(err, position,
                          "event %" PRIu32 " (%s) comes first: a call may touch what it touches",
                          missing, op_table[w->events[missing].op].name);
        return refuse(err, position,
                      "%s's call of %s at event %" PRIu32 " comes first, up to event %" PRIu32,
                      name_thread(w, w->events[call].thread).text, name_function(w, call).text,
                      call, missing);
    }
    return true;
}

static bool check_next(const struct witness_trace *w, uint64_t position, struct error *err)
{
    return check_program_order(w, position, err) && check_needs(w, position, err) &&
           (!w->calls || check_calls(w, position, err)) && check_allocated(w, position, err) &&
           (!w->relaxed || changing_check_next(w->changing, (uint32_t)position, err));
}

/* ---- locks ---- */

/* The link that points to a thread's hold of a lock, or NULL. */
static uint32_t *find_hold(struct scratch *s, uint32_t thread, uint32_t lock, bool shared)
{
    uint32_t *at = &s->threads[thread].holds;

    while (*at != NONE) {
        if (s->holds[*at].lock == lock && s->holds[*at].shared == shared)
            return at;
        at = &s->holds[*at].next;
    }
    return NULL;
}

static void drop_hold(struct scratch *s, uint32_t *at)
{
    struct lock_state *l = &s->locks[s->holds[*at].lock];

    if (s->holds[*at].shared)
        l->sharers--;
    else
        l->owner = NONE;
    *at = s->holds[*at].next; /* its room is not used again in this check */
}

static void drop_all_holds(struct scratch *s, uint32_t thread)
{
    while (s->threads[thread].holds != NONE)
        drop_hold(s, &s->threads[thread].holds);
}

static void add_hold(struct scratch *s, uint32_t thread, uint32_t lock, bool shared)
{
    GROW(s->holds, s->holds_cap, s->nholds + 1);
    s->holds[s->nholds] = (struct hold){ lock, s->threads[thread].holds, shared };
    s->threads[thread].holds = (uint32_t)s->nholds++;
}

static bool replay_acquire(const struct witness_trace *w, uint32_t i, struct error *err)
{
    const struct event *e = &w->events[i];
    struct scratch *s = w->scratch;
    struct lock_state *l = &s->locks[w->places[i].lock];
    bool shared = e->op == OP_ACQUIRE_SHARED;
    uint32_t others;

    if (l->owner != NONE && l->owner != e->thread)
        return refuse(err, i, "lock %s is held by %s since event %" PRIu32, name_target(w, e).text,
                      name_thread(w, l->owner).text, l->since);
    others = l->sharers - (find_hold(s, e->thread, w->places[i].lock, true) != NULL);
    if (!shared && others)
        return refuse(err, i, "lock %s is held shared by %" PRIu32 " other threads",
                      name_target(w, e).text, others);
    if (find_hold(s, e->thread, w->places[i].lock, shared))
        return true;
    add_hold(s, e->thread, w->places[i].lock, shared);
    if (shared)
        l->sharers++;
    else
        l->owner = e->thread;
    l->since = i;
    return true;
}

/* Ends the section of the thread itself, of the other kind if there is none of this one;
 * a release of what the thread does not hold changes nothing for others. */
static void replay_release(const struct witness_trace *w, uint32_t i)
{
    const struct event *e = &w->events[i];
    bool shared = e->op == OP_RELEASE_SHARED;
    uint32_t lock = w->places[i].lock;
    uint32_t *at = find_hold(w->scratch, e->thread, lock, shared);

    if (!at)
        at = find_hold(w->scratch, e->thread, lock, !shared);
    if (at)
        drop_hold(w->scratch, at);
}

/* ---- memory ---- */

/* Recorders leave out an access that repeats one of its thread with no synchronisation in between.
 * So an access that was recorded may happen again, up to the end of its stretch; until then no
 * other thread may touch the memory in a way that conflicts. */
static bool is_over(const struct witness_trace *w, uint32_t event, uint32_t thread)
{
    uint32_t of = w->events[event].thread;

    return of == thread || w->scratch->threads[of].progress >= w->places[event].stretch;
}

static bool check_stretch(const struct witness_trace *w, uint32_t i, uint32_t other,
                          struct error *err)
{
    if (is_over(w, other, w->events[i].thread))
        return true;
    return refuse(err, i, "event %" PRIu32 " on %s may not be the last of its kind", other,
                  name_target(w, &w->events[other]).text);
}

static void note_read(const struct witness_trace *w, uint32_t i, struct content *c)
{
    struct scratch *s = w->scratch;

    if (c->reads && w->events[s->reads[c->reads].event].thread == w->events[i].thread) {
        s->reads[c->reads].event = i;
        return;
    }
    GROW(s->reads, s->reads_cap, s->nreads + 2);
    s->reads[++s->nreads] = (struct cell_read){ i, c->reads };
    c->reads = (uint32_t)s->nreads;
}

static bool check_stretches(const struct witness_trace *w, uint32_t i, struct error *err)
{
    const struct place *p = &w->places[i];
    const struct cell_read *reads;

    for (uint32_t k = 0; k < p->count; k++) {
        struct content *c = &w->scratch->contents[w->touches[p->touch + k].life];

        if (c->writer != NONE && !check_stretch(w, i, c->writer, err))
            return false;
        reads = w->scratch->reads;
        for (uint32_t r = c->reads; r && is_writer(w->events[i].op); r = reads[r].next)
            if (!check_stretch(w, i, reads[r].event, err))
                return false;
        if (op_table[w->events[i].op].reads)
            note_read(w, i, c);
    }
    return true;
}

static bool reads_memory(const struct event *e)
{
    return op_table[e->op].reads;
}

/* The value that an event read, where the trace says so. */
static bool read_value(const struct witness_trace *w, const struct event *e, uint64_t *value)
{
    unsigned flag = e->op == OP_RMW ? EV_OLD : EV_VALUE;

    *value = e->op == OP_RMW ? e->old : e->value;
    return w->values && e->flags & flag && e->size <= 8;
}

/* Does the read find what it needs in its i-th cell? A known value decides; so a recorded
 * value wins over an observed writer that contradicts it. */
static bool cell_satisfies(const struct witness_trace *w, uint32_t event, uint32_t i)
{
    const struct event *e = &w->events[event];
    const struct place *p = &w->places[event];
    const struct touch *t = &w->touches[p->touch + i];
    const struct content *now = &w->scratch->contents[t->life];
    uint64_t value;

    if (now->behind && !w->behind[p->touch + i])
        return false; /* saw a write that came after the calls */
    if (now->known && read_value(w, e, &value))
        return now->value == cells_value(&w->cells, p->cell + i, e->target, value);
    return now->writer == t->writer && !now->tainted;
}

/* Inside a call what is hidden may depend on every read. */
static bool is_inside(const struct witness_trace *w, uint32_t i)
{
    return w->calls && w->barriers.call[i] != NONE;
}

/* The c-th cell of an event, as values.h wants it. */
static struct values_cell cell_of(const struct witness_trace *w, uint32_t i, uint32_t c)
{
    const struct place *p = &w->places[i];
    const struct touch *t = &w->touches[p->touch + c];
    uint64_t start = w->cells.start[p->cell + c];

    return (struct values_cell){ .life = t->life,
                                 .offset = start - w->events[i].target,
                                 .bytes = w->cells.start[p->cell + c + 1] - start,
                                 .observed = t->writer,
                                 .hidden = w->calls && w->scratch->contents[t->life].behind &&
                                           !w->behind[p->touch + c] };
}

static bool replay_free_read(const struct witness_trace *w, uint32_t i, struct error *err)
{
    for (uint32_t c = 0; c < w->places[i].count; c++) {
        struct values_cell cell = cell_of(w, i, c);

        changing_read(w->changing, i, &cell);
    }
    return !is_inside(w, i) || changing_check_same(w->changing, i, err);
}

static bool replay_read(const struct witness_trace *w, uint32_t i, struct error *err)
{
    const struct event *e = &w->events[i];
    const struct place *p = &w->places[i];
    struct thread_state *t = &w->scratch->threads[e->thread];

    for (uint32_t c = 0; c < p->count && !t->tainted; c++) {
        uint32_t writer = w->scratch->contents[w->touches[p->touch + c].life].writer;

        if (cell_satisfies(w, i, c))
            continue;
        if (w->branches && !is_inside(w, i)) {
            t->tainted = true;
            break;
        }
        if (writer == NONE)
            return refuse(err, i, "reads %s from initial memory, not its value in the trace",
                          name_target(w, e).text);
        return refuse(err, i, "reads %s from event %" PRIu32 ", not its value in the trace",
                      name_target(w, e).text, writer);
    }
    return true;
}

static void replay_write(const struct witness_trace *w, uint32_t i)
{
    const struct event *e = &w->events[i];
    const struct place *p = &w->places[i];
    bool tainted = w->scratch->threads[e->thread].tainted;
    bool known =
        w->values && !tainted && op_is_access(e->op) && e->flags & EV_VALUE && e->size <= 8;

    for (uint32_t c = 0; c < p->count; c++) {
        uint32_t life = w->touches[p->touch + c].life;
        uint64_t value = known ? cells_value(&w->cells, p->cell + c, e->target, e->value) : 0;

        w->scratch->contents[life] = (struct content){ value, i, known, tainted, 0 };
        if (w->relaxed) {
            struct values_cell cell = cell_of(w, i, c);

            changing_write(w->changing, i, &cell);
        }
    }
}

static bool replay_memory(const struct witness_trace *w, uint32_t i, struct error *err)
{
    const struct event *e = &w->events[i];

    if (w->stretches && !check_stretches(w, i, err))
        return false;
    if (reads_memory(e) && !(w->relaxed ? replay_free_read(w, i, err) : replay_read(w, i, err)))
        return false;
    if (is_writer(e->op))
        replay_write(w, i);
    return true;
}

/* ---- calls of untraced code ---- */

/* A call finds what it found; it and its return may write all that it lists. */
static bool replay_call(const struct witness_trace *w, uint32_t i, struct error *err)
{
    const struct barriers *b = &w->barriers;

    for (uint32_t k = b->first_cell[i]; k < b->first_cell[i + 1]; k++) {
        struct content *c = &w->scratch->contents[w->listed[k].life];
        uint64_t address = w->cells.start[b->cell[k]];
        struct event place = { .target = address, .op = OP_ALLOC };

        place.value = w->cells.start[b->cell[k] + 1] - address;
        if (w->events[i].op == OP_CALL &&
            (c->writer != w->listed[k].writer || c->tainted ||
             (w->relaxed && !changing_is_same(w->changing, w->listed[k].life, c->writer))))
            return refuse(err, i, "%s may find something else at %s than it did",
                          name_function(w, i).text, name_target(w, &place).text);
        c->behind = true;
    }
    return true;
}

/* ---- the replay ---- */

static bool replay_effect(const struct witness_trace *w, uint32_t i, struct error *err)
{
    const struct event *e = &w->events[i];

    switch (e->op) {
    case OP_ACQUIRE:
    case OP_ACQUIRE_SHARED:
        return e->flags & EV_NESTED || replay_acquire(w, i, err);
    case OP_RELEASE:
    case OP_RELEASE_SHARED:
        if (!(e->flags & EV_NESTED))
            replay_release(w, i);
        return true;
    case OP_END:
        drop_all_holds(w->scratch, e->thread);
        return true;
    case OP_BRANCH:
    case OP_CALL:
        if (w->scratch->threads[e->thread].tainted)
            return refuse(err, i, "%s depends on a read of %s that saw another value",
                          op_table[e->op].name, name_thread(w, e->thread).text);
        return e->op == OP_BRANCH || !w->calls || replay_call(w, i, err);
    case OP_FORK:
        if (w->relaxed && e->target < w->nthreads)
            changing_fork(w->changing, e->thread, (uint32_t)e->target);
        return true;
    case OP_RETURN:
        return !w->calls || replay_call(w, i, err);
    default:
        return replay_memory(w, i, err);
    }
}

static bool replay_event(const struct witness_trace *w, uint64_t position, struct error *err)
{
    struct scratch *s = w->scratch;
    uint32_t i = (uint32_t)position;

    if (!check_next(w, position, err))
        return false;
    if (!replay_effect(w, i, err))
        return false;
    s->threads[w->events[i].thread].progress++;
    if (w->places[i].over) /* no event says so, but the join does */
        drop_all_holds(s, w->events[i].thread);
    for (uint32_t m = w->edges.first_member[i]; m < w->edges.first_member[i + 1]; m++)
        s->next[w->edges.member_of[m]] = w->edges.member_of[m] + 1;
    return true;
}

/* Put back what replaying an event may have changed. */
static void undo_event(const struct witness_trace *w, uint32_t i)
{
    const struct event *e = &w->events[i];
    const struct place *p = &w->places[i];
    struct scratch *s = w->scratch;

    s->threads[e->thread] = (struct thread_state){ .holds = NONE };
    if (op_class_of(e->op) == CLASS_LOCK)
        s->locks[p->lock] = (struct lock_state){ .owner = NONE };
    for (uint32_t c = 0; c < p->count; c++) {
        uint32_t life = w->touches[p->touch + c].life;

        s->contents[life] = initial_content(w, life);
    }
    for (uint32_t k = w->calls ? w->barriers.first_cell[i] : 0;
         w->calls && k < w->barriers.first_cell[i + 1]; k++)
        s->contents[w->listed[k].life] = initial_content(w, w->listed[k].life);
    for (uint32_t m = w->edges.first_member[i]; m < w->edges.first_member[i + 1]; m++)
        s->next[w->edges.member_of[m]] = w->edges.member_of[m];
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
    for (uint32_t k = w->barriers.first_cell[i]; k < w->barriers.first_cell[i + 1]; k++) {
        struct seen *s = &seen[w->barriers.cell[k]];

        w->listed[k] = (struct listed){ s->life, s->writer };
        s->behind = true;
    }
}

void witness_trace_set_calls(struct witness_trace *w, enum witness_calls rule,
                             const struct tables *names)
{
    bool *unmatched;
    struct seen *seen;

    if (rule == w->calls)
        return;
    forget_calls(w);
    w->calls = CALLS_IGNORED;
    if (rule == CALLS_IGNORED)
        return;
    unmatched = find_unmatched(w);
    barriers_init(&w->barriers, w->trace, &w->cells, rule, names, unmatched);
    free(unmatched);
    w->listed = xcalloc(w->barriers.ncells + 1, sizeof(*w->listed));
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

/* ---- the race ---- */

static bool can_race(const struct event *e)
{
    return op_is_access(e->op) || e->op == OP_FREE;
}

/* Do two events meet in a cell, and in one where it is the same memory for both? */
static bool check_overlap(const struct witness_trace *w, uint64_t a, uint64_t b, struct error *err)
{
    const struct place *x = &w->places[a], *y = &w->places[b];
    uint32_t from = x->cell > y->cell ? x->cell : y->cell, c = from;

    for (; c < x->cell + x->count && c < y->cell + y->count; c++)
        if (w->touches[x->touch + (c - x->cell)].life == w->touches[y->touch + (c - y->cell)].life)
            return true;
    if (c == from)
        return refuse(err, b, "does not overlap event %" PRIu64, a);
    return refuse(err, b, "uses the memory at %s in another lifetime than event %" PRIu64,
                  name_target(w, &w->events[b]).text, a);
}

static bool check_conflict(const struct witness_trace *w, uint64_t a, uint64_t b, struct error *err)
{
    const struct event *x = &w->events[a], *y = &w->events[b];

    if (!can_race(x) || !can_race(y))
        return refuse(err, can_race(x) ? b : a, "%s is no access that could race",
                      op_table[can_race(x) ? y->op : x->op].name);
    if (x->thread == y->thread)
        return refuse(err, b, "is of the same thread as event %" PRIu64, a);
    if (!op_table[x->op].writes && !op_table[y->op].writes)
        return refuse(err, b, "neither it nor event %" PRIu64 " writes", a);
    if (op_is_atomic(x->op) && op_is_atomic(y->op))
        return refuse(err, b, "it and event %" PRIu64 " are both atomic", a);
    return check_overlap(w, a, b, err);
}

/* Both must be possible next, each without the other. */
static bool check_race(const struct witness_trace *w, uint64_t a, uint64_t b, struct error *err)
{
    return check_next(w, a, err) && check_next(w, b, err) && check_conflict(w, a, b, err);
}

/* ---- the deadlock ---- */

/* Does the thread hold the lock of event i in a way that keeps i from happening? */
static bool is_blocked_by(const struct witness_trace *w, uint32_t i, uint32_t thread)
{
    uint32_t lock = w->places[i].lock;

    return find_hold(w->scratch, thread, lock, false) ||
           (w->events[i].op == OP_ACQUIRE && find_hold(w->scratch, thread, lock, true));
}

/* A request that waits for a lock of the thread of another one. */
static bool check_request(const struct witness_trace *w, uint64_t a, uint64_t next,
                          struct error *err)
{
    const struct event *e = &w->events[a];
    uint32_t holder = w->events[next].thread;

    if (e->op != OP_ACQUIRE && e->op != OP_ACQUIRE_SHARED)
        return refuse(err, a, "%s is no request for a lock", op_table[e->op].name);
    if (e->flags & EV_NESTED)
        return refuse(err, a, "its thread has lock %s already", name_target(w, e).text);
    if (e->flags & EV_BARE)
        return refuse(err, a, "tries to get lock %s but does not wait", name_target(w, e).text);
    if (w->handed[w->places[a].lock])
        return refuse(err, a, "lock %s is also released by threads that do not hold it",
                      name_target(w, e).text);
    if (!check_next(w, a, err))
        return false;
    if (!is_blocked_by(w, (uint32_t)a, holder))
        return refuse(err, a, "lock %s is not held%s by %s", name_target(w, e).text,
                      find_hold(w->scratch, holder, w->places[a].lock, true) ? " exclusively" : "",
                      name_thread(w, holder).text);
    return true;
}

/* Each waits for the next, the last for the first, and no thread is there twice. */
static bool check_cycle(const struct witness_trace *w, const uint64_t *requests, size_t k,
                        struct error *err)
{
    for (size_t i = 0; i < k; i++) {
        for (size_t j = 0; j < i; j++)
            if (w->events[requests[i]].thread == w->events[requests[j]].thread)
                return refuse(err, requests[i], "is of the same thread as event %" PRIu64,
                              requests[j]);
        if (!check_request(w, requests[i], requests[(i + 1) % k], err))
            return false;
    }
    return true;
}

/* ---- a whole sequence ---- */

static bool check_positions(const struct witness_trace *w, const uint64_t *order, size_t n,
                            struct error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (order[i] < w->count)
            continue;
        error_set(err, "event %" PRIu64 " does not exist, the trace has %zu", order[i], w->count);
        return false;
    }
    return true;
}

/* Replay the events before the last `end`, ask what those do, put everything back. */
static int check_sequence(const struct witness_trace *w, const uint64_t *order, size_t n,
                          size_t end, bool deadlock, struct error *err)
{
    const uint64_t *last = order + (n - end);
    bool accepted = check_positions(w, order, n, err);
    size_t done = 0;

    while (accepted && done < n - end)
        accepted = replay_event(w, order[done++], err);
    if (accepted)
        accepted = deadlock ? check_cycle(w, last, end, err) : check_race(w, last[0], last[1], err);
    while (done > 0)
        undo_event(w, (uint32_t)order[--done]);
    w->scratch->nholds = 0;
    w->scratch->nreads = 0;
    return accepted;
}

int witness_check(const struct witness_trace *w, const uint64_t *order, size_t n, struct error *err)
{
    if (n < 2) {
        error_set(err, "a witness ends with two racing accesses, this one has %zu events", n);
        return 0;
    }
    return check_sequence(w, order, n, 2, false, err);
}

int witness_check_deadlock(const struct witness_trace *w, const uint64_t *order, size_t n,
                           size_t requests, struct error *err)
{
    if (requests < 2 || n < requests) {
        error_set(err, "a deadlock has two requests or more, not %zu of %zu events", requests, n);
        return 0;
    }
    return check_sequence(w, order, n, requests, true, err);
}

/* ---- schedules with other values ---- */

static uint64_t written_key(uint32_t life, uint64_t value)
{
    return map_hash(value ^ (uint64_t)life << 40) ^ life;
}

/* Which values are written to which memory, and where some are not known. */
static void note_written(const struct witness_trace *w, struct map *written, bool *unknown)
{
    for (uint32_t i = 0; i < w->count; i++)
        for (uint32_t c = 0; c < w->places[i].count && w->places[i].rank != NONE; c++) {
            const struct touch *t = &w->touches[w->places[i].touch + c];
            struct values_cell cell = cell_of(w, i, c);
            uint64_t value;

            if (!is_writer(w->events[i].op) || is_allocated(w, t->life))
                continue;
            if (changing_recorded(w->changing, i, true, cell.offset, cell.bytes, &value))
                map_put(written, written_key(t->life, value), 1);
            else
                unknown[t->life] = true;
        }
}

struct first {
    uint64_t value;
    bool known, refuted;
    bool denied; /* some read found something else there than the program's file has */
};

/* What the program's file has there. */
static bool file_value(const struct witness_trace *w, uint32_t life, uint64_t *value)
{
    uint64_t start = w->cells.start[life];

    return execution_first_value(changing_execution(w->changing), start,
                                 w->cells.start[life + 1] - start, value);
}

/* A read that found nothing written tells what was there; where the order of accesses is not exact,
 * only if nobody writes such a value. */
static void learn_first(const struct witness_trace *w, struct first *first,
                        const struct map *written, const bool *unknown, uint32_t i, uint32_t c)
{
    const struct touch *t = &w->touches[w->places[i].touch + c];
    struct values_cell cell = cell_of(w, i, c);
    struct first *f = &first[t->life];
    uint64_t value, file;

    if (t->writer != NONE || is_allocated(w, t->life) || is_named(w->cells.start[t->life]) ||
        !changing_recorded(w->changing, i, false, cell.offset, cell.bytes, &value))
        return;
    f->denied |= file_value(w, t->life, &file) && file != value;
    if (!w->exact && (unknown[t->life] || map_get(written, written_key(t->life, value))))
        return;
    f->refuted |= f->known && f->value != value;
    f->value = value;
    f->known = true;
}

static void set_first_values(struct witness_trace *w)
{
    struct map written = { 0 };
    bool *unknown = xcalloc((size_t)w->nlives + 1, sizeof(*unknown));
    struct first *first = xcalloc(w->cells.count + 1, sizeof(*first));
    uint64_t value;

    note_written(w, &written, unknown);
    for (uint32_t i = 0; i < w->count; i++)
        for (uint32_t c = 0; c < w->places[i].count && w->places[i].rank != NONE; c++)
            if (reads_memory(&w->events[i]))
                learn_first(w, first, &written, unknown, i, c);
    for (uint32_t life = 0; life < w->cells.count; life++) {
        if (is_named(w->cells.start[life]))
            changing_set_first(w->changing, life, 0);
        else if (first[life].known && !first[life].refuted)
            changing_set_first(w->changing, life, first[life].value);
        else if (!first[life].refuted && !first[life].denied && !is_allocated(w, life) &&
                 file_value(w, life, &value))
            changing_set_first(w->changing, life, value);
    }
    map_release(&written);
    free(unknown);
    free(first);
}

void witness_trace_set_execution(struct witness_trace *w, const struct execution *e)
{
    if (w->changing && changing_execution(w->changing) == e)
        return;
    changing_free(w->changing);
    w->changing = e ? changing_new(e, w->nthreads, w->nlives) : NULL;
    if (e)
        set_first_values(w);
}

/* The values that came out are those that the witness lists. */
static bool check_changes(const struct witness_trace *w, const uint64_t *order, size_t n,
                          const struct witness_change *changes, size_t nchanges, struct error *err)
{
    size_t next = 0;

    for (size_t i = 0; i + 2 < n; i++) {
        uint32_t event = (uint32_t)order[i], writer;
        uint64_t value;
        bool known;

        if (!changing_changed(w->changing, event, &value, &known, &writer))
            continue;
        if (next == nchanges || changes[next].read != event)
            return refuse(err, event, "reads something else, and the witness does not say so");
        if (known != changes[next].known || (known && value != changes[next].value))
            return refuse(err, event, "reads %" PRIu64 ", not what the witness says", value);
        if (known && changes[next].writer != (writer == NONE ? UINT64_MAX : writer))
            return refuse(err, event, "reads what another event wrote than the witness says");
        next++;
    }
    if (next < nchanges)
        return refuse(err, changes[next].read, "reads what it read, not another value");
    return true;
}

int witness_check_values(struct witness_trace *w, const uint64_t *order, size_t n,
                         const struct witness_change *changes, size_t nchanges, struct error *err)
{
    int accepted;

    if (n < 2 || !w->changing) {
        error_set(err, n < 2 ? "a witness ends with two racing accesses" : "there is no execution");
        return 0;
    }
    w->relaxed = true;
    accepted = check_sequence(w, order, n, 2, false, err) &&
               check_changes(w, order, n, changes, nchanges, err);
    changing_clear(w->changing);
    w->relaxed = false;
    return accepted;
}
