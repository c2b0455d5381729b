/* cp_record.c - the first pass of cp: threads, sections, hard edges
 *
 * Hard edges come from the happens-before core (order/hb.h) itself, asked in a
 * special way: without lock edges, with the clock of a thread emptied before
 * each of its events, and with the number of the event's source record as its
 * time. What the thread's clock holds after the event are then exactly the
 * direct sources of its hard edges, at most one a thread. Sources of the same
 * thread are program order and left out. Joins are done here.
 * A release by a thread that does not hold the lock (the lock passes on a
 * message), or of a lock held since before the trace, and a holder that an
 * acquire pushes aside (the trace is not exact there), count as hard edges to
 * the later acquires: an order too many rather than a false alarm.
 * Slots are passed on from a joined thread to those its joiner forks.
 */
#include "engines/streaming/cp_graph.h"
#include "base/alloc.h"

#include <stdlib.h>

/* ---- edges of rules (a) and (b) ---- */

static bool ended_before(const struct cp_section *a, const struct cp_section *b)
{
    return a->release && a->release < b->acquire;
}

/* An edge of rule (a). Of exclusive sections the latest brings along all others. */
void cp_add_edge(struct cp *c, uint32_t into, uint32_t from)
{
    struct cp_section *b = &c->sections[into];
    const struct cp_section *a = &c->sections[from];

    if (!ended_before(a, b))
        return;
    if (!a->shared) {
        c->rule_a += !b->source;
        if (!b->source || c->sections[b->source].acquire < a->acquire)
            b->source = from;
        return;
    }
    for (uint32_t i = b->links; i; i = c->links[i].next)
        if (c->links[i].section == from)
            return;
    if (!c->nlinks)
        c->nlinks = 1;
    GROW(c->links, c->links_cap, c->nlinks + 1);
    c->links[c->nlinks] = (struct cp_link){ from, b->links };
    b->links = (uint32_t)c->nlinks++;
    c->rule_a++;
}

/* ---- threads, slots, nodes ---- */

static uint32_t slot_new(struct cp *c)
{
    GROW(c->slots, c->slots_cap, c->nslots + 1);
    return (uint32_t)c->nslots++;
}

static void cp_record_start(struct cp *c, struct cp_thread *t, struct cp_thread *creator)
{
    t->slot = creator && creator->nfree ? creator->free_slots[--creator->nfree] : slot_new(c);
    t->last_slot = t->slot;
    GROW(c->moves, c->moves_cap, c->nmoves + 1);
    c->moves[c->nmoves++] = (struct cp_move){ (uint32_t)(t - c->threads), t->slot, c->now };
}

static struct cp_thread *cp_record_thread_of(struct cp *c, uint32_t thread)
{
    struct cp_thread *t = &c->threads[thread];

    if (__builtin_expect(t->slot == SLOT_NONE, 0))
        cp_record_start(c, t, NULL);
    return t;
}

/* A new last node of a thread, with the sources in c->found. */
static uint32_t node_new(struct cp *c, uint32_t thread, uint32_t time)
{
    struct cp_thread *t = cp_record_thread_of(c, thread);
    uint32_t id = (uint32_t)c->nnodes++;

    GROW(c->nodes, c->nodes_cap, c->nnodes);
    c->nodes[id] = (struct cp_node){ .time = time,
                                     .thread = thread,
                                     .slot = t->slot,
                                     .prev = t->node,
                                     .hard_first = (uint32_t)c->nhard_in,
                                     .hard_count = (uint32_t)c->nfound };
    GROW(c->hard_in, c->hard_in_cap, c->nhard_in + c->nfound);
    for (size_t i = 0; i < c->nfound; i++)
        c->hard_in[c->nhard_in++] = c->found[i];
    c->nfound = 0;
    if (t->node)
        c->nodes[t->node].next = id;
    return t->node = id;
}

/* ---- sources of hard edges ---- */

/* Note what a thread did up to `time` as a source. */
static uint32_t source_new(struct cp *c, uint32_t thread, uint32_t time, uint32_t noted)
{
    const struct cp_thread *t = &c->threads[thread];

    GROW(c->sources, c->sources_cap, c->nsources + 1);
    c->sources[c->nsources] = (struct cp_source){ thread, t->last_slot, time, t->node, noted };
    return (uint32_t)c->nsources++;
}

