/* naive_calls.c - the rules on calls of untraced code, by loops over all pairs */
#include "naive_calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum kind { MEMORY, END, START, OBJECT, ALL };

struct thing {
    enum kind kind;
    uint64_t from, to; /* bytes, or a number and the next one */
};

struct things {
    struct thing *list;
    size_t count, cap;
};

struct pair {
    size_t call, ret; /* ret: SIZE_MAX where it never comes */
    struct things things;
};

struct court {
    const struct trace_mem *t;
    const struct tables *names;
    enum call_rule rule;
    struct pair pairs[NAIVE_PAIRS];
    size_t npairs;
    struct things *touched; /* by event */
    bool *instant;          /* by event: counts as a pair of its own on its object */
    uint64_t *steps;        /* by event: the open pairs whose group it touches */
};

static bool takes_part(const struct event *e)
{
    return !(e->flags & EV_IGNORED);
}

/* ---- things ---- */

static void add(struct things *l, enum kind kind, uint64_t from, uint64_t to)
{
    GROW(l->list, l->cap, l->count + 1);
    l->list[l->count++] = (struct thing){ kind, from, to };
}

static bool meet(const struct thing *a, const struct thing *b)
{
    if (a->kind == ALL || b->kind == ALL)
        return true;
    return a->kind == b->kind && a->from < b->to && b->from < a->to;
}

static bool in_common(const struct things *a, const struct things *b)
{
    for (size_t i = 0; i < a->count; i++)
        for (size_t k = 0; k < b->count; k++)
            if (meet(&a->list[i], &b->list[k]))
                return true;
    return false;
}

static uint64_t end_of(uint64_t from, uint64_t bytes)
{
    return bytes > UINT64_MAX - from ? UINT64_MAX : from + bytes;
}

/* A named object; where a variable has its name, that is meant. */
static void add_object(const struct court *c, struct things *l, uint64_t number)
{
    const struct intern *objects = c->names ? &c->names->objects : NULL;
    uint32_t v = INTERN_NONE;

    if (objects && number < objects->count)
        v = intern_find(&c->names->variables, intern_get(objects, (uint32_t)number),
                        strlen(intern_get(objects, (uint32_t)number)));
    add(l, OBJECT, number, number + 1);
    if (v != INTERN_NONE)
        add(l, MEMORY, NAMED_ADDRESS(v), NAMED_ADDRESS(v) + 8);
}

/* Did a read that saw what a call had written read this byte? */
static bool is_by_call(const struct trace_mem *t, uint64_t byte)
{
    for (size_t i = 0; i < t->count; i++)
        if (takes_part(&t->events[i]) && t->events[i].flags & EV_BY_CALL &&
            byte >= t->events[i].target && byte - t->events[i].target < t->events[i].size)
            return true;
    return false;
}

/* The bytes of an entry that such reads read. */
static void add_by_call(const struct court *c, struct things *l, const uint64_t *entry)
{
    for (size_t i = 0; i < c->t->count; i++) {
        const struct event *e = &c->t->events[i];

        for (uint64_t b = e->target; e->flags & EV_BY_CALL && b < e->target + e->size; b++)
            if (takes_part(e) &&
                (D_KIND(entry[0]) == D_ALL_KIND ||
                 (D_KIND(entry[0]) == D_MEMORY_KIND && b >= entry[0] && b - entry[0] < entry[1])))
                add(l, MEMORY, b, b + 1);
    }
}

static void add_entry(const struct court *c, struct things *l, const uint64_t *entry)
{
    uint64_t low = D_LOW(entry[0]);

    if (c->rule == CALL_RULE_UNSEEN) {
        add_by_call(c, l, entry);
        return;
    }

    switch (D_KIND(entry[0])) {
    case D_MEMORY_KIND:
        if (entry[1])
            add(l, MEMORY, entry[0], end_of(entry[0], entry[1]));
        break;
    case D_THREAD_KIND:
        add(l, END, low, low + 1);
        break;
    case D_START_KIND:
        add(l, START, low, low + 1);
        break;
    case D_SYNC_KIND:
        add_object(c, l, low);
        break;
    default:
        add(l, ALL, 0, 0);
        break;
    }
}

