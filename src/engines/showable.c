/* showable.c - the events of a recording that a schedule can hold
 *
 * What an event needs is followed forwards: each thread, object, block and
 * variable carries the position of the latest uncertain read that whoever
 * needs it needs, too. Of barriers and semaphores that is the latest of all
 * their rounds: more than need be, so that too little is kept, never too much.
 *
 * A thread that ends here without its next synchronisation would look as if
 * it had come to it, and what stands for repetitions (docs/design/proof.md,
 * "Quiet periods") as if that were over. So the event that ends it is kept too: a
 * read, since it may race, and anything else that is no synchronisation as an
 * event without effect.
 */
#include "engines/showable.h"
#include "base/alloc.h"

#include <stdlib.h>

/* What an event brings with it: the latest uncertain read, its position + 1; 0: none. */
typedef uint64_t blame;

/* Of the release sequence that its value belongs to: what those need who acquire; the same of the
 * heads of the thread that began it. */
struct variable {
    blame writer, memory;
    blame heads, own;
    uint32_t owner;          /* thread + 1; 0: there is none */
    bool has_heads, has_own; /* such heads */
};

struct block {
    blame memory, end;
    bool freed;
};

struct object {
    blame blame;
    bool known;
};

struct showable_flow {
    struct showable out;
    uint64_t limit, step;
    blame *threads;
    bool *fences; /* by thread: it has released by a fence */
    struct variable *variables;
    struct block *blocks;
    struct object *objects;
    size_t threads_cap, fences_cap, variables_cap, blocks_cap, objects_cap;
};

struct showable_flow *showable_begin(uint64_t events, uint64_t limit, uint64_t step)
{
    struct showable_flow *f = xcalloc(1, sizeof(*f));

    f->limit = limit;
    f->step = step;
    f->out.events.bits = xcalloc(events / 64 + 1, sizeof(uint64_t));
    if (events > limit)
        f->out.nuseful = (size_t)((events - limit) / step) + 1;
    f->out.useful = xcalloc(f->out.nuseful + 1, 1);
    return f;
}

static blame later(blame a, blame b)
{
    return a > b ? a : b;
}

static struct block *block_of(struct showable_flow *f, uint32_t id)
{
    GROW(f->blocks, f->blocks_cap, (size_t)id + 1);
    return &f->blocks[id];
}

/* ---- what an event needs ---- */

/* The first access to a variable: its memory may have been allocated, and freed. */
static void begin_variable(struct showable_flow *f, const struct step *s)
{
    struct variable *v = &f->variables[s->id];

    *v = (struct variable){ 0 };
    if (s->op == OP_SPLIT) {
        *v = f->variables[s->from];
    } else if (s->from) {
        const struct block *b = block_of(f, s->from - 1);

        v->memory = b->memory;
        v->writer = b->freed ? b->end : b->memory;
    }
}

/* A part was allocated with the whole. */
static void begin_free(struct showable_flow *f, const struct step *s)
{
    blame memory = s->flags & STEP_FRESH && s->from ? block_of(f, s->from - 1)->memory : 0;

    block_of(f, s->id); /* there is such a block */
    if (s->flags & STEP_FRESH)
        f->blocks[s->id] = (struct block){ .memory = memory };
}

static blame saw(const struct showable_flow *f, const struct step *s)
{
    return op_is_access(s->op) && op_table[s->op].reads ? f->variables[s->id].writer : 0;
}

/* It comes after a release that it saw, also where it races. */
static bool acquires(const struct step *s)
{
    return (s->op == OP_LOAD || s->op == OP_RMW) && order_acquires(s->order);
}

/* All but the writers of plain reads: what the two racing accesses need, too. */
static blame needs_of(struct showable_flow *f, const struct step *s)
{
    switch (s->op) {
    case OP_JOIN:
        return f->threads[s->id];
    case OP_SEM_WAIT:
    case OP_BARRIER_LEAVE:
    case OP_AFTER:
    case OP_ONCE:
        return f->objects[s->id].blame;
    case OP_FREE:
        begin_free(f, s);
        return f->blocks[s->id].memory;
    default:
        if (!op_is_access(s->op))
            return 0;
        return later(f->variables[s->id].memory, acquires(s) ? f->variables[s->id].heads : 0);
    }
}

/* ---- what it leaves behind ---- */

static void write_plain(struct variable *v, blame b)
{
    *v = (struct variable){ .writer = b, .memory = v->memory };
}

static void write_atomic(struct showable_flow *f, const struct step *s, blame b)
{
    struct variable *v = &f->variables[s->id];
    bool head = order_releases(s->order) || f->fences[s->thread];
    blame from = head ? b : 0; /* of a fence that is more than need be: all before the store */

    v->writer = b;
    if (s->op == OP_RMW) {
        v->heads = later(v->heads, from);
        v->has_heads |= head;
        return;
    }
    v->own = later(v->owner == s->thread + 1 ? v->own : 0, from);
    v->has_own = head || (v->has_own && v->owner == s->thread + 1);
    v->owner = s->thread + 1;
    v->heads = v->own;
    v->has_heads = v->has_own;
}

