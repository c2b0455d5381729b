/* oracle.c - exhaustive search over all correct reorderings
 *
 * Executed events, locks held and what is allocated follow from the progress
 * of the threads; only what reads see depends on the path, so a state is
 * progress, last writers and taint. A byte has as many last writers as
 * lifetimes, for in a reordering these are different memory. States are kept
 * in a hash table and visited once.
 */
#include "oracle.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "naive_calls.h"

enum { INITIAL = 63 }; /* as a writer */

struct state {
    uint8_t progress[ORACLE_THREADS];
    uint8_t writer[ORACLE_CELLS];
    uint64_t stale;   /* cells whose last writer was tainted */
    uint64_t behind;  /* cells that a call or return may have written after the last writer */
    uint64_t tainted; /* threads; 64 bits so that the struct has no padding */
};

/* Bytes, each in one lifetime, that the same events touch: they have the same history. */
struct cell {
    uint64_t *bytes;
    size_t nbytes, cap;
    uint64_t touched_by; /* events */
    bool zero;           /* named and never allocated: 0 at the beginning */
};

struct node {
    struct state state;
    uint32_t parent;
    uint8_t event; /* that led here */
};

struct search {
    const struct trace_mem *t;
    const struct trace_info *info;
    uint64_t before[ORACLE_EVENTS]; /* events that must precede, from other threads too */
    uint8_t events_of[ORACLE_THREADS][ORACLE_EVENTS];
    uint8_t length[ORACLE_THREADS];
    size_t nthreads;
    struct cell cells[ORACLE_CELLS];
    size_t ncells;
    uint8_t observed[ORACLE_EVENTS][ORACLE_CELLS]; /* writer each read saw */
    uint64_t semaphore[ORACLE_EVENTS];             /* waits: the posts and waits of its semaphore */
    int first_value[ORACLE_EVENTS]; /* and the least value that it must have begun with */
    /* Where calls count: */
    enum call_rule rule;
    uint64_t listed[ORACLE_EVENTS]; /* calls and returns: cells they may write */
    uint64_t behind[ORACLE_EVENTS]; /* cells, as in struct state, in the trace */
    bool in_call[ORACLE_EVENTS];
    struct node *nodes;
    size_t nnodes, nodes_cap;
    uint32_t *slots; /* node + 1, open addressing */
    size_t nslots;
    struct oracle *out;
};

/* ---- preparation ---- */

static bool takes_part(const struct event *e)
{
    return !(e->flags & EV_IGNORED);
}

static uint64_t width(const struct event *e)
{
    return op_is_access(e->op) ? e->size : e->op == OP_ALLOC || e->op == OP_FREE ? e->value : 0;
}

static bool gives_content(const struct event *e)
{
    return op_table[e->op].writes || e->op == OP_ALLOC;
}

static bool touches(const struct event *e, uint64_t byte)
{
    return takes_part(e) && byte >= e->target && byte - e->target < width(e);
}

/* The events that touch the byte in the lifetime it has at event i: from the last alloc up to
 * i on, until the next. */
static uint64_t events_touching(const struct trace_mem *t, uint64_t byte, size_t i, bool *allocated)
{
    uint64_t mask = 0;

    *allocated = false;
    for (size_t k = 0; k < t->count; k++) {
        if (!touches(&t->events[k], byte))
            continue;
        if (t->events[k].op == OP_ALLOC && k > i)
            break;
        if (t->events[k].op == OP_ALLOC) {
            *allocated = true;
            mask = 0;
        }
        mask |= 1ull << k;
    }
    return mask;
}

