/* confirm_plan.c - from a race and the trace it was found in to the plan of a controlled run
 *
 * One pass over the trace counts each thread's events by kind, as the runtime does while the new
 * run goes on, and notes those of the schedule. Then the schedule is walked in its own order:
 * where an event needs one of another thread before it, that is a gate. Gates that others imply are
 * left out; of too many the last ones stay, which are the ones next to the race.
 *
 * Limit: plain accesses make no gates. What a schedule needs of them (a flag that is read while it
 * is still 0) is left to the directed waiting and to further tries.
 */
#include "cmd/confirm/confirm_plan.h"
#include "cmd/confirm/confirm_count.h"
#include "base/alloc.h"
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

enum { READERS = 4, EVENTS_MOST = 1 << 20 };

/* An event of the schedule that can be waited for, or wait. */
struct step {
    uint64_t order; /* its place in the schedule */
    uint64_t target;
    uint32_t thread;
    uint32_t counter, number;
    uint8_t op;
};

struct wait {
    uint32_t step, after; /* indices of steps */
};

/* Who did what last on an object. */
struct object {
    uint32_t last[2]; /* step + 1: released, posted or written; waited (semaphores) */
    uint32_t readers[READERS];
    uint32_t nreaders;
};

struct place {
    uint64_t position, order;
};

struct planner {
    const struct finding *race;
    struct trace *trace;
    struct place *wanted; /* of the schedule, by position; NULL: all up to the race */
    size_t nwanted, next;
    uint64_t end; /* behind the later access */
    struct counting count;
    struct step *steps;
    size_t nsteps, steps_cap;
    struct wait *waits;
    size_t nwaits, waits_cap;
    uint32_t anchor[2], anchor_number[2]; /* counter + 1 */
    bool side_seen[2];
    struct steer_plan *plan;
};

/* ---- the pass ---- */

static bool makes_gates(unsigned op)
{
    return counting_is_atomic(op) || op == OP_ACQUIRE || op == OP_ACQUIRE_SHARED ||
           op == OP_RELEASE || op == OP_RELEASE_SHARED || op == OP_SEM_WAIT || op == OP_SEM_POST;
}

/* Is it part of the schedule? Without one, what was recorded up to the race is. */
static bool in_schedule(struct planner *p, uint64_t position, const struct event *e,
                        uint64_t *order)
{
    const struct side *s = p->race->sides;

    *order = position;
    if (!p->wanted) {
        for (unsigned k = 0; k < 2; k++)
            if (p->side_seen[k] && s[k].event < position && p->plan->side[k].index == e->thread)
                return false;
        return position < p->end;
    }
    while (p->next < p->nwanted && p->wanted[p->next].position < position)
        p->next++;
    if (p->next == p->nwanted || p->wanted[p->next].position != position)
        return false;
    *order = p->wanted[p->next].order;
    return true;
}

static void note_step(struct planner *p, uint64_t position, const struct event *e,
                      const struct counter *c)
{
    uint64_t order;

    if (!makes_gates(e->op) || !in_schedule(p, position, e, &order) || p->nsteps >= EVENTS_MOST)
        return;
    GROW(p->steps, p->steps_cap, p->nsteps + 1);
    p->steps[p->nsteps++] = (struct step){ .order = order,
                                           .target = e->target,
                                           .thread = e->thread,
                                           .counter = (uint32_t)(c - p->count.counters),
                                           .number = c->count,
                                           .op = e->op };
}

/* The last allocation that has all of the race's memory in it. */
static void note_block(struct planner *p, const struct event *e, const struct counter *c,
                       bool stack)
{
    struct steer_target *t = &p->plan->target;
    const struct finding *r = p->race;

    if (e->op != OP_ALLOC || e->target > r->address || e->target + e->value < r->address + r->bytes)
        return;
    t->kind = stack ? STEER_IN_STACK : STEER_IN_BLOCK;
    t->key = (uint32_t)(c - p->count.counters);
    t->number = c->count;
    t->offset = stack ? e->target + e->value - r->address : r->address - e->target;
}

