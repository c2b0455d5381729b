/* wcp_locks.c - sections on locks: their happens-before edges and rule (a') of WCP
 *
 * Rule (a'): the release of a section comes before a conflicting access inside
 * a later section on the same lock, unless both hold it shared. For each lock
 * and variable a guard keeps, by slot, the H of the last release whose section
 * wrote and of the last whose section only read. A section that writes
 * exclusively has learned all of them, so its release stands for all.
 *
 * Conflicting here means two threads and at least one write, also where both
 * are atomic: with the sections the other way round the reads would see
 * something else.
 *
 * A section ends with its release, or with its thread. A release that ends no
 * section of its thread, or not cleanly (STEP_FOREIGN), hands the lock over
 * like a signal: what came before it is before the next acquire in WCP.
 */
#include "engines/streaming/wcp.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* A variable with more guards than this finds them through the hash. */
enum { GUARDS_IN_ROW = 12 };

/* Two readers of a lock can touch a variable in turns, and each time it is listed again; lists of
 * this length and more are cleared of repetitions before they grow. */
enum { REPETITIONS_FROM = 1024 };

static struct wcp_lock *lock_at(struct wcp *w, uint32_t id)
{
    struct wcp_object *o = &w->objects[id];

    if (!o->lock) {
        o->lock = xcalloc(1, sizeof(*o->lock));
        o->lock->h = o->lock->p = o->lock->shared_h = o->lock->shared_p = CLOCK_EMPTY;
    }
    return o->lock;
}

/* ---- guards ---- */

static uint64_t guard_hash_key(const struct wcp_variable *v, uint32_t lock)
{
    return (uint64_t)v->guard_key << 32 | lock;
}

static uint32_t guard_in_row(const struct wcp *w, struct wcp_variable *v, uint32_t lock)
{
    uint32_t before = 0;

    for (uint32_t g = v->guards; g; before = g, g = w->guards[g].next) {
        if (w->guards[g].lock != lock)
            continue;
        if (before) { /* the one used last comes first */
            w->guards[before].next = w->guards[g].next;
            w->guards[g].next = v->guards;
            v->guards = g;
        }
        return g;
    }
    return 0;
}

static inline uint32_t guard_find(const struct wcp *w, struct wcp_variable *v, uint32_t lock)
{
    const uint32_t *found;

    if (v->guards && w->guards[v->guards].lock == lock)
        return v->guards;
    if (v->nguards <= GUARDS_IN_ROW)
        return guard_in_row(w, v, lock);
    found = map_get(&w->guard_index, guard_hash_key(v, lock));
    return found ? *found : 0;
}

/* The row has become long: put all of it into the hash. */
static void index_guards(struct wcp *w, struct wcp_variable *v)
{
    v->guard_key = ++w->guard_keys;
    for (uint32_t g = v->guards; g; g = w->guards[g].next)
        *map_put(&w->guard_index, guard_hash_key(v, w->guards[g].lock), 0) = g;
}

static uint32_t guard_new(struct wcp *w, struct wcp_variable *v, uint32_t lock)
{
    uint32_t g = w->free_guard;

    if (g) {
        w->free_guard = w->guards[g].next;
    } else {
        w->nguards += !w->nguards; /* 0 means none */
        GROW(w->guards, w->guards_cap, w->nguards + 1);
        g = (uint32_t)w->nguards++;
    }
    w->guards[g].lock = lock;
    w->guards[g].serial = 0;
    w->guards[g].next = v->guards;
    v->guards = g;
    v->nguards++;
    if (v->nguards == GUARDS_IN_ROW + 1)
        index_guards(w, v);
    else if (v->nguards > GUARDS_IN_ROW)
        *map_put(&w->guard_index, guard_hash_key(v, lock), 0) = g;
    return g;
}

void wcp_guards_forget(struct wcp *w, struct wcp_variable *v)
{
    for (uint32_t g = v->guards, next; g; g = next) {
        struct wcp_guard *guard = &w->guards[g];

        next = guard->next;
        for (uint32_t i = 0; i < guard->count; i++)
            clock_clear(&w->pool, &guard->past[i].h);
        guard->count = 0;
        guard->generation++;
        guard->next = w->free_guard;
        w->free_guard = g;
    }
    v->guards = v->nguards = 0;
}