/* Put a byte as event i sees it into the cell of its kind; false when there are too many. */
static bool add_byte(struct search *s, uint64_t byte, size_t i)
{
    bool allocated;
    uint64_t mask = events_touching(s->t, byte, i, &allocated);
    bool zero = is_named(byte) && !allocated;
    size_t c = 0;

    while (c < s->ncells && (s->cells[c].touched_by != mask || s->cells[c].zero != zero))
        c++;
    if (c == ORACLE_CELLS)
        return false;
    if (c == s->ncells)
        s->cells[s->ncells++] = (struct cell){ .touched_by = mask, .zero = zero };
    for (size_t k = 0; k < s->cells[c].nbytes; k++)
        if (s->cells[c].bytes[k] == byte)
            return true;
    GROW(s->cells[c].bytes, s->cells[c].cap, s->cells[c].nbytes + 1);
    s->cells[c].bytes[s->cells[c].nbytes++] = byte;
    return true;
}

static bool make_cells(struct search *s)
{
    for (size_t i = 0; i < s->t->count; i++) {
        const struct event *e = &s->t->events[i];

        for (uint64_t b = e->target; takes_part(e) && b < e->target + width(e); b++)
            if (!add_byte(s, b, i))
                return false;
    }
    return true;
}

static void make_observed(struct search *s)
{
    for (size_t c = 0; c < s->ncells; c++) {
        uint8_t last = INITIAL;

        for (size_t i = 0; i < s->t->count; i++) {
            if (!(s->cells[c].touched_by >> i & 1))
                continue;
            s->observed[i][c] = last;
            if (gives_content(&s->t->events[i]))
                last = (uint8_t)i;
        }
    }
}

/* The cells that a call or return may write, in the lifetimes they have there. */
static uint64_t listed_cells(const struct search *s, size_t i)
{
    uint64_t cells = 0;
    bool allocated;

    for (size_t c = 0; c < s->ncells; c++)
        for (size_t b = 0; b < s->cells[c].nbytes; b++)
            if (naive_lists_byte(s->t, s->rule, i, s->cells[c].bytes[b]) &&
                events_touching(s->t, s->cells[c].bytes[b], i, &allocated) ==
                    s->cells[c].touched_by)
                cells |= 1ull << c;
    return cells;
}

static void make_calls(struct search *s)
{
    uint8_t last[ORACLE_CELLS];
    uint64_t behind = 0;

    memset(last, INITIAL, sizeof(last));
    for (size_t i = 0; i < s->t->count; i++) {
        const struct event *e = &s->t->events[i];

        if (!takes_part(e))
            continue;
        s->in_call[i] = naive_in_call(s->t, i);
        s->behind[i] = behind;
        if (op_class_of(e->op) == CLASS_CALL)
            s->listed[i] = listed_cells(s, i);
        behind |= s->listed[i];
        for (size_t c = 0; c < s->ncells; c++) {
            if (s->listed[i] >> c & 1)
                s->observed[i][c] = last[c];
            if (s->cells[c].touched_by >> i & 1 && gives_content(e)) {
                last[c] = (uint8_t)i;
                behind &= ~(1ull << c);
            }
        }
    }
}

/* ---- semaphores ---- */

static int value_of(const struct search *s, uint64_t events)
{
    int value = 0;

    for (size_t i = 0; i < s->t->count; i++)
        if (events >> i & 1)
            value += s->t->events[i].op == OP_SEM_POST ? 1 : -1;
    return value;
}

static bool is_on(const struct event *e, const struct event *semaphore)
{
    return takes_part(e) && op_class_of(e->op) == CLASS_SEM && e->target == semaphore->target;
}

/* From where it is initialised to where it is initialised again. */
static void make_semaphore(struct search *s, size_t wait)
{
    const struct event *events = s->t->events, *e = &events[wait];
    size_t from = wait, to = wait;

    while (from > 0 && !(is_on(&events[from], e) && event_begins_semaphore(&events[from])))
        from--;
    while (to < s->t->count && !(is_on(&events[to], e) && event_begins_semaphore(&events[to])))
        to++;
    for (size_t i = from; i < to; i++) {
        int value;

        if (!is_on(&events[i], e) || event_begins_semaphore(&events[i]))
            continue;
        s->semaphore[wait] |= 1ull << i;
        value = -value_of(s, s->semaphore[wait]);
        if (value > s->first_value[wait])
            s->first_value[wait] = value;
    }
}