/* Until the access is reached: the thread's last event that runs of the same program share. */
static void note_anchor(struct planner *p, const struct event *e, const struct counter *c)
{
    if (counting_is_atomic(e->op) || e->op == OP_ALLOC || e->op == OP_FREE)
        return;
    for (unsigned k = 0; k < 2; k++)
        if (!p->side_seen[k] && p->plan->side[k].index == e->thread) {
            p->anchor[k] = (uint32_t)(c - p->count.counters) + 1;
            p->anchor_number[k] = c->count;
        }
}

static void note_side(struct planner *p, unsigned k, const struct event *e)
{
    const struct tables *t = trace_tables(p->trace);
    struct site_origin o = tables_site_origin(t, e->site);
    struct steer_side *s = &p->plan->side[k];

    p->side_seen[k] = true;
    s->op = e->op;
    s->thread = p->count.threads[e->thread].path;
    if (!o.module)
        return;
    memcpy(s->module, t->modules[o.module - 1].id, sizeof(s->module));
}

static void confirm_plan_take_event(struct planner *p, uint64_t position, const struct event *e)
{
    struct counter *c = counting_take(&p->count, e);
    struct counted_thread *t = &p->count.threads[e->thread];
    bool fresh = t->fresh;

    t->fresh = e->op == OP_BEGIN;
    for (unsigned k = 0; k < 2; k++)
        if (p->race->sides[k].event == position)
            note_side(p, k, e);
    if (!c)
        return;
    note_anchor(p, e, c);
    note_block(p, e, c, fresh);
    note_step(p, position, e, c);
}

/* Which threads the accesses are of is needed before they are met: a look of its own. */
static int find_threads(struct planner *p, uint32_t site[2], struct error *err)
{
    unsigned found = 0;
    struct batch b;
    int r = trace_rewind(p->trace, err);

    while (r >= 0 && found < 2 && (r = trace_next(p->trace, &b, err)) > 0)
        for (unsigned k = 0; k < 2; k++) {
            uint64_t at = p->race->sides[k].event;

            if (at < b.first || at >= b.first + b.count)
                continue;
            p->plan->side[k].index = b.events[at - b.first].thread;
            site[k] = b.events[at - b.first].site;
            found++;
        }
    if (r < 0)
        return -1;
    return found == 2 ? 0 : error_set(err, "the trace is not the one that was analysed");
}

static int confirm_plan_read_trace(struct planner *p, struct error *err)
{
    struct batch b;
    bool first = true;
    int r = trace_rewind(p->trace, err);

    while (r >= 0 && (r = trace_next(p->trace, &b, err)) > 0 && b.first < p->end)
        for (size_t i = 0; i < b.count && b.first + i < p->end; i++) {
            if (first) {
                counting_begin(&p->count, b.events[i].thread);
                first = false;
            }
            confirm_plan_take_event(p, b.first + i, &b.events[i]);
        }
    return r < 0 ? -1 : 0;
}

/* ---- gates ---- */

static struct object *confirm_plan_object_of(struct map *by, struct object **all, size_t *n,
                                             size_t *cap, const struct step *s)
{
    uint64_t class = counting_is_atomic(s->op)                      ? 1
                     : s->op == OP_SEM_WAIT || s->op == OP_SEM_POST ? 2
                                                                    : 3;
    uint32_t *i = map_put(by, s->target << 2 | class, UINT32_MAX);

    if (*i == UINT32_MAX) {
        *i = (uint32_t)*n;
        GROW(*all, *cap, *n + 1);
        (*all)[(*n)++] = (struct object){ .nreaders = 0 };
    }
    return &(*all)[*i];
}

