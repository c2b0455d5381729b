/* sshb_facts.c - edges from clocks
 *
 * A thread's clock is compared with what it was at the thread's last step;
 * each entry (slot, time) that grew is an edge from the step that published
 * that time. A lock handed over makes up to one such entry per thread, all
 * but one of them known to the releasing thread already; so the snapshots of
 * releases, forks, joined threads and last publications are kept, and what
 * they imply is left out. (8 threads: 2.5 times fewer edges, 64 threads: 17
 * times.) Clocks share what they have in common (clock.h), so what a thread
 * has learned from one snapshot is found without a look at the rest: a chain
 * of 100,000 forks costs as many steps, not their square.
 */
#include "engines/streaming/sshb_facts.h"
#include "base/alloc.h"

#include <stdlib.h>

/* Occurrences of races that are kept: all of a pair of sites up to the first
 * number, all of all pairs up to the second (28 bytes each: 224 MB), never more
 * than the third. */
enum { PAIRS_OF_A_RACE = 4096, PAIRS_FREELY = 8000000, PAIRS_MAX = 16000000 };

/* Pairs of the steps of one event that are remembered; above, the next event begins anew. */
enum { MET_MAX = 65536 };

/* Publications in a row that imply nothing: the others are not tried. A barrier of 1,000 threads
 * teaches each of them 1,000 things that do not imply each other. */
enum { PUBLICATIONS_TRIED = 16 };

void sshb_facts_init(struct sshb_facts *f, struct hb *hb)
{
    *f = (struct sshb_facts){ .hb = hb, .joined = CLOCK_EMPTY };
}

void sshb_facts_release(struct sshb_facts *f)
{
    for (size_t i = 0; i < f->slots_cap; i++)
        free(f->slots[i].ticks);
    free(f->edges);
    free(f->births);
    free(f->candidates);
    free(f->loose);
    free(f->observed);
    free(f->pairs);
    free(f->slots);
    free(f->threads);
    free(f->releases);
    free(f->learned);
    map_release(&f->met);
}

bool sshb_has_room(struct sshb_facts *f)
{
    size_t candidates = f->ncandidates + f->nloose;

    if (candidates >= SSHB_CANDIDATES_MAX ||
        f->nedges + f->nbirths + f->nobserved + candidates >= SSHB_EDGES_MAX)
        f->full = true;
    return !f->full;
}

static void need_slot(struct sshb_facts *f, uint32_t slot)
{
    size_t old = f->slots_cap;

    if (slot < old)
        return;
    GROW(f->slots, f->slots_cap, (size_t)slot + 1);
    for (size_t i = old; i < f->slots_cap; i++)
        f->slots[i].publication = CLOCK_EMPTY;
}

void sshb_facts_begin_span(struct sshb_facts *f, const struct span *span)
{
    size_t old = f->threads_cap, locks = f->releases_cap;

    GROW(f->threads, f->threads_cap, span->threads);
    for (size_t i = old; i < f->threads_cap; i++)
        f->threads[i] = (struct sshb_thread){ 0, CLOCK_EMPTY, CLOCK_EMPTY };
    GROW(f->releases, f->releases_cap, span->objects);
    for (size_t i = locks; i < f->releases_cap; i++)
        f->releases[i] = CLOCK_EMPTY;
    if (span->count) {
        f->events = span->steps[span->count - 1].position + 1;
        f->full |= f->events >= SSHB_NONE - 1;
    }
}

/* ---- what is published ---- */

void sshb_facts_before(struct sshb_facts *f, const struct step *s)
{
    if (s->op == OP_RELEASE && !(s->flags & STEP_NESTED))
        clock_copy(&f->hb->pool, &f->releases[s->id], &hb_thread(f->hb, s->thread)->clock);
    else if (s->op == OP_FORK)
        clock_copy(&f->hb->pool, &f->threads[s->id].fork, &hb_thread(f->hb, s->thread)->clock);
    else if (s->op == OP_JOIN)
        clock_copy(&f->hb->pool, &f->joined, &f->hb->threads[s->id].clock);
}

