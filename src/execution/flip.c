/* flip.c - what a thread would do if a branch went the other way; see flip.h
 *
 * Which branches: outcomes that no thread took first, then those that this thread did not
 * take, then all others; of each (branch, outcome, thread) the first instance, the last and
 * some in between, so that a loop of a million turns costs as much as one of ten.
 */
#include "execution/flip_inside.h"
#include "base/alloc.h"
#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

/* Instances of one outcome of one branch in one thread. */
enum { INSTANCES_NEVER = 8, INSTANCES_HERE_NEVER = 4, INSTANCES_OTHER = 2 };

const char *const flip_end_names[FLIP_ENDS] = { "limit", "call",    "address",
                                                "value", "returns", "foreign" };

/* ---- life ---- */

struct flips *flips_new(struct program *p, struct tables *tables, const struct trace_mem *trace)
{
    struct flips *all = xcalloc(1, sizeof(*all));

    all->program = p;
    all->tables = tables;
    all->trace = trace;
    for (uint32_t i = 0; i < tables->sites.count; i++) {
        struct site_origin o = tables_site_origin(tables, i);

        if (o.module)
            map_put(&all->site_of, (uint64_t)(o.module - 1) << 32 | o.index, i);
    }
    return all;
}

static void forget_walk(struct flips *all)
{
    map_release(&all->words);
    map_release(&all->chosen);
    all->nshadow = 0;
    for (size_t i = 0; i < all->nheld; i++)
        free(all->held[i].list);
    free(all->held);
    all->held = NULL;
    all->nheld = 0;
    for (size_t i = 0; i < all->ncounts; i++)
        all->counts[i].met = 0;
    for (size_t i = 0; i < all->npaths; i++)
        flip_path_release(&all->paths[i]);
    all->npaths = 0;
}

void flips_free(struct flips *all)
{
    if (!all)
        return;
    forget_walk(all);
    free(all->shadow);
    free(all->counts);
    free(all->paths);
    free(all->written);
    free(all->early);
    map_release(&all->early_words);
    firsts_release(&all->first);
    map_release(&all->written_at);
    map_release(&all->site_of);
    map_release(&all->counted);
    map_release(&all->puzzling);
    map_release(&all->chosen);
    free(all);
}

void flips_begin(struct flips *all, enum flip_pass pass, struct sharing *sharing)
{
    forget_walk(all);
    all->pass = pass;
    all->sharing = sharing;
    all->next_id = all->trace->count;
    all->next_heap = FLIP_HEAP;
    all->stats = (struct flip_stats){ 0 };
}

size_t flips_count(const struct flips *all)
{
    return all->npaths;
}

const struct flip_path *flips_get(const struct flips *all, size_t i)
{
    return &all->paths[i];
}

const struct flip_stats *flips_stats(const struct flips *all)
{
    return &all->stats;
}

/* ---- which ---- */

static struct outcome_count *count_of(struct flips *all, uint32_t site, uint64_t outcome,
                                      uint32_t thread)
{
    uint64_t key = ((uint64_t)site << 32 | thread) * UINT64_C(0x9e3779b97f4a7c15) + outcome;
    uint32_t *n = map_put(&all->counted, key, 0);

    if (!*n) {
        GROW(all->counts, all->counts_cap, all->ncounts + 1);
        all->counts[all->ncounts] = (struct outcome_count){ 0 };
        *n = (uint32_t)++all->ncounts;
    }
    return &all->counts[*n - 1];
}

/* Of `total` instances `most`, spread: the first, the last, and some between. */
static bool is_chosen(uint64_t i, uint64_t total, uint64_t most)
{
    if (total <= most || i == 0 || i + 1 == total)
        return true;
    return i * (most - 1) / (total - 1) != (i - 1) * (most - 1) / (total - 1);
}

void flips_branch(struct flips *all, struct walk *w, struct thread *t, uint64_t position,
                  uint64_t outcome, uint64_t outcomes)
{
    uint32_t site = all->trace->events[position].site;
    uint64_t met, total;

    if (all->pass == FLIP_LEARN) {
        count_of(all, site, outcome, t->number)->total++;
        count_of(all, site, outcome, THREAD_NONE)->total++;
        return;
    }
    met = count_of(all, site, outcome, t->number)->met++;
    total = count_of(all, site, outcome, t->number)->total;
    for (uint64_t o = 0; o < outcomes; o++) {
        bool never = !count_of(all, site, o, THREAD_NONE)->total;
        bool here = !count_of(all, site, o, t->number)->total;

        if (o == outcome)
            continue;
        all->stats.branches++;
        if (is_chosen(met, total,
                      never  ? INSTANCES_NEVER
                      : here ? INSTANCES_HERE_NEVER
                             : INSTANCES_OTHER))
            flip_explore(all, w, t, position, o, never, here);
    }
}

