/* order.c - does happens-before order two accesses? The checker's own answer
 *
 * A `dye` is a set of questions, one bit each: those whose first access is known. docs/design/
 * proof.md lists the edges (hard edges but for lifetimes, and those of locks); each case below is
 * one of them, in its order.
 */
#include "witness/order.h"

#include <stdlib.h>
#include <string.h>

#include "witness/witness_inside.h"

typedef uint64_t dye;

/* A lock that a thread holds: its end gives it up. */
struct held {
    uint32_t thread, object;
    bool shared;
};

struct object {
    dye exclusive; /* of exclusive releases, posts, annotations, the first once */
    dye shared;    /* of shared releases */
    bool once;
    uint32_t round; /* of a barrier, the open one */
};

/* The heads of release sequences that the present value of a byte belongs to: one for a thread. */
struct head {
    uint32_t thread, next;
    dye dye;
};

struct carrier {
    dye dye;
    dye fence;   /* at its last release fence */
    dye pending; /* what relaxed loads have read */
    bool fenced;
};

/* Memory of a question's first access that was allocated since. */
struct gone {
    size_t question;
    uint64_t from, to;
};

struct witness_order {
    struct order_question *questions; /* borrowed */
    size_t n;
    uint64_t position;
    uint64_t marks[2 * ORDER_QUESTIONS]; /* their positions, in order */
    size_t mark;                         /* the next of them */
    struct carrier *threads;
    size_t threads_cap;
    struct map object_of;
    struct object *objects;
    size_t nobjects, objects_cap;
    struct held *held;
    size_t nheld, held_cap;
    struct map rounds;  /* (object, round) -> number in `round` */
    struct map entered; /* (object, thread) -> round */
    dye *round;
    size_t nrounds, rounds_cap;
    struct map words;     /* address / 8 -> number in `bytes` */
    uint32_t (*bytes)[8]; /* head of each, NONE */
    size_t nwords, words_cap;
    struct gone *gone;
    size_t ngone, gone_cap;
    struct head *heads;
    size_t nheads, heads_cap;
    uint32_t free_heads;
};

/* ---- tables ---- */

static struct carrier *carrier(struct witness_order *o, uint64_t thread)
{
    GROW(o->threads, o->threads_cap, thread + 1);
    return &o->threads[thread];
}

static uint32_t order_object_of(struct witness_order *o, const struct event *e)
{
    uint32_t n = *map_put(&o->object_of, object_key(e), (uint32_t)o->nobjects);

    if (n == o->nobjects) {
        GROW(o->objects, o->objects_cap, o->nobjects + 1);
        o->nobjects++;
    }
    return n;
}

static uint64_t order_key_of(uint32_t a, uint32_t b)
{
    return (uint64_t)a << 32 | b;
}

/* ---- locks ---- */

static void order_acquire(struct witness_order *o, const struct event *e, bool shared)
{
    uint32_t n = order_object_of(o, e);
    struct carrier *c = carrier(o, e->thread);

    c->dye |= o->objects[n].exclusive;
    if (!shared)
        c->dye |= o->objects[n].shared;
    GROW(o->held, o->held_cap, o->nheld + 1);
    o->held[o->nheld++] = (struct held){ e->thread, n, shared };
}

static void give_up(struct witness_order *o, uint32_t thread, uint32_t object, bool shared)
{
    dye d = carrier(o, thread)->dye;

    if (shared)
        o->objects[object].shared |= d;
    else
        o->objects[object].exclusive |= d;
}

static void order_release(struct witness_order *o, const struct event *e, bool shared)
{
    uint32_t n = order_object_of(o, e);

    give_up(o, e->thread, n, shared);
    for (size_t i = o->nheld; i-- > 0;)
        if (o->held[i].thread == e->thread && o->held[i].object == n &&
            o->held[i].shared == shared) {
            o->held[i] = o->held[--o->nheld];
            return;
        }
}

static void end_thread(struct witness_order *o, uint32_t thread)
{
    for (size_t i = o->nheld; i-- > 0;)
        if (o->held[i].thread == thread) {
            give_up(o, thread, o->held[i].object, o->held[i].shared);
            o->held[i] = o->held[--o->nheld];
        }
}

/* ---- threads ---- */

static void join(struct witness_order *o, const struct event *e)
{
    dye d;

    end_thread(o, (uint32_t)e->target);
    d = carrier(o, e->target)->dye;
    carrier(o, e->thread)->dye |= d;
}

