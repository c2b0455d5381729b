/* live_calls.c - calls of untraced code and what touches the same things, ordered by clocks */
#include "engines/live/live_calls.h"
#include "base/alloc.h"
#include "base/intern.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

enum {
    PAGE_SHIFT = 12,
    MARKED_PAGES_MAX = 4096 /* of one range; beyond, every page counts as listed */
};
#define OBJECTS_FROM ((uint64_t)1 << 62) /* named objects on the axis */

/* ---- small things ---- */

static void live_calls_push(uint32_t **items, uint32_t *count, uint32_t *cap, uint32_t item)
{
    if (*count == *cap) {
        *cap = *cap ? 2 * *cap : 4;
        *items = xrealloc(*items, *cap, sizeof(**items));
    }
    (*items)[(*count)++] = item;
}

static uint64_t bit_of(uint64_t key)
{
    return map_hash(key) >> 8 & ((1 << LIVE_LISTED_BITS) - 1);
}

static void bit_set(uint64_t *bits, uint64_t key)
{
    bits[bit_of(key) / 64] |= (uint64_t)1 << bit_of(key) % 64;
}

static bool bit_is_set(const uint64_t *bits, uint64_t key)
{
    return bits[bit_of(key) / 64] >> bit_of(key) % 64 & 1;
}

static struct live_caller *caller_of(struct live_calls *c, uint32_t thread)
{
    GROW(c->threads, c->threads_cap, (size_t)thread + 1);
    return &c->threads[thread];
}

/* ---- clocks ---- */

static void live_calls_learn(struct live_calls *c, uint32_t thread, const struct clock *from)
{
    hb_learn(c->hb, hb_thread(c->hb, thread), from);
}

/* All that a thread has done up to now goes into a sum. */
static void add_thread(struct live_calls *c, uint32_t thread, struct clock *sum)
{
    struct hb_thread *t = &c->hb->threads[thread];
    struct clock now = CLOCK_EMPTY;

    if (t->clock.slot == SLOT_NONE) { /* it has not begun, or was joined */
        if (t->clock.tree)
            clock_join(&c->hb->pool, sum, &t->clock);
        return;
    }
    hb_publish(c->hb, t, &now);
    clock_join(&c->hb->pool, sum, &now);
    clock_clear(&c->hb->pool, &now);
}

/* A sum, whatever it was: a clock of a thread holds on to its own time. */
static void add_clock(struct live_calls *c, struct clock *to, const struct clock *from)
{
    struct clock sum = CLOCK_EMPTY;

    if (to->slot != SLOT_NONE) {
        clock_join(&c->hb->pool, &sum, to);
        clock_clear(&c->hb->pool, to);
        *to = sum;
    }
    clock_join(&c->hb->pool, to, from);
}

/* All threads meet: what was comes before what will be. */
static void live_calls_meet(struct live_calls *c)
{
    for (size_t i = 0; i < c->hb->threads_cap; i++)
        add_thread(c, (uint32_t)i, &c->met);
    c->meetings++;
}

static void meet_here(struct live_calls *c, uint32_t thread)
{
    live_calls_meet(c);
    live_calls_learn(c, thread, &c->met);
}

/* ---- groups ---- */

static uint32_t new_group(struct live_calls *c)
{
    size_t i = 0;

    while (i < c->ngroups && c->groups[i].used)
        i++;
    GROW(c->groups, c->groups_cap, i + 1);
    if (i == c->ngroups)
        c->ngroups++;
    c->groups[i] = (struct live_group){ CLOCK_EMPTY, THREAD_NONE, true };
    return (uint32_t)i;
}

/* The thread comes after all that met the group. */
static void meet_group(struct live_calls *c, uint32_t group, uint32_t thread)
{
    struct live_group *g = &c->groups[group];

    if (g->last == thread)
        return;
    if (g->last != THREAD_NONE)
        add_thread(c, g->last, &g->clock);
    live_calls_learn(c, thread, &g->clock);
    g->last = thread;
}