static struct wcp_past *past_room(struct wcp_guard *g)
{
    if (g->count == g->cap) {
        g->cap = g->cap ? 2 * g->cap : 1;
        g->past = xrealloc(g->past, g->cap, sizeof(*g->past));
    }
    g->past[g->count].h = CLOCK_EMPTY;
    return &g->past[g->count++];
}

/* A section that touched the guard's variable is over. */
static void add_past(struct wcp *w, struct wcp_guard *g, const struct clock *h, uint32_t what)
{
    struct wcp_past *p = NULL;

    what = what & WCP_WRITE ? what & ~(uint32_t)WCP_READ : what;
    if (what == WCP_WRITE) {
        while (g->count > 1)
            clock_clear(&w->pool, &g->past[--g->count].h);
        p = g->count ? g->past : NULL;
    } else {
        for (uint32_t i = 0; i < g->count && !p; i++)
            if (g->past[i].h.slot == h->slot && g->past[i].what == what)
                p = &g->past[i];
    }
    if (!p)
        p = past_room(g);
    p->what = what;
    clock_copy(&w->pool, &p->h, h);
}

/* ---- accesses inside sections ---- */

static void list_again(struct wcp *w, struct wcp_section *s)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->count; i++) { /* the guard remembers where its first one went */
        struct wcp_touch *t = &s->touched[i];
        struct wcp_guard *g = &w->guards[t->guard];

        if (g->generation != t->generation)
            continue;
        if (g->serial == s->serial && g->place < kept && s->touched[g->place].guard == t->guard) {
            s->touched[g->place].what |= t->what;
            continue;
        }
        g->serial = s->serial;
        g->place = (uint32_t)kept;
        s->touched[kept++] = *t;
    }
    s->count = kept;
}

static void wcp_locks_touch(struct wcp *w, struct wcp_section *s, uint32_t guard, uint32_t what)
{
    struct wcp_guard *g = &w->guards[guard];

    if (g->serial == s->serial) {
        s->touched[g->place].what |= what;
        return;
    }
    if (s->shared && s->count == s->cap && s->count >= REPETITIONS_FROM)
        list_again(w, s);
    GROW(s->touched, s->cap, s->count + 1);
    g->serial = s->serial;
    g->place = (uint32_t)s->count;
    s->touched[s->count++] = (struct wcp_touch){ guard, g->generation, what };
}

void wcp_touch_slow(struct wcp *w, struct wcp_thread *t, struct wcp_variable *v, unsigned what)
{
    what &= WCP_READ | WCP_WRITE;
    for (size_t i = 0; i < t->nopen; i++) {
        struct wcp_section *s = &t->open[i];
        uint32_t g = guard_find(w, v, s->lock);
        const struct wcp_past *p;

        if (!g)
            g = guard_new(w, v, s->lock);
        p = w->guards[g].past;
        for (uint32_t k = 0; k < w->guards[g].count; k++)
            if (p[k].h.slot != t->h.slot && (p[k].what | what) & WCP_WRITE &&
                !(p[k].what & WCP_SHARED && s->shared))
                wcp_learn(w, t, &p[k].h);
        wcp_locks_touch(w, s, g, what);
    }
}

/* ---- variables that part ---- */

/* Open sections that touched a guard's variable have touched its new part too. */
static void copy_touch(struct wcp *w, struct wcp_section *s, uint32_t from, uint32_t to)
{
    uint32_t what = 0;

    if (s->lock != w->guards[from].lock)
        return;
    if (w->guards[from].serial == s->serial && !s->shared)
        what = s->touched[w->guards[from].place].what;
    for (size_t i = 0; s->shared && i < s->count; i++)
        if (s->touched[i].guard == from && s->touched[i].generation == w->guards[from].generation)
            what |= s->touched[i].what;
    if (what)
        wcp_locks_touch(w, s, to, what);
}