static bool is_on_object(const struct event *e)
{
    enum op_class k = op_class_of(e->op);

    return k == CLASS_LOCK || k == CLASS_COND || k == CLASS_BARRIER || k == CLASS_SEM ||
           k == CLASS_ONCE || k == CLASS_ANNOTATION;
}

static bool is_first(const struct trace_mem *t, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (takes_part(&t->events[k]) && t->events[k].thread == t->events[i].thread)
            return false;
    return true;
}

static bool is_last(const struct trace_mem *t, size_t i)
{
    for (size_t k = 0; k < t->count; k++)
        if (takes_part(&t->events[k]) && t->events[k].thread == t->events[i].thread &&
            (k > i || t->events[k].op == OP_END))
            return false;
    return true;
}

static void list_touched(struct court *c, size_t i)
{
    const struct event *e = &c->t->events[i];
    struct things *l = &c->touched[i];

    if (op_is_access(e->op))
        add(l, MEMORY, e->target, end_of(e->target, e->size));
    if ((e->op == OP_ALLOC || e->op == OP_FREE) && e->value)
        add(l, MEMORY, e->target, end_of(e->target, e->value));
    if (c->rule == CALL_RULE_UNSEEN)
        return;
    if (is_on_object(e) && is_named(e->target))
        add_object(c, l, named_object(e->target));
    else if (is_on_object(e))
        add(l, MEMORY, e->target, e->target + 1);
    if (e->op == OP_FORK)
        add(l, START, e->target, e->target + 1);
    if (e->op == OP_JOIN)
        add(l, END, e->target, e->target + 1);
    if (e->op == OP_BEGIN || is_first(c->t, i))
        add(l, START, e->thread, e->thread + 1);
    if (e->op == OP_END || is_last(c->t, i))
        add(l, END, e->thread, e->thread + 1);
}

/* ---- pairs ---- */

/* Returns end the innermost call; check_trace.c has marked those that do not. */
static size_t return_of(const struct trace_mem *t, size_t call)
{
    size_t depth = 0;

    if (t->events[call].flags & EV_ALONE)
        return call;
    for (size_t i = call + 1; i < t->count; i++) {
        const struct event *e = &t->events[i];

        if (e->thread != t->events[call].thread || !takes_part(e))
            continue;
        if (e->op == OP_CALL && !(e->flags & EV_ALONE))
            depth++;
        else if (e->op == OP_RETURN && depth-- == 0)
            return i;
    }
    return SIZE_MAX;
}

/* Recorders leave out repetitions of accesses up to here (proof.md, "Quiet periods"). */
static bool ends_quiet(const struct event *e)
{
    if (op_is_access(e->op))
        return (e->op == OP_STORE || e->op == OP_RMW) && order_releases(e->order);
    switch (op_class_of(e->op)) {
    case CLASS_LOCK:
    case CLASS_THREAD:
    case CLASS_COND:
    case CLASS_BARRIER:
    case CLASS_SEM:
    case CLASS_ONCE:
    case CLASS_FENCE:
        return true;
    default:
        return e->op == OP_BEFORE;
    }
}

/* Some pairs last longer than their call, up to the end of a stretch. */
static size_t end_of_pair(const struct trace_mem *t, size_t call)
{
    size_t ret = return_of(t, call);

    if (!(t->events[call].flags & EV_LASTS) || ret == SIZE_MAX)
        return ret;
    while (++ret < t->count)
        if (t->events[ret].thread == t->events[call].thread && takes_part(&t->events[ret]) &&
            ends_quiet(&t->events[ret]))
            return ret;
    return SIZE_MAX;
}

static bool add_pair(struct court *c, size_t call)
{
    const struct event *e = &c->t->events[call];
    struct pair *p = &c->pairs[c->npairs];

    if (c->npairs == NAIVE_PAIRS)
        return false;
    c->npairs++;
    *p = (struct pair){ .call = call, .ret = end_of_pair(c->t, call) };
    for (uint64_t k = 0; k < e->old; k++)
        add_entry(c, &p->things, c->t->extra + e->value + 2 * k);
    if (p->ret == SIZE_MAX && c->rule != CALL_RULE_UNSEEN)
        add(&p->things, END, e->thread, e->thread + 1);
    return true;
}

static bool overlap(const struct court *c, const struct pair *p, const struct pair *q)
{
    return c->rule == CALL_RULE_SIMPLE || in_common(&p->things, &q->things);
}

