/* window_schedule.c - a window's schedule as one of the whole trace
 *
 * All that came before the window, as observed, and then the window's events
 * in their new order is a schedule. Most of it is not needed. Needed are, from
 * the two accesses on: earlier events of a thread, needs, the writers that
 * reads see in this schedule, and of the sections on a lock the ends of all
 * but the latest. What is left then, in the same order, is a schedule in which
 * every read sees the same writer. Where a section would have to end that
 * cannot (shared ones need not), all of it stays.
 */
#include "base/alloc.h"
#include "engines/predict/windows.h"

#include <stdlib.h>
#include <string.h>

struct schedule {
    const struct window *w;
    const struct view *v;       /* whole */
    const uint64_t *list;       /* of the window's view */
    size_t n;                   /* without the two accesses */
    uint32_t *when;             /* window's event -> place in the list */
    uint32_t *saw;              /* window's touch -> position of the writer seen, VIEW_NONE */
    uint32_t *needed, *scanned; /* thread -> events, of the whole trace */
    uint32_t *there;            /* thread -> events that the schedule has */
    uint32_t *latest;           /* lock -> section + 1 */
    bool fails;
};

static uint32_t position_in_trace(const struct schedule *s, uint32_t event)
{
    return event < s->w->kept ? s->w->position[event] : s->w->first + event - s->w->kept;
}

/* ---- what happens in it ---- */

static void window_schedule_run(struct schedule *s)
{
    const struct view *v = &s->w->view;
    uint32_t *last = xmalloc(((size_t)v->ncells + 1) * sizeof(*last));

    for (uint32_t c = 0; c < v->ncells; c++)
        last[c] = s->w->before[c];
    for (size_t i = 0; i < s->n; i++) {
        uint32_t e = (uint32_t)s->list[i];
        unsigned op = v->events[e].op;

        if (e < s->w->kept)
            continue;
        s->when[e] = (uint32_t)i;
        for (uint32_t k = v->cell_first[e]; k < v->cell_first[e + 1]; k++)
            s->saw[k] = last[v->cell[k]];
        for (uint32_t k = v->cell_first[e]; k < v->cell_first[e + 1]; k++)
            if (op_table[op].writes || op == OP_ALLOC || op_class_of(op) == CLASS_CALL)
                last[v->cell[k]] = position_in_trace(s, e);
    }
    free(last);
}

static void count_there(struct schedule *s)
{
    const struct view *v = s->v;

    for (uint32_t i = 0; i < s->w->first; i++)
        if (v->rank[i] != VIEW_NONE)
            s->there[v->events[i].thread] = v->rank[i] + 1;
    for (size_t i = 0; i < s->n; i++) {
        uint32_t p = position_in_trace(s, (uint32_t)s->list[i]), t = v->events[p].thread;

        if (v->rank[p] + 1 > s->there[t])
            s->there[t] = v->rank[p] + 1;
    }
}

/* ---- what is needed ---- */

static void need(struct schedule *s, uint32_t position)
{
    uint32_t t = s->v->events[position].thread, n = s->v->rank[position] + 1;

    if (n > s->there[t])
        s->fails = true;
    else if (n > s->needed[t])
        s->needed[t] = n;
}

static uint64_t time_of(const struct schedule *s, uint32_t position)
{
    return position < s->w->first ? position
                                  : (uint64_t)s->w->first + s->when[window_event(s->w, position)];
}

static void take_section(struct schedule *s, uint32_t section)
{
    const struct view_section *all = s->v->sections;
    uint32_t *latest = &s->latest[all[section].lock], other = *latest, older;

    if (!other) {
        *latest = section + 1;
        return;
    }
    other--;
    older = time_of(s, all[section].acquire) < time_of(s, all[other].acquire) ? section : other;
    *latest = (older == section ? other : section) + 1;
    if (all[older].end == VIEW_NONE)
        s->fails = true;
    else
        need(s, all[older].end);
}

