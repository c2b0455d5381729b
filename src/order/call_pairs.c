/* call_pairs.c - what calls of untraced code add to the needs of events
 *
 * Differs from the RDIT paper (Algorithm 2, part 1), which linearises each
 * pair with each other pair and with each access alone: two events that touch
 * an open pair's D in a row are ordered here too, for what is hidden may join
 * them (docs/design/rdit.md has the example).
 *
 * Runs carry what happened to all of their things since a pair touched them
 * last: the pairs that are open there, the last return, and the latest plain
 * touch of each thread. Threads with open pairs that have something in common
 * form a group; `last` is the group's latest event, and everything that
 * touches the group comes after it and takes its place. When a thread leaves,
 * the group falls apart into what still belongs together.
 */
#include "order/call_pairs_inside.h"

#include <stdlib.h>
#include <string.h>

/* ---- what events touch ---- */

/* Where a piece is on the axis; where only some count, the first of these at or after it. */
static uint32_t axis_of(const struct call_order *b, uint32_t piece)
{
    return b->in.narrow ? b->in.narrow[piece] : piece;
}

static uint32_t piece_of(const struct call_order *b, uint64_t address)
{
    const uint32_t *p = map_get(b->in.piece_at, address);

    return p && *p < b->in.npieces ? *p : NONE;
}

/* In text an object and a variable may have one name, and then they are one thing. */
static uint32_t object_thing(const struct call_order *b, uint64_t number)
{
    return b->variable_of[number] == NONE ? b->objects + (uint32_t)number : b->variable_of[number];
}

/* A round of a barrier may have members that are hidden, a release an acquire: the event counts as
 * a pair of its own. */
static void touch_object(struct call_order *b, bool unmatched)
{
    const struct event *e = b->event;
    uint32_t at =
        is_named(e->target) ? object_thing(b, named_object(e->target)) : piece_of(b, e->target);

    if (at == NONE)
        return;
    if ((unmatched || op_class_of(e->op) == CLASS_BARRIER) && marks_has(&b->covered, at))
        call_pairs_take(b, at, at + 1, NULL);
    else
        call_pairs_touch(b, at, at + 1);
}

static void touch_thread(struct call_order *b, uint32_t first, uint64_t thread)
{
    if (thread < b->in.nthreads)
        call_pairs_touch(b, first + (uint32_t)thread, first + (uint32_t)thread + 1);
}

static void touch_all(struct call_order *b, const struct call_pairs_event *e)
{
    const struct event *ev = b->event;

    if (axis_of(b, e->first) < axis_of(b, e->last))
        call_pairs_touch(b, axis_of(b, e->first), axis_of(b, e->last));
    if (b->in.narrow)
        return;
    if (call_pairs_on_object(ev->op))
        touch_object(b, e->unmatched);
    if (ev->op == OP_FORK)
        touch_thread(b, b->starts, ev->target);
    if (ev->op == OP_JOIN)
        touch_thread(b, b->ends, ev->target);
    if (e->first_of_thread)
        touch_thread(b, b->starts, ev->thread);
    if (e->last_of_thread)
        touch_thread(b, b->ends, ev->thread);
}

/* ---- what pairs touch ---- */

/* The things of an entry of D. */
static struct span entry_span(const struct call_order *b, const uint64_t *entry)
{
    uint64_t from, to, low = D_LOW(entry[0]);

    if (b->in.narrow && D_KIND(entry[0]) == D_ALL_KIND)
        return (struct span){ 0, b->ends };
    if (b->in.narrow && D_KIND(entry[0]) != D_MEMORY_KIND)
        return (struct span){ 0, 0 };
    switch (D_KIND(entry[0])) {
    case D_MEMORY_KIND:
        if (!call_pairs_range(entry, &from, &to))
            break;
        return (struct span){ axis_of(b, *map_get(b->in.piece_at, from)),
                              axis_of(b, *map_get(b->in.piece_at, to)) };
    case D_THREAD_KIND:
    case D_START_KIND:
        if (low >= b->in.nthreads)
            break;
        low += D_KIND(entry[0]) == D_THREAD_KIND ? b->ends : b->starts;
        return (struct span){ (uint32_t)low, (uint32_t)low + 1 };
    case D_SYNC_KIND:
        low = object_thing(b, low);
        return (struct span){ (uint32_t)low, (uint32_t)low + 1 };
    case D_ALL_KIND:
        return (struct span){ 0, b->axis - 1 };
    default:
        break;
    }
    return (struct span){ 0, 0 };
}

/* Who is in a call that never returns ends in it: joins and ends meet it. */
static size_t spans_of(const struct event *call)
{
    return call->old + 2;
}

static struct span span_of(const struct call_order *b, const struct event *call, bool endless,
                           size_t i)
{
    uint32_t end = b->ends + call->thread;

    if (i < call->old)
        return entry_span(b, b->extra + call->value + 2 * i);
    if (i == call->old)
        return endless && !b->in.narrow ? (struct span){ end, end + 1 } : (struct span){ 0, 0 };
    return b->in.kind == CALL_RULE_SIMPLE ? (struct span){ b->axis - 1, b->axis }
                                          : (struct span){ 0, 0 };
}