static void showable_leave(struct showable_flow *f, const struct step *s, blame b)
{
    struct object *o =
        s->op == OP_SEM_POST || s->op == OP_BARRIER_ENTER || s->op == OP_BEFORE || s->op == OP_ONCE
            ? &f->objects[s->id]
            : NULL;

    if (o && (s->op != OP_ONCE || !o->known)) {
        o->blame = later(o->blame, b);
        o->known = true;
    } else if (s->op == OP_FORK) {
        f->threads[s->id] = later(f->threads[s->id], b);
    } else if (s->op == OP_ALLOC) {
        *block_of(f, s->id) = (struct block){ .memory = b };
    } else if (s->op == OP_FREE) {
        f->blocks[s->id].end = b;
        f->blocks[s->id].freed = true;
    } else if (s->op == OP_FENCE && order_releases(s->order)) {
        f->fences[s->thread] = true;
    } else if (s->op == OP_STORE || s->op == OP_RMW) {
        write_atomic(f, s, b);
    } else if (s->op == OP_WRITE) {
        write_plain(&f->variables[s->id], b);
    }
}

/* ---- events ---- */

static void showable_keep(struct showable_flow *f, uint64_t position, bool last)
{
    struct showable *o = &f->out;
    struct trace_selection *s = &o->events;

    if (last) {
        GROW(o->last, o->last_cap, o->nlast + 1);
        o->last[o->nlast++] = s->count;
    }
    s->bits[position / 64] |= (uint64_t)1 << (position % 64);
    s->count++;
    s->end = position + 1;
}

/* Is an access behind the beginning one that its part could show? */
static void note_part(struct showable_flow *f, uint64_t position, blame b)
{
    uint64_t part = (position - f->limit) / f->step;

    if (b <= f->limit + part * f->step - (f->step < f->limit ? f->step : f->limit))
        f->out.useful[part] = true;
}

static void mute(struct showable_flow *f, uint64_t position, bool relaxed)
{
    struct trace_selection *s = &f->out.events;

    GROW(s->muted, s->muted_cap, s->nmuted + 1);
    s->muted[s->nmuted++] = (struct trace_muted){ position, relaxed };
}

/* The last of its thread that is kept. Without its writer it might seem to acquire from another. */
static void keep_last(struct showable_flow *f, const struct event *e, uint64_t position,
                      const struct step *s, size_t n)
{
    bool acquires_nothing = op_is_atomic(e->op);

    for (size_t i = 0; i < n; i++)
        acquires_nothing &= !op_is_access(s[i].op) || !f->variables[s[i].id].has_heads;
    showable_keep(f, position, true);
    if (acquires_nothing)
        mute(f, position, true);
}

static void one_event(struct showable_flow *f, const struct event *e, uint64_t position,
                      const struct step *s, size_t n, const struct certain *c)
{
    blame was = f->threads[e->thread], needs = was, seen = 0;

    for (size_t i = 0; i < n; i++)
        if (s[i].op == OP_SPLIT || (op_is_access(s[i].op) && s[i].flags & STEP_FRESH))
            begin_variable(f, &s[i]);
    for (size_t i = 0; i < n; i++) {
        needs = later(needs, needs_of(f, &s[i]));
        seen = later(seen, saw(f, &s[i]));
    }
    if (op_table[e->op].reads && !certain_is(c, position))
        seen = position + 1;
    if (!needs && seen) {
        keep_last(f, e, position, s, n);
    } else if (!needs) {
        showable_keep(f, position, false);
    } else if (!was && !event_ends_quiet(e) && e->op != OP_BEGIN) {
        showable_keep(f, position, false);
        mute(f, position, false);
    }
    if (position >= f->limit && op_is_access(e->op))
        note_part(f, position, needs);
    f->threads[e->thread] = later(needs, seen);
    for (size_t i = 0; i < n; i++)
        showable_leave(f, &s[i], f->threads[e->thread]);
}

void showable_batch(struct showable_flow *f, const struct batch *b, const struct span *span,
                    const struct certain *c)
{
    size_t at = 0;

    GROW(f->threads, f->threads_cap, span->threads);
    GROW(f->fences, f->fences_cap, span->threads);
    GROW(f->variables, f->variables_cap, span->variables);
    GROW(f->objects, f->objects_cap, span->objects);
    for (size_t i = 0; i < b->count; i++) {
        size_t n = steps_of(span, at, b->first + i);

        GROW(f->threads, f->threads_cap, (size_t)b->events[i].thread + 1);
        one_event(f, &b->events[i], b->first + i, &span->steps[at], n, c);
        at += n;
    }
}

void showable_end(struct showable_flow *f, struct showable *out)
{
    *out = f->out;
    free(f->threads);
    free(f->fences);
    free(f->variables);
    free(f->blocks);
    free(f->objects);
    free(f);
}

void showable_release(struct showable *s)
{
    free(s->events.bits);
    free(s->events.muted);
    free(s->last);
    free(s->useful);
    *s = (struct showable){ 0 };
}

bool showable_has_parts(const struct showable *s)
{
    for (size_t i = 0; i < s->nuseful; i++)
        if (s->useful[i])
            return true;
    return false;
}

struct certain *showable_certain(const struct showable *s)
{
    return certain_but(s->events.count, s->last, s->nlast);
}

uint64_t *showable_positions(const struct showable *s)
{
    uint64_t *positions = xcalloc(s->events.count + 1, sizeof(*positions));
    size_t n = 0;

    for (uint64_t i = 0; i < s->events.end; i += 64)
        for (uint64_t left = s->events.bits[i / 64]; left; left &= left - 1)
            positions[n++] = i + (uint64_t)__builtin_ctzll(left);
    return positions;
}