static uint32_t thread_of(const struct court *c, size_t event)
{
    return c->t->events[event].thread;
}

/* Call, return and what is in between. */
static bool is_in(const struct court *c, size_t event, const struct pair *p)
{
    return thread_of(c, event) == thread_of(c, p->call) && p->call <= event && event <= p->ret;
}

/* ---- objects of which parts may be hidden ---- */

/* Does the thread of a release hold the lock in the way that it ends? */
static bool holds(const struct trace_mem *t, size_t i)
{
    const struct event *lock = &t->events[i];
    bool exclusive = false, shared = false;

    for (size_t k = 0; k < i; k++) {
        const struct event *e = &t->events[k];

        if (!takes_part(e))
            continue;
        if ((e->op == OP_END && e->thread == lock->thread) ||
            (e->op == OP_JOIN && e->target == lock->thread))
            exclusive = shared = false;
        if (e->thread != lock->thread || op_class_of(e->op) != CLASS_LOCK ||
            e->target != lock->target || e->flags & EV_NESTED)
            continue;
        if (e->op == OP_ACQUIRE)
            exclusive = true;
        else if (e->op == OP_ACQUIRE_SHARED)
            shared = true;
        else if (e->op == OP_RELEASE)
            *(exclusive ? &exclusive : &shared) = false;
        else
            *(shared ? &shared : &exclusive) = false;
    }
    return lock->op == OP_RELEASE ? exclusive : shared;
}

static bool is_listed(const struct court *c, const struct things *l)
{
    for (size_t p = 0; p < c->npairs; p++)
        if (in_common(&c->pairs[p].things, l))
            return true;
    return false;
}

static bool is_instant(const struct court *c, size_t i)
{
    const struct event *e = &c->t->events[i];
    bool release = e->op == OP_RELEASE || e->op == OP_RELEASE_SHARED;
    struct things object = { 0 };
    bool listed;

    if (c->rule == CALL_RULE_UNSEEN)
        return false;
    if (op_class_of(e->op) != CLASS_BARRIER && (!release || e->flags & EV_NESTED || holds(c->t, i)))
        return false;
    if (is_named(e->target))
        add_object(c, &object, named_object(e->target));
    else
        add(&object, MEMORY, e->target, e->target + 1);
    listed = is_listed(c, &object);
    free(object.list);
    return listed;
}

static bool same_object(const struct court *c, size_t u, size_t v)
{
    const struct event *x = &c->t->events[u], *y = &c->t->events[v];
    struct things object = { 0 };
    bool same;

    if (!is_on_object(x))
        return false;
    if (is_named(x->target))
        add_object(c, &object, named_object(x->target));
    else
        add(&object, MEMORY, x->target, x->target + 1);
    (void)y;
    same = in_common(&object, &c->touched[v]);
    free(object.list);
    return same;
}

/* ---- groups ---- */

static bool is_open(const struct pair *p, size_t before)
{
    return p->call < before && before <= p->ret;
}

/* The open pairs that belong together with pair p just before an event. */
static uint64_t group_of(const struct court *c, size_t p, size_t before)
{
    uint64_t group = 1ull << p, old;

    do {
        old = group;
        for (size_t a = 0; a < c->npairs; a++)
            for (size_t b = 0; b < c->npairs; b++)
                if (group >> a & 1 && is_open(&c->pairs[b], before) &&
                    (thread_of(c, c->pairs[a].call) == thread_of(c, c->pairs[b].call) ||
                     overlap(c, &c->pairs[a], &c->pairs[b])))
                    group |= 1ull << b;
    } while (group != old);
    return group;
}

static const struct pair *pair_called_at(const struct court *c, size_t event)
{
    for (size_t p = 0; p < c->npairs; p++)
        if (c->pairs[p].call == event)
            return &c->pairs[p];
    return NULL;
}

static uint64_t steps_of(const struct court *c, size_t event)
{
    const struct pair *called = pair_called_at(c, event);
    uint64_t all = 0;

    for (size_t p = 0; p < c->npairs; p++) {
        const struct pair *q = &c->pairs[p];

        if (is_open(q, event) && (is_in(c, event, q) || in_common(&q->things, &c->touched[event]) ||
                                  (called && overlap(c, called, q))))
            all |= group_of(c, p, event);
    }
    return all;
}

