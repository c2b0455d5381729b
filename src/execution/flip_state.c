/* flip_state.c - the state of a thread that goes another way: memory, locks, copies
 *
 * What memory holds in the order of the trace gives the guesses of new reads; what the path
 * wrote itself lies above it.
 */
#include "execution/flip_inside.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* ---- memory in the order of the trace ---- */

struct shadow {
    struct map *words;
    struct shadow_word **list;
    size_t *count, *cap;
};

static void shadow_set(struct shadow s, uint64_t at, unsigned bytes, bool known, uint64_t value,
                       bool writes)
{
    for (unsigned i = 0; i < bytes; i++) {
        uint32_t *n = map_put(s.words, (at + i) / 8, 0);
        unsigned byte = (at + i) % 8;
        struct shadow_word *w;

        if (!*n) {
            GROW(*s.list, *s.cap, *s.count + 1);
            (*s.list)[*s.count] = (struct shadow_word){ 0 };
            *n = (uint32_t)++*s.count;
        }
        w = &(*s.list)[*n - 1];
        if (!writes && w->written >> byte & 1)
            continue;
        w->written |= (uint8_t)((unsigned)writes << byte);
        w->value &= ~(UINT64_C(255) << 8 * byte);
        w->value |= (value >> 8 * (i % 8) & 255) << 8 * byte;
        w->known = (uint8_t)(known ? w->known | 1u << byte : w->known & ~(1u << byte));
    }
}

static void shadow_event(struct flips *all, const struct event *ev)
{
    enum { FORGET_MAX = 4096 };
    struct shadow s = { &all->words, &all->shadow, &all->nshadow, &all->shadow_cap };
    bool writes = op_table[ev->op].writes;

    if (ev->op == OP_ALLOC || ev->op == OP_FREE)
        shadow_set(s, ev->target, ev->value < FORGET_MAX ? (unsigned)ev->value : FORGET_MAX, false,
                   0, true);
    else if (op_is_access(ev->op) && ev->size <= 8 && ev->flags & EV_VALUE)
        shadow_set(s, ev->target, ev->size, true, ev->value, writes);
    else if (op_is_access(ev->op) && writes)
        shadow_set(s, ev->target, ev->size < FORGET_MAX ? ev->size : FORGET_MAX, false, 0, true);
}

/* What reads show that come before any write. */
static void early_event(struct flips *all, const struct event *ev)
{
    struct shadow s = { &all->early_words, &all->early, &all->nearly, &all->early_cap };

    if (!op_is_access(ev->op) || ev->size > 8)
        return;
    for (unsigned i = 0; i < ev->size; i++) {
        const uint32_t *n = map_get(&all->early_words, (ev->target + i) / 8);
        const struct shadow_word *w = n && *n ? &all->early[*n - 1] : NULL;
        unsigned byte = (ev->target + i) % 8;

        if (w && (w->known | w->written) >> byte & 1)
            continue;
        if (op_table[ev->op].writes)
            shadow_set(s, ev->target + i, 1, false, 0, true);
        else if (ev->flags & EV_VALUE)
            shadow_set(s, ev->target + i, 1, true, ev->value >> 8 * i, false);
    }
}

/* False: nothing is said of that byte. */
static bool peek_byte(const struct map *words, const struct shadow_word *list, uint64_t at,
                      bool *known, uint8_t *value)
{
    const uint32_t *n = map_get(words, at / 8);

    if (!n || !*n || !((list[*n - 1].known | list[*n - 1].written) >> at % 8 & 1))
        return false;
    *known = list[*n - 1].known >> at % 8 & 1;
    *value = (uint8_t)(list[*n - 1].value >> 8 * (at % 8));
    return true;
}

static bool peek_first(const struct flips *all, uint64_t at, uint8_t *value)
{
    bool known = false;
    uint64_t first;

    if (peek_byte(&all->early_words, all->early, at, &known, value) && known)
        return true;
    if (!firsts_value(&all->first, at, 1, &first))
        return false;
    *value = (uint8_t)first;
    return true;
}

