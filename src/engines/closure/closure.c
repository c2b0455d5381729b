/* closure.c - the order without locks, from which closures start
 *
 * One pass keeps, per thread, a clock of program order, hard edges,
 * allocations and reads-from: as shb (pairs.c) without lock edges and without
 * comparing anything. Every read joins the clock of the write it saw, atomic
 * ones too: two atomics are no race, yet the value counts. Lock events tick,
 * so that a time tells what lies before from what lies after them.
 *
 * Limits: those of hb.h. A trace in which two threads hold a lock at once has no replay in its
 * own order; the checker refuses it.
 */
#include "engines/closure/closure.h"
#include "engines/closure/closure_inside.h"

#include <stdlib.h>
#include <string.h>

struct closure *closure_new(bool sections, uint64_t events, const struct closure_hooks *hooks)
{
    struct closure *c = xcalloc(1, sizeof(*c));

    hb_init(&c->hb);
    c->hb.no_lock_edges = true;
    c->hb.births = true;
    c->keeps_sections = sections;
    c->listed = events < UINT32_MAX ? events : UINT32_MAX;
    if (hooks)
        c->hooks = *hooks;
    return c;
}

void closure_free(struct closure *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->slots_cap; i++) {
        free(c->slots[i].acquires);
        free(c->slots[i].events);
        free(c->slots[i].ends);
    }
    free(c->slots);
    free(c->vars);
    sections_free(c);
    hb_release(&c->hb);
    free(c);
}

uint32_t closure_slots(const struct closure *c)
{
    return c->hb.nslots;
}

uint64_t closure_sections(const struct closure *c)
{
    return c->nsections;
}

void closure_past_keep(struct closure *c, struct closure_past *to, const struct closure_past *from)
{
    *to = (struct closure_past){ CLOCK_EMPTY, from->position, from->version };
    clock_copy(&c->hb.pool, &to->clock, &from->clock);
}

void closure_past_drop(struct closure *c, struct closure_past *p)
{
    clock_clear(&c->hb.pool, &p->clock);
}

static struct clock_node *pack(struct closure *c, const struct clock_node *tree)
{
    uint32_t n = (c->hb.nslots + PACKED_STEP - 1) / PACKED_STEP * PACKED_STEP;
    struct clock_node *p =
        arena_alloc(&c->hb.pool.memory, offsetof(struct clock_node, time) + n * sizeof(p->time[0]));

    p->refs = n;
    p->height = PACKED_HEIGHT;
    memcpy(p->time, tree->time, n * sizeof(p->time[0]));
    return p;
}

void closure_past_pack(struct closure *c, struct closure_past *to, const struct closure_past *from)
{
    struct slot_history *h = slot_history(c, from->clock.slot);

    if (!from->version || !from->clock.tree || from->clock.tree->height ||
        c->hb.nslots > LEAF_SIZE / 2) {
        closure_past_keep(c, to, from);
        return;
    }
    if (!h->packed || h->packed_version != from->version) {
        h->packed = pack(c, from->clock.tree);
        h->packed_version = from->version;
    }
    *to = *from;
    to->clock.tree = h->packed;
}

/* ---- variables that come and part ---- */

static void closure_begin(struct closure *c, struct closure_var *v, const struct step *s)
{
    const struct hb_block *b = hb_block_of(&c->hb, s);

    clock_clear(&c->hb.pool, &v->last_write);
    clock_clear(&c->hb.pool, &v->birth);
    if (!b)
        return;
    clock_copy(&c->hb.pool, &v->birth, &b->birth);
    if (b->freed)
        clock_copy(&c->hb.pool, &v->last_write, &b->death);
}

bool closure_freed(struct closure *c, const struct step *s, struct closure_past *past,
                   uint32_t *site)
{
    const struct hb_block *b = hb_block_of(&c->hb, s);

    if (!b || !b->freed)
        return false;
    *past = (struct closure_past){ b->death, b->free_position, 0 };
    if (site)
        *site = b->free_site;
    return true;
}

static void closure_split(struct closure *c, uint32_t from, uint32_t to)
{
    clock_copy(&c->hb.pool, &c->vars[to].last_write, &c->vars[from].last_write);
    clock_copy(&c->hb.pool, &c->vars[to].birth, &c->vars[from].birth);
}

static void grow_variables(struct closure *c, uint32_t count)
{
    size_t old = c->vars_cap;

    GROW(c->vars, c->vars_cap, count);
    for (size_t i = old; i < c->vars_cap; i++)
        c->vars[i].last_write = c->vars[i].birth = CLOCK_EMPTY;
}

/* ---- the phases of an event ---- */

static inline void closure_tell(struct closure *c, const struct step *s)
{
    const struct hb_thread *t;
    struct closure_past past;

    if (!c->hooks.access)
        return;
    t = hb_thread(&c->hb, s->thread);
    past = (struct closure_past){ t->clock, s->position, t->version };
    c->hooks.access(c->hooks.arg, s, &past);
}

