/* flip_assume.c - values of reads under which a path goes the way it goes
 *
 * The recorded values make the branch go the way it went. So that later decisions and
 * addresses of the path fit the new outcome, one read below the condition is taken to see
 * another value: one that some write gives to its memory, or that it held first. That only
 * chooses which way is tried; what must hold are the conditions, and those are checked later.
 */
#include "execution/flip_inside.h"
#include "base/alloc.h"

#include <stdlib.h>

enum { LEAVES_MAX = 8, EVALUATED_MAX = 512 };

/* ---- what is written where ---- */

void written_add(struct flips *all, const struct event *ev)
{
    uint32_t *n;
    struct written *w;

    if (!op_is_access(ev->op) || !op_table[ev->op].writes || !(ev->flags & EV_VALUE) ||
        ev->size > 8)
        return;
    n = map_put(&all->written_at, ev->target * 16 + ev->size, 0);
    if (!*n) {
        GROW(all->written, all->written_cap, all->nwritten + 1);
        all->written[all->nwritten] = (struct written){ .count = 0 };
        *n = (uint32_t)++all->nwritten;
    }
    w = &all->written[*n - 1];
    for (uint32_t i = 0; i < w->count; i++)
        if (w->values[i] == ev->value)
            return;
    if (w->count < WRITTEN_MAX)
        w->values[w->count++] = ev->value;
}

/* ---- evaluating ---- */

struct evaluation {
    struct flip *f;
    struct map memo; /* expression -> number in values + 1 */
    struct {
        u128 value;
        bool known;
    } values[EVALUATED_MAX];
    uint32_t count;
};

static bool evaluate(struct evaluation *e, expr x, u128 *v);

static bool assumed(const struct flip *f, expr x, u128 *v)
{
    for (size_t i = 0; i < f->nassumed; i++)
        if (f->assumed[i].leaf == x) {
            *v = f->assumed[i].value;
            return true;
        }
    return false;
}

static bool compute(struct evaluation *e, const struct expr_node *n, u128 *v)
{
    const struct exprs *x = &e->f->w->x;
    u128 a, b = 0;

    if (!evaluate(e, n->a, &a))
        return false;
    if (n->op == EX_ITE)
        return evaluate(e, a ? n->b : n->c, v);
    if (expr_arity((enum expr_op)n->op) == 2 && !evaluate(e, n->b, &b))
        return false;
    return expr_apply(x, n, a, b, v);
}

static bool evaluate(struct evaluation *e, expr x, u128 *v)
{
    const struct expr_node n = *expr_get(&e->f->w->x, x);
    uint32_t *at;
    bool known;

    if (assumed(e->f, x, v))
        return true;
    if (n.op < EX_ADD || !(n.flags & EXPR_VARIES))
        return expr_value(&e->f->w->x, x, v);
    at = map_get(&e->memo, x);
    if (at) {
        *v = e->values[*at].value;
        return e->values[*at].known;
    }
    if (e->count == EVALUATED_MAX)
        return false;
    uint32_t number = e->count++; /* also bounds the depth */
    e->values[number].known = false;
    known = compute(e, &n, v);
    e->values[number].value = *v;
    e->values[number].known = known;
    *map_put(&e->memo, x, number) = number;
    return known;
}

bool flip_value(struct flip *f, expr x, u128 *v)
{
    struct evaluation e;
    bool known;

    if (!f->nassumed || !expr_varies(&f->w->x, x))
        return expr_value(&f->w->x, x, v);
    e.f = f;
    e.memo = (struct map){ 0 };
    e.count = 0;
    *v = 0;
    known = evaluate(&e, x, v);
    map_release(&e.memo);
    return known;
}

/* ---- assuming ---- */

/* The event that a READ leaf is of; NULL: of another path. */
static const struct event *event_of(const struct flip *f, const struct expr_node *n)
{
    uint64_t id = n->a | (uint64_t)n->b << 32;

    if (id < f->all->trace->count)
        return &f->all->trace->events[id];
    for (size_t i = f->path.nevents; i-- > 0;)
        if (f->path.events[i].id == id)
            return &f->path.events[i].event;
    return NULL;
}