static void add_wait(struct planner *p, uint32_t step, uint32_t after)
{
    if (!after || p->steps[after - 1].thread == p->steps[step].thread)
        return;
    GROW(p->waits, p->waits_cap, p->nwaits + 1);
    p->waits[p->nwaits++] = (struct wait){ step, after - 1 };
}

static void add_reader(struct object *o, uint32_t step)
{
    o->readers[o->nreaders++ % READERS] = step + 1;
}

static void wait_for_readers(struct planner *p, struct object *o, uint32_t step)
{
    for (uint32_t i = 0; i < READERS && i < o->nreaders; i++)
        add_wait(p, step, o->readers[i]);
}

static void forget_readers(struct object *o)
{
    memset(o->readers, 0, sizeof(o->readers));
    o->nreaders = 0;
}

/* What an event needs before it of other threads, on its object. */
static void take_step(struct planner *p, struct object *o, uint32_t i)
{
    switch (p->steps[i].op) {
    case OP_LOAD:
    case OP_ACQUIRE_SHARED:
        add_wait(p, i, o->last[0]);
        if (p->steps[i].op == OP_LOAD)
            add_reader(o, i);
        break;
    case OP_STORE:
    case OP_RMW:
    case OP_ACQUIRE:
        add_wait(p, i, o->last[0]);
        wait_for_readers(p, o, i);
        forget_readers(o);
        if (p->steps[i].op != OP_ACQUIRE)
            o->last[0] = i + 1;
        break;
    case OP_RELEASE_SHARED:
        add_reader(o, i);
        break;
    case OP_SEM_WAIT:
        add_wait(p, i, o->last[0]);
        add_wait(p, i, o->last[1]);
        o->last[1] = i + 1;
        break;
    default:
        o->last[0] = i + 1;
    }
}

static int compare_steps(const void *a, const void *b)
{
    const struct step *x = a, *y = b;

    return x->order < y->order ? -1 : x->order > y->order;
}

static void make_waits(struct planner *p)
{
    struct object *objects = NULL;
    struct map by = { 0 };
    size_t n = 0, cap = 0;

    if (p->nsteps)
        qsort(p->steps, p->nsteps, sizeof(*p->steps), compare_steps);
    for (uint32_t i = 0; i < p->nsteps; i++)
        take_step(p, confirm_plan_object_of(&by, &objects, &n, &cap, &p->steps[i]), i);
    map_release(&by);
    free(objects);
}

/* ---- the plan ---- */

/* The counter's number in the plan; STEER_NONE: it is no name for another run, or there are too
 * many. */
static uint32_t confirm_plan_key_of(struct planner *p, uint32_t counter)
{
    const struct tables *t = trace_tables(p->trace);
    struct counter *c = &p->count.counters[counter];
    struct steer_key *k = &p->plan->key[p->plan->nkeys];

    if (c->key)
        return c->key - 1;
    if (p->plan->nkeys == STEER_KEYS_MAX || !p->count.threads[c->thread].path)
        return STEER_NONE;
    *k = (struct steer_key){ .thread = p->count.threads[c->thread].path, .op = c->op };
    if (c->site != SITE_NONE) {
        struct site_origin o = tables_site_origin(t, c->site);

        if (!o.module)
            return STEER_NONE;
        memcpy(k->module, t->modules[o.module - 1].id, sizeof(k->module));
        k->index = o.index;
    }
    c->key = ++p->plan->nkeys;
    return c->key - 1;
}

static void add_gate(struct planner *p, const struct wait *w)
{
    const struct step *s = &p->steps[w->step], *after = &p->steps[w->after];
    uint32_t key, after_key;

    if (p->plan->ngates == STEER_GATES_MAX)
        return;
    key = confirm_plan_key_of(p, s->counter);
    after_key = confirm_plan_key_of(p, after->counter);
    if (key != STEER_NONE && after_key != STEER_NONE)
        p->plan->gate[p->plan->ngates++] =
            (struct steer_gate){ key, s->number, after_key, after->number };
}