/* As many times as an outcome that the thread has not taken. */
void flips_value(struct flips *all, struct walk *w, struct thread *t, uint64_t position, expr e)
{
    const struct frame *fr = &t->frames[t->depth - 1];
    uint64_t key = (uint64_t)fr->f->module->number << 40 ^ (uint64_t)fr->f->index << 20 ^ fr->pc;
    uint64_t values[OTHER_VALUES_MAX];
    struct flip here = { .all = all, .w = w };
    uint32_t *times;
    size_t n;

    if (all->pass == FLIP_LEARN || position >= all->trace->count || !expr_varies(&w->x, e) ||
        t->npending > PENDING_MAX)
        return;
    times = map_put(&all->chosen, key * UINT64_C(0x9e3779b97f4a7c15) + t->number, 0);
    if (*times >= INSTANCES_HERE_NEVER)
        return;
    n = flip_other_values(&here, e, values);
    *times += n > 0;
    for (size_t i = 0; i < n; i++)
        flip_explore_value(all, w, t, position, e, values[i]);
}

/* ---- three walks ---- */

static void walk_trace(struct program *p, const struct trace_mem *trace, struct flips *all,
                       struct sharing *sharing)
{
    struct walk_options options = { .is_private = sharing_is_private,
                                    .private_arg = sharing,
                                    .flips = all };
    struct walk *w = walk_new(p, &options);

    for (size_t i = 0; i < trace->count; i++)
        walk_event(w, i, &trace->events[i]);
    walk_remember(w);
    firsts_release(&all->first);
    firsts_list(&all->first, w, trace);
    walk_free(w);
}

/* A path begins with its branch and its conditions are of its events, in their order: a condition
 * that came too late would let a schedule take a way that the values forbid. */
static bool is_sound_path(const struct flip_path *p, size_t trace_events)
{
    if (p->branch >= trace_events || !p->nconditions || !p->nevents)
        return false;
    for (size_t k = 0; k < p->nconditions; k++)
        if (p->conditions[k].event >= p->nevents ||
            (k && p->conditions[k].event < p->conditions[k - 1].event))
            return false;
    return true;
}

/* Values beside the nodes are there for all who only read. */
static void settle_values(struct flips *all, struct exprs *x)
{
    u128 v;

    for (size_t i = 0; i < all->npaths; i++) {
        const struct flip_path *p = &all->paths[i];

        invariant(is_sound_path(p, all->trace->count));
        for (size_t k = 0; k < p->nconditions; k++)
            expr_value(x, p->conditions[k].value, &v);
        for (size_t k = 0; k < p->npieces; k++)
            if (p->pieces[k])
                expr_value(x, p->pieces[k], &v);
        for (size_t k = 0; k < p->nevents; k++)
            if (p->events[k].value)
                expr_value(x, p->events[k].value, &v);
    }
}

struct execution *execution_with_flips(const struct trace_mem *trace, struct tables *tables,
                                       struct flips **flips, struct error *err)
{
    struct program *p = program_open(tables, err);
    struct sharing *sharing;
    struct execution *e;

    *flips = NULL;
    if (!p)
        return NULL;
    sharing = sharing_new();
    for (size_t i = 0; i < trace->count; i++)
        sharing_event(sharing, &trace->events[i]);
    *flips = flips_new(p, tables, trace);
    flips_begin(*flips, FLIP_LEARN, sharing);
    walk_trace(p, trace, *flips, sharing);
    flips_begin(*flips, FLIP_TOUCH, sharing);
    walk_trace(p, trace, *flips, sharing);
    flips_begin(*flips, FLIP_KEEP, sharing);
    e = execution_make(trace, p, sharing, *flips);
    settle_values(*flips, e->x);
    sharing_free(sharing);
    (*flips)->sharing = NULL;
    (*flips)->program = NULL;
    program_close(p);
    return e;
}
