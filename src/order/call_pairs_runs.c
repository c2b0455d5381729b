/* call_pairs_runs.c - needs, groups of open pairs, and runs of things (call_pairs.c) */
#include "order/call_pairs_inside.h"

#include <stdlib.h>
#include <string.h>

/* ---- needs ---- */

static void call_pairs_runs_want(struct call_order *b, uint32_t event)
{
    uint32_t thread;

    if (event == NONE || b->events[event].thread == b->event->thread)
        return;
    thread = b->events[event].thread;
    if (!b->latest[thread])
        push(&b->wanted, thread);
    if (b->latest[thread] < event + 1)
        b->latest[thread] = event + 1;
}

/* Program order implies what an earlier event of the thread needed already. */
void call_pairs_list_needs(struct call_order *b)
{
    b->out.count = 0;
    for (size_t i = 0; i < b->wanted.count; i++) {
        uint32_t t = b->wanted.items[i];
        uint32_t *known = map_put(&b->known, (uint64_t)b->event->thread << 32 | t, 0);

        if (*known < b->latest[t]) {
            *known = b->latest[t];
            push(&b->out, b->latest[t] - 1);
        }
        b->latest[t] = 0;
    }
    b->wanted.count = 0;
}

/* ---- groups ---- */

/* The present event touches what the group may touch. */
void call_pairs_step_group(struct call_order *b, uint32_t group)
{
    call_pairs_runs_want(b, b->group_last[group]);
    b->group_last[group] = b->position;
}

uint32_t call_pairs_new_group(struct call_order *b, uint32_t last)
{
    GROW(b->group_last, b->groups_cap, b->ngroups + 1);
    b->group_last[b->ngroups] = last;
    return (uint32_t)b->ngroups++;
}

static void join_groups(struct call_order *b, uint32_t group, uint32_t other)
{
    if (group == other)
        return;
    call_pairs_step_group(b, other);
    for (size_t i = 0; i < b->open_threads.count; i++)
        if (b->threads[b->open_threads.items[i]].group == other)
            b->threads[b->open_threads.items[i]].group = group;
}

static uint32_t root_of(const struct call_order *b, uint32_t thread)
{
    while (b->root.items[thread] != thread)
        thread = b->root.items[thread];
    return thread;
}

/* Members of a group that have something in common, directly or through others. */
static void unite_members(struct call_order *b, uint32_t group)
{
    for (size_t i = 0; i < b->open_threads.count; i++) {
        const struct list *stack = &b->threads[b->open_threads.items[i]].stack;

        if (b->threads[b->open_threads.items[i]].group != group)
            continue;
        for (size_t k = 0; k < stack->count; k++) {
            const struct list *links = &b->pairs[stack->items[k]].links;

            for (size_t l = 0; l < links->count; l++)
                if (b->pairs[links->items[l]].ret == NONE)
                    b->root.items[root_of(b, b->open_threads.items[i])] =
                        root_of(b, b->pairs[links->items[l]].thread);
        }
    }
}

/* A pair of the group is over: what holds the rest together? */
void call_pairs_split_group(struct call_order *b, uint32_t group)
{
    uint32_t last = b->group_last[group];
    size_t members = 0;

    for (size_t i = 0; i < b->open_threads.count; i++) {
        uint32_t t = b->open_threads.items[i];

        b->root.items[t] = t;
        members += b->threads[t].group == group;
    }
    if (members < 2)
        return;
    unite_members(b, group);
    for (size_t i = 0; i < b->open_threads.count; i++) { /* roots first, members find them */
        uint32_t t = b->open_threads.items[i];

        if (b->threads[t].group == group && root_of(b, t) == t)
            b->threads[t].group = call_pairs_new_group(b, last);
    }
    for (size_t i = 0; i < b->open_threads.count; i++) {
        uint32_t t = b->open_threads.items[i];

        if (b->threads[t].group == group)
            b->threads[t].group = b->threads[root_of(b, t)].group;
    }
}

/* ---- runs ---- */

static void copy_list(struct list *to, const struct list *from)
{
    if (from->count > to->cap)
        GROW(to->items, to->cap, from->count);
    to->count = from->count;
    for (size_t i = 0; i < from->count; i++)
        to->items[i] = from->items[i];
}

static struct run *run_of(const struct call_order *b, uint32_t head)
{
    return &b->runs[b->run_at[head]];
}

uint32_t call_pairs_new_run(struct call_order *b)
{
    if (b->spare.count)
        return b->spare.items[--b->spare.count];
    GROW(b->runs, b->runs_cap, b->nruns + 1);
    return (uint32_t)b->nruns++;
}

