/* call_rules.c - what calls of untraced code ask of a reordering
 *
 * One walk over the trace with a tree over all things that can be touched:
 * cells, ends and beginnings of threads, named objects. A node of the tree
 * knows the stack of calls that its things have in common (or that they
 * differ), and whether something below was touched since a call took it. A
 * stack is a list that shares its tail; calls that have returned are skipped.
 *
 * Calls that are open and list something in common are neighbours. An event
 * that touches an open call asks for the latest event of each call that can
 * be reached over neighbours, and becomes it.
 */
#include "witness/call_rules.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"

#define NONE  UINT32_MAX
#define MIXED (UINT32_MAX - 1) /* the things below a node have different stacks */

struct call {
    uint32_t event, ret, thread; /* ret NONE: open */
    uint32_t latest;             /* event that touched it */
    uint32_t outer;              /* call of the same thread around it, NONE */
    bool endless;                /* does not end in this trace */
    uint32_t *near;              /* neighbours; calls */
    size_t nnear, near_cap;
    uint32_t seen; /* round of call_rules_visit() */
};

/* The calls that may touch a thing. */
struct stack {
    uint32_t call, below;
};

/* A thing was touched; a list per thing, one entry a thread. */
struct touched {
    uint32_t event, next;
};

struct builder {
    struct call_rules *out;
    const struct trace_mem *t;
    const struct cells *cells;
    enum witness_calls rule;
    const struct tables *names;
    uint32_t *thing_of; /* cell (and their number) -> thing, or the next one where not all cells
                           count (CALLS_UNSEEN); else NULL: the same */
    uint32_t *cell_of;  /* the other way round */
    uint32_t things, ends, starts, objects;
    uint32_t leaves; /* a power of two */
    uint32_t *state; /* node -> stack, NONE: empty, MIXED */
    bool *busy;      /* node: something below was touched since a call took it */
    uint32_t *heads; /* thing -> touched, NONE */
    uint32_t *after; /* thing -> last return or event that counts as a call, NONE */
    bool *listed;    /* thing is in some D */
    bool *dirty;     /* node over cells: written since a call or return wrote it */
    struct stack *stacks;
    size_t nstacks, stacks_cap;
    struct touched *touched;
    size_t ntouched, touched_cap;
    struct call *calls;
    size_t ncalls, calls_cap;
    uint32_t *inner; /* thread -> its innermost call */
    uint32_t
        *lasting; /* thread -> calls that have returned, but last for the quiet period (EV_LASTS) */
    uint32_t *last; /* thread -> its last event, NONE where it has an end event */
    bool *begun;
    uint32_t round;
    uint32_t event;     /* the present one */
    struct map asked;   /* (thread, other) -> latest event of the other it asked for, + 1 */
    struct map renewed; /* of the present call: old stack -> new one */
};

/* ---- cells that count ---- */

static uint32_t thing_at(const struct builder *b, uint32_t cell)
{
    return b->thing_of ? b->thing_of[cell] : cell;
}

static uint32_t cell_at(const struct builder *b, uint32_t thing)
{
    return b->cell_of ? b->cell_of[thing] : thing;
}

static bool cell_counts(const struct builder *b, uint32_t cell)
{
    return !b->thing_of || b->thing_of[cell] < b->thing_of[cell + 1];
}

/* Only what calls are known to have written. */
static void choose_cells(struct builder *b)
{
    uint32_t n = (uint32_t)b->cells->count, count = 0;
    bool *chosen = xcalloc((size_t)n + 1, sizeof(*chosen));
    uint64_t from, to;

    for (size_t i = 0; i < b->t->count; i++)
        if (b->t->events[i].flags & EV_BY_CALL && event_range(&b->t->events[i], &from, &to))
            for (uint32_t c = cells_find(b->cells, from); b->cells->start[c] < to; c++)
                chosen[c] = true;
    b->thing_of = xcalloc((size_t)n + 1, sizeof(*b->thing_of));
    b->cell_of = xcalloc((size_t)n + 1, sizeof(*b->cell_of));
    for (uint32_t c = 0; c < n; c++) {
        b->thing_of[c] = count;
        b->cell_of[count] = c;
        count += chosen[c];
    }
    b->thing_of[n] = count;
    free(chosen);
}

/* ---- asking ---- */

static const struct event *event_at(const struct builder *b, uint32_t i)
{
    return &b->t->events[i];
}

static bool takes_part(const struct event *e)
{
    return !(e->flags & EV_IGNORED);
}