static void copy_touches(struct wcp *w, const struct wcp_lock *l, uint32_t from, uint32_t to)
{
    for (size_t i = 0; i <= l->nreaders; i++) {
        uint32_t thread = i < l->nreaders ? l->readers[i] : l->owner - 1;

        if (i == l->nreaders && !l->owner)
            break;
        for (size_t k = 0; k < w->threads[thread].nopen; k++)
            copy_touch(w, &w->threads[thread].open[k], from, to);
    }
}

void wcp_guards_copy(struct wcp *w, struct wcp_variable *to, const struct wcp_variable *from)
{
    for (uint32_t g = from->guards; g; g = w->guards[g].next) {
        uint32_t new = guard_new(w, to, w->guards[g].lock);

        for (uint32_t i = 0; i < w->guards[g].count; i++) {
            struct wcp_past *p = past_room(&w->guards[new]);

            p->what = w->guards[g].past[i].what;
            clock_copy(&w->pool, &p->h, &w->guards[g].past[i].h);
        }
        copy_touches(w, lock_at(w, w->guards[g].lock), g, new);
    }
}

/* ---- the end of a section ---- */

static void add_to(struct wcp *w, struct clock *sum, const struct clock *c)
{
    struct clock result = CLOCK_EMPTY;

    clock_join(&w->pool, &result, sum);
    clock_join(&w->pool, &result, c);
    clock_clear(&w->pool, sum);
    *sum = result;
}

static void publish_shared(struct wcp *w, struct wcp_lock *l, const struct wcp_thread *t)
{
    clock_join(&w->pool, &l->shared_h, &t->h);
    clock_join(&w->pool, &l->shared_p, &t->p);
}

/* The holder has learned what is there, unless the lock was disturbed: replace it. */
static void publish_exclusive(struct wcp *w, struct wcp_lock *l, const struct wcp_thread *t)
{
    clock_copy(&w->pool, &l->h, &t->h);
    clock_copy(&w->pool, &l->p, &t->p);
    clock_clear(&w->pool, &l->shared_h);
    clock_clear(&w->pool, &l->shared_p);
}

/* Hand the lock over like a signal. */
static void publish_hard(struct wcp *w, struct wcp_lock *l, const struct wcp_thread *t)
{
    add_to(w, &l->h, &t->h);
    add_to(w, &l->p, &t->h);
    clock_join(&w->pool, &l->shared_h, &t->h);
    clock_join(&w->pool, &l->shared_p, &t->h);
    l->disturbed = true;
}

static void wcp_locks_let_go(struct wcp_lock *l, uint32_t thread, bool shared)
{
    for (size_t i = 0; shared && i < l->nreaders; i++) {
        if (l->readers[i] == thread) {
            l->readers[i] = l->readers[--l->nreaders];
            return;
        }
    }
    if (!shared && l->owner == thread + 1)
        l->owner = 0;
}

/* Takes the section out of the list but keeps its memory behind the others. */
static void drop_section(struct wcp_thread *t, size_t i)
{
    struct wcp_section s = t->open[i];

    s.count = 0;
    memmove(&t->open[i], &t->open[i + 1], (t->nopen - 1 - i) * sizeof(s));
    t->open[--t->nopen] = s;
}

/* The thread's section number i ends here; the thread ticks. */
static void close_section(struct wcp *w, uint32_t thread, size_t i, bool foreign)
{
    struct wcp_thread *t = &w->threads[thread];
    struct wcp_section *s = &t->open[i];
    struct wcp_lock *l = lock_at(w, s->lock);
    uint32_t shared = s->shared ? WCP_SHARED : 0;

    wcp_queue_apply(w, t, l, s->shared);
    for (size_t k = 0; k < s->count; k++)
        if (w->guards[s->touched[k].guard].generation == s->touched[k].generation)
            add_past(w, &w->guards[s->touched[k].guard], &t->h, s->touched[k].what | shared);
    wcp_queue_add(w, t, l, s);
    wcp_locks_let_go(l, thread, s->shared);
    if (foreign || l->disturbed)
        publish_hard(w, l, t);
    else if (s->shared)
        publish_shared(w, l, t);
    else
        publish_exclusive(w, l, t);
    drop_section(t, i);
    t->h.time++;
}