/* What the thread does from here on need not come before what meets the group. */
static void leave_group(struct live_calls *c, uint32_t group, uint32_t thread)
{
    struct live_group *g = &c->groups[group];

    if (g->last != thread || thread == THREAD_NONE)
        return;
    add_thread(c, thread, &g->clock);
    g->last = THREAD_NONE;
}

/* All of one group become members of another one; the present thread has met both. */
static void join_groups(struct live_calls *c, uint32_t to, uint32_t from, uint32_t thread)
{
    if (to == from)
        return;
    leave_group(c, from, c->groups[from].last);
    leave_group(c, to, c->groups[to].last);
    clock_join(&c->hb->pool, &c->groups[to].clock, &c->groups[from].clock);
    clock_clear(&c->hb->pool, &c->groups[from].clock);
    c->groups[from].used = false;
    c->groups[to].last = thread;
    for (size_t i = 0; i < c->threads_cap; i++)
        if (c->threads[i].depth && c->threads[i].group == from)
            c->threads[i].group = to;
}

/* ---- calls that are open ---- */

static uint32_t new_pair(struct live_calls *c, uint32_t thread)
{
    uint32_t n = c->nfree ? c->free_pairs[--c->nfree] : (uint32_t)c->npairs++;

    GROW(c->pairs, c->pairs_cap, c->npairs);
    c->pairs[n] = (struct live_pair){ .thread = thread, .refs = 1, .left = CLOCK_EMPTY };
    return n;
}

static void put_pair(struct live_calls *c, uint32_t pair)
{
    struct live_pair *p = &c->pairs[pair];

    if (--p->refs)
        return;
    clock_clear(&c->hb->pool, &p->left);
    GROW(c->free_pairs, c->free_cap, c->nfree + 1);
    c->free_pairs[c->nfree++] = pair;
}

static void drop_links(struct live_calls *c, uint32_t pair)
{
    uint32_t *links = c->pairs[pair].links;

    for (uint32_t i = 0; i < c->pairs[pair].nlinks; i++)
        put_pair(c, links[i]);
    free(links);
    c->pairs[pair].links = NULL;
    c->pairs[pair].nlinks = c->pairs[pair].links_cap = 0;
}

static void link_pairs(struct live_calls *c, uint32_t pair, uint32_t other)
{
    struct live_pair *p = &c->pairs[pair];

    for (uint32_t i = 0; i < p->nlinks; i++)
        if (p->links[i] == other)
            return;
    live_calls_push(&p->links, &p->nlinks, &p->links_cap, other);
    c->pairs[other].refs++;
}

/* ---- runs ---- */

/* Calls that are over leave what they knew. */
static void fold(struct live_calls *c, struct live_run *run)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < run->nopen; i++) {
        struct live_pair *p = &c->pairs[run->open[i]];

        if (!p->over) {
            run->open[kept++] = run->open[i];
            continue;
        }
        clock_join(&c->hb->pool, &run->returned, &p->left);
        put_pair(c, run->open[i]);
    }
    c->entries -= run->nopen - kept;
    run->nopen = kept;
}

static void clear_touches(struct live_calls *c, struct live_run *run)
{
    for (uint32_t i = 0; i < run->ntouches; i++)
        clock_clear(&c->hb->pool, &run->touches[i].clock);
    c->entries -= run->ntouches;
    run->ntouches = 0;
}

static struct clock *touch_of(struct live_calls *c, struct live_run *run, uint32_t thread)
{
    for (uint32_t i = 0; i < run->ntouches; i++)
        if (run->touches[i].thread == thread)
            return &run->touches[i].clock;
    if (run->ntouches == run->touches_cap) {
        run->touches_cap = run->touches_cap ? 2 * run->touches_cap : 1;
        run->touches = xrealloc(run->touches, run->touches_cap, sizeof(*run->touches));
    }
    c->entries++;
    run->touches[run->ntouches] = (struct live_touch){ thread, CLOCK_EMPTY };
    return &run->touches[run->ntouches++].clock;
}