static void ask_for(struct builder *b, uint32_t event)
{
    struct call_rules *o = b->out;
    uint32_t *asked, thread = event_at(b, b->event)->thread;

    if (event == NONE || event_at(b, event)->thread == thread)
        return;
    asked = map_put(&b->asked, (uint64_t)thread << 32 | event_at(b, event)->thread, 0);
    if (*asked > event)
        return; /* program order has it */
    *asked = event + 1;
    GROW(o->need, o->needs_cap, o->nneeds + 1);
    o->need[o->nneeds++] = event;
}

static void meet_thread(struct builder *b, uint32_t thread);

/* The present event touches an open call, and so all that are near it. */
static void meet_call(struct builder *b, uint32_t number)
{
    struct call *c = &b->calls[number];

    if (c->seen == b->round || c->ret != NONE)
        return;
    c->seen = b->round;
    ask_for(b, c->latest);
    c->latest = b->event;
    for (size_t i = 0; i < c->nnear; i++)
        meet_call(b, c->near[i]);
    meet_thread(b, c->thread);
}

/* All calls a thread is in. */
static void meet_thread(struct builder *b, uint32_t thread)
{
    for (uint32_t o = b->inner[thread]; o != NONE; o = b->calls[o].outer)
        meet_call(b, o);
    for (uint32_t o = b->lasting[thread]; o != NONE; o = b->calls[o].outer)
        meet_call(b, o);
}

static void add_near(struct call *c, uint32_t other)
{
    for (size_t i = 0; i < c->nnear; i++)
        if (c->near[i] == other)
            return;
    GROW(c->near, c->near_cap, c->nnear + 1);
    c->near[c->nnear++] = other;
}

/* Calls that have returned are no neighbours any more. */
static void forget_neighbours(struct builder *b, struct call *c)
{
    size_t kept = 0;

    for (size_t i = 0; i < c->nnear; i++)
        if (b->calls[c->near[i]].ret == NONE)
            c->near[kept++] = c->near[i];
    c->nnear = kept;
}

/* ---- stacks ---- */

/* The first call of a stack that is open. */
static uint32_t open_part(const struct builder *b, uint32_t stack)
{
    while (stack != NONE && b->calls[b->stacks[stack].call].ret != NONE)
        stack = b->stacks[stack].below;
    return stack;
}

/* All calls of a stack: wait for those that have returned, meet those that are open. */
static void face_stack(struct builder *b, uint32_t stack, uint32_t taker)
{
    for (; stack != NONE; stack = b->stacks[stack].below) {
        uint32_t number = b->stacks[stack].call;
        struct call *c = &b->calls[number];

        if (c->ret != NONE) {
            ask_for(b, c->ret);
        } else if (c->thread != event_at(b, b->event)->thread) {
            if (taker != NONE) {
                forget_neighbours(b, c);
                add_near(c, taker);
                add_near(&b->calls[taker], number);
            }
            meet_call(b, number);
        }
    }
}

/* The stack with the present call on top. */
static uint32_t renew_stack(struct builder *b, uint32_t stack, uint32_t taker)
{
    uint32_t below = open_part(b, stack);
    uint32_t *known = map_put(&b->renewed, below, (uint32_t)b->nstacks);

    if (*known == b->nstacks) {
        GROW(b->stacks, b->stacks_cap, b->nstacks + 1);
        b->stacks[b->nstacks++] = (struct stack){ taker, below };
    }
    return *known;
}

/* ---- the tree ---- */

static void push_down(struct builder *b, uint32_t node)
{
    if (b->state[node] != MIXED)
        b->state[2 * node] = b->state[2 * node + 1] = b->state[node];
}

static void pull_up(struct builder *b, uint32_t node)
{
    uint32_t left = b->state[2 * node], right = b->state[2 * node + 1];

    b->state[node] = left == right ? left : MIXED;
    b->busy[node] = b->busy[2 * node] || b->busy[2 * node + 1];
}

static void ask_for_touches(struct builder *b, uint32_t thing)
{
    for (uint32_t i = b->heads[thing]; i != NONE; i = b->touched[i].next)
        ask_for(b, b->touched[i].event);
    ask_for(b, b->after[thing]);
    b->heads[thing] = b->after[thing] = NONE;
}

/* The present event takes the things [from, to) of those below a node, [lo, hi): it comes after all
 * that was there. A call stays; `taker` NONE: just the event. */
