/* flip_splice.c - an execution with a path in it that was not executed
 *
 * The new events stand right behind the branch. Positions behind it move up, so all that
 * names positions is copied: events, conditions, and the nodes, where READ leaves do. What
 * the thread did after the branch stays behind the new events: nobody may execute it, and
 * what depends on it in other threads (a join, a thread it created, a signal) cannot be
 * executed either, which is what would happen. Behind the new events locks are put right,
 * so that those events find the locks they hold.
 *
 * Cost: a copy of the execution, 80 bytes an event and 32 a node.
 */
#include "execution/flip_inside.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

struct splice {
    const struct execution *from;
    struct execution *to;
    struct trace_mem *trace;
    const struct flip_path *paths[2]; /* by branch */
    uint32_t *places[2];
    size_t npaths;
    struct event *locks[2]; /* behind the paths */
    size_t nlocks[2];
    size_t shift[2]; /* events of each */
    size_t at;       /* events written */
    size_t conditions_cap, nconditions, pieces_cap;
};

/* ---- positions ---- */

static uint64_t moved(const struct splice *s, uint64_t position)
{
    uint64_t to = position;

    for (size_t i = 0; i < s->npaths; i++)
        if (position > s->paths[i]->branch)
            to += s->shift[i];
    return to;
}

/* Of a leaf: of the trace, or of a new event. */
static uint64_t leaf_position(const struct splice *s, uint64_t position)
{
    if (position < s->from->trace->count)
        return moved(s, position);
    for (size_t i = 0; i < s->npaths; i++) {
        const struct flip_path *p = s->paths[i];
        size_t low = 0, high = p->nevents;

        while (low < high) {
            size_t middle = low + (high - low) / 2;

            if (p->events[middle].id < position)
                low = middle + 1;
            else
                high = middle;
        }
        if (low < p->nevents && p->events[low].id == position)
            return moved(s, p->branch) + 1 + low;
    }
    return position; /* of a path that is not here */
}

static void copy_nodes(struct splice *s)
{
    const struct exprs *from = s->from->x;
    struct exprs *x = xcalloc(1, sizeof(*x));

    exprs_init(x);
    free(x->nodes);
    x->cap = from->count + (size_t)1;
    x->nodes = xmalloc(x->cap * sizeof(*x->nodes));
    memcpy(x->nodes, from->nodes, from->count * sizeof(*x->nodes));
    x->count = from->count;
    x->free = from->free;
    x->live = from->live;
    x->serial = from->serial;
    for (uint32_t i = 1; i < x->count; i++) {
        struct expr_node *n = &x->nodes[i];
        uint64_t to;

        if (n->op == EX_UNKNOWN) {
            to = leaf_position(s, n->b | (uint64_t)n->c << 32);
            n->b = (uint32_t)to;
            n->c = (uint32_t)(to >> 32);
        }
        if (n->op != EX_READ && n->op != EX_RESULT)
            continue;
        to = leaf_position(s, n->a | (uint64_t)n->b << 32);
        n->a = (uint32_t)to;
        n->b = (uint32_t)(to >> 32);
    }
    s->to->x = x;
}

/* ---- locks ---- */

static unsigned undone(unsigned op)
{
    return op == OP_ACQUIRE          ? OP_RELEASE
           : op == OP_RELEASE        ? OP_ACQUIRE
           : op == OP_ACQUIRE_SHARED ? OP_RELEASE_SHARED
                                     : OP_ACQUIRE_SHARED;
}

/* Is it the last operation of the path on its lock, and are there more acquires or releases? */
static bool flip_splice_stays(const struct flip_path *p, size_t k)
{
    const struct event *ev = &p->events[k].event;
    size_t times = 0;

    if (op_class_of(ev->op) != CLASS_LOCK)
        return false;
    for (size_t j = 0; j < p->nevents; j++) {
        const struct event *other = &p->events[j].event;

        if (op_class_of(other->op) != CLASS_LOCK || other->target != ev->target)
            continue;
        if (j > k)
            return false;
        times++;
    }
    return times % 2;
}

size_t flips_shift(const struct flip_path *p)
{
    size_t n = p->nevents;

    for (size_t k = 0; k < p->nevents; k++)
        n += flip_splice_stays(p, k);
    return n;
}

/* What takes back the locks of a path. */
static void undo_locks(struct splice *s, size_t i)
{
    const struct flip_path *p = s->paths[i];

    s->locks[i] = xcalloc(p->nevents + 1, sizeof(*s->locks[i]));
    for (size_t k = p->nevents; k-- > 0;)
        if (flip_splice_stays(p, k)) {
            s->locks[i][s->nlocks[i]] = p->events[k].event;
            s->locks[i][s->nlocks[i]++].op = (uint8_t)undone(p->events[k].event.op);
        }
    s->shift[i] = p->nevents + s->nlocks[i];
}

/* ---- events ---- */

static void add_condition(struct splice *s, const struct execution_condition *c)
{
    struct execution *to = s->to;

    GROW(to->conditions, s->conditions_cap, s->nconditions + 1);
    to->conditions[s->nconditions++] = *c;
}

static void add_event(struct splice *s, const struct event *ev, const struct execution_event *x)
{
    s->trace->events[s->at] = *ev;
    s->to->events[s->at] = *x;
    s->at++;
}

static void copy_event(struct splice *s, uint64_t position)
{
    const struct execution *from = s->from;

    s->to->condition_first[s->at] = (uint32_t)s->nconditions;
    for (uint32_t i = from->condition_first[position]; i < from->condition_first[position + 1];
         i++) {
        struct execution_condition c = from->conditions[i];

        c.event = (uint32_t)moved(s, c.event);
        add_condition(s, &c);
    }
    add_event(s, &from->trace->events[position], &from->events[position]);
}