/* A run begins at `at`, if one is there. */
static void cut(struct live_calls *c, uint64_t at)
{
    struct live_run *run = live_runs_next(&c->runs, at), *upper;
    uint64_t hi;

    if (!run || run->lo >= at)
        return;
    hi = run->hi;
    run->hi = at;
    upper = live_runs_add(&c->runs, at, hi);
    upper->listed = run->listed;
    upper->half = run->half;
    clock_copy(&c->hb->pool, &upper->returned, &run->returned);
    for (uint32_t i = 0; i < run->nopen; i++) {
        live_calls_push(&upper->open, &upper->nopen, &upper->open_cap, run->open[i]);
        c->pairs[run->open[i]].refs++;
        c->entries++;
    }
    for (uint32_t i = 0; i < run->ntouches; i++)
        clock_copy(&c->hb->pool, touch_of(c, upper, run->touches[i].thread),
                   &run->touches[i].clock);
}

static void remove_run(struct live_calls *c, struct live_run *run)
{
    for (uint32_t i = 0; i < run->nopen; i++)
        put_pair(c, run->open[i]);
    c->entries -= run->nopen;
    clear_touches(c, run);
    clock_clear(&c->hb->pool, &run->returned);
    live_runs_remove(&c->runs, run);
}

static bool same_calls(const struct live_run *a, const struct live_run *b)
{
    return a->listed == b->listed && a->nopen == b->nopen &&
           (!a->nopen || !memcmp(a->open, b->open, a->nopen * sizeof(*a->open)));
}

/* The second goes into the first, which it follows. */
static void join_runs(struct live_calls *c, struct live_run *a, struct live_run *b)
{
    uint64_t hi = b->hi;

    clock_join(&c->hb->pool, &a->returned, &b->returned);
    for (uint32_t i = 0; i < b->ntouches; i++)
        add_clock(c, touch_of(c, a, b->touches[i].thread), &b->touches[i].clock);
    a->half |= b->half;
    remove_run(c, b);
    a->hi = hi;
}

/* Neighbours within the range that calls list alike. */
static void join_range(struct live_calls *c, uint64_t lo, uint64_t hi)
{
    struct live_run *run = live_runs_next(&c->runs, lo), *next;

    for (; run && run->hi < hi; run = next) {
        next = live_runs_next(&c->runs, run->hi);
        if (!next || next->lo >= hi)
            break;
        if (next->lo == run->hi && same_calls(run, next)) {
            join_runs(c, run, next);
            next = run;
        }
    }
}

/* The run at `at`, which ends at `hi` if it is new. */
static struct live_run *run_at(struct live_calls *c, uint64_t at, uint64_t hi)
{
    struct live_run *run = live_runs_next(&c->runs, at);

    if (run && run->lo <= at)
        return run;
    return live_runs_add(&c->runs, at, run && run->lo < hi ? run->lo : hi);
}

/* ---- who touched memory before anybody listed it ---- */

struct search {
    struct live_calls *calls;
    uint32_t thread;      /* who is to know it */
    struct live_run *run; /* NULL: the thread itself; else it becomes a touch */
};

static void note_toucher(void *arg, live_stamp stamp)
{
    struct search *s = arg;
    const struct hb_thread *t = hb_thread(s->calls->hb, s->thread);
    uint32_t slot = live_stamp_slot(stamp), other;
    struct clock now = CLOCK_EMPTY;

    if (slot == t->clock.slot || hb_knows(t, slot, live_stamp_time(stamp)))
        return;
    other = s->calls->thread_at(s->calls->arg, slot);
    add_thread(s->calls, other, &now);
    if (s->run)
        add_clock(s->calls, touch_of(s->calls, s->run, other), &now);
    else
        live_calls_learn(s->calls, s->thread, &now);
    clock_clear(&s->calls->hb->pool, &now);
}

static void find_touchers(struct live_calls *c, uint32_t thread, const struct live_run *of,
                          struct live_run *to)
{
    struct search s = { c, thread, to };

    if (c->evicted != c->words->evicted) { /* somebody is not known any more */
        c->evicted = c->words->evicted;
        meet_here(c, thread);
    }
    live_words_touchers(c->words, of->lo, of->hi - of->lo, note_toucher, &s);
}