static void window_schedule_take_event(struct schedule *s, uint32_t position)
{
    const struct view *v = s->v, *part = &s->w->view;
    unsigned op = v->events[position].op;
    uint32_t section = v->section_of[position], k = 0;

    for (uint32_t i = v->need_first[position]; i < v->need_first[position + 1]; i++)
        need(s, v->need[i]);
    if (section != VIEW_NONE && v->sections[section].acquire == position)
        take_section(s, section);
    if (!op_table[op].reads && op != OP_CALL)
        return;
    for (uint32_t i = v->cell_first[position]; i < v->cell_first[position + 1]; i++, k++) {
        uint32_t saw = v->writer[i];

        if (position >= s->w->first)
            saw = s->saw[part->cell_first[window_event(s->w, position)] + k];
        if (saw != VIEW_NONE)
            need(s, saw);
    }
}

static void close_up(struct schedule *s)
{
    const struct view *v = s->v;
    bool changed = true;

    while (changed && !s->fails) {
        changed = false;
        for (uint32_t t = 0; t < v->nthreads; t++) {
            changed |= s->scanned[t] < s->needed[t];
            while (s->scanned[t] < s->needed[t] && !s->fails)
                window_schedule_take_event(s,
                                           v->thread_event[v->thread_first[t] + s->scanned[t]++]);
        }
    }
}

/* Events before an access, and what it needs itself. */
static void need_next(struct schedule *s, uint32_t position)
{
    const struct view *v = s->v;
    uint32_t t = v->events[position].thread;

    if (v->rank[position] > s->needed[t])
        s->needed[t] = v->rank[position];
    for (uint32_t i = v->need_first[position]; i < v->need_first[position + 1]; i++)
        need(s, v->need[i]);
}

/* What stays as it is. */
static void need_fixed(struct schedule *s)
{
    for (uint32_t i = 0; i < s->w->fixed; i++)
        if (s->v->rank[i] != VIEW_NONE)
            need(s, i);
}

/* ---- the list ---- */

static bool is_needed(const struct schedule *s, uint32_t position)
{
    uint32_t rank = s->v->rank[position];

    return rank != VIEW_NONE && (s->fails || rank < s->needed[s->v->events[position].thread]);
}

static uint64_t *write_down(const struct schedule *s, uint64_t a, uint64_t b, size_t *count)
{
    uint64_t *list = xmalloc((s->w->first + s->n + 2) * sizeof(*list));
    size_t n = 0;

    for (uint32_t i = s->w->fixed; i < s->w->first; i++)
        if (is_needed(s, i))
            list[n++] = i;
    for (size_t i = 0; i < s->n; i++)
        if (s->list[i] >= s->w->kept && is_needed(s, position_in_trace(s, (uint32_t)s->list[i])))
            list[n++] = position_in_trace(s, (uint32_t)s->list[i]);
    list[n++] = a;
    list[n++] = b;
    *count = n;
    return list;
}

uint64_t *window_schedule(const struct window *w, const uint64_t *list, size_t n, size_t *count)
{
    struct schedule s = { .w = w, .v = w->whole, .list = list, .n = n - 2 };
    uint32_t a = position_in_trace(&s, (uint32_t)list[n - 2]);
    uint32_t b = position_in_trace(&s, (uint32_t)list[n - 1]);
    size_t threads = (size_t)s.v->nthreads + 1;
    uint64_t *all;

    s.when = xcalloc((size_t)w->view.count + 1, sizeof(*s.when));
    s.saw = xcalloc((size_t)w->view.cell_first[w->view.count] + 1, sizeof(*s.saw));
    s.needed = xcalloc(threads, sizeof(*s.needed));
    s.scanned = xcalloc(threads, sizeof(*s.scanned));
    s.there = xcalloc(threads, sizeof(*s.there));
    s.latest = xcalloc((size_t)s.v->nlocks + 1, sizeof(*s.latest));
    window_schedule_run(&s);
    count_there(&s);
    need_fixed(&s);
    need_next(&s, a);
    need_next(&s, b);
    close_up(&s);
    all = write_down(&s, a, b, count);
    free(s.when);
    free(s.saw);
    free(s.needed);
    free(s.scanned);
    free(s.there);
    free(s.latest);
    return all;
}
