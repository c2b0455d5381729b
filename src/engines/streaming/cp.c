/* cp.c - causally-precedes races
 *
 * For comparison with the paper only: what cp leaves unordered wcp leaves unordered, too, so the
 * cascade does without it.
 *
 * Smaragdakis, Evans, Sadowski, Yi and Flanagan, "Sound Predictive Race
 * Detection in Polynomial Time", POPL 2012 (docs/design/cp.md). CP keeps of
 * the observed order only what a reordering cannot change:
 *   (a) release of section A -> acquire of a later section B on the same lock
 *       where A and B hold conflicting events,
 *   (b) the same where A and B hold CP-ordered events,
 *   (c) closed under composition with HB on both sides, plus hard edges.
 * Conflicting accesses that CP leaves unordered race. The first race of a
 * trace is possible, or a reordering deadlocks; so by default a race counts
 * as a hard edge once it is reported (--sound), and --all lists every pair.
 *
 * Differences from the paper: exact on the whole trace, in clocks instead of
 * a quadratic relation (cp_graph.h); their window is an option. Theirs has
 * mutexes and plain accesses; what the rest of our model means for CP is in
 * docs/design/cp.md.
 */
#include "base/alloc.h"
#include "engines/streaming/cp_graph.h"
#include "engines/predict/vindicate.h"

#include <stdlib.h>

static void *cp_open(struct engine_result *result, const struct engine_options *options)
{
    struct cp *c = xcalloc(1, sizeof(*c));

    c->result = result;
    c->all = options->all;
    c->window = options->window > UINT32_MAX ? 0 : (uint32_t)options->window;
    hb_init(&c->hard);
    c->hard.no_lock_edges = true;
    c->nnodes = c->nsections = c->nsources = 1; /* 0 is none */
    GROW(c->nodes, c->nodes_cap, 1);
    GROW(c->sections, c->sections_cap, 1);
    GROW(c->sources, c->sources_cap, 1);
    return c;
}

static void cp_steps(void *state, const struct span *span)
{
    cp_record_steps(state, span);
}

static void release_threads(struct cp *c)
{
    for (size_t i = 0; i < c->threads_cap; i++) {
        free(c->threads[i].held);
        free(c->threads[i].free_slots);
        map_release(&c->threads[i].learned);
    }
    for (size_t i = 0; i < c->slots_cap; i++)
        free(c->slots[i].syncs);
    free(c->threads);
    free(c->slots);
}

static void release_locks(struct cp *c)
{
    for (size_t i = 0; i < c->locks_cap; i++) {
        struct cp_lock *l = &c->locks[i];

        for (size_t k = 0; k < l->nusers; k++) {
            free(l->users[k].exclusive.took);
            free(l->users[k].shared.took);
        }
        free(l->users);
        free(l->readers);
        free(l->foreign);
    }
    free(c->locks);
}

static void cp_close(void *state)
{
    struct cp *c = state;

    release_threads(c);
    release_locks(c);
    cp_guards_release(&c->guards);
    cp_reduce_release(&c->reduce);
    hb_release(&c->hard);
    arena_release(&c->memory);
    free(c->nodes);
    free(c->sections);
    free(c->closed);
    free(c->sources);
    free(c->hard_in);
    free(c->links);
    free(c->found);
    free(c->moves);
    free(c->heap);
    free(c);
}

/* ---- counters ---- */

/* Events of a slot up to a time; the cursor is where the last answer was. */
static uint32_t count_syncs(const struct cp_slot *s, uint32_t time, uint32_t *cursor)
{
    while (*cursor < s->nsyncs && s->syncs[*cursor] <= time)
        ++*cursor;
    while (*cursor && s->syncs[*cursor - 1] > time)
        --*cursor;
    return *cursor;
}

static uint64_t count_row(const struct cp *c, const uint32_t *row, uint32_t *cursors, uint32_t skip)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < c->nslots; i++)
        if (i != skip)
            sum += count_syncs(&c->slots[i], row[i], &cursors[i]);
    return sum;
}

/* Ordered pairs of synchronisation events. Program order counts for HB, a chain per slot. */
static void count_pairs(struct cp *c, uint64_t *hb, uint64_t *cp)
{
    size_t width = c->nslots;
    uint32_t *h = xcalloc(width * width + 1, sizeof(*h)),
             *p = xcalloc(width * width + 1, sizeof(*p));

    *hb = *cp = 0;
    for (size_t i = 0; i < width; i++)
        *hb += (uint64_t)c->slots[i].nsyncs * (c->slots[i].nsyncs - !!c->slots[i].nsyncs) / 2;
    for (size_t i = 1; i < c->nnodes; i++) {
        const struct cp_node *n = &c->nodes[i];

        if (!n->syncs)
            continue;
        *hb += n->syncs * count_row(c, n->rows, &h[n->slot * width], n->slot);
        *cp += n->syncs * count_row(c, n->rows + c->width, &p[n->slot * width], SLOT_NONE);
    }
    free(h);
    free(p);
}

static void cp_finish(void *state)
{
    struct cp *c = state;
    uint64_t hb, cp;

    cp_record_finish(c);
    cp_guards_release(&c->guards);
    cp_solve(c);
    count_pairs(c, &hb, &cp);
    engine_count(c->result, "syncs", c->syncs);
    engine_count(c->result, "reduced", c->reduce.rank);
    engine_count(c->result, "sections", c->nsections - 1);
    engine_count(c->result, "hb_pairs", hb);
    engine_count(c->result, "cp_pairs", cp);
    engine_count(c->result, "rule_a", c->rule_a);
    engine_count(c->result, "rule_b", c->rule_b);
    engine_count(c->result, "rounds", c->rounds);
    engine_leave(c->result, "too_long", c->too_long);
    engine_leave(c->result, "significant_window", c->window);
}

static int cp_decide(void *state, struct whole *whole, struct error *err)
{
    int r = cp_find_races(state, whole, err);

    return r ? r : vindicate(whole, ((struct cp *)state)->result, err);
}

const struct engine engine_cp = {
    .name = "cp",
    .summary = "causally precedes (for comparison: contained in wcp)",
    .proves = STRENGTH_MAYBE,
    .predicts = true,
    .on_request = true, /* wcp leaves all of its pairs unordered, too */
    .open = cp_open,
    .steps = cp_steps,
    .finish = cp_finish,
    .decide = cp_decide,
    .close = cp_close,
};
