/* cp_reduce.c - which events count in the reduced trace */
#include "engines/streaming/cp_reduce.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

void cp_reduce_release(struct cp_reduce *r)
{
    for (size_t i = 0; i < r->vars_cap; i++)
        free(r->vars[i].others);
    free(r->vars);
    free(r->epochs);
    *r = (struct cp_reduce){ 0 };
}

void cp_reduce_begin(struct cp_reduce *r, const struct span *span)
{
    GROW(r->vars, r->vars_cap, span->variables);
    GROW(r->epochs, r->epochs_cap, span->threads);
}

/* Another thread than the last: what the last one did is kept while it does not synchronise. */
static void change_thread(struct cp_reduce *r, struct cp_touched *v, uint32_t thread)
{
    struct cp_touch mine = { .thread = thread }, last = v->last;
    uint32_t kept = 0;
    size_t cap = v->cap;

    for (uint32_t i = 0; i < v->count; i++) {
        if (v->others[i].thread == thread)
            mine = v->others[i];
        else if (v->others[i].epoch == r->epochs[v->others[i].thread])
            v->others[kept++] = v->others[i];
    }
    v->count = kept;
    v->last = mine;
    if (!last.kinds || last.epoch != r->epochs[last.thread])
        return;
    GROW(v->others, cap, v->count + 1);
    v->cap = (uint32_t)cap;
    v->others[v->count++] = last;
}

/* True: not the same again. */
static bool cp_reduce_touch(struct cp_reduce *r, const struct step *s)
{
    struct cp_touched *v = &r->vars[s->id];
    uint32_t kind = s->op == OP_READ ? 1 : 2;

    if (v->last.thread != s->thread)
        change_thread(r, v, s->thread);
    if (v->last.epoch != r->epochs[s->thread])
        v->last = (struct cp_touch){ s->thread, r->epochs[s->thread], 0 };
    if (v->last.kinds & kind)
        return false;
    v->last.kinds |= kind;
    return true;
}

static void cp_reduce_forget(struct cp_touched *v)
{
    v->last.kinds = v->count = 0;
}

static void cp_reduce_split(struct cp_reduce *r, uint32_t from, uint32_t to)
{
    const struct cp_touched *old = &r->vars[from];
    struct cp_touched *new = &r->vars[to];
    size_t cap = new->cap;

    GROW(new->others, cap, old->count);
    new->cap = (uint32_t)cap;
    new->count = old->count;
    new->last = old->last;
    if (old->count)
        memcpy(new->others, old->others, old->count * sizeof(*new->others));
}

bool cp_reduce_event(struct cp_reduce *r, const struct step *s, size_t n)
{
    bool significant = s[n - 1].op == OP_FREE || cp_synchronises(&s[n - 1]);

    for (size_t i = 0; i < n; i++)
        if (s[i].op == OP_SPLIT)
            cp_reduce_split(r, s[i].from, s[i].id);
    for (size_t i = 0; i < n; i++) {
        if (!op_is_access(s[i].op))
            continue;
        if (s[i].flags & STEP_FRESH)
            cp_reduce_forget(&r->vars[s[i].id]);
        if (!op_is_atomic(s[i].op) && s[n - 1].op != OP_FREE)
            significant |= cp_reduce_touch(r, &s[i]);
    }
    if (cp_synchronises(&s[n - 1]))
        r->epochs[s->thread]++;
    r->rank += significant;
    return significant;
}