bool flip_peek(const struct flip *f, uint64_t at, unsigned bytes, uint64_t *value)
{
    *value = 0;
    for (unsigned i = 0; i < bytes && i < 8; i++) {
        bool known = false;
        uint8_t v = 0;

        if (!peek_byte(&f->words, f->shadow, at + i, &known, &v) &&
            !peek_byte(&f->all->words, f->all->shadow, at + i, &known, &v))
            known = peek_first(f->all, at + i, &v);
        if (!known)
            return false;
        *value |= (uint64_t)v << 8 * i;
    }
    return bytes <= 8;
}

bool flips_first(const struct flips *all, uint64_t at, unsigned bytes, uint64_t *value)
{
    uint8_t v = 0;

    *value = 0;
    for (unsigned i = 0; i < bytes && i < 8; i++) {
        if (!peek_first(all, at + i, &v))
            return false;
        *value |= (uint64_t)v << 8 * i;
    }
    return bytes <= 8;
}

void flip_poke(struct flip *f, uint64_t at, unsigned bytes, bool known, uint64_t value)
{
    shadow_set((struct shadow){ &f->words, &f->shadow, &f->nshadow, &f->shadow_cap }, at, bytes,
               known, value, true);
}

/* ---- locks ---- */

struct held *flips_held(struct flips *all, uint32_t thread)
{
    GROW(all->held, all->nheld, thread + (size_t)1);
    return &all->held[thread];
}

static void held_add(struct held *h, uint64_t lock, bool shared)
{
    GROW(h->list, h->cap, h->count + 1);
    h->list[h->count++] = (struct held_lock){ lock, shared };
}

static bool held_remove(struct held *h, uint64_t lock)
{
    for (size_t i = h->count; i-- > 0;)
        if (h->list[i].lock == lock) {
            h->list[i] = h->list[--h->count];
            return true;
        }
    return false;
}

/* Does the read find something else than the last write left? Untraced code wrote there (the
 * bounds of an OpenMP task, say), or two accesses that race stand the wrong way round. */
static bool is_puzzling(const struct flips *all, const struct event *ev)
{
    bool differs = false;

    if ((ev->op != OP_READ && ev->op != OP_LOAD) || ev->size > 8 || !(ev->flags & EV_VALUE))
        return false;
    for (unsigned i = 0; i < ev->size; i++) {
        const uint32_t *n = map_get(&all->words, (ev->target + i) / 8);
        const struct shadow_word *w = n && *n ? &all->shadow[*n - 1] : NULL;
        unsigned byte = (ev->target + i) % 8;

        if (!w || !(w->written & w->known & 1u << byte))
            return false;
        differs |= (uint8_t)(w->value >> 8 * byte) != (uint8_t)(ev->value >> 8 * i);
    }
    return differs;
}

void flips_event(struct flips *all, uint64_t position, const struct event *ev)
{
    struct held *h = flips_held(all, ev->thread);

    if (ev->flags & EV_IGNORED)
        return;
    if (all->pass == FLIP_LEARN && is_puzzling(all, ev))
        map_put(&all->puzzling, position, 1);
    shadow_event(all, ev);
    if (all->pass == FLIP_LEARN) {
        written_add(all, ev);
        early_event(all, ev);
    }
    if (ev->flags & EV_NESTED)
        return;
    if (ev->op == OP_ACQUIRE || ev->op == OP_ACQUIRE_SHARED)
        held_add(h, ev->target, ev->op == OP_ACQUIRE_SHARED);
    else if (ev->op == OP_RELEASE || ev->op == OP_RELEASE_SHARED)
        held_remove(h, ev->target);
}

bool flip_lock(struct flip *f, uint64_t lock, bool shared)
{
    for (size_t i = 0; i < f->held.count; i++)
        if (f->held.list[i].lock == lock)
            return false; /* it would wait for itself, or the lock is recursive */
    held_add(&f->held, lock, shared);
    return true;
}