/* The branch whose outcome a condition of the path's event k is. */
static uint32_t branch_before(const struct splice *s, const struct flip_path *p, size_t k)
{
    uint32_t first = (uint32_t)moved(s, p->branch);

    while (k-- > 0)
        if (p->events[k].event.op == OP_BRANCH)
            return first + 1 + (uint32_t)k;
    return first;
}

static void add_pieces(struct splice *s, const struct flip_path *p, const struct flip_event *ev,
                       struct execution_event *x)
{
    struct execution *to = s->to;

    x->pieces = (uint32_t)to->npieces;
    x->npieces = ev->npieces;
    x->piece_bytes = ev->piece_bytes;
    GROW(to->pieces, s->pieces_cap, to->npieces + ev->npieces);
    for (uint32_t i = 0; i < ev->npieces; i++)
        to->pieces[to->npieces++] = p->pieces[ev->pieces + i];
}

static void add_new(struct splice *s, const struct flip_path *p, size_t k, size_t *condition)
{
    const struct flip_event *ev = &p->events[k];
    struct execution_event x = { .address = ev->address,
                                 .value = ev->value,
                                 .old = ev->old,
                                 .kind = ev->kind,
                                 .known = true,
                                 .is_new = true };

    s->to->condition_first[s->at] = (uint32_t)s->nconditions;
    for (; *condition < p->nconditions && p->conditions[*condition].event == k; ++*condition) {
        const struct flip_condition *c = &p->conditions[*condition];

        add_condition(s, &(struct execution_condition){ .recorded = c->recorded,
                                                        .value = c->value,
                                                        .event = c->kind == CONDITION_BRANCH
                                                                     ? branch_before(s, p, k)
                                                                     : (uint32_t)s->at,
                                                        .kind = c->kind,
                                                        .is_known = true,
                                                        .is_new = true });
    }
    if (ev->npieces)
        add_pieces(s, p, ev, &x);
    if (ev->event.op == OP_BRANCH)
        x.outcome = (uint32_t)ev->event.value;
    add_event(s, &ev->event, &x);
}

static void flip_splice_add_path(struct splice *s, size_t i)
{
    const struct flip_path *p = s->paths[i];
    struct execution_event plain = { .kind = STEP_OTHER, .known = true };
    size_t condition = 0;

    if (!p->by_value) { /* the branch */
        s->trace->events[s->at - 1].value = p->outcome;
        s->to->events[s->at - 1].outcome = (uint32_t)p->outcome;
        s->to->events[s->at - 1].known = true;
    }
    for (size_t k = 0; k < p->nevents; k++) {
        if (s->places[i])
            s->places[i][k] = (uint32_t)s->at;
        add_new(s, p, k, &condition);
    }
    for (size_t k = 0; k < s->nlocks[i]; k++) {
        s->to->condition_first[s->at] = (uint32_t)s->nconditions;
        add_event(s, &s->locks[i][k], &plain);
    }
}

static void flip_splice_fill(struct splice *s)
{
    for (uint64_t i = 0; i < s->from->trace->count; i++) {
        copy_event(s, i);
        for (size_t k = 0; k < s->npaths; k++)
            if (s->paths[k]->branch == i)
                flip_splice_add_path(s, k);
    }
    s->to->condition_first[s->at] = (uint32_t)s->nconditions;
    s->trace->count = s->at;
}

struct execution *execution_flip(const struct execution *e, const struct flip_path *path,
                                 const struct flip_path *other, uint32_t *place,
                                 uint32_t *other_place)
{
    bool swap = other && other->branch < path->branch;
    struct splice s = { .from = e,
                        .paths = { swap ? other : path, swap ? path : other },
                        .places = { swap ? other_place : place, swap ? place : other_place },
                        .npaths = other ? 2 : 1 };
    size_t n = e->trace->count;

    for (size_t i = 0; i < s.npaths; i++) {
        undo_locks(&s, i);
        n += s.shift[i];
    }
    s.trace = xcalloc(1, sizeof(*s.trace));
    *s.trace = *e->trace;
    s.trace->events = xmalloc((n + 1) * sizeof(*s.trace->events));
    s.to = xcalloc(1, sizeof(*s.to));
    s.to->trace = s.trace;
    s.to->walked = e->walked;
    s.to->outside = e->outside;
    s.to->lost = e->lost;
    s.to->events = xcalloc(n + 1, sizeof(*s.to->events));
    s.to->condition_first = xcalloc(n + 2, sizeof(*s.to->condition_first));
    s.to->conditions = xcalloc(1, sizeof(*s.to->conditions));
    s.conditions_cap = 1;
    s.to->first = e->first; /* borrowed: execution_flip_free() */
    s.to->ncases = e->ncases;
    s.to->cases = xmalloc((e->ncases + 1) * sizeof(*e->cases));
    if (e->ncases)
        memcpy(s.to->cases, e->cases, e->ncases * sizeof(*e->cases));
    s.to->npieces = e->npieces;
    s.pieces_cap = e->npieces + 1;
    s.to->pieces = xmalloc(s.pieces_cap * sizeof(*e->pieces));
    if (e->npieces)
        memcpy(s.to->pieces, e->pieces, e->npieces * sizeof(*e->pieces));
    copy_nodes(&s);
    flip_splice_fill(&s);
    for (size_t i = 0; i < s.npaths; i++)
        free(s.locks[i]);
    return s.to;
}

void execution_flip_free(struct execution *e)
{
    if (!e)
        return;
    e->first = (struct firsts){ 0 };
    free(e->trace->events);
    free((void *)(uintptr_t)e->trace);
    execution_free(e);
}
