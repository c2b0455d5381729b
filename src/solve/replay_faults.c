/* replay_faults.c - put what is executed into an order and see what is wrong with it
 *
 * The order keeps program order, needs and the chosen edges; among what can
 * come next the node that came first in the trace comes first. The replay
 * goes on after a fault as if it had not happened, so that one round finds
 * many. It applies the very rules of the model, so a replay without faults is
 * a proof.
 */
#include "base/alloc.h"
#include "solve/solver_inside.h"

#include <stdlib.h>

#include <string.h>

/* Faults of one round. (One at a time was 17 times slower; 256 are as good as 2,048 up to 10,000
 * events, at 100,000 they take half as many rounds again.) */
enum { FAULTS_MAX = 2048, CLOCK_EVERY = 16384 };

/* Nodes of a thread that get a place without being in, besides as many again as are in. */
enum { OTHERS_MAX = 256 };

struct open_section {
    uint32_t section, next; /* next + 1 in the list of its lock */
};

struct replay {
    uint32_t *done;   /* thread -> nodes executed */
    uint32_t *parked; /* thread -> thread + 1 that waits for it, linked by next_parked */
    uint32_t *next_parked;
    uint32_t *awaited; /* thread -> rank of what it waits for */
    uint32_t *heap;    /* next nodes of the threads that can go on, least first */
    uint32_t nheap;
    bool *tainted;  /* thread has read something else */
    uint32_t *last; /* cell -> writing touch + 1, 0: as at the beginning */
    bool *stale;    /* cell was written by a tainted thread */
    uint32_t *open; /* lock -> open section + 1 */
    struct open_section *sections;
    size_t nsections, sections_cap;
    uint32_t *length; /* thread -> nodes that get a place */
    uint32_t *order;  /* what is executed */
    uint32_t count;
    uint32_t places;
};

struct replay *replay_new(const struct problem *p)
{
    struct replay *r = xcalloc(1, sizeof(*r));
    size_t threads = (size_t)p->nthreads + 1;

    r->done = xcalloc(threads, sizeof(*r->done));
    r->parked = xcalloc(threads, sizeof(*r->parked));
    r->next_parked = xcalloc(threads, sizeof(*r->next_parked));
    r->awaited = xcalloc(threads, sizeof(*r->awaited));
    r->heap = xcalloc(threads, sizeof(*r->heap));
    r->tainted = xcalloc(threads, sizeof(*r->tainted));
    r->last = xcalloc((size_t)p->ncells + 1, sizeof(*r->last));
    r->stale = xcalloc((size_t)p->ncells + 1, sizeof(*r->stale));
    r->open = xcalloc((size_t)p->nlocks + 1, sizeof(*r->open));
    r->length = xcalloc(threads, sizeof(*r->length));
    r->order = xcalloc((size_t)p->nnodes + 1, sizeof(*r->order));
    return r;
}

void replay_free(struct replay *r)
{
    free(r->done);
    free(r->parked);
    free(r->next_parked);
    free(r->awaited);
    free(r->heap);
    free(r->tainted);
    free(r->last);
    free(r->stale);
    free(r->open);
    free(r->sections);
    free(r->length);
    free(r->order);
    free(r);
}

const uint32_t *replay_order(const struct replay *r, uint32_t *count)
{
    *count = r->count;
    return r->order;
}

/* ---- the nodes that can be next ---- */

static void heap_push(struct replay *r, uint32_t node)
{
    uint32_t i = r->nheap++;

    for (; i && r->heap[(i - 1) / 2] > node; i = (i - 1) / 2)
        r->heap[i] = r->heap[(i - 1) / 2];
    r->heap[i] = node;
}

static uint32_t heap_pop(struct replay *r)
{
    uint32_t top = r->heap[0], node = r->heap[--r->nheap], i = 0, k;

    while ((k = 2 * i + 1) < r->nheap) {
        k += k + 1 < r->nheap && r->heap[k + 1] < r->heap[k];
        if (node <= r->heap[k])
            break;
        r->heap[i] = r->heap[k];
        i = k;
    }
    r->heap[i] = node;
    return top;
}

static void push_next(struct solver *s, uint32_t thread)
{
    const struct problem *p = s->p;
    struct replay *r = s->replay;

    if (r->done[thread] < r->length[thread])
        heap_push(r, p->thread_node[p->thread_first[thread] + r->done[thread]]);
}