/* ---- touching ---- */

/* The thread comes after all calls that listed the run or list it. */
static void meet_calls(struct live_calls *c, struct live_run *run, uint32_t thread)
{
    if (run->nopen)
        fold(c, run);
    live_calls_learn(c, thread, &run->returned);
    for (uint32_t i = 0; i < run->nopen; i++) {
        uint32_t other = c->pairs[run->open[i]].thread;

        if (other != thread)
            meet_group(c, c->threads[other].group, thread);
    }
}

/* Behind the event: who lists the run from here on comes after it. */
static void leave_touch(struct live_calls *c, struct live_run *run, uint32_t thread)
{
    const struct live_caller *t = &c->threads[thread];

    for (uint32_t i = 0; i < run->nopen; i++) {
        uint32_t group = c->threads[c->pairs[run->open[i]].thread].group;

        if (!t->depth || t->group != group)
            leave_group(c, group, thread);
    }
    if (!run->nopen)
        hb_publish(c->hb, hb_thread(c->hb, thread), touch_of(c, run, thread));
}

/* The thread comes after all that touched the run, too. */
static void take_touches(struct live_calls *c, struct live_run *run, uint32_t thread)
{
    if (!run->listed)
        find_touchers(c, thread, run, NULL);
    meet_calls(c, run, thread);
    for (uint32_t i = 0; i < run->ntouches; i++)
        if (run->touches[i].thread != thread)
            live_calls_learn(c, thread, &run->touches[i].clock);
}

static bool is_listed(const struct live_calls *c, uint64_t lo, uint64_t hi)
{
    for (uint64_t p = lo >> PAGE_SHIFT; p <= (hi - 1) >> PAGE_SHIFT; p++)
        if (bit_is_set(c->listed, p))
            return true;
    return c->listed_all;
}

/* An access, before or after it is compared: the runs of it that were listed; for the rest there is
 * live_words.h. */
static void access_listed(struct live_calls *c, const struct event *e,
                          void (*f)(struct live_calls *c, struct live_run *run, uint32_t thread))
{
    uint64_t lo = e->target, hi = e->target + e->size;

    if (!e->size || !is_listed(c, lo, hi))
        return;
    for (struct live_run *r; lo < hi && (r = live_runs_next(&c->runs, lo)) && r->lo < hi;
         lo = r->hi)
        if (r->listed)
            f(c, r, e->thread);
}

/* A block comes or goes. Accesses of it are forgotten when it comes. */
static void block_before(struct live_calls *c, const struct event *e)
{
    uint64_t lo = e->target, hi = e->target + e->value;
    struct live_run *r;

    cut(c, lo);
    cut(c, hi);
    for (uint64_t at = lo; at < hi; at = r->hi) {
        r = run_at(c, at, hi);
        meet_calls(c, r, e->thread);
        if (!r->listed && e->op == OP_ALLOC)
            find_touchers(c, e->thread, r, r);
    }
    join_range(c, lo, hi);
}

static void block_after(struct live_calls *c, const struct event *e)
{
    uint64_t lo = e->target, hi = e->target + e->value;
    struct live_run *r;

    for (; lo < hi; lo = r->hi) {
        r = run_at(c, lo, hi);
        leave_touch(c, r, e->thread);
    }
}

/* ---- objects ---- */

static bool is_on_object(unsigned op)
{
    enum op_class k = op_class_of(op);

    return k == CLASS_LOCK || (k >= CLASS_COND && k <= CLASS_ANNOTATION);
}

/* In text an object and a variable may have one name, and then they are one thing. */
static uint64_t object_at(const struct live_calls *c, uint64_t number)
{
    const struct intern *objects = c->names ? &c->names->objects : NULL;
    const char *name =
        objects && number < objects->count ? intern_get(objects, (uint32_t)number) : NULL;
    uint32_t v = name ? intern_find(&c->names->variables, name, strlen(name)) : INTERN_NONE;

    return v == INTERN_NONE ? OBJECTS_FROM + number : NAMED_ADDRESS(v);
}

