/* cp_screen.c - which variables race at all */
#include "engines/streaming/cp_screen.h"
#include "base/alloc.h"
#include "engines/effort.h"
#include "engines/whole.h"

#include <stdlib.h>
#include <string.h>

struct epoch {
    uint32_t thread, slot, time; /* time 0: none */
};

struct variable {
    struct epoch write, read;
    struct epoch *reads; /* further ones, not ordered with each other */
    uint32_t nreads, cap;
    bool atomic;  /* atomics only so far, and not tracked */
    bool used;    /* at all */
    bool suspect; /* not looked at any more */
};

struct pass {
    struct cp_screen *screen;
    struct cp *cp;
    struct cp_replay replay;
    struct variable *vars;
    size_t vars_cap;
    struct epoch *freed; /* by block */
    size_t freed_cap;
};

static bool known(const struct epoch *e, const struct epoch *me, const uint32_t *p)
{
    return e->thread == me->thread || p[e->slot] >= e->time;
}

/* A read that does not replace the last one: among several. */
static void add_read(struct variable *v, const struct epoch *me, const uint32_t *p)
{
    uint32_t kept = 0;
    size_t cap = v->cap;

    for (uint32_t i = 0; i < v->nreads; i++)
        if (!known(&v->reads[i], me, p))
            v->reads[kept++] = v->reads[i];
    v->nreads = kept;
    if (!v->read.time || known(&v->read, me, p)) {
        v->read = *me;
        return;
    }
    GROW(v->reads, cap, v->nreads + 1);
    v->cap = (uint32_t)cap;
    v->reads[v->nreads++] = *me;
}

/* False: unordered with something before it. */
static bool access(struct variable *v, const struct epoch *me, const uint32_t *p, bool writes)
{
    if (v->write.time && !known(&v->write, me, p))
        return false;
    if (!writes) {
        if (!v->nreads && (!v->read.time || known(&v->read, me, p)))
            v->read = *me;
        else
            add_read(v, me, p);
        return true;
    }
    if (v->read.time && !known(&v->read, me, p))
        return false;
    for (uint32_t i = 0; i < v->nreads; i++)
        if (!known(&v->reads[i], me, p))
            return false;
    v->write = *me;
    v->read.time = v->nreads = 0;
    return true;
}

static void cp_screen_mark(struct pass *k, struct variable *v, uint32_t id)
{
    struct lives *l = &k->screen->lives;

    v->suspect = true;
    k->screen->suspect[lives_family(l, l->of_variable[id])] = 1;
    k->screen->suspects++;
}

static void access_step(struct pass *k, const struct step *s)
{
    const struct cp_thread *t = &k->cp->threads[s->thread];
    struct variable *v = &k->vars[s->id];
    struct epoch me = { s->thread, t->slot, (uint32_t)s->position + 1 };

    if (v->suspect)
        return;
    if (op_is_atomic(s->op) && (v->atomic || !v->used)) {
        v->atomic = v->used = true;
        return;
    }
    v->used = true;
    if (v->atomic || !access(v, &me, cp_p(k->cp, t->node), op_table[s->op].writes))
        cp_screen_mark(k, v, s->id);
}

/* ---- variables that come and part ---- */

static void cp_screen_begin(struct pass *k, const struct step *s)
{
    struct variable *v = &k->vars[s->id];
    const struct epoch *f = s->from && s->from <= k->freed_cap ? &k->freed[s->from - 1] : NULL;

    *v = (struct variable){ .reads = v->reads, .cap = v->cap };
    if (f && f->time) {
        v->write = *f;
        v->used = true;
    }
}

static void cp_screen_split(struct pass *k, uint32_t from, uint32_t to)
{
    struct variable *new = &k->vars[to], *old = &k->vars[from];
    struct epoch *reads = new->reads;
    size_t cap = new->cap;

    GROW(reads, cap, old->nreads);
    if (old->nreads)
        memcpy(reads, old->reads, old->nreads * sizeof(*reads));
    *new = *old;
    new->reads = reads;
    new->cap = (uint32_t)cap;
}

static void cp_screen_prepare(struct pass *k, const struct step *s)
{
    struct lives *l = &k->screen->lives;

    if (s->op == OP_SPLIT || op_is_access(s->op)) {
        lives_of(l, s);
        GROW(k->screen->suspect, k->screen->suspect_cap, l->known);
    }
    if (s->op == OP_SPLIT)
        cp_screen_split(k, s->from, s->id);
    else if (op_is_access(s->op) && s->flags & STEP_FRESH)
        cp_screen_begin(k, s);
}

static void block_step(struct pass *k, const struct step *s)
{
    const struct cp_thread *t = &k->cp->threads[s->thread];

    GROW(k->freed, k->freed_cap, (size_t)s->id + 1);
    k->freed[s->id] =
        (struct epoch){ s->thread, t->slot, s->op == OP_FREE ? (uint32_t)s->position + 1 : 0 };
}

/* Parts of one event have one thread, so they may come one after the other. */
static void screen_span(struct pass *k, const struct span *span)
{
    GROW(k->vars, k->vars_cap, span->variables);
    lives_begin_span(&k->screen->lives, span);
    for (size_t i = 0; i < span->count; i++) {
        const struct step *s = &span->steps[i];

        if (s->position >= UINT32_MAX - 1)
            return;
        if (i + STEPS_AHEAD < span->count && op_is_access(s[STEPS_AHEAD].op))
            __builtin_prefetch(&k->vars[s[STEPS_AHEAD].id]);
        cp_replay_to(&k->replay, op_is_access(s->op), (uint32_t)s->position + 1);
        cp_screen_prepare(k, s);
        if (op_is_access(s->op))
            access_step(k, s);
        else if (s->op == OP_ALLOC || s->op == OP_FREE)
            block_step(k, s);
    }
}

void cp_screen_release(struct cp_screen *s)
{
    lives_release(&s->lives);
    free(s->suspect);
}

int cp_screen_run(struct cp_screen *s, struct cp *c, struct whole *whole, struct error *err)
{
    struct pass k = { .screen = s, .cp = c };
    uint64_t done = 0, all = whole_info(whole)->events;
    struct batch events;
    struct span span;
    int r = whole_restart(whole, err) < 0 ? -1 : 1;

    cp_replay_start(&k.replay, c);
    while (r > 0 && (r = whole_next(whole, &events, &span, err)) > 0) {
        screen_span(&k, &span);
        done += events.count;
        whole_spend(whole, UNITS_AN_EVENT * events.count);
        c->stopped = whole_stop(whole, all ? (double)done / (double)all / 2 : 0);
        if (c->stopped)
            break;
    }
    lives_restart(&s->lives);
    for (size_t i = 0; i < k.vars_cap; i++)
        free(k.vars[i].reads);
    free(k.vars);
    free(k.freed);
    return r < 0 ? -1 : 0;
}