/* A node that has to come before this one and has not yet, or SOLVE_NONE. */
static uint32_t missing_before(const struct solver *s, uint32_t node)
{
    const struct problem *p = s->p;
    const uint32_t *done = s->replay->done;

    for (uint32_t k = p->need_first[node]; k < p->need_first[node + 1]; k++)
        if (done[p->thread[p->need[k]]] <= p->rank[p->need[k]])
            return p->need[k];
    for (uint32_t e = s->into[node]; e; e = s->edges[e - 1].next_in)
        if (done[p->thread[s->edges[e - 1].from]] <= p->rank[s->edges[e - 1].from])
            return s->edges[e - 1].from;
    return SOLVE_NONE;
}

static void park(struct solver *s, uint32_t thread, uint32_t awaited)
{
    struct replay *r = s->replay;
    uint32_t t = s->p->thread[awaited];

    r->awaited[thread] = s->p->rank[awaited];
    r->next_parked[thread] = r->parked[t];
    r->parked[t] = thread + 1;
}

/* Threads that waited for what was just executed. */
static void wake(struct solver *s, uint32_t thread)
{
    struct replay *r = s->replay;
    uint32_t *link = &r->parked[thread];

    while (*link) {
        uint32_t t = *link - 1;

        if (r->awaited[t] < r->done[thread]) {
            *link = r->next_parked[t];
            push_next(s, t);
        } else {
            link = &r->next_parked[t];
        }
    }
}

/* ---- what a node does ---- */

void replay_fault(struct solver *s, enum fault_kind kind, uint32_t x, uint32_t y, uint32_t z)
{
    if (s->nfaults == FAULTS_MAX)
        return;
    GROW(s->faults, s->faults_cap, s->nfaults + 1);
    s->faults[s->nfaults++] = (struct fault){ (uint8_t)kind, x, y, z };
}

static void begin_section(struct solver *s, uint32_t section)
{
    const struct problem_section *mine = &s->p->sections[section], *other;
    struct replay *r = s->replay;
    uint32_t at;

    for (at = r->open[mine->lock]; at; at = r->sections[at - 1].next) {
        other = &s->p->sections[r->sections[at - 1].section];
        if (other->thread != mine->thread && !(other->shared && mine->shared))
            replay_fault(s, FAULT_SECTIONS, r->sections[at - 1].section, section, 0);
    }
    if (r->nsections == r->sections_cap)
        GROW(r->sections, r->sections_cap, r->nsections + 1);
    r->sections[r->nsections++] = (struct open_section){ section, r->open[mine->lock] };
    r->open[mine->lock] = (uint32_t)r->nsections;
}

static void end_section(struct solver *s, uint32_t section)
{
    struct replay *r = s->replay;
    uint32_t *link = &r->open[s->p->sections[section].lock];

    while (*link && r->sections[*link - 1].section != section)
        link = &r->sections[*link - 1].next;
    if (*link)
        *link = r->sections[*link - 1].next;
}

/* A read that has to be right is not. */
static void fault_of_read(struct solver *s, uint32_t touch, uint32_t seen)
{
    bool found;
    uint32_t chosen;

    s->wrong = true;
    if (!s->choice_of[touch]) {
        replay_fault(s, FAULT_READ, touch, 0, 0);
        return;
    }
    chosen = constraints_chosen(s, touch, &found);
    if (found && seen != SOLVE_NONE && chosen != seen)
        replay_fault(s, FAULT_INTRUDER, touch, chosen, seen);
}

static void read_cell(struct solver *s, uint32_t touch)
{
    const struct problem *p = s->p;
    const struct problem_touch *t = &p->touches[touch];
    struct replay *r = s->replay;
    uint32_t thread = p->thread[t->node];
    uint32_t last = r->last[t->cell] || !s->frozen ? r->last[t->cell] : s->frozen_last[t->cell];
    uint32_t seen = last ? last - 1 : SOLVE_NONE;

    if (s->values)
        s->seen[touch] = last;
    if ((r->tainted[thread] && p->branches) || (!r->stale[t->cell] && problem_allows(p, t, seen)))
        return;
    if (p->rank[t->node] < s->chains[chain_of_read(s, t)].lo)
        fault_of_read(s, touch, seen);
    else
        r->tainted[thread] = true;
}

static void touch_cells(struct solver *s, uint32_t node)
{
    const struct problem *p = s->p;
    struct replay *r = s->replay;

    for (uint32_t k = p->touch_first[node]; k < p->touch_first[node + 1]; k++)
        if (p->touches[k].flags & TOUCH_READS)
            read_cell(s, k);
    for (uint32_t k = p->touch_first[node]; k < p->touch_first[node + 1]; k++) {
        if (!(p->touches[k].flags & TOUCH_WRITES))
            continue;
        r->last[p->touches[k].cell] = k + 1;
        r->stale[p->touches[k].cell] =
            r->tainted[p->thread[node]] && (p->branches || p->touches[k].flags & TOUCH_LOOSE);
    }
}