static void open_pair(struct call_order *b)
{
    struct pair *p = &b->pairs[b->opened++];
    struct thread *t = &b->threads[b->event->thread];

    p->call = b->position;
    p->ret = NONE;
    p->thread = b->event->thread;
    if (!t->stack.count) {
        push(&b->open_threads, p->thread);
        t->group = call_pairs_new_group(b, NONE);
    }
    push(&t->stack, (uint32_t)(p - b->pairs));
    for (size_t i = 0; i < spans_of(b->event); i++) {
        struct span s = span_of(b, b->event, p->endless, i);

        if (s.lo < s.hi)
            call_pairs_take(b, s.lo, s.hi, p);
    }
    call_pairs_step_group(b, t->group);
}

/* The i-th pair on the thread's stack is over. */
static void close_pair(struct call_order *b, struct thread *t, size_t i)
{
    struct pair *p = &b->pairs[t->stack.items[i]];

    t->stack.count--;
    memmove(&t->stack.items[i], &t->stack.items[i + 1], (t->stack.count - i) * sizeof(uint32_t));
    p->ret = b->position;
    free(p->links.items);
    p->links = (struct list){ 0 };
    for (size_t k = 0; !t->stack.count && k < b->open_threads.count; k++)
        if (b->open_threads.items[k] == b->event->thread)
            b->open_threads.items[k--] = b->open_threads.items[--b->open_threads.count];
    call_pairs_split_group(b, t->group);
}

/* Where on the stack the innermost pair is that has not returned, + 1; 0: there is none. */
static size_t innermost(const struct call_order *b, const struct thread *t)
{
    size_t n = t->stack.count;

    while (n && b->pairs[t->stack.items[n - 1]].lasting)
        n--;
    return n;
}

static void return_from(struct call_order *b, struct thread *t)
{
    size_t n = innermost(b, t);
    struct pair *p = n ? &b->pairs[t->stack.items[n - 1]] : NULL;

    if (p && b->events[p->call].flags & EV_LASTS)
        p->lasting = true;
    else if (p)
        close_pair(b, t, n - 1);
}

static void end_lasting(struct call_order *b, struct thread *t)
{
    for (size_t i = t->stack.count; i-- > 0;)
        if (b->pairs[t->stack.items[i]].lasting)
            close_pair(b, t, i);
}

const uint32_t *call_pairs_step(struct call_order *b, const struct call_pairs_event *e,
                                uint32_t *count)
{
    struct thread *t;

    b->position = e->position;
    b->event = &b->events[e->position];
    t = &b->threads[b->event->thread];
    if (t->stack.count)
        call_pairs_step_group(b, t->group);
    touch_all(b, e);
    if (b->event->op == OP_CALL)
        open_pair(b);
    if (b->event->op == OP_RETURN || b->event->flags & EV_ALONE)
        return_from(b, t);
    if (t->stack.count && event_ends_quiet(b->event))
        end_lasting(b, t);
    call_pairs_list_needs(b);
    *count = (uint32_t)b->out.count;
    return b->out.items;
}

uint32_t call_pairs_open_call(const struct call_order *b, uint32_t thread)
{
    const struct thread *t = &b->threads[thread];
    size_t n = innermost(b, t);

    return n ? b->pairs[t->stack.items[n - 1]].call : NONE;
}

/* ---- life cycle ---- */

static bool is_call(const struct event *e)
{
    return e->op == OP_CALL && !(e->flags & EV_IGNORED);
}

static void raise(uint32_t *n, uint64_t number)
{
    if (number >= *n && number < NONE)
        *n = (uint32_t)number + 1;
}

/* Threads and named objects that are mentioned, also those without events. */
static void count_names(const struct trace_mem *t, uint32_t *nthreads, uint32_t *nobjects)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct event *e = &t->events[i];

        if (call_pairs_on_object(e->op) && is_named(e->target))
            raise(nobjects, named_object(e->target));
        if (e->op == OP_FORK || e->op == OP_JOIN)
            raise(nthreads, e->target);
        for (uint64_t k = 0; is_call(e) && k < e->old; k++) {
            uint64_t entry = t->extra[e->value + 2 * k];

            if (D_KIND(entry) == D_SYNC_KIND)
                raise(nobjects, D_LOW(entry));
            if (D_KIND(entry) == D_THREAD_KIND || D_KIND(entry) == D_START_KIND)
                raise(nthreads, D_LOW(entry));
        }
    }
}

static void match_names(struct call_order *b, uint32_t nobjects)
{
    const struct tables *names = b->in.names;

    b->variable_of = xmalloc(((size_t)nobjects + 1) * sizeof(uint32_t));
    for (uint32_t i = 0; i < nobjects; i++) {
        uint32_t variable = INTERN_NONE;

        if (names && i < names->objects.count)
            variable = intern_find(&names->variables, intern_get(&names->objects, i),
                                   strlen(intern_get(&names->objects, i)));
        b->variable_of[i] = variable == INTERN_NONE ? NONE : piece_of(b, NAMED_ADDRESS(variable));
    }
}