static void take_in_tree(struct builder *b, uint32_t node, uint32_t lo, uint32_t hi, uint32_t from,
                         uint32_t to, uint32_t taker)
{
    uint32_t middle = lo + (hi - lo) / 2;

    if (to <= lo || hi <= from)
        return;
    if (from <= lo && hi <= to && b->state[node] != MIXED && (!b->busy[node] || hi - lo == 1)) {
        face_stack(b, b->state[node], taker);
        if (hi - lo == 1)
            ask_for_touches(b, lo);
        b->busy[node] = taker == NONE;
        if (taker != NONE)
            b->state[node] = renew_stack(b, b->state[node], taker);
        else
            b->after[lo] = b->event;
        return;
    }
    push_down(b, node);
    take_in_tree(b, 2 * node, lo, middle, from, to, taker);
    take_in_tree(b, 2 * node + 1, middle, hi, from, to, taker);
    pull_up(b, node);
}

static void note_touch(struct builder *b, uint32_t thing)
{
    uint32_t thread = event_at(b, b->event)->thread;

    for (uint32_t i = b->heads[thing]; i != NONE; i = b->touched[i].next) {
        if (event_at(b, b->touched[i].event)->thread == thread) {
            b->touched[i].event = b->event;
            return;
        }
    }
    GROW(b->touched, b->touched_cap, b->ntouched + 1);
    b->touched[b->ntouched] = (struct touched){ b->event, b->heads[thing] };
    b->heads[thing] = (uint32_t)b->ntouched++;
}

/* The present event touches one thing. */
static void touch_in_tree(struct builder *b, uint32_t thing)
{
    uint32_t node = 1, lo = 0, hi = b->leaves;

    if (!b->listed[thing])
        return;
    while (hi - lo > 1) {
        uint32_t middle = lo + (hi - lo) / 2;

        push_down(b, node);
        b->busy[node] = true;
        node = 2 * node + (thing >= middle);
        *(thing >= middle ? &lo : &hi) = middle;
    }
    b->busy[node] = true;
    face_stack(b, b->state[node], NONE);
    ask_for(b, b->after[thing]);
    note_touch(b, thing);
}

/* ---- cells that calls may write ---- */

static void make_dirty(struct builder *b, uint32_t cell)
{
    for (uint32_t node = b->leaves + cell; node && !b->dirty[node]; node /= 2)
        b->dirty[node] = true;
}

static void list_dirty(struct builder *b, uint32_t node, uint32_t lo, uint32_t hi, uint32_t from,
                       uint32_t to)
{
    struct call_rules *o = b->out;
    uint32_t middle = lo + (hi - lo) / 2;

    if (to <= lo || hi <= from || !b->dirty[node])
        return;
    if (hi - lo == 1) {
        GROW(o->cell, o->cells_cap, o->ncells + 1);
        o->cell[o->ncells++] = cell_at(b, lo);
        b->dirty[node] = false;
        return;
    }
    list_dirty(b, 2 * node, lo, middle, from, to);
    list_dirty(b, 2 * node + 1, middle, hi, from, to);
    b->dirty[node] = b->dirty[2 * node] || b->dirty[2 * node + 1];
}

/* ---- what is touched ---- */

static bool is_on_object(unsigned op)
{
    enum op_class c = op_class_of(op);

    return c == CLASS_LOCK || (c >= CLASS_COND && c <= CLASS_ANNOTATION);
}

/* A named object is the variable of its name where there is one. */
static uint32_t object_thing(const struct builder *b, uint64_t number)
{
    const struct tables *n = b->names;
    uint32_t v = INTERN_NONE, cell;
    const char *name;

    if (n && number < n->objects.count) {
        name = intern_get(&n->objects, (uint32_t)number);
        v = intern_find(&n->variables, name, strlen(name));
    }
    if (v == INTERN_NONE)
        return b->objects + (uint32_t)number;
    cell = cells_find(b->cells, NAMED_ADDRESS(v));
    return cell < b->cells->count && b->cells->start[cell] == NAMED_ADDRESS(v)
               ? cell
               : b->objects + (uint32_t)number;
}

static uint32_t thing_of_object(const struct builder *b, const struct event *e)
{
    return is_named(e->target) ? object_thing(b, named_object(e->target))
                               : cells_find(b->cells, e->target);
}

/* Some member of a round may be hidden, or the acquire of a release: then the order of all events
 * on the object is kept. */