/* A thread learns of a source, unless it knows it or a later one of the same thread. */
static void find_source(struct cp *c, uint32_t thread, uint32_t source)
{
    uint32_t from = c->sources[source].thread, *known;

    if (from == thread)
        return;
    known = map_put(&c->threads[thread].learned, from, 0);
    if (*known >= source)
        return;
    *known = source;
    GROW(c->found, c->found_cap, c->nfound + 1);
    c->found[c->nfound++] = source;
}

static void find_sources(struct cp *c, uint32_t thread, const struct clock_node *n)
{
    if (!n)
        return;
    for (int i = 0; n->height && i < FAN; i++)
        find_sources(c, thread, n->child[i]);
    for (int i = 0; !n->height && i < LEAF_SIZE; i++)
        if (n->time[i])
            find_source(c, thread, n->time[i]);
}

static void empty_clock(struct cp *c, struct hb_thread *t)
{
    struct clock old = t->clock;

    t->clock.tree = NULL;
    clock_clear(&c->hard.pool, &old);
}

/* Let the core see a step that may learn or publish. */
static void hard_before(struct cp *c, const struct step *s, uint32_t time)
{
    struct hb_thread *t = hb_thread(&c->hard, s->thread);

    t->clock.time = (uint32_t)c->nsources;
    hb_before(&c->hard, s);
    t = hb_thread(&c->hard, s->thread);
    if (t->clock.time != c->nsources)
        source_new(c, s->thread, time, time);
    find_sources(c, s->thread, t->clock.tree);
    empty_clock(c, t);
}

static void hard_after(struct cp *c, const struct step *s, size_t n, uint32_t time)
{
    struct hb_thread *t = hb_thread(&c->hard, s->thread);
    bool published = false;

    t->clock.time = (uint32_t)c->nsources;
    for (size_t i = 0; i < n; i++)
        published |= hb_after(&c->hard, &s[i]);
    if (published)
        source_new(c, s->thread, time, time);
}

/* ---- sections ---- */

static void unlist(uint32_t *list, size_t *count, uint32_t id)
{
    size_t i = 0;

    while (i < *count && list[i] != id)
        i++;
    if (i == *count)
        return;
    for (--*count; i < *count; i++)
        list[i] = list[i + 1];
}

/* A section ends with the event of its thread at `release`. */
static void close_section(struct cp *c, uint32_t id, uint32_t release, uint32_t rank,
                          uint32_t closed)
{
    struct cp_section *s = &c->sections[id];
    struct cp_lock *l = &c->locks[s->lock];
    struct cp_thread *t = &c->threads[s->thread];

    s->release = release;
    s->release_rank = rank;
    s->closed = closed;
    s->end = t->node;
    s->next_end = c->nodes[s->end].ends;
    c->nodes[s->end].ends = id;
    unlist(t->held, &t->nheld, id);
    if (s->shared) {
        unlist(l->readers, &l->nreaders, id);
        s->next_read = l->read;
        l->read = id;
    } else {
        l->owner = 0;
    }
    GROW(c->closed, c->closed_cap, c->nclosed + 1);
    c->closed[c->nclosed++] = id;
}

/* Sections that a thread has not ended do so with its last event, at `time` or before. */
static void close_all(struct cp *c, struct cp_thread *t, uint32_t time)
{
    while (t->nheld)
        close_section(c, t->held[t->nheld - 1], time, t->last_rank, time);
}

/* An acquire meets another thread's open section: the trace is not exact here. */
static void push_aside(struct cp *c, uint32_t id, uint32_t thread, uint32_t time)
{
    uint32_t holder = c->sections[id].thread;

    find_source(c, thread, source_new(c, holder, time - 1, time));
    close_section(c, id, time - 1, c->threads[holder].last_rank, time);
}

static void cp_record_make_room(struct cp *c, struct cp_lock *l, const struct step *s,
                                uint32_t time)
{
    if (l->owner && c->sections[l->owner].thread != s->thread)
        push_aside(c, l->owner, s->thread, time);
    for (size_t i = l->nreaders; s->op == OP_ACQUIRE && i-- > 0;)
        if (c->sections[l->readers[i]].thread != s->thread)
            push_aside(c, l->readers[i], s->thread, time);
    for (size_t i = 0; i < l->nforeign; i++)
        if (s->op == OP_ACQUIRE || !c->sources[l->foreign[i]].reader)
            find_source(c, s->thread, l->foreign[i]);
}

