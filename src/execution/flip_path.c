/* flip_path.c - what a path consists of: new events, conditions, and what is kept of them
 */
#include "execution/flip_inside.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* ---- what a path consists of ---- */

void flip_stop(struct flip *f, enum flip_end end)
{
    if (!f->ended)
        f->path.end = (uint8_t)end;
    f->ended = true;
}

struct flip_event *flip_add(struct flip *f, const struct event *ev)
{
    struct flip_path *p = &f->path;

    if (p->nevents >= FLIP_EVENTS_MAX) {
        flip_stop(f, FLIP_LIMIT);
        return NULL;
    }
    GROW(p->events, f->events_cap, p->nevents + 1);
    p->events[p->nevents] =
        (struct flip_event){ .event = *ev, .id = f->all->next_id++, .kind = STEP_OTHER };
    p->events[p->nevents].event.thread = f->t->number;
    f->started = f->w->stats.instructions;
    return &p->events[p->nevents++];
}

void flip_condition(struct flip *f, enum condition_kind kind, expr value, u128 recorded)
{
    struct flip_path *p = &f->path;
    bool now = f->now && kind != CONDITION_BRANCH;
    const struct frame *fr = &f->t->frames[f->t->depth - 1];

    if (now && kind == CONDITION_FIXED && fr->f->code->insts[fr->pc].op == I_CAS)
        now = false; /* success depends on what it reads */
    GROW(p->conditions, f->conditions_cap, p->nconditions + 1);
    p->conditions[p->nconditions++] =
        (struct flip_condition){ .recorded = recorded,
                                 .value = value,
                                 .event = (uint32_t)(now ? p->nevents - 1 : p->nevents),
                                 .kind = (uint8_t)kind };
}

/* A read of memory that nobody has written: only this path has it. */
static bool reads_heap(const struct flip *f, const struct expr_node *n)
{
    uint64_t id = n->a | (uint64_t)n->b << 32;

    for (size_t i = f->path.nevents; id >= f->all->trace->count && i-- > 0;)
        if (f->path.events[i].id == id)
            return IS_FLIP_HEAP(f->path.events[i].event.target);
    return false;
}

/* Depth first, each node once. */
bool flip_is_followed(struct flip *f, expr e)
{
    struct exprs *x = &f->w->x;
    struct map seen = { 0 };
    expr stack[FLIP_CONE_MAX];
    size_t depth = 0, count = 0;
    bool good = true;

    stack[depth++] = e;
    f->made_up = false;
    while (depth && good) {
        const struct expr_node *n = expr_get(x, e = stack[--depth]);
        uint32_t *known = map_put(&seen, e, 0);
        u128 v;

        if (*known)
            continue;
        *known = 1;
        good = ++count < FLIP_CONE_MAX - 3 && !(n->op == EX_READ && reads_heap(f, n));
        if (n->op == EX_UNKNOWN || n->op == EX_ADDRESS || n->op == EX_RESULT || n->op == EX_OPAQUE)
            good &= expr_value(x, e, &v);
        if (n->op == EX_ADDRESS && good)
            f->made_up |= IS_FLIP_HEAP((uint64_t)v);
        else if (n->op >= EX_ADD && depth + 3 >= FLIP_CONE_MAX)
            good = false;
        else if (n->op >= EX_ADD)
            depth += expr_operands(n, stack + depth);
    }
    map_release(&seen);
    return good;
}

/* ---- steps of the copy ---- */

bool flip_fix(struct flip *f, expr e, u128 *value)
{
    if (!flip_value(f, e, value) || !flip_is_followed(f, e) || f->made_up) {
        flip_stop(f, FLIP_VALUE);
        return false;
    }
    if (expr_varies(&f->w->x, e))
        flip_condition(f, CONDITION_FIXED, e, *value);
    return true;
}