/* READ leaves below an expression, whole ones. */
static size_t list_leaves(struct flip *f, expr e, expr *leaves)
{
    enum { STACK = 256 };
    struct exprs *x = &f->w->x;
    struct map seen = { 0 };
    expr stack[STACK];
    size_t depth = 0, count = 0;

    stack[depth++] = e;
    while (depth && count < LEAVES_MAX && seen.count < STACK) {
        const struct expr_node *n = expr_get(x, e = stack[--depth]);
        uint32_t *known = map_put(&seen, e, 0);

        if (*known || !(n->flags & EXPR_VARIES))
            continue;
        *known = 1;
        if (n->op == EX_READ && n->c == 0)
            leaves[count++] = e;
        if (n->op < EX_ADD || depth + 3 > STACK)
            continue;
        depth += expr_operands(n, stack + depth);
    }
    map_release(&seen);
    return count;
}

/* Does it come out when the leaf has that value, with all that was assumed before? */
static bool fits(struct flip *f, expr leaf, u128 value, expr e, u128 wanted)
{
    u128 v, old;

    if (assumed(f, leaf, &old) || f->nassumed == FLIP_ASSUMED_MAX)
        return false;
    f->assumed[f->nassumed].leaf = leaf;
    f->assumed[f->nassumed++].value = value & expr_mask(expr_get(&f->w->x, leaf)->width);
    if (flip_value(f, e, &v) && v == wanted)
        return true;
    f->nassumed--;
    return false;
}

/* What the event of a READ leaf may see: what some write gives to its memory, or what that held
 * first. */
static size_t candidates(const struct flip *f, expr leaf, uint64_t values[WRITTEN_MAX + 1])
{
    const struct expr_node *n = expr_get(&f->w->x, leaf);
    const struct event *ev = event_of(f, n);
    uint64_t id = n->a | (uint64_t)n->b << 32;
    const uint32_t *at = ev ? map_get(&f->all->written_at, ev->target * 16 + ev->size) : NULL;
    size_t count = 0;

    if (!ev || n->width != 8 * ev->size || map_get(&f->all->puzzling, id))
        return 0;
    for (uint32_t k = 0; at && *at && k < f->all->written[*at - 1].count; k++)
        values[count++] = f->all->written[*at - 1].values[k];
    count += flips_first(f->all, ev->target, ev->size, &values[count]);
    return count;
}

static bool has_value(const uint64_t *values, size_t n, u128 v)
{
    for (size_t i = 0; i < n; i++)
        if (values[i] == v)
            return true;
    return false;
}

size_t flip_other_values(struct flip *f, expr e, uint64_t values[OTHER_VALUES_MAX])
{
    uint64_t seen[WRITTEN_MAX + 1];
    expr leaves[LEAVES_MAX];
    size_t n = list_leaves(f, e, leaves), count = 0;
    u128 now, v;

    if (!flip_value(f, e, &now) || f->nassumed == FLIP_ASSUMED_MAX)
        return 0;
    for (size_t i = 0; i < n; i++) {
        if (assumed(f, leaves[i], &v))
            continue;
        for (size_t k = candidates(f, leaves[i], seen); k-- > 0 && count < OTHER_VALUES_MAX;) {
            f->assumed[f->nassumed].leaf = leaves[i];
            f->assumed[f->nassumed++].value = seen[k];
            if (flip_value(f, e, &v) && v != now && !has_value(values, count, v))
                values[count++] = (uint64_t)v;
            f->nassumed--;
        }
    }
    return count;
}

bool flip_assume(struct flip *f, expr e, u128 wanted)
{
    uint64_t values[WRITTEN_MAX + 1];
    expr leaves[LEAVES_MAX];
    size_t n = list_leaves(f, e, leaves);
    u128 v;

    if (flip_value(f, e, &v) && v == wanted)
        return true;
    for (size_t i = 0; i < n; i++) {
        size_t count = candidates(f, leaves[i], values);

        for (size_t k = 0; k < count; k++)
            if (fits(f, leaves[i], values[k], e, wanted))
                return true;
    }
    return false;
}