/* Hang a new section behind the others of its lock. An exclusive one comes after the shared ones
 * that have ended since the exclusive one before it began. */
static void list_section(struct cp *c, struct cp_lock *l, uint32_t id)
{
    struct cp_section *s = &c->sections[id];

    s->exclusive_before = l->last_exclusive;
    if (l->last)
        c->sections[l->last].next = id;
    l->last = id;
    if (s->shared) {
        GROW(l->readers, l->readers_cap, l->nreaders + 1);
        l->readers[l->nreaders++] = id;
        return;
    }
    for (uint32_t read = l->read; read; read = c->sections[read].next_read)
        c->sections[read].exclusive_after = id;
    s->read = l->read;
    l->read = 0;
    l->last_exclusive = l->owner = id;
}

static void cp_record_acquire(struct cp *c, const struct step *s, uint32_t time)
{
    struct cp_lock *l = &c->locks[s->id];
    struct cp_thread *t = cp_record_thread_of(c, s->thread);
    uint32_t id = (uint32_t)c->nsections++;

    cp_record_make_room(c, l, s, time);
    GROW(c->sections, c->sections_cap, c->nsections);
    c->sections[id] = (struct cp_section){ .lock = s->id,
                                           .thread = s->thread,
                                           .slot = t->slot,
                                           .acquire = time,
                                           .acquire_rank = c->reduce.rank,
                                           .shared = s->op == OP_ACQUIRE_SHARED };
    list_section(c, l, id);
    c->sections[id].begin = node_new(c, s->thread, time);
    c->nodes[c->sections[id].begin].section = id;
    GROW(t->held, t->held_cap, t->nheld + 1);
    t->held[t->nheld++] = id;
}

/* The section that a release ends: of the kind it names, else of the other; 0 none. */
static uint32_t section_ended(const struct cp *c, const struct cp_thread *t, const struct step *s)
{
    uint32_t other = 0;

    for (size_t i = t->nheld; i-- > 0;) {
        const struct cp_section *b = &c->sections[t->held[i]];

        if (b->lock == s->id && b->shared == (s->op == OP_RELEASE_SHARED))
            return t->held[i];
        if (b->lock == s->id)
            other = t->held[i];
    }
    return other;
}

static void cp_record_release(struct cp *c, const struct step *s, uint32_t time)
{
    struct cp_lock *l = &c->locks[s->id];
    uint32_t id = section_ended(c, &c->threads[s->thread], s);
    bool reader;

    if (id)
        close_section(c, id, time, c->reduce.rank, time);
    if (id && !(s->flags & STEP_FOREIGN))
        return;
    reader = s->op == OP_RELEASE_SHARED && !(s->flags & STEP_FOREIGN);
    for (size_t i = 0; i < l->nforeign; i++)
        if (c->sources[l->foreign[i]].thread == s->thread &&
            c->sources[l->foreign[i]].reader >= reader)
            unlist(l->foreign, &l->nforeign, l->foreign[i]);
    GROW(l->foreign, l->foreign_cap, l->nforeign + 1);
    l->foreign[l->nforeign++] = source_new(c, s->thread, time, time);
    c->sources[c->nsources - 1].reader = reader;
}

static void lock_step(struct cp *c, const struct step *s, uint32_t time)
{
    if (s->flags & STEP_NESTED)
        return;
    if (s->op == OP_ACQUIRE || s->op == OP_ACQUIRE_SHARED)
        cp_record_acquire(c, s, time);
    else
        cp_record_release(c, s, time);
}

/* ---- fork and join ---- */

static void fork_step(struct cp *c, const struct step *s, uint32_t time)
{
    struct cp_thread *parent = cp_record_thread_of(c, s->thread), *child = &c->threads[s->id];

    if (child->slot == SLOT_NONE)
        cp_record_start(c, child, parent);
    c->nfound = 0;
    find_source(c, s->id, (uint32_t)c->nsources - 1); /* hard_before() has noted the fork */
    empty_clock(c, &c->hard.threads[s->id]);
    node_new(c, s->id, time);
}

