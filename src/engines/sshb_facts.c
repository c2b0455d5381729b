/* sshb_facts.c - edges from clocks
 *
 * A thread's clock is compared with what it was at the thread's last step;
 * each entry (slot, time) that grew is an edge from the step that published
 * that time. A lock handed over makes up to one such entry per thread, all
 * but one of them known to the releasing thread already; so the snapshots of
 * releases, forks and last publications are kept, and what they imply is
 * left out. (8 threads: 2.5 times fewer edges, 64 threads: 17 times.)
 */
#include "engines/sshb_facts.h"
#include "base/alloc.h"

#include <stdlib.h>

/* Occurrences of races that are kept: all of a pair of sites up to the first
 * number, all of all pairs up to the second (28 bytes each: 224 MB), never more
 * than the third. */
enum { PAIRS_OF_A_RACE = 4096, PAIRS_FREELY = 8000000, PAIRS_MAX = 16000000 };

void sshb_facts_init(struct sshb_facts *f, struct hb *hb)
{
    *f = (struct sshb_facts){ .hb = hb };
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

/* Entries of `now` that are larger than in `old`; base is the first slot of the
 * node. */
static void compare(struct sshb_facts *f, const struct clock_node *old,
                    const struct clock_node *now, uint32_t base)
{
    if (old == now || !now)
        return;
    if (now->height == 0) {
        for (uint32_t i = 0; i < LEAF_SIZE; i++)
            if (now->time[i] > (old ? old->time[i] : 0))
                learned(f, base + i, now->time[i]);
        return;
    }
    for (uint32_t i = 0; i < FAN; i++) {
        const struct clock_node *below = NULL;

        if (old)
            below = old->height == now->height ? old->child[i] : i == 0 ? old : NULL;
        compare(f, below, now->child[i], base + (i << (LEAF_BITS + (now->height - 1) * FAN_BITS)));
    }
}

static bool has_learned(const struct sshb_facts *f, uint32_t slot, uint32_t time)
{
    for (size_t i = 0; i < f->nlearned; i++)
        if (f->learned[i].from.slot == slot && f->learned[i].from.position == time)
            return true;
    return false;
}

/* Leave out what a snapshot implies, if it is among what was learned. */
static void reduce(struct sshb_facts *f, const struct clock *snapshot)
{
    size_t kept = 0;

    if (f->nlearned < 2 || snapshot->slot == SLOT_NONE ||
        !has_learned(f, snapshot->slot, snapshot->time))
        return;
    for (size_t i = 0; i < f->nlearned; i++) {
        struct sshb_point p = f->learned[i].from;

        if (p.slot == snapshot->slot || clock_tree_get(snapshot->tree, p.slot) < p.position)
            f->learned[kept++].from = p;
    }
    f->nlearned = kept;
}

static void reduce_all(struct sshb_facts *f, const struct step *s)
{
    if (s->op == OP_ACQUIRE || s->op == OP_ACQUIRE_SHARED)
        reduce(f, &f->releases[s->id]);
    reduce(f, &f->threads[s->thread].fork);
    for (size_t i = 0; i < f->nlearned && f->nlearned > 1; i++)
        reduce(f, &f->slots[f->learned[i].from.slot].publication);
}

static void add_edge(struct sshb_facts *f, struct sshb_point from, struct sshb_point to)
{
    if (f->full)
        return;
    GROW(f->edges, f->edges_cap, f->nedges + 1);
    f->edges[f->nedges++] = (struct sshb_edge){ from, to };
}

void sshb_facts_learn(struct sshb_facts *f, const struct step *s, struct hb_thread *t)
{
    struct sshb_thread *mine = &f->threads[s->thread];
    struct sshb_point here = { t->clock.slot, (uint32_t)s->position };

    need_slot(f, here.slot); /* a new slot comes with a new version */
    f->nlearned = 0;
    compare(f, mine->seen.tree, t->clock.tree, 0);
    reduce_all(f, s);
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
    if (f->full)
        return;
    GROW(f->births, f->births_cap, f->nbirths + 1);
    f->births[f->nbirths++] = (struct sshb_edge){ from, to };
}

void sshb_add_pair(struct sshb_facts *f, const struct sshb_pair *p, const struct race_table *races)
{
    const struct sshb_pair *last = f->npairs ? &f->pairs[f->npairs - 1] : NULL;

    if (last && last->position[0] == p->position[0] && last->position[1] == p->position[1])
        return; /* another variable of the same two accesses */
    if (f->full || f->npairs >= PAIRS_MAX ||
        (f->npairs >= PAIRS_FREELY &&
         race_table_find(races, p->site[0], p->site[1])->count > PAIRS_OF_A_RACE)) {
        f->pairs_left_out++;
        return;
    }
    GROW(f->pairs, f->pairs_cap, f->npairs + 1);
    f->pairs[f->npairs++] = *p;
}