static void fork_thread(struct witness_order *o, const struct event *e)
{
    dye d = carrier(o, e->thread)->dye;

    carrier(o, e->target)->dye |= d;
}

/* ---- barriers ---- */

static dye *dye_of_round(struct witness_order *o, uint32_t object, uint32_t round)
{
    uint32_t n = *map_put(&o->rounds, order_key_of(object, round), (uint32_t)o->nrounds);

    if (n == o->nrounds) {
        GROW(o->round, o->rounds_cap, o->nrounds + 1);
        o->nrounds++;
    }
    return &o->round[n];
}

static void enter_barrier(struct witness_order *o, const struct event *e)
{
    uint32_t n = order_object_of(o, e), round = o->objects[n].round;

    *dye_of_round(o, n, round) |= carrier(o, e->thread)->dye;
    *map_put(&o->entered, order_key_of(n, e->thread), 0) = round;
}

/* The first leave of a round closes it. */
static void leave_barrier(struct witness_order *o, const struct event *e)
{
    uint32_t n = order_object_of(o, e);
    const uint32_t *round = map_get(&o->entered, order_key_of(n, e->thread));

    if (!round)
        return;
    if (*round == o->objects[n].round)
        o->objects[n].round++;
    carrier(o, e->thread)->dye |= *dye_of_round(o, n, *round);
}

/* ---- atomics ---- */

static uint32_t *heads_at(struct witness_order *o, uint64_t address, bool make)
{
    uint32_t *n = make ? map_put(&o->words, address / 8, (uint32_t)o->nwords)
                       : map_get(&o->words, address / 8);

    if (!n)
        return NULL;
    if (*n == o->nwords) {
        GROW(o->bytes, o->words_cap, o->nwords + 1);
        memset(o->bytes[o->nwords++], 0xff, sizeof(*o->bytes));
    }
    return &o->bytes[*n][address % 8];
}

/* All heads go but the thread's, which is returned: its own stores continue a sequence. */
static uint32_t drop_heads(struct witness_order *o, uint32_t *list, uint32_t but)
{
    uint32_t kept = NONE, next;

    for (uint32_t h = *list; h != NONE; h = next) {
        next = o->heads[h].next;
        if (o->heads[h].thread == but) {
            kept = h;
            continue;
        }
        o->heads[h].next = o->free_heads;
        o->free_heads = h;
    }
    if (kept != NONE)
        o->heads[kept].next = NONE;
    *list = kept;
    return kept;
}

static uint32_t add_head(struct witness_order *o, uint32_t *list, uint32_t thread)
{
    uint32_t h = o->free_heads;

    if (h != NONE) {
        o->free_heads = o->heads[h].next;
    } else {
        h = (uint32_t)o->nheads;
        GROW(o->heads, o->heads_cap, o->nheads + 1);
        o->nheads++;
    }
    o->heads[h] = (struct head){ thread, *list, 0 };
    *list = h;
    return h;
}

static void order_load(struct witness_order *o, const struct event *e, uint64_t byte)
{
    const uint32_t *list = heads_at(o, byte, false);
    struct carrier *c = carrier(o, e->thread);

    for (uint32_t h = list ? *list : NONE; h != NONE; h = o->heads[h].next) {
        if (order_acquires(e->order))
            c->dye |= o->heads[h].dye;
        else
            c->pending |= o->heads[h].dye;
    }
}

static void store(struct witness_order *o, const struct event *e, uint64_t byte)
{
    const struct carrier *c = carrier(o, e->thread);
    uint32_t *list = heads_at(o, byte, true), h;

    if (e->op == OP_STORE)
        drop_heads(o, list, e->thread);
    if (!order_releases(e->order) && !c->fenced)
        return;
    for (h = *list; h != NONE && o->heads[h].thread != e->thread;)
        h = o->heads[h].next;
    if (h == NONE)
        h = add_head(o, list, e->thread);
    o->heads[h].dye |= order_releases(e->order) ? c->dye : c->fence;
}

static void plain_write(struct witness_order *o, uint64_t from, uint64_t to)
{
    if (!o->nwords)
        return;
    for (uint64_t word = from / 8; word <= (to - 1) / 8; word++) {
        if (!map_get(&o->words, word))
            continue;
        for (uint64_t byte = word * 8; byte < word * 8 + 8; byte++)
            if (byte >= from && byte < to)
                drop_heads(o, heads_at(o, byte, false), NONE);
    }
}