/* The run that begins here belongs to the one before it from now on. */
static void join_run(struct call_order *b, uint32_t at)
{
    push(&b->spare, b->run_at[at]);
    marks_remove(&b->heads, at);
}

/* A run begins here from now on. */
static void cut(struct call_order *b, uint32_t at)
{
    const struct run *old;
    struct run *new;

    if (at >= b->axis || marks_has(&b->heads, at))
        return;
    b->run_at[at] = call_pairs_new_run(b); /* may move the array */
    new = run_of(b, at);
    old = run_of(b, marks_previous(&b->heads, at));
    new->ret = old->ret;
    copy_list(&new->open, &old->open);
    copy_list(&new->touches, &old->touches);
    marks_add(&b->heads, at);
}

/* Pairs that have returned since the run was looked at; what came before is before the return. */
static void note_returns(struct call_order *b, struct run *r)
{
    size_t kept = 0;

    for (size_t i = 0; i < r->open.count; i++) {
        uint32_t ret = b->pairs[r->open.items[i]].ret;

        if (ret == NONE)
            r->open.items[kept++] = r->open.items[i];
        else if (r->ret == NONE || r->ret < ret)
            r->ret = ret;
    }
    if (kept < r->open.count)
        r->touches.count = 0;
    r->open.count = kept;
}

/* The present event is the latest touch of its thread; was there one since the last pair? */
static bool note_touch(struct call_order *b, struct run *r)
{
    for (size_t i = 0; i < r->touches.count; i++) {
        if (b->events[r->touches.items[i]].thread == b->event->thread) {
            r->touches.items[i] = b->position;
            return true;
        }
    }
    push(&r->touches, b->position);
    return false;
}

static void touch_run(struct call_order *b, struct run *r)
{
    note_returns(b, r);
    if (!note_touch(b, r))
        call_pairs_runs_want(b, r->ret);
    for (size_t i = 0; i < r->open.count; i++)
        if (b->pairs[r->open.items[i]].thread != b->event->thread)
            call_pairs_step_group(b, b->threads[b->pairs[r->open.items[i]].thread].group);
}

/* The present event comes after all that touched the run; with a pair that is open from here on
 * (or without). */
static void take_run(struct call_order *b, struct run *r, struct pair *p)
{
    note_returns(b, r);
    call_pairs_runs_want(b, r->ret);
    for (size_t i = 0; i < r->touches.count; i++)
        call_pairs_runs_want(b, r->touches.items[i]);
    for (size_t i = 0; i < r->open.count; i++) {
        const struct pair *other = &b->pairs[r->open.items[i]];

        if (other->thread == b->event->thread)
            continue;
        if (!p) {
            call_pairs_step_group(b, b->threads[other->thread].group);
            continue;
        }
        join_groups(b, b->threads[p->thread].group, b->threads[other->thread].group);
        if (!p->links.count || p->links.items[p->links.count - 1] != r->open.items[i])
            push(&p->links, r->open.items[i]);
    }
    r->touches.count = 0;
    r->ret = p ? NONE : b->position;
    if (p && (!r->open.count || r->open.items[r->open.count - 1] != (uint32_t)(p - b->pairs)))
        push(&r->open, (uint32_t)(p - b->pairs));
}

void call_pairs_touch(struct call_order *b, uint32_t lo, uint32_t hi)
{
    uint32_t at = marks_next(&b->covered, lo);

    if (at == MARKS_NONE || at >= hi)
        return;
    cut(b, lo);
    cut(b, hi);
    for (at = lo; at < hi; at = marks_next(&b->heads, at + 1))
        touch_run(b, run_of(b, at));
}

static bool same_pairs(const struct run *a, const struct run *b)
{
    return a->open.count == b->open.count && a->ret == b->ret && !a->touches.count &&
           !b->touches.count &&
           (!a->open.count ||
            !memcmp(a->open.items, b->open.items, a->open.count * sizeof(*a->open.items)));
}

void call_pairs_take(struct call_order *b, uint32_t lo, uint32_t hi, struct pair *p)
{
    uint32_t before = NONE, at, next;

    cut(b, lo);
    cut(b, hi);
    for (at = lo; at < hi; at = next) {
        next = marks_next(&b->heads, at + 1);
        take_run(b, run_of(b, at), p);
        if (before != NONE && same_pairs(run_of(b, before), run_of(b, at)))
            join_run(b, at);
        else
            before = at;
    }
}