static void touch_object(struct builder *b, const struct event *e, bool unmatched)
{
    uint32_t thing = thing_of_object(b, e);

    if (b->listed[thing] && (unmatched || op_class_of(e->op) == CLASS_BARRIER))
        take_in_tree(b, 1, 0, b->leaves, thing, thing + 1, NONE);
    else
        touch_in_tree(b, thing);
}

static void touch_memory(struct builder *b, const struct event *e)
{
    uint64_t from, to;

    if (!event_range(e, &from, &to))
        return;
    for (uint32_t c = cells_find(b->cells, from); b->cells->start[c] < to; c++) {
        if (!cell_counts(b, c))
            continue;
        touch_in_tree(b, thing_at(b, c));
        if (op_table[e->op].writes || e->op == OP_ALLOC)
            make_dirty(b, thing_at(b, c));
    }
}

static void touch_thread(struct builder *b, uint32_t first, uint64_t thread)
{
    if (thread < b->starts - b->ends)
        touch_in_tree(b, first + (uint32_t)thread);
}

static void touch_all(struct builder *b, const struct event *e, bool unmatched)
{
    touch_memory(b, e);
    if (b->thing_of)
        return;
    if (is_on_object(e->op))
        touch_object(b, e, unmatched);
    if (e->op == OP_FORK)
        touch_thread(b, b->starts, e->target);
    if (e->op == OP_JOIN)
        touch_thread(b, b->ends, e->target);
    if (e->op == OP_BEGIN || !b->begun[e->thread])
        touch_thread(b, b->starts, e->thread);
    b->begun[e->thread] = true;
    if (e->op == OP_END || b->last[e->thread] == b->event)
        touch_thread(b, b->ends, e->thread);
}

/* ---- calls ---- */

/* The i-th part of what a call may touch: things [*from, *to); false: no more. */
static bool part_of_d(const struct builder *b, const struct event *e, bool endless, uint64_t i,
                      uint32_t *from, uint32_t *to)
{
    const uint64_t *entry;
    uint64_t low, end;

    *from = *to = 0;
    if (i >= e->old && b->thing_of)
        return false;
    if (i >= e->old) { /* who never returns ends in the call */
        *from = i == e->old ? b->ends + e->thread : b->things - 1;
        *to = *from + (i == e->old ? endless : b->rule == CALLS_SIMPLE);
        return i < e->old + 2;
    }
    entry = b->t->extra + e->value + 2 * i;
    low = D_LOW(entry[0]);
    switch (D_KIND(entry[0])) {
    case D_MEMORY_KIND:
        end = entry[1] > UINT64_MAX - entry[0] ? UINT64_MAX : entry[0] + entry[1];
        *from = thing_at(b, cells_find(b->cells, entry[0]));
        *to = thing_at(b, cells_find(b->cells, end));
        return true;
    case D_ALL_KIND:
        *to = b->thing_of ? b->ends : b->things - 1;
        return true;
    case D_SYNC_KIND:
        if (b->thing_of)
            return true;
        *from = object_thing(b, low);
        break;
    default:
        if (b->thing_of)
            return true;
        if (low >= b->starts - b->ends)
            return true;
        *from = (uint32_t)low + (D_KIND(entry[0]) == D_START_KIND ? b->starts : b->ends);
    }
    *to = *from + 1;
    return true;
}

/* Calls and returns write the cells of D. */
static void write_cells(struct builder *b, const struct event *call)
{
    uint32_t from, to, cells = b->ends;

    for (uint64_t i = 0; part_of_d(b, call, false, i, &from, &to); i++)
        list_dirty(b, 1, 0, b->leaves, from, to < cells ? to : cells);
}

static void at_call(struct builder *b, const struct event *e)
{
    uint32_t number = (uint32_t)b->ncalls++, from, to;
    struct call *c = &b->calls[number];

    c->event = c->latest = b->event;
    c->ret = NONE;
    c->thread = e->thread;
    c->outer = b->inner[e->thread];
    c->seen = b->round; /* it meets others, not itself */
    b->inner[e->thread] = number;
    map_clear(&b->renewed);
    for (uint64_t i = 0; part_of_d(b, e, c->endless, i, &from, &to); i++)
        take_in_tree(b, 1, 0, b->leaves, from, to, number);
    write_cells(b, e);
}

static void end_call(struct builder *b, struct call *c)
{
    c->ret = b->event;
    free(c->near);
    c->near = NULL;
    c->nnear = c->near_cap = 0;
}