bool flip_unlock(struct flip *f, uint64_t lock, bool *shared)
{
    for (size_t i = 0; i < f->held.count; i++)
        if (f->held.list[i].lock == lock) {
            *shared = f->held.list[i].shared;
            return held_remove(&f->held, lock);
        }
    return false;
}

/* ---- copies of state ---- */

static void copy_map(struct map *to, const struct map *from)
{
    *to = *from;
    if (from->slots) {
        to->slots = xmalloc(from->nslots * sizeof(*to->slots));
        memcpy(to->slots, from->slots, from->nslots * sizeof(*to->slots));
    }
}

static void *copy_array(const void *from, size_t count, size_t bytes)
{
    void *to = xcalloc(count + 1, bytes);

    if (count)
        memcpy(to, from, count * bytes);
    return to;
}

static struct thread *copy_thread(const struct thread *t)
{
    struct thread *c = xmalloc(sizeof(*c));

    *c = *t;
    c->frames = copy_array(t->frames, t->depth, sizeof(*t->frames));
    c->frames_cap = t->depth + 1;
    c->slots = copy_array(t->slots, t->nslots, sizeof(*t->slots));
    c->slots_cap = t->nslots + 1;
    c->stack.node = copy_array(t->stack.node, t->stack.top, sizeof(*t->stack.node));
    c->stack.part = copy_array(t->stack.part, t->stack.top, sizeof(*t->stack.part));
    c->stack.node_cap = c->stack.part_cap = t->stack.top + 1;
    copy_map(&c->tls, &t->tls);
    copy_map(&c->locals, &t->locals);
    return c;
}

struct flip *flip_copy(const struct flip *from)
{
    struct flip *f = xmalloc(sizeof(*f));

    *f = *from;
    f->t = copy_thread(from->t);
    f->memory.cells = copy_array(from->memory.cells, from->memory.ncells, sizeof(*f->memory.cells));
    if (!from->memory.ncells) {
        free(f->memory.cells);
        f->memory.cells = NULL;
    }
    f->held.list = copy_array(from->held.list, from->held.count, sizeof(*f->held.list));
    f->held.cap = from->held.count + 1;
    copy_map(&f->words, &from->words);
    f->shadow = copy_array(from->shadow, from->nshadow, sizeof(*f->shadow));
    f->shadow_cap = from->nshadow + 1;
    f->path.events = copy_array(from->path.events, from->path.nevents, sizeof(*f->path.events));
    f->events_cap = from->path.nevents + 1;
    f->path.conditions =
        copy_array(from->path.conditions, from->path.nconditions, sizeof(*f->path.conditions));
    f->conditions_cap = from->path.nconditions + 1;
    f->path.pieces = copy_array(from->path.pieces, from->path.npieces, sizeof(*f->path.pieces));
    f->pieces_cap = from->path.npieces + 1;
    copy_map(&f->decided, &from->decided);
    return f;
}

void flip_path_release(struct flip_path *p)
{
    free(p->events);
    free(p->conditions);
    free(p->pieces);
}

void flip_free(struct flip *f)
{
    thread_free(f->t);
    memory_release(&f->memory);
    free(f->held.list);
    map_release(&f->words);
    free(f->shadow);
    map_release(&f->decided);
    flip_path_release(&f->path);
    free(f);
}

struct flip *flip_new(struct flips *all, struct walk *w, const struct thread *t, uint64_t position,
                      uint64_t outcome)
{
    const struct frame *fr = &t->frames[t->depth - 1];
    const struct held *h = flips_held(all, t->number);
    struct flip *f = xcalloc(1, sizeof(*f));

    if (!fr->f->joins)
        fr->f->joins = joins_of(fr->f->code);
    f->all = all;
    f->w = w;
    f->t = copy_thread(t);
    f->base = t->depth;
    f->join = fr->f->joins[fr->block];
    f->held.list = copy_array(h->list, h->count, sizeof(*h->list));
    f->held.count = h->count;
    f->held.cap = h->count + 1;
    f->path.branch = position;
    f->path.thread = t->number;
    f->path.outcome = outcome;
    return f;
}
