/* static_joins.c - joins that are certain to end a thread
 *
 * A join clears a thread's bit when: the handle is loaded (std::thread: is) at one place of a
 * variable, the only handle that the thread's start writes is that place, and nothing else of the
 * program writes there. And never more than one thread of that start may run at a time: that is
 * assumed first and checked in the flow (joins_refute). The first execution that broke it would
 * need a join before that was not the only thread's, which the assumption excludes.
 *
 * Limit: handles in arrays, with an index that is not constant, are not matched.
 */
#include "base/alloc.h"
#include "static/static_threads.h"

#include <stdlib.h>
#include <string.h>

#define BIT(t) (UINT64_C(1) << (t))

/* The one exact place that a value points to, over all instances; UINT32_MAX: it is not one. */
static uint32_t only_place(struct statics *s, uint32_t function, uint32_t value)
{
    uint32_t found = UINT32_MAX;

    for (uint32_t i = s->functions[function].instance + 1; value && i;
         i = s->instances[i - 1].next) {
        const struct set *set = node_set(s, value_node(s, i - 1, value));

        SET_EACH(set, l)
        {
            if (found != UINT32_MAX && found != l)
                return UINT32_MAX;
            found = (uint32_t)l;
        }
    }
    if (found == UINT32_MAX || found == ANYWHERE || s->locations[found].stride)
        return UINT32_MAX;
    const struct object *o = &s->objects[s->locations[found].object];
    if (o->escaped || (o->kind != OBJECT_VARIABLE && o->kind != OBJECT_STACK) || o->thread_local_)
        return UINT32_MAX;
    return found;
}

static uint32_t arg_value(const struct statics *s, const struct call *c, uint32_t i)
{
    const struct fact_function *code = s->functions[c->function].code;
    const struct fact *f = &code->facts[c->fact];

    return i < f->nargs ? code->args[f->args + i] : 0;
}

/* Where a joined handle comes from. */
static uint32_t joined_place(struct statics *s, const struct call *c)
{
    const struct fact_function *code = s->functions[c->function].code;
    uint32_t value = arg_value(s, c, 0), place = UINT32_MAX, defs = 0;

    if (strncmp(c->model->name, "_ZNSt6thread", 12) == 0)
        return only_place(s, c->function, value);
    for (uint32_t i = 0; value && i < code->nfacts; i++) {
        if (code->facts[i].to != value)
            continue;
        defs++;
        if (code->facts[i].op == FACT_LOAD)
            place = only_place(s, c->function, code->facts[i].a);
    }
    return defs == 1 ? place : UINT32_MAX;
}

/* ---- does anything else write there? ---- */

static bool may_write(struct statics *s, uint32_t function, uint32_t pointer, uint64_t bytes,
                      uint32_t place)
{
    uint32_t object = s->locations[place].object;

    for (uint32_t i = s->functions[function].instance + 1; pointer && i;
         i = s->instances[i - 1].next) {
        const struct set *set = node_set(s, value_node(s, i - 1, pointer));

        for (uint32_t l = s->objects[object].first; l; l = s->locations[l - 1].next)
            if (set_has(set, l - 1) &&
                locations_meet(&s->locations[l - 1], bytes, &s->locations[place], 8))
                return true;
    }
    return false;
}

static bool call_may_write(struct statics *s, const struct call *c, uint32_t place)
{
    const struct fact *f = &s->functions[c->function].code->facts[c->fact];

    if (!c->model)
        return false; /* ours: its stores are looked at; others': the object is escaped */
    for (uint32_t i = 0; i < f->nargs; i++) {
        char touch = libc_touch(c->model, i);

        if (touch && strchr("wbWB", touch) && c->model->does != LIBC_JOIN &&
            may_write(s, c->function, arg_value(s, c, i), UINT64_MAX, place))
            return true;
    }
    return false;
}

static bool is_written(struct statics *s, uint32_t place, const struct call *but)
{
    for (uint32_t f = 0; f < s->nfunctions; f++) {
        const struct fact_function *code = s->functions[f].code;

        for (uint32_t i = 0; i < code->nfacts; i++) {
            const struct fact *x = &code->facts[i];
            bool writes =
                (x->op == FACT_STORE && x->b) || x->op == FACT_UPDATE || x->op == FACT_MOVE;

            /* a constant is no handle: variables are cleared before the start */
            if (writes &&
                may_write(s, f, x->a, x->size == FACT_WHOLE ? UINT64_MAX : x->size, place))
                return true;
        }
    }
    for (size_t i = 0; i < s->ncalls; i++)
        if (&s->calls[i] != but && call_may_write(s, &s->calls[i], place))
            return true;
    return false;
}

/* ---- matching ---- */

static bool joins_for_certain(const struct libc_function *m)
{
    return strcmp(m->name, "pthread_join") == 0 || strcmp(m->name, "thrd_join") == 0 ||
           strcmp(m->name, "_ZNSt6thread4joinEv") == 0;
}

static void match(struct statics *s, const struct threads *t, unsigned thread)
{
    const struct call *start = &s->calls[t->start[thread]];
    uint32_t place = only_place(s, start->function, arg_value(s, start, 0));
    int written = -1;

    if (place == UINT32_MAX || (t->crowded && thread == THREADS_MAX - 1))
        return;
    for (size_t i = 0; i < s->ncalls; i++) {
        struct call *c = &s->calls[i];

        if (!c->model || !joins_for_certain(c->model) || joined_place(s, c) != place)
            continue;
        if (written < 0)
            written = is_written(s, place, start);
        if (!written)
            c->kills |= BIT(thread);
    }
}

void joins_find(struct statics *s)
{
    const struct threads *t = s->threads;

    for (unsigned i = 2; i < t->count; i++)
        match(s, t, i);
}

bool joins_refute(struct statics *s)
{
    const struct threads *t = s->threads;
    uint64_t wrong = 0;
    bool any = false;

    for (unsigned i = 2; i < t->count; i++) {
        const struct call *c = &s->calls[t->start[i]];

        for (unsigned b = 0; b < t->count; b++)
            if (t->runs[c->function] & BIT(b) && threads_mask(s, b, c->function, c->fact) & BIT(i))
                wrong |= BIT(i);
    }
    for (size_t i = 0; i < s->ncalls; i++) {
        any |= (s->calls[i].kills & wrong) != 0;
        s->calls[i].kills &= ~wrong;
    }
    return any;
}