static void at_return(struct builder *b, const struct event *e)
{
    uint32_t number = b->inner[e->thread];
    struct call *c = &b->calls[number];
    const struct event *call = event_at(b, c->event);

    write_cells(b, call);
    b->inner[e->thread] = c->outer;
    if (call->flags & EV_LASTS) {
        c->outer = b->lasting[e->thread];
        b->lasting[e->thread] = number;
    } else {
        end_call(b, c);
    }
}

static void at_end_of_quiet(struct builder *b, uint32_t thread)
{
    for (uint32_t o = b->lasting[thread]; o != NONE; o = b->calls[o].outer)
        end_call(b, &b->calls[o]);
    b->lasting[thread] = NONE;
}

static void call_rules_visit(struct builder *b, uint32_t i, bool unmatched)
{
    const struct event *e = event_at(b, i);
    uint32_t inner = b->inner[e->thread];

    b->event = i;
    b->round++;
    b->out->call[i] = inner == NONE ? NONE : b->calls[inner].event;
    meet_thread(b, e->thread);
    touch_all(b, e, unmatched);
    if (e->op == OP_CALL) {
        at_call(b, e);
        b->out->call[i] = i;
        if (e->flags & EV_ALONE)
            at_return(b, e);
    } else if (e->op == OP_RETURN && inner != NONE) {
        at_return(b, e);
    }
    if (b->lasting[e->thread] != NONE && ends_quiet(e))
        at_end_of_quiet(b, e->thread);
}

/* ---- before the walk ---- */

/* The call returns; it has an end unless it lasts and no quiet period ends behind it. */
static void foresee_return(struct builder *b, uint32_t thread)
{
    uint32_t number = b->inner[thread];
    struct call *c = &b->calls[number];

    b->inner[thread] = c->outer;
    c->endless = event_at(b, c->event)->flags & EV_LASTS;
    if (c->endless) {
        c->outer = b->lasting[thread];
        b->lasting[thread] = number;
    }
}

static void foresee(struct builder *b, uint32_t i)
{
    const struct event *e = event_at(b, i);
    uint32_t t = e->thread;

    b->last[t] = i;
    if (e->op == OP_CALL) {
        GROW(b->calls, b->calls_cap, b->ncalls + 1);
        b->calls[b->ncalls] = (struct call){ .event = i, .endless = true, .outer = b->inner[t] };
        b->inner[t] = (uint32_t)b->ncalls++;
    }
    if ((e->op == OP_RETURN || e->flags & EV_ALONE) && b->inner[t] != NONE)
        foresee_return(b, t);
    for (; b->lasting[t] != NONE && ends_quiet(e); b->lasting[t] = b->calls[b->lasting[t]].outer)
        b->calls[b->lasting[t]].endless = false;
}

static void look_ahead(struct builder *b)
{
    for (uint32_t i = 0; i < b->t->count; i++)
        if (takes_part(event_at(b, i)))
            foresee(b, i);
    for (uint32_t t = 0; t < b->starts - b->ends; t++)
        b->inner[t] = b->lasting[t] = NONE;
    for (uint32_t i = 0; i < b->t->count; i++)
        if (takes_part(event_at(b, i)) && event_at(b, i)->op == OP_END)
            b->last[event_at(b, i)->thread] = NONE;
}

/* Which things are in a D: ranges begin and end. */
static void find_listed(struct builder *b)
{
    int32_t *change = xcalloc((size_t)b->things + 1, sizeof(*change)), depth = 0;
    uint32_t from, to;
    size_t number = 0;

    for (uint32_t i = 0; i < b->t->count; i++) {
        const struct event *e = event_at(b, i);

        if (e->op != OP_CALL || !takes_part(e))
            continue;
        for (uint64_t k = 0; part_of_d(b, e, b->calls[number].endless, k, &from, &to); k++) {
            change[from]++;
            change[to]--;
        }
        number++;
    }
    for (uint32_t i = 0; i < b->things; i++)
        b->listed[i] = (depth += change[i]) > 0;
    free(change);
}

static uint32_t more(uint32_t n, uint64_t number)
{
    return number >= n && number < MIXED ? (uint32_t)number + 1 : n;
}