static uint64_t live_calls_place_of(const struct live_calls *c, const struct event *e)
{
    return is_named(e->target) ? object_at(c, named_object(e->target)) : e->target;
}

/* Half of it may be hidden: an event of a barrier, or a release without its acquire. */
static bool is_half(const struct live_calls *c, const struct event *e)
{
    if (op_class_of(e->op) == CLASS_BARRIER || e->op == OP_RELEASE_SHARED)
        return true;
    return e->op == OP_RELEASE && (e->flags & EV_FOREIGN || bit_is_set(c->shared, e->target));
}

static void object_before(struct live_calls *c, const struct event *e)
{
    uint64_t at = live_calls_place_of(c, e);
    struct live_run *r = run_at(c, at, at + 1);

    r->half |= is_half(c, e);
    if (r->listed && is_half(c, e))
        take_touches(c, r, e->thread);
    else
        meet_calls(c, r, e->thread);
}

static void object_after(struct live_calls *c, const struct event *e)
{
    uint64_t at = live_calls_place_of(c, e);
    struct live_run *r = run_at(c, at, at + 1);

    leave_touch(c, r, e->thread);
    if (r->listed && is_half(c, e))
        add_thread(c, e->thread, &r->returned);
}

/* A thread that is joined has ended in the calls that it is still in. */
static void join_before(struct live_calls *c, const struct event *e)
{
    if (e->target < c->threads_cap && c->threads[e->target].depth)
        meet_group(c, c->threads[e->target].group, e->thread);
}

static void join_after(struct live_calls *c, const struct event *e)
{
    const struct live_caller *t = &c->threads[e->thread];
    const struct live_caller *other = e->target < c->threads_cap ? &c->threads[e->target] : NULL;

    if (other && other->depth && (!t->depth || t->group != other->group))
        leave_group(c, other->group, e->thread);
}

/* ---- calls ---- */

static void mark_listed(struct live_calls *c, uint64_t lo, uint64_t hi)
{
    uint64_t first = lo >> PAGE_SHIFT, last = (hi - 1) >> PAGE_SHIFT;

    if (last - first >= MARKED_PAGES_MAX)
        c->listed_all = true;
    else
        for (uint64_t p = first; p <= last; p++)
            bit_set(c->listed, p);
}

/* The call lists the run: it comes after all there was, and all that comes goes through it. */
static void take_run(struct live_calls *c, struct live_run *run, uint32_t pair)
{
    uint32_t thread = c->pairs[pair].thread;

    if (run->half && !run->listed) /* what came before was ordered as if it were listed */
        meet_here(c, thread);
    take_touches(c, run, thread);
    clear_touches(c, run);
    clock_clear(&c->hb->pool, &run->returned);
    run->listed = true;
    for (uint32_t i = 0; i < run->nopen; i++) {
        uint32_t other = c->pairs[run->open[i]].thread;

        if (run->open[i] == pair)
            return; /* listed twice */
        if (other == thread)
            continue;
        link_pairs(c, pair, run->open[i]);
        join_groups(c, c->threads[thread].group, c->threads[other].group, thread);
    }
    live_calls_push(&run->open, &run->nopen, &run->open_cap, pair);
    c->entries++;
    c->pairs[pair].refs++;
}

static void live_calls_take(struct live_calls *c, uint64_t lo, uint64_t hi, uint32_t pair)
{
    struct live_run *r;

    cut(c, lo);
    cut(c, hi);
    mark_listed(c, lo, hi);
    for (uint64_t at = lo; at < hi; at = r->hi) {
        r = run_at(c, at, hi);
        take_run(c, r, pair);
    }
    join_range(c, lo, hi);
}

static void take_all(struct live_calls *c, uint32_t pair)
{
    if (c->pairs[pair].all)
        return;
    c->pairs[pair].all = true;
    c->open_all++;
    meet_here(c, c->pairs[pair].thread);
}