static void make_semaphores(struct search *s)
{
    for (size_t i = 0; i < s->t->count; i++)
        if (takes_part(&s->t->events[i]) && s->t->events[i].op == OP_SEM_WAIT)
            make_semaphore(s, i);
}

/* `order`: NAIVE_MUST or NAIVE_COUNTED. */
static bool search_init(struct search *s, const struct trace_mem *t, const struct trace_info *info,
                        enum call_rule rule, const struct tables *names, enum naive_order order)
{
    struct relation must;

    if (rule == CALL_RULE_UNSEEN && !naive_has_by_call(t))
        rule = CALL_RULE_NONE;
    memset(s, 0, sizeof(*s));
    s->t = t;
    s->info = info;
    s->rule = rule;
    if (t->count > ORACLE_EVENTS)
        return false;
    for (size_t i = 0; i < t->count; i++) {
        uint32_t th = t->events[i].thread;

        if (th >= ORACLE_THREADS)
            return false;
        if (th >= s->nthreads)
            s->nthreads = th + 1;
        if (takes_part(&t->events[i]))
            s->events_of[th][s->length[th]++] = (uint8_t)i;
    }
    if (!make_cells(s))
        return false;
    make_observed(s);
    if (rule)
        make_calls(s);
    make_semaphores(s);
    naive_order(t, order, &must);
    if (!naive_calls(t, rule, names, &must)) {
        relation_release(&must);
        return false;
    }
    relation_close(&must);
    for (size_t a = 0; a < t->count; a++)
        for (size_t b = a + 1; b < t->count; b++)
            if (relation_has(&must, a, b))
                s->before[b] |= 1ull << a;
    relation_release(&must);
    return true;
}

static void search_release(struct search *s)
{
    for (size_t c = 0; c < s->ncells; c++)
        free(s->cells[c].bytes);
    free(s->nodes);
    free(s->slots);
}

static struct state first_state(const struct search *s)
{
    struct state st;

    memset(&st, 0, sizeof(st));
    memset(st.writer, INITIAL, s->ncells);
    return st;
}

/* ---- one step ---- */

static uint64_t executed(const struct search *s, const struct state *st)
{
    uint64_t mask = 0;

    for (size_t t = 0; t < s->nthreads; t++)
        for (size_t i = 0; i < st->progress[t]; i++)
            mask |= 1ull << s->events_of[t][i];
    return mask;
}

static int next_of(const struct search *s, const struct state *st, size_t thread)
{
    return st->progress[thread] < s->length[thread] ? s->events_of[thread][st->progress[thread]]
                                                    : -1;
}

static void use_lock(unsigned op, bool *exclusive, bool *shared)
{
    if (op == OP_ACQUIRE)
        *exclusive = true;
    else if (op == OP_ACQUIRE_SHARED)
        *shared = true;
    else if (op == OP_RELEASE)
        *(*exclusive ? exclusive : shared) = false;
    else
        *(*shared ? shared : exclusive) = false;
}

/* Is the thread joined in the trace before it has another event? Then it ends here. */
static bool is_joined_after(const struct search *s, size_t thread, size_t i)
{
    for (size_t k = i + 1; k < s->t->count; k++) {
        const struct event *e = &s->t->events[k];

        if (!takes_part(e))
            continue;
        if (e->thread == thread)
            return false;
        if (e->op == OP_JOIN && e->target == thread)
            return true;
    }
    return false;
}

/* Does thread h hold the lock, after so many of its events? */
static void holds(const struct search *s, const struct state *st, size_t h,
                  const struct event *lock, bool *exclusive, bool *shared)
{
    *exclusive = *shared = false;
    for (size_t i = 0; i < st->progress[h]; i++) {
        const struct event *e = &s->t->events[s->events_of[h][i]];

        if (op_class_of(e->op) == CLASS_LOCK && e->target == lock->target &&
            !(e->flags & EV_NESTED))
            use_lock(e->op, exclusive, shared);
        if (e->op == OP_END || is_joined_after(s, h, s->events_of[h][i]))
            *exclusive = *shared = false;
    }
}