/* ---- the rules ---- */

static bool keeps_order(const struct court *c, size_t u, size_t v)
{
    for (size_t p = 0; p < c->npairs; p++) {
        const struct pair *x = &c->pairs[p];

        if (is_in(c, u, x) && in_common(&x->things, &c->touched[v]))
            return true;
        if (is_in(c, v, x) && in_common(&x->things, &c->touched[u]))
            return true;
        for (size_t q = 0; is_in(c, u, x) && q < c->npairs; q++)
            if (is_in(c, v, &c->pairs[q]) && overlap(c, x, &c->pairs[q]))
                return true;
    }
    if ((c->instant[u] && same_object(c, u, v)) || (c->instant[v] && same_object(c, v, u)))
        return true;
    return c->steps[u] & c->steps[v];
}

static void add_edges(const struct court *c, struct relation *r)
{
    const struct trace_mem *t = c->t;

    for (size_t u = 0; u < t->count; u++)
        for (size_t v = u + 1; v < t->count; v++)
            if (takes_part(&t->events[u]) && takes_part(&t->events[v]) &&
                t->events[u].thread != t->events[v].thread && keeps_order(c, u, v))
                relation_add(r, u, v);
}

static bool prepare(struct court *c)
{
    const struct trace_mem *t = c->t;

    for (size_t i = 0; i < t->count; i++) {
        if (!takes_part(&t->events[i]))
            continue;
        list_touched(c, i);
        if (t->events[i].op == OP_CALL && !add_pair(c, i))
            return false;
    }
    for (size_t i = 0; i < t->count; i++) {
        if (!takes_part(&t->events[i]))
            continue;
        c->instant[i] = is_instant(c, i);
        c->steps[i] = steps_of(c, i);
    }
    return true;
}

bool naive_calls(const struct trace_mem *t, enum call_rule kind, const struct tables *names,
                 struct relation *r)
{
    struct court *c = xcalloc(1, sizeof(*c));
    bool fits = true;

    c->t = t;
    c->names = names;
    c->rule = kind;
    c->touched = xcalloc(t->count + 1, sizeof(*c->touched));
    c->instant = xcalloc(t->count + 1, sizeof(*c->instant));
    c->steps = xcalloc(t->count + 1, sizeof(*c->steps));
    if (kind != CALL_RULE_NONE) {
        fits = prepare(c);
        add_edges(c, r);
    }
    for (size_t i = 0; i < t->count; i++)
        free(c->touched[i].list);
    for (size_t p = 0; p < c->npairs; p++)
        free(c->pairs[p].things.list);
    free(c->touched);
    free(c->instant);
    free(c->steps);
    free(c);
    return fits;
}

/* ---- memory ---- */

bool naive_has_by_call(const struct trace_mem *t)
{
    for (size_t i = 0; i < t->count; i++)
        if (takes_part(&t->events[i]) && t->events[i].flags & EV_BY_CALL)
            return true;
    return false;
}

static size_t call_of(const struct trace_mem *t, size_t event)
{
    if (t->events[event].op == OP_CALL)
        return event;
    for (size_t i = 0; i < event; i++)
        if (t->events[i].op == OP_CALL && takes_part(&t->events[i]) && return_of(t, i) == event)
            return i;
    return SIZE_MAX;
}

bool naive_lists_byte(const struct trace_mem *t, enum call_rule kind, size_t event, uint64_t byte)
{
    size_t call = call_of(t, event);

    if (kind == CALL_RULE_UNSEEN && !is_by_call(t, byte))
        return false;
    for (uint64_t k = 0; call != SIZE_MAX && k < t->events[call].old; k++) {
        const uint64_t *e = t->extra + t->events[call].value + 2 * k;

        if (D_KIND(e[0]) == D_ALL_KIND ||
            (D_KIND(e[0]) == D_MEMORY_KIND && byte >= e[0] && byte - e[0] < e[1]))
            return true;
    }
    return false;
}

bool naive_in_call(const struct trace_mem *t, size_t event)
{
    for (size_t i = 0; i < event; i++)
        if (t->events[i].op == OP_CALL && takes_part(&t->events[i]) &&
            t->events[i].thread == t->events[event].thread && return_of(t, i) > event)
            return true;
    return false;
}