/* What comes before anything is read or written: hard edges, births, splits. */
static inline void closure_prepare(struct closure *c, const struct step *s)
{
    if ((s->op >= OP_ACQUIRE && s->op <= OP_END) || op_is_request(s->op))
        sections_step(c, s);
    hb_before(&c->hb, s);
    if (s->op == OP_SPLIT)
        closure_split(c, s->from, s->id);
    if (!op_is_access(s->op))
        return;
    if (s->flags & STEP_FRESH)
        closure_begin(c, &c->vars[s->id], s);
    if (c->vars[s->id].birth.slot != SLOT_NONE)
        hb_learn(&c->hb, hb_thread(&c->hb, s->thread), &c->vars[s->id].birth);
}

static inline void closure_learn(struct closure *c, struct hb_thread *t, const struct step *s)
{
    if (op_table[s->op].reads)
        hb_learn(&c->hb, t, &c->vars[s->id].last_write);
}

/* True: the thread has to tick at the end of the event. */
static inline bool publish(struct closure *c, const struct hb_thread *t, const struct step *s)
{
    bool tick = hb_after(&c->hb, s);

    if (!op_table[s->op].writes)
        return tick;
    clock_copy(&c->hb.pool, &c->vars[s->id].last_write, &t->clock);
    return true;
}

/* An event of one step; most are. */
static inline void single(struct closure *c, const struct step *s)
{
    struct hb_thread *t;

    closure_prepare(c, s);
    if (!op_is_access(s->op))
        return;
    t = hb_thread(&c->hb, s->thread);
    closure_tell(c, s);
    closure_learn(c, t, s);
    t->clock.time += publish(c, t, s);
}

/* The steps of one event that touches several variables, or frees memory: phase by phase. */
static void closure_group(struct closure *c, const struct step *s, size_t n)
{
    struct hb_thread *t = hb_thread(&c->hb, s->thread);
    bool tick = false;

    for (size_t i = 0; i < n; i++) {
        closure_prepare(c, &s[i]);
        if (s[i].op == OP_SPLIT)
            closure_tell(c, &s[i]);
    }
    for (size_t i = 0; i < n; i++)
        if (op_is_access(s[i].op))
            closure_tell(c, &s[i]);
    for (size_t i = 0; i < n; i++)
        if (op_is_access(s[i].op))
            closure_learn(c, t, &s[i]);
    for (size_t i = 0; i < n; i++) {
        if (s[i].op == OP_FREE) {
            hb_free_block(&c->hb, t, &s[i]);
            tick = true;
        } else if (op_is_access(s[i].op)) {
            tick |= publish(c, t, &s[i]);
        }
    }
    t->clock.time += tick;
}

static inline void closure_prefetch(const struct closure *c, const struct step *s)
{
    if (!op_is_access(s->op))
        return;
    __builtin_prefetch(&c->vars[s->id]);
    if (c->hooks.ahead)
        c->hooks.ahead(c->hooks.arg, s);
}

/* The event that starts at step i; how many steps it has. */
static inline size_t event_steps(struct closure *c, const struct span *span, size_t i)
{
    const struct step *s = &span->steps[i];
    size_t n = 1;

    if (i + STEPS_AHEAD < span->count)
        closure_prefetch(c, &s[STEPS_AHEAD]);
    if (__builtin_expect(s->flags & STEP_GROUP || s->op == OP_FREE, 0))
        closure_group(c, s, n = step_group(span, i));
    else
        single(c, s);
    return n;
}

static void begin_span(struct closure *c, const struct span *span)
{
    hb_begin_span(&c->hb, span);
    grow_variables(c, span->variables);
    sections_begin_span(c, span);
}

void closure_steps(struct closure *c, const struct span *span)
{
    begin_span(c, span);
    for (size_t i = 0; i < span->count;)
        i += event_steps(c, span, i);
}

/* ---- when each event happens ---- */

/* Only what can be shown is listed, so positions fit. */
static void note_event(struct closure *c, const struct event *e, uint64_t position)
{
    const struct hb_thread *t = hb_thread(&c->hb, e->thread);
    struct slot_history *h = slot_history(c, t->clock.slot);

    if (e->flags & EV_IGNORED || position >= c->listed)
        return;
    GROW(h->ends, h->ends_cap, t->clock.time);
    while (h->nends + 1 < t->clock.time)
        h->ends[h->nends++] = (uint32_t)h->nevents;
    GROW(h->events, h->events_cap, h->nevents + 1);
    h->events[h->nevents++] = (uint32_t)position;
}

void closure_feed(struct closure *c, const struct batch *b, const struct span *span)
{
    size_t s = 0;

    if (!c->listed) {
        closure_steps(c, span);
        return;
    }
    begin_span(c, span);
    for (size_t i = 0; i < b->count; i++) {
        note_event(c, &b->events[i], b->first + i);
        if (s < span->count && span->steps[s].position == b->first + i)
            s += event_steps(c, span, s);
    }
}

void closure_seal(struct closure *c)
{
    if (c->keeps_sections)
        sections_seal(c);
}