static int compare_gates(const void *a, const void *b)
{
    const struct steer_gate *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* The latest of what a thread has waited for of another one: earlier ones are implied. */
static bool is_implied(struct map *known, const struct planner *p, const struct wait *w)
{
    const struct step *s = &p->steps[w->step], *after = &p->steps[w->after];
    uint32_t *latest = map_put(known, (uint64_t)s->thread << 32 | after->thread, 0);

    if (*latest > w->after)
        return true;
    *latest = w->after + 1;
    return false;
}

static void add_gates(struct planner *p)
{
    struct map known = { 0 };
    size_t kept = 0;

    for (size_t i = 0; i < p->nwaits; i++)
        if (!is_implied(&known, p, &p->waits[i]))
            p->waits[kept++] = p->waits[i];
    map_release(&known);
    for (size_t i = kept > STEER_GATES_MAX / 2 ? kept - STEER_GATES_MAX / 2 : 0; i < kept; i++)
        add_gate(p, &p->waits[i]);
    if (p->plan->ngates)
        qsort(p->plan->gate, p->plan->ngates, sizeof(*p->plan->gate), compare_gates);
}

/* A variable of an image has its place in every run. */
static bool find_in_image(struct planner *p)
{
    const struct tables *t = trace_tables(p->trace);
    struct steer_target *to = &p->plan->target;
    uint64_t a = p->race->address;

    for (size_t i = 0; i < t->nimages; i++) {
        const struct image *m = &t->images[i];
        const char *slash = strrchr(m->path, '/'), *name = slash ? slash + 1 : m->path;

        if (a < m->low || a >= m->high || strlen(name) >= sizeof(to->image))
            continue;
        to->kind = STEER_IN_IMAGE;
        to->offset = a - m->base;
        strcpy(to->image, i ? name : ""); /* the program comes first */
        return true;
    }
    return false;
}

static void finish_target(struct planner *p)
{
    struct steer_target *to = &p->plan->target;

    to->bytes = p->race->bytes ? p->race->bytes : 1;
    if (find_in_image(p) || to->kind == STEER_ANYWHERE)
        return;
    to->key = confirm_plan_key_of(p, to->key);
    if (to->key == STEER_NONE)
        to->kind = STEER_ANYWHERE;
}

static void finish_sides(struct planner *p, const uint32_t site[2])
{
    for (unsigned k = 0; k < 2; k++) {
        struct steer_side *s = &p->plan->side[k];

        s->index = tables_site_origin(trace_tables(p->trace), site[k]).index;
        s->anchor = p->anchor[k] ? confirm_plan_key_of(p, p->anchor[k] - 1) : STEER_NONE;
        s->anchor_number = p->anchor_number[k];
    }
}

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    return x->position < y->position ? -1 : x->position > y->position;
}

static void take_schedule(struct planner *p)
{
    const struct finding *r = p->race;

    p->end = (r->sides[0].event > r->sides[1].event ? r->sides[0].event : r->sides[1].event) + 1;
    if (!r->witness || r->nwitness < 2)
        return;
    p->nwanted = r->nwitness - 2; /* the last two are the race */
    p->wanted = xcalloc(p->nwanted + 1, sizeof(*p->wanted));
    for (size_t i = 0; i < p->nwanted; i++) {
        p->wanted[i] = (struct place){ r->witness[i], i };
        if (r->witness[i] >= p->end)
            p->end = r->witness[i] + 1;
    }
    if (p->nwanted)
        qsort(p->wanted, p->nwanted, sizeof(*p->wanted), compare_places);
}

static bool is_findable(const struct steer_plan *plan)
{
    for (unsigned k = 0; k < 2; k++)
        if (!(plan->side[k].module[0] | plan->side[k].module[1]) &&
            plan->target.kind == STEER_ANYWHERE)
            return false;
    return true;
}