/* An rmw reads before it writes, all of its bytes. */
static void access_memory(struct witness_order *o, const struct event *e)
{
    uint64_t from, to;

    if (!event_range(e, &from, &to))
        return;
    if (!op_is_atomic(e->op)) {
        if (is_writer(e->op))
            plain_write(o, from, to);
        return;
    }
    for (uint64_t byte = from; byte < to && e->op != OP_STORE; byte++)
        order_load(o, e, byte);
    for (uint64_t byte = from; byte < to && e->op != OP_LOAD; byte++)
        store(o, e, byte);
}

static void fence(struct witness_order *o, const struct event *e)
{
    struct carrier *c = carrier(o, e->thread);

    if (order_acquires(e->order)) {
        c->dye |= c->pending;
        c->pending = 0;
    }
    if (order_releases(e->order)) {
        c->fence = c->dye;
        c->fenced = true;
    }
}

/* ---- events ---- */

static void once(struct witness_order *o, const struct event *e)
{
    uint32_t n = order_object_of(o, e);
    struct object *x = &o->objects[n];

    if (x->once)
        carrier(o, e->thread)->dye |= x->exclusive;
    else
        x->exclusive = carrier(o, e->thread)->dye;
    x->once = true;
}

static void post(struct witness_order *o, const struct event *e)
{
    uint32_t n = order_object_of(o, e);

    if (event_begins_semaphore(e)) {
        o->objects[n].exclusive = 0;
        return;
    }
    o->objects[n].exclusive |= carrier(o, e->thread)->dye;
}

static void wait_for_posts(struct witness_order *o, const struct event *e)
{
    uint32_t n = order_object_of(o, e);

    carrier(o, e->thread)->dye |= o->objects[n].exclusive;
}

static void on_lock(struct witness_order *o, const struct event *e)
{
    if (e->flags & EV_NESTED)
        return;
    if (e->op == OP_ACQUIRE || e->op == OP_ACQUIRE_SHARED)
        order_acquire(o, e, e->op == OP_ACQUIRE_SHARED);
    else if (e->op == OP_RELEASE || e->op == OP_RELEASE_SHARED)
        order_release(o, e, e->op == OP_RELEASE_SHARED);
}

static void synchronise(struct witness_order *o, const struct event *e)
{
    switch (e->op) {
    case OP_FORK:
        fork_thread(o, e);
        break;
    case OP_JOIN:
        join(o, e);
        break;
    case OP_END:
        end_thread(o, e->thread);
        break;
    case OP_ACQUIRE:
    case OP_ACQUIRE_SHARED:
    case OP_RELEASE:
    case OP_RELEASE_SHARED:
        on_lock(o, e);
        break;
    case OP_BARRIER_ENTER:
        enter_barrier(o, e);
        break;
    case OP_BARRIER_LEAVE:
        leave_barrier(o, e);
        break;
    case OP_SEM_POST:
    case OP_BEFORE:
        post(o, e);
        break;
    case OP_SEM_WAIT:
    case OP_AFTER:
        wait_for_posts(o, e);
        break;
    case OP_ONCE:
        once(o, e);
        break;
    case OP_FENCE:
        fence(o, e);
        break;
    default:
        access_memory(o, e);
        break;
    }
}

/* ---- questions ---- */

/* Memory that is allocated again is another's. */
static void forget_memory(struct witness_order *o, size_t question, uint64_t from, uint64_t to)
{
    const struct order_question *q = &o->questions[question];

    if (to <= q->from || q->to <= from)
        return;
    GROW(o->gone, o->gone_cap, o->ngone + 1);
    o->gone[o->ngone++] = (struct gone){ question, from, to };
}

/* Is there a byte of the range that was not allocated since? */
static bool is_left(const struct witness_order *o, size_t question, uint64_t from, uint64_t to)
{
    bool moved = true;

    while (from < to && moved) {
        moved = false;
        for (size_t i = 0; i < o->ngone; i++)
            if (o->gone[i].question == question && o->gone[i].from <= from &&
                from < o->gone[i].to) {
                from = o->gone[i].to;
                moved = true;
            }
    }
    return from < to;
}