/* The joiner gets the slot of the joined thread, and those that one got. */
static void inherit_slots(struct cp_thread *t, struct cp_thread *child)
{
    GROW(t->free_slots, t->free_cap, t->nfree + child->nfree + 1);
    t->free_slots[t->nfree++] = child->slot;
    while (child->nfree)
        t->free_slots[t->nfree++] = child->free_slots[--child->nfree];
    child->slot = SLOT_NONE;
}

static void join_step(struct cp *c, const struct step *s, uint32_t time)
{
    struct cp_thread *child = &c->threads[s->id];

    close_all(c, child, time);
    if (child->last_slot == SLOT_NONE)
        return;
    find_source(c, s->thread, source_new(c, s->id, time - 1, time));
    if (child->slot != SLOT_NONE)
        inherit_slots(cp_record_thread_of(c, s->thread), child);
}

/* ---- the pass ---- */

static void note_sync(struct cp *c, struct cp_thread *t, uint32_t time)
{
    struct cp_slot *slot = &c->slots[t->slot];

    GROW(slot->syncs, slot->syncs_cap, slot->nsyncs + 1);
    slot->syncs[slot->nsyncs++] = time;
    c->nodes[t->node].syncs++;
    c->syncs++;
}

static void sync_step(struct cp *c, const struct step *s, uint32_t time)
{
    if (s->op == OP_JOIN) {
        join_step(c, s, time);
        return;
    }
    hard_before(c, s, time);
    if (s->op == OP_FORK)
        fork_step(c, s, time);
    else if (op_class_of(s->op) == CLASS_LOCK)
        lock_step(c, s, time);
    else if (s->op == OP_END)
        close_all(c, cp_record_thread_of(c, s->thread), time);
}

static void event(struct cp *c, const struct step *s, size_t n)
{
    uint32_t time = c->now = (uint32_t)s->position + 1;
    struct cp_thread *t = cp_record_thread_of(c, s->thread);

    cp_reduce_event(&c->reduce, s, n);
    t->last_rank = c->reduce.rank;
    for (size_t i = 0; i < n; i++)
        if (s[i].op > OP_WRITE && s[i].op < OP_COUNT)
            sync_step(c, &s[i], time);
        else
            hb_before(&c->hard, &s[i]);
    if (c->nfound)
        node_new(c, s->thread, time);
    for (size_t i = 0; i < n; i++)
        cp_guards_step(c, &s[i]);
    if (c->hard.natomics || op_is_atomic(s[n - 1].op))
        hard_after(c, s, n, time);
    if (cp_synchronises(&s[n - 1]))
        note_sync(c, t, time);
}

static void grow(struct cp *c, const struct span *span)
{
    size_t old = c->threads_cap;

    hb_begin_span(&c->hard, span);
    cp_reduce_begin(&c->reduce, span);
    GROW(c->guards.vars, c->guards.vars_cap, span->variables);
    GROW(c->locks, c->locks_cap, span->objects);
    GROW(c->threads, c->threads_cap, span->threads);
    for (size_t i = old; i < c->threads_cap; i++)
        c->threads[i].slot = c->threads[i].last_slot = SLOT_NONE;
}

/* Guards are behind an index: fetch one after the other. */
static inline void cp_record_prefetch(const struct cp *c, const struct span *span, size_t i)
{
    const struct step *s = &span->steps[i];

    if (i + 2 * STEPS_AHEAD >= span->count || !c->guards.count)
        return;
    if (op_is_access(s[2 * STEPS_AHEAD].op))
        __builtin_prefetch(&c->guards.vars[s[2 * STEPS_AHEAD].id]);
    if (op_is_access(s[STEPS_AHEAD].op)) {
        __builtin_prefetch(&c->reduce.vars[s[STEPS_AHEAD].id]);
        __builtin_prefetch(&c->guards.guards[c->guards.vars[s[STEPS_AHEAD].id].recent]);
    }
}

void cp_record_steps(struct cp *c, const struct span *span)
{
    size_t n;

    grow(c, span);
    for (size_t i = 0; i < span->count && !c->too_long; i += n) {
        cp_record_prefetch(c, span, i);
        n = span->steps[i].flags & STEP_GROUP ? step_group(span, i) : 1;
        if (span->steps[i].position >= UINT32_MAX - 1)
            c->too_long = true;
        else
            event(c, &span->steps[i], n);
    }
}

void cp_record_finish(struct cp *c)
{
    for (size_t i = 0; i < c->threads_cap; i++)
        close_all(c, &c->threads[i], UINT32_MAX);
}