/* Pairs that have returned have an end, those that last only with their quiet period. */
static void end_pairs(struct call_order *b, struct list *over, bool quiet_ends)
{
    size_t kept = 0;

    for (size_t i = 0; i < over->count; i++) {
        struct pair *p = &b->pairs[over->items[i]];

        if (!quiet_ends && b->events[p->call].flags & EV_LASTS)
            over->items[kept++] = over->items[i];
        else
            p->endless = false;
    }
    over->count = kept;
}

/* Number the pairs and see which of them never end. */
static void find_pairs(struct call_order *b)
{
    const struct trace_mem *t = b->in.trace;
    struct list *stacks = xcalloc((size_t)b->in.nthreads + 1, sizeof(*stacks));
    struct list *over = xcalloc((size_t)b->in.nthreads + 1, sizeof(*over));
    size_t cap = 0;

    for (size_t i = 0; i < t->count; i++) {
        struct list *stack = &stacks[t->events[i].thread];

        if (t->events[i].flags & EV_IGNORED)
            continue;
        if (t->events[i].op == OP_CALL) {
            GROW(b->pairs, cap, b->npairs + 1);
            b->pairs[b->npairs].endless = true;
            b->pairs[b->npairs].call = (uint32_t)i;
            push(t->events[i].flags & EV_ALONE ? &over[t->events[i].thread] : stack,
                 (uint32_t)b->npairs++);
        } else if (t->events[i].op == OP_RETURN && stack->count) {
            push(&over[t->events[i].thread], stack->items[--stack->count]);
        }
        end_pairs(b, &over[t->events[i].thread], event_ends_quiet(&t->events[i]));
    }
    for (uint32_t i = 0; i < b->in.nthreads; i++) {
        free(stacks[i].items);
        free(over[i].items);
    }
    free(stacks);
    free(over);
}

static void find_covered(struct call_order *b)
{
    const struct trace_mem *t = b->in.trace;
    int32_t *change = xcalloc((size_t)b->axis + 1, sizeof(*change)), depth = 0;
    size_t pair = 0;

    for (size_t i = 0; i < t->count; i++) {
        const struct event *e = &t->events[i];

        if (!is_call(e))
            continue;
        for (size_t k = 0; k < spans_of(e); k++) {
            struct span s = span_of(b, e, b->pairs[pair].endless, k);

            change[s.lo]++;
            change[s.hi]--;
        }
        pair++;
    }
    for (uint32_t i = 0; i < b->axis; i++) {
        depth += change[i];
        if (depth > 0)
            marks_add(&b->covered, i);
    }
    free(change);
}

struct call_order *call_pairs_new(const struct call_pairs_input *in)
{
    struct call_order *b = xcalloc(1, sizeof(*b));
    uint32_t nobjects = 0;

    b->in = *in;
    in = &b->in;
    count_names(in->trace, &b->in.nthreads, &nobjects);
    b->events = in->trace->events;
    b->extra = in->trace->extra;
    b->ends = axis_of(b, in->npieces);
    b->starts = b->ends + in->nthreads;
    b->objects = b->starts + in->nthreads;
    b->axis = b->objects + nobjects + 1; /* the last is what all pairs of sb have in common */
    b->threads = xcalloc((size_t)in->nthreads + 1, sizeof(*b->threads));
    b->latest = xcalloc((size_t)in->nthreads + 1, sizeof(*b->latest));
    GROW(b->root.items, b->root.cap, (size_t)in->nthreads + 1);
    match_names(b, nobjects);
    find_pairs(b);
    marks_init(&b->covered, b->axis);
    find_covered(b);
    marks_init(&b->heads, b->axis);
    b->run_at = xcalloc((size_t)b->axis + 1, sizeof(*b->run_at));
    b->run_at[0] = call_pairs_new_run(b);
    b->runs[b->run_at[0]].ret = NONE;
    marks_add(&b->heads, 0);
    return b;
}

void call_pairs_free(struct call_order *b)
{
    if (!b)
        return;
    for (size_t i = 0; i < b->nruns; i++) {
        free(b->runs[i].open.items);
        free(b->runs[i].touches.items);
    }
    for (size_t i = 0; i < b->npairs; i++)
        free(b->pairs[i].links.items);
    for (uint32_t t = 0; t < b->in.nthreads; t++)
        free(b->threads[t].stack.items);
    marks_release(&b->covered);
    marks_release(&b->heads);
    map_release(&b->known);
    free(b->variable_of);
    free(b->runs);
    free(b->run_at);
    free(b->spare.items);
    free(b->pairs);
    free(b->threads);
    free(b->open_threads.items);
    free(b->group_last);
    free(b->latest);
    free(b->wanted.items);
    free(b->out.items);
    free(b->root.items);
    free(b);
}