static bool order_conflict(const struct witness_order *o, size_t question, const struct event *e)
{
    const struct order_question *q = &o->questions[question];
    const struct event *first = &q->event;
    uint64_t from, to;

    if (!event_range(e, &from, &to) || e->op == OP_ALLOC || first->op == OP_ALLOC)
        return false;
    from = from > q->from ? from : q->from;
    to = to < q->to ? to : q->to;
    return first->thread != e->thread && is_left(o, question, from, to) &&
           (op_table[first->op].writes || op_table[e->op].writes) &&
           !(op_is_atomic(first->op) && op_is_atomic(e->op));
}

/* Does one of the questions end here? An atomic has learned what it reads. */
static void answer_in_order(struct witness_order *o, const struct event *e)
{
    uint64_t from, to;

    for (size_t i = 0; i < o->n; i++) {
        struct order_question *q = &o->questions[i];

        if (o->position <= q->first || o->position > q->second)
            continue;
        if (o->position < q->second) {
            if (e->op == OP_ALLOC && event_range(e, &from, &to))
                forget_memory(o, i, from, to);
            continue;
        }
        if (e->flags & EV_IGNORED || !order_conflict(o, i, e))
            q->answer = ANSWER_NO_CONFLICT;
        else if (carrier(o, e->thread)->dye >> i & 1)
            q->answer = ANSWER_ORDERED;
        else
            q->answer = ANSWER_UNORDERED;
    }
}

/* From here on its thread knows of it, and the event itself hands it on. */
static void order_begin(struct witness_order *o, const struct event *e)
{
    for (size_t i = 0; i < o->n; i++) {
        struct order_question *q = &o->questions[i];

        if (q->first != o->position)
            continue;
        q->event = *e;
        if (e->flags & EV_IGNORED || !event_range(e, &q->from, &q->to))
            q->from = q->to = 0;
        carrier(o, e->thread)->dye |= (dye)1 << i;
    }
}

/* Does a question begin or end here? */
static bool is_marked(struct witness_order *o)
{
    bool marked = false;

    for (; o->mark < 2 * o->n && o->marks[o->mark] == o->position; o->mark++)
        marked = true;
    return marked;
}

static void order_take(struct witness_order *o, const struct event *e)
{
    bool marked = is_marked(o);

    if (marked)
        order_begin(o, e);
    if (!(e->flags & EV_IGNORED))
        synchronise(o, e);
    if (marked || e->op == OP_ALLOC)
        answer_in_order(o, e);
    o->position++;
}

static int compare_marks(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

struct witness_order *witness_order_new(struct order_question *questions, size_t n)
{
    struct witness_order *o = xcalloc(1, sizeof(*o));

    o->questions = questions;
    o->n = n;
    o->free_heads = NONE;
    for (size_t i = 0; i < n; i++) {
        questions[i].answer = ANSWER_OPEN;
        o->marks[2 * i] = questions[i].first;
        o->marks[2 * i + 1] = questions[i].second;
    }
    qsort(o->marks, 2 * n, sizeof(*o->marks), compare_marks);
    return o;
}

void witness_order_events(struct witness_order *o, const struct event *events, size_t n)
{
    for (size_t i = 0; i < n; i++)
        order_take(o, &events[i]);
}

void witness_order_free(struct witness_order *o)
{
    map_release(&o->object_of);
    map_release(&o->rounds);
    map_release(&o->entered);
    map_release(&o->words);
    free(o->threads);
    free(o->objects);
    free(o->held);
    free(o->round);
    free(o->bytes);
    free(o->gone);
    free(o->heads);
    free(o);
}

/* What calls ask for comes before the event: the dye of each such event, once it is done. */
void witness_order_with_calls(const struct witness_trace *w, struct order_question *questions,
                              size_t n)
{
    struct witness_order *o = witness_order_new(questions, n);
    const struct call_rules *b = &w->call_rules;
    dye *after = xcalloc(w->count + 1, sizeof(*after));

    for (size_t i = 0; i < w->count; i++) {
        const struct event *e = &w->events[i];

        for (uint32_t k = b->first_need ? b->first_need[i] : 0;
             b->first_need && k < b->first_need[i + 1]; k++)
            carrier(o, e->thread)->dye |= after[b->need[k]];
        order_take(o, e);
        after[i] = carrier(o, e->thread)->dye;
    }
    free(after);
    witness_order_free(o);
}