void wcp_close_all(struct wcp *w, uint32_t thread)
{
    while (w->threads[thread].nopen)
        close_section(w, thread, w->threads[thread].nopen - 1, false);
}

/* ---- acquire and release ---- */

/* Index of the thread's section on a lock, nopen if there is none. */
static size_t find_section(const struct wcp_thread *t, uint32_t lock, bool shared)
{
    size_t i = 0;

    while (i < t->nopen && (t->open[i].lock != lock || t->open[i].shared != shared))
        i++;
    return i;
}

static void close_of(struct wcp *w, uint32_t thread, uint32_t lock, bool shared)
{
    size_t i = find_section(&w->threads[thread], lock, shared);

    if (i < w->threads[thread].nopen)
        close_section(w, thread, i, true);
    else
        wcp_locks_let_go(lock_at(w, lock), thread, shared);
}

/* Who still seems to hold the lock has given it up: its thread died, or the trace has the release
 * too late. */
static void wcp_locks_settle(struct wcp *w, const struct step *s, bool exclusive)
{
    struct wcp_lock *l = lock_at(w, s->id);
    size_t others = 0;

    if (l->owner && l->owner != s->thread + 1)
        close_of(w, l->owner - 1, s->id, false);
    while (exclusive && l->nreaders > others) {
        if (l->readers[l->nreaders - 1 - others] == s->thread)
            others++;
        else
            close_of(w, l->readers[l->nreaders - 1 - others], s->id, true);
    }
}

static void wcp_locks_acquire(struct wcp *w, struct wcp_thread *t, const struct step *s,
                              bool shared)
{
    struct wcp_lock *l = lock_at(w, s->id);
    struct wcp_section *open;

    wcp_locks_settle(w, s, !shared);
    clock_join(&w->pool, &t->h, &l->h);
    clock_join(&w->pool, &t->p, &l->p);
    if (shared) {
        GROW(l->readers, l->readers_cap, l->nreaders + 1);
        l->readers[l->nreaders++] = s->thread;
    } else {
        clock_join(&w->pool, &t->h, &l->shared_h);
        clock_join(&w->pool, &t->p, &l->shared_p);
        l->owner = s->thread + 1;
        l->disturbed = false;
    }
    GROW(t->open, t->open_cap, t->nopen + 1);
    open = &t->open[t->nopen++];
    open->lock = s->id;
    open->shared = shared;
    open->time = t->h.time;
    open->serial = ++w->serials;
    open->count = 0;
}

static void wcp_locks_release(struct wcp *w, struct wcp_thread *t, const struct step *s,
                              bool shared)
{
    bool foreign = s->flags & STEP_FOREIGN;
    size_t i = find_section(t, s->id, shared);

    if (i == t->nopen && foreign)
        i = find_section(t, s->id, !shared);
    if (i < t->nopen) {
        close_section(w, s->thread, i, foreign);
    } else {
        publish_hard(w, lock_at(w, s->id), t);
        t->h.time++;
    }
}

void wcp_lock_step(struct wcp *w, const struct step *s)
{
    struct wcp_thread *t = wcp_thread(w, s->thread);
    bool shared = s->op == OP_ACQUIRE_SHARED || s->op == OP_RELEASE_SHARED;

    if (s->flags & STEP_NESTED)
        return;
    if (s->op == OP_ACQUIRE || s->op == OP_ACQUIRE_SHARED)
        wcp_locks_acquire(w, t, s, shared);
    else
        wcp_locks_release(w, t, s, shared);
}

void wcp_locks_free(struct wcp *w)
{
    for (size_t i = 0; i < w->objects_cap; i++) {
        struct wcp_lock *l = w->objects[i].lock;

        if (!l)
            continue;
        wcp_queues_free(l);
        free(l->readers);
        free(l);
    }
    for (size_t i = 0; i < w->guards_cap; i++)
        free(w->guards[i].past);
    for (size_t i = 0; i < w->threads_cap; i++) {
        for (size_t k = 0; k < w->threads[i].open_cap; k++)
            free(w->threads[i].open[k].touched);
        free(w->threads[i].open);
    }
    free(w->guards);
    map_release(&w->guard_index);
}