static void take_entry(struct live_calls *c, const uint64_t *entry, uint32_t pair)
{
    uint64_t from = entry[0], at;

    switch (D_KIND(from)) {
    case D_MEMORY_KIND:
        if (entry[1])
            live_calls_take(c, from,
                            entry[1] > OBJECTS_FROM - from ? OBJECTS_FROM : from + entry[1], pair);
        break;
    case D_SYNC_KIND:
        at = object_at(c, D_LOW(from));
        live_calls_take(c, at, at + 1, pair);
        break;
    default:
        take_all(c, pair);
        break;
    }
}

/* Each thread of a group that still has open calls gets one of its own. True: there are several. */
static bool split_group(struct live_calls *c, uint32_t group)
{
    uint32_t first = NONE;
    bool several = false;

    leave_group(c, group, c->groups[group].last);
    for (size_t i = 0; i < c->threads_cap; i++) {
        struct live_caller *t = &c->threads[i];

        if (!t->depth || t->group != group)
            continue;
        if (first == NONE) {
            first = (uint32_t)i;
            continue;
        }
        several = true;
        t->group = new_group(c);
        clock_copy(&c->hb->pool, &c->groups[t->group].clock, &c->groups[group].clock);
    }
    if (first == NONE) {
        clock_clear(&c->hb->pool, &c->groups[group].clock);
        c->groups[group].used = false;
    }
    return several;
}

/* Threads of the same group before, whose calls still have things in common. */
static void join_linked(struct live_calls *c, uint32_t thread)
{
    struct live_caller *t = &c->threads[thread];

    for (uint32_t k = 0; k < t->depth; k++) {
        const struct live_pair *p = &c->pairs[t->stack[k]];

        for (uint32_t i = 0; i < p->nlinks; i++)
            if (!c->pairs[p->links[i]].over)
                join_groups(c, t->group, c->threads[c->pairs[p->links[i]].thread].group,
                            THREAD_NONE);
    }
}

/* The i-th call on the thread's stack is over. */
static void close_pair(struct live_calls *c, uint32_t thread, uint32_t i)
{
    struct live_caller *t = &c->threads[thread];
    uint32_t pair = t->stack[i], group = t->group;
    struct live_pair *p = &c->pairs[pair];

    t->depth--;
    memmove(&t->stack[i], &t->stack[i + 1], (t->depth - i) * sizeof(*t->stack));
    add_thread(c, thread, &p->left);
    p->over = true;
    if (p->all) {
        live_calls_meet(c);
        c->open_all--;
    }
    drop_links(c, pair);
    put_pair(c, pair);
    if (!split_group(c, group))
        return;
    for (size_t i = 0; i < c->threads_cap; i++) /* what holds them together now? */
        if (c->threads[i].depth)
            join_linked(c, (uint32_t)i);
}

static void return_from(struct live_calls *c, uint32_t thread)
{
    struct live_caller *t = &c->threads[thread];
    uint32_t i = t->depth;

    while (i && c->pairs[t->stack[i - 1]].returned)
        i--;
    if (i && c->pairs[t->stack[i - 1]].lasts)
        c->pairs[t->stack[i - 1]].returned = true;
    else if (i)
        close_pair(c, thread, i - 1);
}

static void end_quiet(struct live_calls *c, uint32_t thread)
{
    for (uint32_t i = c->threads[thread].depth; i-- > 0;)
        if (c->pairs[c->threads[thread].stack[i]].returned)
            close_pair(c, thread, i);
}

static void open_pair(struct live_calls *c, const struct event *e, const uint64_t *extra)
{
    struct live_caller *t = caller_of(c, e->thread);
    uint32_t pair = new_pair(c, e->thread);

    if (!t->depth) {
        uint32_t group = new_group(c);

        t->group = group;
        c->groups[group].last = e->thread;
    }
    live_calls_push(&t->stack, &t->depth, &t->stack_cap, pair);
    for (uint64_t i = 0; i < e->old; i++)
        take_entry(c, extra + e->value + 2 * i, pair);
    c->pairs[pair].lasts = e->flags & EV_LASTS;
    if (e->flags & EV_ALONE)
        return_from(c, e->thread);
}