static void execute(struct solver *s, uint32_t node)
{
    const struct problem *p = s->p;
    struct replay *r = s->replay;

    r->order[r->count++] = node;
    if (p->section_of[node] != SOLVE_NONE)
        begin_section(s, p->section_of[node]);
    touch_cells(s, node);
    for (uint32_t k = p->ends_first[node]; k < p->ends_first[node + 1]; k++)
        end_section(s, p->ends[k]);
}

/* The node is next; it takes effect only where it is in. */
static void replay_take(struct solver *s, uint32_t node)
{
    struct replay *r = s->replay;
    uint32_t thread = s->p->thread[node];

    s->work++;
    s->place[node] = r->places++;
    s->placed[node] = s->replays;
    r->done[thread]++;
    if (s->p->rank[node] < s->chains[thread].lo)
        execute(s, node);
    if (r->parked[thread])
        wake(s, thread);
    push_next(s, thread);
}

/* ---- the run ---- */

/* How many of a thread's nodes come up to this node in the trace. */
static uint32_t nodes_up_to(const struct problem *p, uint32_t thread, uint32_t node)
{
    uint32_t low = p->thread_first[thread], high = p->thread_first[thread + 1];

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (p->thread_node[middle] <= node)
            low = middle + 1;
        else
            high = middle;
    }
    return low - p->thread_first[thread];
}

/* What is not in gets a place too, behind what is in of its thread and up to the last node that is:
 * in the next round it may be in, and then the places should suit it. A node whose needs get no
 * place gets none either. */
static void set_lengths(struct solver *s, bool others)
{
    const struct problem *p = s->p;
    uint32_t last = 0;

    for (uint32_t t = 0; t < p->nthreads; t++)
        if (s->chains[t].lo && p->thread_node[p->thread_first[t] + s->chains[t].lo - 1] > last)
            last = p->thread_node[p->thread_first[t] + s->chains[t].lo - 1];
    for (uint32_t t = 0; t < p->nthreads; t++) {
        uint32_t lo = s->chains[t].lo, all = others && lo ? nodes_up_to(p, t, last) : lo;

        s->replay->length[t] = all < 2 * lo + OTHERS_MAX ? all : 2 * lo + OTHERS_MAX;
    }
}

static void replay_start(struct solver *s, bool others)
{
    struct replay *r = s->replay;

    r->count = r->nheap = 0;
    r->places = 1; /* frozen nodes are at 0 */
    r->nsections = 0;
    s->nfaults = 0;
    s->wrong = false;
    s->replays++;
    set_lengths(s, others);
    for (uint32_t t = 0; t < s->p->nthreads; t++) {
        r->done[t] = s->frozen ? s->frozen_count[t] : 0;
        r->parked[t] = 0;
        r->tainted[t] = false;
        push_next(s, t);
    }
    for (size_t i = 0; i < s->frozen_open.count; i++)
        begin_section(s, s->frozen_open.items[i]);
}

/* Put back what was touched. */
static void clean(struct solver *s)
{
    const struct problem *p = s->p;
    struct replay *r = s->replay;

    for (uint32_t i = 0; i < r->count; i++) {
        uint32_t n = r->order[i];

        if (p->section_of[n] != SOLVE_NONE)
            r->open[p->sections[p->section_of[n]].lock] = 0;
        for (uint32_t k = p->touch_first[n]; k < p->touch_first[n + 1]; k++) {
            r->last[p->touches[k].cell] = 0;
            r->stale[p->touches[k].cell] = false;
        }
    }
    for (size_t i = 0; i < s->frozen_open.count; i++)
        r->open[p->sections[s->frozen_open.items[i]].lock] = 0;
}

bool replay_run(struct solver *s, bool others)
{
    struct replay *r = s->replay;
    uint64_t total = 0;
    bool fine = true;

    replay_start(s, others);
    for (uint32_t t = 0; t < s->p->nthreads; t++)
        total += s->chains[t].lo - (s->frozen ? s->frozen_count[t] : 0);
    while (r->nheap && fine) {
        uint32_t node = heap_pop(r), missing = missing_before(s, node);

        if (missing != SOLVE_NONE)
            park(s, s->p->thread[node], missing);
        else
            replay_take(s, node);
        if (r->places % CLOCK_EVERY == 0)
            fine = !out_of_budget(s);
    }
    if (s->values && fine && r->count == total)
        value_faults_check(s);
    clean(s);
    return fine && r->count == total && (s->nfaults || !s->wrong);
}