static bool lock_is_free(const struct search *s, const struct state *st, const struct event *e)
{
    for (size_t h = 0; h < s->nthreads; h++) {
        bool exclusive, shared;

        if (h == e->thread)
            continue;
        holds(s, st, h, e, &exclusive, &shared);
        if (exclusive || (shared && e->op == OP_ACQUIRE))
            return false;
    }
    return true;
}

/* The value a writer left in a byte, where that is known. */
static bool byte_value(const struct search *s, size_t cell, uint8_t writer, uint64_t byte,
                       uint8_t *value)
{
    const struct event *e = &s->t->events[writer];

    *value = 0;
    if (writer == INITIAL)
        return s->cells[cell].zero;
    if (!s->info->values || !op_is_access(e->op) || !(e->flags & EV_VALUE) || e->size > 8)
        return false;
    *value = (uint8_t)(e->value >> (8 * (byte - e->target)));
    return true;
}

static bool byte_is_right(const struct search *s, const struct state *st, size_t cell, int i,
                          uint64_t byte)
{
    const struct event *e = &s->t->events[i];
    uint8_t writer = st->writer[cell], seen = s->observed[i][cell], now, then, want;
    bool stale = st->stale >> cell & 1;
    bool same = writer == seen && !stale;
    uint64_t value = e->op == OP_RMW ? e->old : e->value;

    if (!s->info->values || !(e->flags & (e->op == OP_RMW ? EV_OLD : EV_VALUE)) ||
        e->flags & EV_UNSEEN || e->size > 8)
        return same;
    want = (uint8_t)(value >> (8 * (byte - e->target)));
    if (byte_value(s, cell, seen, byte, &then) && then != want)
        same = false; /* the trace contradicts itself: the recorded value counts */
    return same || (!stale && byte_value(s, cell, writer, byte, &now) && now == want);
}

/* Where the trace has the writer after the last call that lists the cell, so must it be here. */
static bool read_is_right(const struct search *s, const struct state *st, int i)
{
    for (size_t c = 0; c < s->ncells; c++)
        if (s->cells[c].touched_by >> i & 1 && st->behind >> c & ~s->behind[i] >> c & 1)
            return false;
    for (size_t c = 0; c < s->ncells; c++)
        for (size_t b = 0; s->cells[c].touched_by >> i & 1 && b < s->cells[c].nbytes; b++)
            if (!byte_is_right(s, st, c, i, s->cells[c].bytes[b]))
                return false;
    return true;
}

/* A call finds what it found; it and its return may write whatever it lists. */
static bool call_is_right(const struct search *s, const struct state *st, int i)
{
    for (size_t c = 0; c < s->ncells; c++)
        if (s->t->events[i].op == OP_CALL && s->listed[i] >> c & 1 &&
            (st->writer[c] != s->observed[i][c] || st->stale >> c & 1))
            return false;
    return true;
}

/* A read whose value goes into loose writes of its thread alone, a write whose value may come from
 * such reads. */
static bool is_loose(const struct search *s, int i)
{
    const struct event *e = &s->t->events[i];

    return s->info->loose && !s->info->branches && e->flags & EV_LOOSE &&
           !(op_table[e->op].reads && s->in_call[i]);
}

static void write_cells(const struct search *s, struct state *st, int i)
{
    bool tainted =
        st->tainted >> s->t->events[i].thread & 1 && (s->info->branches || is_loose(s, i));

    for (size_t c = 0; c < s->ncells; c++) {
        if (!(s->cells[c].touched_by >> i & 1))
            continue;
        st->writer[c] = (uint8_t)i;
        st->stale = (st->stale & ~(1ull << c)) | (uint64_t)tainted << c;
        st->behind &= ~(1ull << c);
    }
}