static void take_fixed(struct flip *f, expr e)
{
    u128 v, now;

    /* (The walk goes on with the recorded value.) */
    if (!expr_value(&f->w->x, e, &v) || !flip_value(f, e, &now) || now != v ||
        !flip_is_followed(f, e))
        flip_stop(f, FLIP_VALUE);
    else
        flip_condition(f, CONDITION_FIXED, e, v);
}

void flip_take_branch(struct flip *f, const struct step *s)
{
    expr e = step_taken(&f->w->x, s);

    f->now = NULL;
    if (e && expr_varies(&f->w->x, e))
        flip_condition(f, CONDITION_BRANCH, e, s->cases ? s->outcome != 0 : s->outcome);
}

/* What a copy or fill writes, likewise. */
static void take_pieces(struct flip *f, struct flip_event *ev, const struct step *s)
{
    struct flip_path *p = &f->path;
    u128 v = 0;

    ev->pieces = (uint32_t)p->npieces;
    ev->npieces = (uint32_t)s->npieces;
    ev->piece_bytes = (uint8_t)s->piece_bytes;
    GROW(p->pieces, f->pieces_cap, p->npieces + s->npieces);
    for (size_t i = 0; i < s->npieces; i++) {
        expr e = s->pieces[i];
        bool known = e && expr_value(&f->w->x, e, &v);

        p->pieces[p->npieces++] = e;
        flip_poke(f, ev->event.target + s->piece_bytes * i,
                  e ? expr_get(&f->w->x, e)->width / 8u : s->piece_bytes, known, (uint64_t)v);
        if (e && !IS_FLIP_HEAP(ev->event.target) && !flip_is_followed(f, e)) /* 0: padding */
            flip_stop(f, FLIP_VALUE);
    }
}

/* What a write writes, for reads behind it in this path. */
static void take_write(struct flip *f, struct flip_event *ev)
{
    struct exprs *x = &f->w->x;
    u128 v = 0;
    bool known;

    if (ev->value && expr_get(x, ev->value)->width != 8 * ev->event.size)
        ev->value = expr_get(x, ev->value)->width > 8 * (ev->event.size - 1) && ev->event.size <= 16
                        ? expr_resize(x, 8 * ev->event.size, ev->value)
                        : 0;
    known = ev->value && expr_value(x, ev->value, &v);
    if (!ev->npieces)
        flip_poke(f, ev->event.target, ev->event.size, known && ev->event.size <= 8, (uint64_t)v);
    if (known && ev->event.size <= 8) {
        ev->event.value = (uint64_t)v;
        ev->event.flags |= EV_VALUE;
    }
    if (IS_FLIP_HEAP(ev->event.target))
        return;
    if (!ev->npieces && (!ev->value || !flip_is_followed(f, ev->value)))
        flip_stop(f, FLIP_VALUE);
    else if (sharing_is_others(f->all->sharing, ev->event.target, ev->event.size, f->t->number))
        flip_stop(f, FLIP_FOREIGN);
}

void flip_take_step(void *arg, const struct step *s)
{
    struct flip *f = arg;
    struct flip_event *ev = f->now;
    u128 v;

    if (s->kind == STEP_FIXED) {
        take_fixed(f, s->value);
        return;
    }
    if (!ev)
        return;
    ev->kind = (uint8_t)s->kind;
    ev->address = s->address;
    ev->value = s->value;
    ev->old = s->old;
    if (s->kind == STEP_BRANCH)
        flip_take_branch(f, s);
    if (s->kind <= STEP_UPDATE && s->address && expr_varies(&f->w->x, s->address)) {
        if (flip_value(f, s->address, &v))
            flip_condition(f, CONDITION_ADDRESS, s->address, v);
        else
            flip_stop(f, FLIP_ADDRESS);
    }
    f->now = NULL;
    if (s->pieces)
        take_pieces(f, ev, s);
    if (s->kind == STEP_WRITE || s->kind == STEP_UPDATE)
        take_write(f, ev);
}