static void live_calls_begin(struct live_calls *c)
{
    c->on = true;
    c->evicted = c->words->evicted;
    live_calls_meet(c);
}

/* ---- events ---- */

void live_calls_before(struct live_calls *c, const struct event *e, const uint64_t *extra)
{
    struct live_caller *t;

    if (!c->on && e->op == OP_CALL)
        live_calls_begin(c);
    if (e->op == OP_ACQUIRE_SHARED)
        bit_set(c->shared, e->target);
    if (!c->on || c->lost)
        return;
    t = caller_of(c, e->thread);
    if (t->met != c->meetings) {
        live_calls_learn(c, e->thread, &c->met);
        t->met = c->meetings;
    }
    if (t->depth)
        meet_group(c, t->group, e->thread);
    if (op_is_access(e->op)) {
        if (!c->open_all)
            access_listed(c, e, meet_calls);
    } else if ((e->op == OP_ALLOC || e->op == OP_FREE) && e->value) {
        block_before(c, e);
    } else if (is_on_object(e->op)) {
        object_before(c, e);
    } else if (e->op == OP_JOIN) {
        join_before(c, e);
    } else if (e->op == OP_CALL) {
        open_pair(c, e, extra);
    } else if (e->op == OP_RETURN) {
        return_from(c, e->thread);
    }
}

void live_calls_after(struct live_calls *c, const struct event *e)
{
    if (!c->on || c->lost)
        return;
    if (op_is_access(e->op)) {
        if (!c->open_all)
            access_listed(c, e, leave_touch);
    } else if ((e->op == OP_ALLOC || e->op == OP_FREE) && e->value) {
        block_after(c, e);
    } else if (is_on_object(e->op)) {
        object_after(c, e);
    } else if (e->op == OP_JOIN) {
        join_after(c, e);
    }
    if (c->threads[e->thread].depth && event_ends_quiet(e))
        end_quiet(c, e->thread);
}

/* ---- life cycle ---- */

size_t live_calls_bytes(const struct live_calls *c)
{
    return c->runs.count * sizeof(struct live_run) + c->entries * sizeof(struct live_touch);
}

void live_calls_release(struct live_calls *c)
{
    live_runs_release(&c->runs);
    for (size_t i = 0; i < c->npairs; i++)
        free(c->pairs[i].links);
    free(c->pairs);
    free(c->free_pairs);
    free(c->groups);
    for (size_t i = 0; i < c->threads_cap; i++)
        free(c->threads[i].stack);
    free(c->threads);
    c->pairs = NULL;
    c->free_pairs = NULL;
    c->groups = NULL;
    c->threads = NULL;
}

/* Clocks of the run are gone. Those that no open call lists are of no use any more. */
static bool forget_run(struct live_calls *c, struct live_run *run)
{
    run->returned = CLOCK_EMPTY;
    for (uint32_t i = 0; i < run->ntouches; i++)
        run->touches[i].clock = CLOCK_EMPTY;
    c->entries -= run->ntouches;
    run->ntouches = 0;
    fold(c, run);
    if (run->nopen)
        return true;
    live_runs_remove(&c->runs, run);
    return false;
}

void live_calls_forget(struct live_calls *c)
{
    struct live_run *run;

    for (size_t i = 0; i < c->npairs; i++)
        c->pairs[i].left = CLOCK_EMPTY;
    for (size_t i = 0; i < c->ngroups; i++) {
        c->groups[i].clock = CLOCK_EMPTY;
        c->groups[i].last = THREAD_NONE;
    }
    for (uint64_t at = 0; (run = live_runs_next(&c->runs, at));) {
        at = run->hi;
        forget_run(c, run);
    }
    c->met = CLOCK_EMPTY;
    c->meetings = 0;
    for (size_t i = 0; i < c->threads_cap; i++)
        c->threads[i].met = 0;
    memset(c->listed, 0, sizeof(c->listed));
    for (uint64_t at = 0; (run = live_runs_next(&c->runs, at)); at = run->hi)
        mark_listed(c, run->lo, run->hi);
}