/* Program order and hard edges allow the event. */
static bool may_come(const struct search *s, const struct state *st, int i)
{
    return !(s->before[i] & ~executed(s, st));
}

/* Is a post left? */
static bool has_post(const struct search *s, const struct state *st, int i)
{
    return value_of(s, s->semaphore[i] & executed(s, st)) + s->first_value[i] > 0;
}

/* Execute the next event of a thread; false where that is not allowed. */
static bool execute(const struct search *s, struct state *st, int i)
{
    const struct event *e = &s->t->events[i];
    uint64_t me = 1ull << e->thread;

    if (!may_come(s, st, i))
        return false;
    if ((e->op == OP_ACQUIRE || e->op == OP_ACQUIRE_SHARED) && !(e->flags & EV_NESTED) &&
        !lock_is_free(s, st, e))
        return false;
    if (e->op == OP_SEM_WAIT && !has_post(s, st, i))
        return false;
    if ((e->op == OP_BRANCH || e->op == OP_CALL) && s->info->branches && st->tainted & me)
        return false;
    if (op_table[e->op].reads && !(s->info->branches && st->tainted & me) &&
        !read_is_right(s, st, i)) {
        if (!is_loose(s, i) && (!s->info->branches || s->in_call[i]))
            return false;
        st->tainted |= me;
    }
    if (!call_is_right(s, st, i))
        return false;
    st->behind |= s->listed[i];
    if (gives_content(e))
        write_cells(s, st, i);
    st->progress[e->thread]++;
    return true;
}

/* ---- the search ---- */

static uint64_t hash_state(const struct state *st)
{
    const uint8_t *p = (const uint8_t *)st;
    uint64_t h = 14695981039346656037u;

    for (size_t i = 0; i < sizeof(*st); i++)
        h = (h ^ p[i]) * 1099511628211u;
    return h ^ h >> 31;
}

static void rehash(struct search *s, size_t n)
{
    free(s->slots);
    s->nslots = n;
    s->slots = xcalloc(n, sizeof(*s->slots));
    for (size_t i = 0; i < s->nnodes; i++) {
        size_t at = hash_state(&s->nodes[i].state) & (n - 1);

        while (s->slots[at])
            at = (at + 1) & (n - 1);
        s->slots[at] = (uint32_t)i + 1;
    }
}

static void add_node(struct search *s, const struct state *st, uint32_t parent, int event)
{
    size_t at;

    if (2 * (s->nnodes + 1) > s->nslots)
        rehash(s, s->nslots ? 2 * s->nslots : 64);
    at = hash_state(st) & (s->nslots - 1);
    for (; s->slots[at]; at = (at + 1) & (s->nslots - 1))
        if (!memcmp(&s->nodes[s->slots[at] - 1].state, st, sizeof(*st)))
            return;
    GROW(s->nodes, s->nodes_cap, s->nnodes + 1);
    s->nodes[s->nnodes] = (struct node){ *st, parent, (uint8_t)event };
    s->nnodes++;
    s->slots[at] = (uint32_t)s->nnodes;
}

static void add_race(struct search *s, uint32_t node, int a, int b)
{
    struct oracle_race r = { .first = (size_t)(a < b ? a : b), .second = (size_t)(a < b ? b : a) };
    size_t n = 2;

    for (uint32_t i = node; i; i = s->nodes[i].parent)
        n++;
    r.nwitness = n;
    r.witness = xmalloc(n * sizeof(*r.witness));
    r.witness[--n] = r.second;
    r.witness[--n] = r.first;
    for (uint32_t i = node; i; i = s->nodes[i].parent)
        r.witness[--n] = s->nodes[i].event;
    GROW(s->out->races, s->out->cap, s->out->count + 1);
    s->out->races[s->out->count++] = r;
    pair_set_add(&s->out->pairs, r.first, r.second);
}