/* How many threads and named objects the trace knows. */
static void count_names(const struct trace_mem *t, uint32_t *threads, uint32_t *objects)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct event *e = &t->events[i];

        *threads = more(*threads, e->thread);
        if (e->op == OP_FORK || e->op == OP_JOIN)
            *threads = more(*threads, e->target);
        if (is_on_object(e->op) && is_named(e->target))
            *objects = more(*objects, named_object(e->target));
        for (uint64_t k = 0; e->op == OP_CALL && takes_part(e) && k < e->old; k++) {
            uint64_t entry = t->extra[e->value + 2 * k];

            if (D_KIND(entry) == D_SYNC_KIND)
                *objects = more(*objects, D_LOW(entry));
            else if (D_KIND(entry) == D_THREAD_KIND || D_KIND(entry) == D_START_KIND)
                *threads = more(*threads, D_LOW(entry));
        }
    }
}

static void builder_init(struct builder *b)
{
    uint32_t threads = 0, objects = 0;
    size_t nodes;

    count_names(b->t, &threads, &objects);
    if (b->rule == CALLS_UNSEEN)
        choose_cells(b);
    b->ends = thing_at(b, (uint32_t)b->cells->count);
    b->starts = b->ends + threads;
    b->objects = b->starts + threads;
    b->things = b->objects + objects + 1; /* the last: what all calls have with sb */
    for (b->leaves = 1; b->leaves < b->things;)
        b->leaves *= 2;
    nodes = 2 * (size_t)b->leaves;
    b->state = xmalloc(nodes * sizeof(*b->state));
    memset(b->state, 0xff, nodes * sizeof(*b->state));
    b->busy = xcalloc(nodes, sizeof(*b->busy));
    b->dirty = xcalloc(nodes, sizeof(*b->dirty));
    b->heads = xmalloc(b->leaves * sizeof(*b->heads));
    b->after = xmalloc(b->leaves * sizeof(*b->after));
    memset(b->heads, 0xff, b->leaves * sizeof(*b->heads));
    memset(b->after, 0xff, b->leaves * sizeof(*b->after));
    b->listed = xcalloc(b->leaves, sizeof(*b->listed));
    b->inner = xmalloc((threads + 1) * sizeof(*b->inner));
    b->last = xmalloc((threads + 1) * sizeof(*b->last));
    b->lasting = xmalloc((threads + 1) * sizeof(*b->lasting));
    memset(b->inner, 0xff, (threads + 1) * sizeof(*b->inner));
    memset(b->lasting, 0xff, (threads + 1) * sizeof(*b->lasting));
    memset(b->last, 0xff, (threads + 1) * sizeof(*b->last));
    b->begun = xcalloc(threads + 1, sizeof(*b->begun));
    for (uint32_t c = 0; c < b->ends; c++)
        make_dirty(b, c);
    look_ahead(b);
    find_listed(b);
    b->ncalls = 0;
}

static void builder_release(struct builder *b)
{
    for (size_t i = 0; i < b->ncalls; i++)
        free(b->calls[i].near);
    map_release(&b->renewed);
    map_release(&b->asked);
    free(b->thing_of);
    free(b->cell_of);
    free(b->state);
    free(b->busy);
    free(b->dirty);
    free(b->heads);
    free(b->after);
    free(b->listed);
    free(b->stacks);
    free(b->touched);
    free(b->calls);
    free(b->inner);
    free(b->lasting);
    free(b->last);
    free(b->begun);
}

void call_rules_init(struct call_rules *out, const struct trace_mem *t, const struct cells *cells,
                     enum witness_calls rule, const struct tables *names, const bool *unmatched)
{
    struct builder b = { .out = out, .t = t, .cells = cells, .rule = rule, .names = names };

    *out = (struct call_rules){ 0 };
    out->first_need = xcalloc(t->count + 1, sizeof(*out->first_need));
    out->first_cell = xcalloc(t->count + 1, sizeof(*out->first_cell));
    out->call = xmalloc((t->count + 1) * sizeof(*out->call));
    memset(out->call, 0xff, (t->count + 1) * sizeof(*out->call));
    builder_init(&b);
    for (uint32_t i = 0; i < t->count; i++) {
        out->first_need[i] = (uint32_t)out->nneeds;
        out->first_cell[i] = (uint32_t)out->ncells;
        if (takes_part(event_at(&b, i)))
            call_rules_visit(&b, i, unmatched[i]);
    }
    out->first_need[t->count] = (uint32_t)out->nneeds;
    out->first_cell[t->count] = (uint32_t)out->ncells;
    builder_release(&b);
}

void call_rules_release(struct call_rules *b)
{
    free(b->first_need);
    free(b->need);
    free(b->first_cell);
    free(b->cell);
    free(b->call);
    *b = (struct call_rules){ 0 };
}