/* Ticks of a slot that are not taken down yet happened at its last step: right
 * now, or, where another thread made it tick (join, a release that is owed),
 * after all it has done so far. */
static void add_ticks(struct sshb_slot *slot, uint32_t time)
{
    if (slot->count >= time)
        return;
    GROW(slot->ticks, slot->cap, time);
    while (slot->count < time)
        slot->ticks[slot->count++] = slot->last;
}

void sshb_facts_ticked(struct sshb_facts *f, const struct step *s, const struct hb_thread *t)
{
    struct sshb_slot *slot = &f->slots[t->clock.slot];

    (void)s;
    add_ticks(slot, t->clock.time - 1);
    clock_copy(&f->hb->pool, &slot->publication, &t->clock);
    slot->publication.time--;
}

/* ---- what is learned ---- */

static void learned(struct sshb_facts *f, uint32_t slot, uint32_t time)
{
    need_slot(f, slot);
    add_ticks(&f->slots[slot], time);
    GROW(f->learned, f->learned_cap, f->nlearned + 1);
    f->learned[f->nlearned++].from = (struct sshb_point){ slot, time };
}

/* Trees of which nothing needs to be told: what the thread knew, and snapshots whose edge implies
 * the rest. NULL is an empty one. */
enum { TOLD = 3 };
struct told {
    const struct clock_node *tree[TOLD];
};

static bool is_told(const struct told *told, const struct clock_node *now)
{
    for (int i = 0; i < TOLD; i++)
        if (told->tree[i] == now)
            return true;
    return !now;
}

/* Entries of `now` that are larger than in any of the others; base is the first slot of the
 * node. */
static void compare_leaf(struct sshb_facts *f, const struct told *told,
                         const struct clock_node *now, uint32_t base)
{
    for (uint32_t i = 0; i < LEAF_SIZE; i++) {
        uint32_t known = 0;

        for (int k = 0; k < TOLD; k++)
            if (told->tree[k] && told->tree[k]->time[i] > known)
                known = told->tree[k]->time[i];
        if (now->time[i] > known)
            learned(f, base + i, now->time[i]);
    }
}

static void sshb_facts_compare(struct sshb_facts *f, const struct told *told,
                               const struct clock_node *now, uint32_t base)
{
    if (is_told(told, now))
        return;
    if (now->height == 0) {
        compare_leaf(f, told, now, base);
        return;
    }
    for (uint32_t i = 0; i < FAN; i++) {
        struct told below = { { NULL } };

        for (int k = 0; k < TOLD; k++) {
            const struct clock_node *n = told->tree[k];

            if (n)
                below.tree[k] = n->height == now->height ? n->child[i] : i == 0 ? n : NULL;
        }
        sshb_facts_compare(f, &below, now->child[i],
                           base + (i << (LEAF_BITS + (now->height - 1) * FAN_BITS)));
    }
}

/* The tree of a snapshot, if the thread has just learned it and nothing later of its slot. */
static const struct clock_node *if_new(const struct clock *snapshot, const struct sshb_thread *mine,
                                       const struct hb_thread *t)
{
    if (snapshot->slot == SLOT_NONE || snapshot->slot == t->clock.slot ||
        clock_tree_get(t->clock.tree, snapshot->slot) != snapshot->time ||
        clock_tree_get(mine->seen.tree, snapshot->slot) >= snapshot->time)
        return NULL;
    return snapshot->tree;
}

static void find_learned(struct sshb_facts *f, const struct step *s, const struct hb_thread *t)
{
    const struct sshb_thread *mine = &f->threads[s->thread];
    struct told told = { { mine->seen.tree, if_new(&mine->fork, mine, t), NULL } };

    if (s->op == OP_ACQUIRE || s->op == OP_ACQUIRE_SHARED)
        told.tree[2] = if_new(&f->releases[s->id], mine, t);
    else if (s->op == OP_JOIN)
        told.tree[2] = if_new(&f->joined, mine, t);
    f->nlearned = 0;
    sshb_facts_compare(f, &told, t->clock.tree, 0);
}