static bool is_race(const struct search *s, const struct state *st, int a, int b)
{
    return a >= 0 && b >= 0 && may_come(s, st, a) && may_come(s, st, b) &&
           naive_conflict(s->t, (size_t)a, (size_t)b);
}

static void visit(struct search *s, uint32_t node)
{
    for (size_t t = 0; t < s->nthreads; t++) {
        struct state st = s->nodes[node].state;
        int a = next_of(s, &st, t);

        for (size_t u = t + 1; u < s->nthreads; u++) {
            int b = next_of(s, &st, u);

            if (a >= 0 && b >= 0 && !pair_set_has(&s->out->pairs, (size_t)a, (size_t)b) &&
                is_race(s, &st, a, b))
                add_race(s, node, a, b);
        }
        if (a >= 0 && execute(s, &st, a))
            add_node(s, &st, node, a);
    }
}

void oracle_run(const struct trace_mem *t, const struct trace_info *info, size_t max_states,
                struct oracle *out)
{
    oracle_run_calls(t, info, CALL_RULE_NONE, NULL, max_states, out);
}

static void run(const struct trace_mem *t, const struct trace_info *info, enum call_rule rule,
                const struct tables *names, enum naive_order order, size_t max_states,
                struct oracle *out)
{
    struct search *s = xcalloc(1, sizeof(*s));

    *out = (struct oracle){ 0 };
    pair_set_init(&out->pairs, t->count);
    if (search_init(s, t, info, rule, names, order)) {
        struct state st = first_state(s);

        s->out = out;
        add_node(s, &st, 0, 0);
        for (uint32_t i = 0; i < s->nnodes && s->nnodes < max_states; i++)
            visit(s, i);
        out->states = s->nnodes;
        out->complete = s->nnodes < max_states;
    }
    search_release(s);
    free(s);
}

void oracle_run_calls(const struct trace_mem *t, const struct trace_info *info, enum call_rule rule,
                      const struct tables *names, size_t max_states, struct oracle *out)
{
    run(t, info, rule, names, NAIVE_MUST, max_states, out);
}

void oracle_run_counted(const struct trace_mem *t, const struct trace_info *info, size_t max_states,
                        struct oracle *out)
{
    run(t, info, CALL_RULE_NONE, NULL, NAIVE_COUNTED, max_states, out);
}

void oracle_release(struct oracle *o)
{
    for (size_t i = 0; i < o->count; i++)
        free(o->races[i].witness);
    free(o->races);
    pair_set_release(&o->pairs);
    *o = (struct oracle){ 0 };
}

static bool follow(const struct search *s, const uint64_t *order, size_t n)
{
    struct state st = first_state(s);
    uint64_t a, b;

    for (size_t i = 0; i < n; i++)
        if (order[i] >= s->t->count || !takes_part(&s->t->events[order[i]]))
            return false;
    for (size_t i = 0; i + 2 < n; i++) {
        int e = (int)order[i];

        if (next_of(s, &st, s->t->events[e].thread) != e || !execute(s, &st, e))
            return false;
    }
    if (n < 2)
        return false;
    a = order[n - 2];
    b = order[n - 1];
    return next_of(s, &st, s->t->events[a].thread) == (int)a &&
           next_of(s, &st, s->t->events[b].thread) == (int)b && is_race(s, &st, (int)a, (int)b);
}

bool oracle_accepts(const struct trace_mem *t, const struct trace_info *info, const uint64_t *order,
                    size_t n)
{
    return oracle_accepts_calls(t, info, CALL_RULE_NONE, NULL, order, n);
}

bool oracle_accepts_calls(const struct trace_mem *t, const struct trace_info *info,
                          enum call_rule rule, const struct tables *names, const uint64_t *order,
                          size_t n)
{
    struct search *s = xcalloc(1, sizeof(*s));
    bool ok = search_init(s, t, info, rule, names, NAIVE_COUNTED) && follow(s, order, n);

    search_release(s);
    free(s);
    return ok;
}