bool flip_is_private(void *arg, uint64_t address, uint32_t bytes)
{
    struct flip *f = arg;

    return IS_FLIP_HEAP(address) || sharing_is_own(f->all->sharing, address, bytes, f->t->number);
}

bool flip_feed(struct flip *f, const struct event *ev, unsigned kinds)
{
    struct frame *fr = &f->t->frames[f->t->depth - 1];
    struct place place = { fr->f->module->number + 1, fr->f->index,
                           fr->f->code->insts[fr->pc].index, 0 };
    struct event copy = *ev;
    struct now n = { &copy, 0, &place, false };
    uint32_t bytes;
    enum go r;

    if (kinds)
        copy.site = flip_site(f->all, fr->f, place.index, kinds, &bytes);
    copy.thread = f->t->number;
    f->now = flip_add(f, &copy);
    if (!f->now)
        return false;
    n.position = f->now->id;
    f->t->idle = 0;
    r = exec(f->w, f->t, fr, &n);
    f->now = NULL;
    if (n.ev || r == GO_OTHER || r == GO_LOST) {
        flip_stop(f, FLIP_VALUE);
        return false;
    }
    return true;
}

uint64_t flip_allocate(struct flips *all, uint64_t bytes)
{
    uint64_t at = all->next_heap;

    all->next_heap += (bytes + 127) / 64 * 64;
    return at;
}

uint64_t flip_local(struct flip *f, uint64_t bytes)
{
    return flip_allocate(f->all, bytes);
}

void flip_went(struct flip *f, const struct thread *t, uint32_t block)
{
    f->joined |= t->depth == f->base && block == f->join;
}

/* ---- what is kept ---- */

static bool is_new_access(const struct flip_event *e)
{
    return op_is_access(e->event.op) && !IS_FLIP_HEAP(e->event.target) && e->event.size;
}

/* Memory that only the path has needs no events; their conditions go to the next ones. */
static void leave_out_heap(struct flip_path *p)
{
    size_t n = 0, c = 0;

    for (size_t i = 0; i < p->nevents; i++) {
        for (; c < p->nconditions && p->conditions[c].event <= i; c++)
            p->conditions[c].event = (uint32_t)n;
        if (!op_is_access(p->events[i].event.op) || !IS_FLIP_HEAP(p->events[i].event.target))
            p->events[n++] = p->events[i];
    }
    for (; c < p->nconditions; c++)
        p->conditions[c].event = (uint32_t)n;
    p->nevents = n;
}

/* Behind its last access a path says nothing. */
static void trim(struct flip_path *p)
{
    size_t n = p->nevents, k = 0;

    while (n && !is_new_access(&p->events[n - 1]))
        n--;
    p->nevents = n;
    for (size_t i = 0; i < p->nconditions; i++)
        if (p->conditions[i].event < n)
            p->conditions[k++] = p->conditions[i];
    p->nconditions = k;
}

static int by_event(const void *a, const void *b)
{
    const struct flip_condition *p = a, *q = b;

    return p->event < q->event ? -1 : p->event > q->event;
}

void flip_keep(struct flip *f)
{
    struct flips *all = f->all;
    struct flip_path *p = &f->path;

    all->stats.ends[p->end]++;
    if (p->nconditions > 1)
        qsort(p->conditions, p->nconditions, sizeof(*p->conditions), by_event);
    leave_out_heap(p);
    trim(p);
    if (!p->nevents) {
        all->stats.dropped++;
        return;
    }
    all->stats.paths++;
    all->stats.events += p->nevents;
    for (size_t i = 0; all->pass == FLIP_TOUCH && i < p->nevents; i++)
        if (is_new_access(&p->events[i]))
            sharing_event(all->sharing, &p->events[i].event);
    if (all->pass != FLIP_KEEP)
        return;
    GROW(all->paths, all->paths_cap, all->npaths + 1);
    all->paths[all->npaths++] = *p;
    p->events = NULL;
    p->conditions = NULL;
    p->pieces = NULL;
}