static int confirm_plan_make(struct planner *p, struct error *err)
{
    uint32_t site[2] = { SITE_NONE, SITE_NONE };

    if (find_threads(p, site, err) < 0 || confirm_plan_read_trace(p, err) < 0)
        return -1;
    make_waits(p);
    finish_sides(p, site);
    finish_target(p);
    add_gates(p);
    if (trace_tables(p->trace)->process.numbers[PROCESS_FORKED])
        p->plan->flags |= STEER_FORKED;
    if (!p->wanted) /* nobody says that there is a moment before both */
        p->plan->flags |= STEER_HASTY;
    return is_findable(p->plan) ? 0 : error_set(err, "nothing tells this access in another run");
}

int confirm_plan(struct steer_plan *plan, const struct finding *r, struct trace *t,
                 struct error *err)
{
    struct planner p = { .race = r, .trace = t, .plan = plan };
    int got;

    *plan = (struct steer_plan){ .version = STEER_VERSION };
    for (unsigned k = 0; k < 2; k++)
        if (r->sides[k].unexecuted)
            return error_set(err, "its schedule takes a branch that the recording did not take");
    if (!trace_tables(t)->process.known)
        return error_set(err, "the trace was not recorded by heddle");
    take_schedule(&p);
    got = confirm_plan_make(&p, err);
    free(p.wanted);
    free(p.steps);
    free(p.waits);
    counting_release(&p.count);
    return got;
}

/* ---- tries ---- */

enum {
    LESS_GATES = 1,
    LESS_THREADS = 2,
    LESS_PLACE = 4, /* any memory, at any time */
    ONE_WAITS = 8,
    OTHER_WAITS = 16,
    PATIENT = 32
};
static const struct {
    unsigned how;
    const char *words;
} variations[] = {
    { 0, "the schedule, its threads and its memory" },
    { PATIENT, "the same, waiting longer" },
    { LESS_GATES, "its threads and its memory, in any order" },
    { LESS_GATES | LESS_THREADS, "its memory, any threads, in any order" },
    { LESS_THREADS | LESS_PLACE, "the schedule, any threads, any memory" },
    { LESS_GATES | LESS_THREADS | LESS_PLACE | ONE_WAITS, "the two places, the first one waits" },
    { LESS_GATES | LESS_THREADS | LESS_PLACE | OTHER_WAITS,
      "the two places, the second one waits" },
    { OTHER_WAITS, "the schedule, the second one waits" },
    { ONE_WAITS, "the schedule, the first one waits" },
    { LESS_GATES | LESS_THREADS | LESS_PLACE | PATIENT, "the two places, waiting longer" },
};
enum { VARIATIONS = sizeof(variations) / sizeof(*variations) };

static void give_up_place(struct steer_plan *plan)
{
    bool sites = true;

    for (unsigned k = 0; k < 2; k++) {
        plan->side[k].anchor = STEER_NONE;
        sites &= (plan->side[k].module[0] | plan->side[k].module[1]) != 0;
    }
    if (sites)
        plan->target.kind = STEER_ANYWHERE;
}

void confirm_vary(struct steer_plan *plan, const struct steer_plan *first, unsigned n)
{
    unsigned how = variations[n % VARIATIONS].how;

    *plan = *first;
    if (how & LESS_GATES)
        plan->ngates = 0;
    for (unsigned k = 0; k < 2; k++)
        if (how & LESS_THREADS)
            plan->side[k].thread = 0;
    if (how & LESS_PLACE)
        give_up_place(plan);
    if (how & PATIENT)
        plan->flags &= ~(uint32_t)STEER_HASTY;
    plan->flags |= (how & PATIENT ? STEER_PATIENT : 0) | (how & ONE_WAITS ? STEER_FIRST_WAITS : 0) |
                   (how & OTHER_WAITS ? STEER_SECOND_WAITS : 0);
}

const char *confirm_variation(unsigned n)
{
    return variations[n % VARIATIONS].words;
}