/* Leave out what the last publication of a slot implies, if that is what was learned of it. True:
 * that was something. */
static bool reduce(struct sshb_facts *f, struct sshb_point point)
{
    const struct clock *snapshot = &f->slots[point.slot].publication;
    size_t kept = 0, before = f->nlearned;

    if (snapshot->slot != point.slot || snapshot->time != point.position)
        return false;
    for (size_t i = 0; i < f->nlearned; i++) {
        struct sshb_point p = f->learned[i].from;

        if (p.slot == snapshot->slot || clock_tree_get(snapshot->tree, p.slot) < p.position)
            f->learned[kept++].from = p;
    }
    f->nlearned = kept;
    return kept < before;
}

static void reduce_all(struct sshb_facts *f)
{
    unsigned in_vain = 0;

    for (size_t i = 0; i < f->nlearned && f->nlearned > 1 && in_vain < PUBLICATIONS_TRIED; i++)
        in_vain = reduce(f, f->learned[i].from) ? 0 : in_vain + 1;
}

static void add_edge(struct sshb_facts *f, struct sshb_point from, struct sshb_point to)
{
    if (!sshb_has_room(f))
        return;
    GROW(f->edges, f->edges_cap, f->nedges + 1);
    f->edges[f->nedges++] = (struct sshb_edge){ from, to };
}

void sshb_facts_learn(struct sshb_facts *f, const struct step *s, struct hb_thread *t)
{
    struct sshb_thread *mine = &f->threads[s->thread];
    struct sshb_point here = { t->clock.slot, (uint32_t)s->position };

    need_slot(f, here.slot); /* a new slot comes with a new version */
    find_learned(f, s, t);
    reduce_all(f);
    for (size_t i = 0; i < f->nlearned; i++) {
        struct sshb_point from = f->learned[i].from;
        uint32_t tick = f->slots[from.slot].ticks[from.position - 1];

        if (from.slot != here.slot && tick)
            add_edge(f, (struct sshb_point){ from.slot, tick - 1 }, here);
    }
    clock_copy(&f->hb->pool, &mine->seen, &t->clock);
    mine->version = t->version;
}

/* ---- lists ---- */

void sshb_add_birth(struct sshb_facts *f, struct sshb_point from, struct sshb_point to)
{
    if (!sshb_has_room(f))
        return;
    GROW(f->births, f->births_cap, f->nbirths + 1);
    f->births[f->nbirths++] = (struct sshb_edge){ from, to };
}

void sshb_facts_several(struct sshb_facts *f, bool several)
{
    f->several = several;
    if (f->met.count > MET_MAX)
        map_clear(&f->met);
}

/* Have other variables of the present event brought this pair? Keys are the first accesses, values
 * the second + 1. */
static bool was_met(struct sshb_facts *f, const struct sshb_pair *p)
{
    uint32_t *second = map_put(&f->met, p->position[0], 0);
    bool met = *second == p->position[1] + 1;

    *second = p->position[1] + 1;
    return met;
}

void sshb_add_pair(struct sshb_facts *f, const struct sshb_pair *p, const struct race_table *races)
{
    const struct sshb_pair *last = f->npairs ? &f->pairs[f->npairs - 1] : NULL;

    if (last && last->position[0] == p->position[0] && last->position[1] == p->position[1])
        return; /* another variable of the same two accesses */
    if (f->several && was_met(f, p))
        return;
    if (f->full || f->npairs >= PAIRS_MAX ||
        (f->npairs >= PAIRS_FREELY &&
         race_table_find(races, p->site[0], p->site[1])->count > PAIRS_OF_A_RACE)) {
        f->pairs_left_out++;
        return;
    }
    GROW(f->pairs, f->pairs_cap, f->npairs + 1);
    f->pairs[f->npairs++] = *p;
}
