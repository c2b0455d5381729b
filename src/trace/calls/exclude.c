/* exclude.c - code that is taken out of a finished trace
 *
 * The first pass keeps each thread's stack of functions. An event is hidden
 * when the innermost function of its thread is excluded, or when a function
 * that was inlined at its place is (its site says so): what excluded code
 * calls back stays visible. Hidden events belong to a pair: that of the
 * outermost excluded function in a row of them, or, without a function of its
 * own on the stack, that of a row of hidden events of the thread. While a
 * callback runs, excluded code does not: what it does before and behind is in
 * different pairs.
 *
 * What stays visible although excluded code did it:
 *   - begin and end of threads;
 *   - alloc: it is no access, it says which bytes are the same variable;
 *   - fences: they name nothing that D could hold;
 *   - a branch after a callback's access: it says that the access mattered.
 * Half a critical section says less than nothing: where only one of acquire
 * and release is hidden, the other one becomes a call, too, whose D is the lock.
 *
 * The paper (rdit.txt, section 5) excludes whole methods of Java, where
 * sections do not cross methods and nothing is inlined.
 */
#include "trace/calls/exclude.h"
#include "base/alloc.h"
#include "base/map.h"
#include "trace/calls/touched.h"

#include <stdlib.h>
#include <string.h>

#define NONE             UINT32_MAX
#define NOWHERE          UINT64_MAX
#define UNKNOWN_FUNCTION "?"

enum verdict { NOT_ASKED, TRACED, EXCLUDED }; /* of a site: EXCLUDED + the function it is of */

struct pair {
    uint64_t call, last; /* positions; its last hidden event, or `call` */
    uint64_t function;
    uint64_t entries;          /* first of its entries, and how many */
    uint32_t nentries, nreads; /* of what it touches, and of memory that it reads */
    uint64_t quiet;            /* that of its last plain access, + 1 */
    bool lasts;                /* that one was not over at its return */
    bool open;             /* never returns: a lock it took is given up by the end of its thread */
    uint32_t calls;        /* of untraced code, that have not returned: then it is open, too */
    struct touched *set;   /* owned, until the pair is closed: what it touches, */
    struct touched *reads; /* and memory that it reads */
};

struct frame {
    uint64_t function;
    bool hidden;
    uint32_t around; /* of a callback: the pair that goes on meanwhile, NONE */
};

/* A call of untraced code. */
struct call {
    size_t frames; /* below it */
    uint32_t pair; /* that has made it, NONE */
    bool hidden;
};

struct thread {
    struct frame *frames; /* innermost last */
    size_t nframes, frames_cap;
    struct call *calls; /* that are open, innermost last */
    size_t ncalls, calls_cap, hidden_calls;
    uint32_t nhidden; /* frames */
    uint32_t pair;    /* of the hidden frames on top, NONE: none is under way */
    uint32_t row;     /* of the row of hidden events that is under way, NONE */
    uint64_t quiet;   /* number of those that are over */
    bool accessed;    /* something visible, since the last call or visible branch */
    bool over;
};

/* A thread holding a lock, once for each time it took it. */
struct hold {
    struct level {
        uint64_t position;
        uint32_t pair; /* NONE: visible */
    } *levels;
    size_t count, cap;
    uint32_t thread;
};

enum mark_kind { MARK_CALL, MARK_RETURN, MARK_ALONE };
struct mark {
    uint64_t position;
    uint32_t pair;
    uint32_t kind;
};

struct exclude {
    struct globs *globs;   /* borrowed, for the first pass */
    struct tables *tables; /* borrowed */
    uint8_t *functions;    /* enum verdict */
    uint32_t *sites;
    size_t functions_cap, sites_cap;
    bool
        *has_place; /* functions with a place in an excluded file, as far as sites were looked at */
    size_t has_place_cap;
    uint32_t sites_placed;
    bool filtered; /* accesses may be missing that repeat one */
    bool *met;     /* functions that were hidden at least once */
    size_t met_cap;
    struct exclude_stats stats;
    /* the first pass */
    struct thread *threads;
    size_t threads_cap;
    struct map locks, hold_of; /* object -> number; (number, thread) -> hold */
    struct hold *holds;
    size_t nholds, holds_cap;
    uint64_t position;
    bool values;            /* some access has one: nothing was filtered */
    struct touched written; /* all memory that somebody writes, or may */
    /* what it learned */
    uint64_t *hidden; /* bits */
    size_t hidden_cap;
    struct pair *pairs;
    size_t npairs, pairs_cap;
    struct d_entry *entries;
    size_t nentries, entries_cap;
    struct mark *marks; /* by position */
    size_t nmarks, marks_cap;
    /* the present batch */
    size_t next_mark;
    uint64_t *extra;
    size_t nextra, extra_cap;
};

/* ---- life cycle ---- */

struct exclude *exclude_new(struct globs *globs, struct tables *tables, enum trace_order order)
{
    struct exclude *x = xcalloc(1, sizeof(*x));

    x->filtered = order == TRACE_SYNC_EXACT;
    x->globs = globs;
    x->tables = tables;
    return x;
}

static void close_pair(struct exclude *x, uint32_t pair, const struct thread *t);

static void forget_first_pass(struct exclude *x)
{
    for (size_t i = 0; i < x->threads_cap; i++) {
        free(x->threads[i].frames);
        free(x->threads[i].calls);
    }
    for (size_t i = 0; i < x->nholds; i++)
        free(x->holds[i].levels);
    free(x->threads);
    free(x->holds);
    map_release(&x->locks);
    map_release(&x->hold_of);
    touched_release(&x->written);
    x->threads = NULL;
    x->holds = NULL;
    x->threads_cap = x->nholds = x->holds_cap = 0;
}

void exclude_free(struct exclude *x)
{
    if (!x)
        return;
    for (size_t i = 0; i < x->npairs; i++)
        close_pair(x, (uint32_t)i, NULL);
    forget_first_pass(x);
    free(x->functions);
    free(x->has_place);
    free(x->sites);
    free(x->met);
    free(x->hidden);
    free(x->pairs);
    free(x->entries);
    free(x->marks);
    free(x->extra);
    free(x);
}

const struct exclude_stats *exclude_stats(const struct exclude *x)
{
    return &x->stats;
}

/* ---- what is excluded ---- */

/* Also a function that has a place in an excluded file (recorded traces know all their sites from
 * the beginning; each is looked at once). Two static functions of one name are one function here.
 */
static bool function_has_place(struct exclude *x, uint64_t function)
{
    const struct tables *t = x->tables;

    for (; x->sites_placed < t->sites.count && x->sites_placed < t->site_function_cap;
         x->sites_placed++) {
        uint64_t in = t->site_function[x->sites_placed];

        x->stats.looked++;
        if (!in || in > t->functions.count ||
            !globs_match_location(x->globs, intern_get(&t->sites, x->sites_placed)))
            continue;
        GROW(x->has_place, x->has_place_cap, (size_t)in);
        x->has_place[in - 1] = true;
    }
    return function < x->has_place_cap && x->has_place[function];
}

static bool is_excluded_function(struct exclude *x, uint64_t function)
{
    if (function >= x->tables->functions.count)
        return false;
    if (function >= x->functions_cap)
        GROW(x->functions, x->functions_cap, (size_t)function + 1);
    if (x->functions[function] == NOT_ASKED)
        x->functions[function] =
            globs_match_function(x->globs, intern_get(&x->tables->functions, (uint32_t)function)) ||
                    function_has_place(x, function)
                ? EXCLUDED
                : TRACED;
    return x->functions[function] == EXCLUDED;
}

static uint64_t function_of_site(const struct exclude *x, uint32_t site)
{
    const struct tables *t = x->tables;

    return site < t->site_function_cap && t->site_function[site] ? t->site_function[site] - 1
                                                                 : NOWHERE;
}

static bool is_excluded_place(struct exclude *x, uint32_t site)
{
    return is_excluded_function(x, function_of_site(x, site)) ||
           globs_match_location(x->globs, intern_get(&x->tables->sites, site));
}

static uint32_t unknown_function(struct exclude *x)
{
    return intern_put(&x->tables->functions, UNKNOWN_FUNCTION, strlen(UNKNOWN_FUNCTION));
}

/* The verdict on a site and the places that its code was inlined at; the outermost excluded
 * function is the one that was called. */
static uint32_t judge_site(struct exclude *x, uint32_t site)
{
    uint32_t verdict = TRACED;

    for (uint32_t s = site; s != SITE_NONE; s = tables_site_parent(x->tables, s)) {
        uint64_t function = function_of_site(x, s);

        if (is_excluded_place(x, s))
            verdict = EXCLUDED + (function == NOWHERE ? unknown_function(x) : (uint32_t)function);
    }
    return verdict;
}

static bool is_excluded_site(struct exclude *x, uint32_t site, uint64_t *function)
{
    if (site >= x->tables->sites.count)
        return false;
    if (site >= x->sites_cap)
        GROW(x->sites, x->sites_cap, (size_t)site + 1);
    if (x->sites[site] == NOT_ASKED)
        x->sites[site] = judge_site(x, site);
    *function = x->sites[site] - EXCLUDED;
    return x->sites[site] >= EXCLUDED;
}

static void exclude_meet(struct exclude *x, uint64_t function)
{
    if (function >= x->tables->functions.count || !is_excluded_function(x, function))
        return;
    GROW(x->met, x->met_cap, (size_t)function + 1);
    x->stats.functions += !x->met[function];
    x->met[function] = true;
}

/* ---- pairs ---- */

static struct thread *thread_at(struct exclude *x, uint32_t number)
{
    size_t old = x->threads_cap;

    if (number >= old) {
        GROW(x->threads, x->threads_cap, (size_t)number + 1);
        for (size_t i = old; i < x->threads_cap; i++)
            x->threads[i].pair = x->threads[i].row = NONE;
    }
    return &x->threads[number];
}

static uint32_t open_pair(struct exclude *x, uint64_t position, uint64_t function)
{
    GROW(x->pairs, x->pairs_cap, x->npairs + 1);
    x->pairs[x->npairs] = (struct pair){ .call = position, .last = position, .function = function };
    x->pairs[x->npairs].set = xcalloc(1, sizeof(struct touched));
    x->pairs[x->npairs].reads = xcalloc(1, sizeof(struct touched));
    return (uint32_t)x->npairs++;
}

/* Behind the entries that are there; the set is gone then. */
static uint32_t keep_entries(struct exclude *x, struct touched **set)
{
    uint32_t count;

    touched_merge(*set);
    count = (uint32_t)(*set)->count;
    if (count) {
        GROW(x->entries, x->entries_cap, x->nentries + count);
        memcpy(x->entries + x->nentries, (*set)->list, count * sizeof(*x->entries));
    }
    x->nentries += count;
    touched_release(*set);
    free(*set);
    *set = NULL;
    return count;
}

/* A pair of the thread; NULL: at the end of the trace. */
static void close_pair(struct exclude *x, uint32_t pair, const struct thread *t)
{
    struct pair *p = &x->pairs[pair];

    if (!p->set)
        return;
    p->lasts = t && p->quiet == t->quiet + 1;
    p->entries = x->nentries;
    p->nentries = keep_entries(x, &p->set);
    p->nreads = keep_entries(x, &p->reads);
}

/* One of the thread's two, if it is under way. */
static void close_own(struct exclude *x, struct thread *t, uint32_t *pair)
{
    if (*pair != NONE)
        close_pair(x, *pair, t);
    *pair = NONE;
}

static void set_hidden(struct exclude *x, uint64_t position)
{
    if (position / 64 >= x->hidden_cap)
        GROW(x->hidden, x->hidden_cap, (size_t)(position / 64) + 1);
    x->hidden[position / 64] |= (uint64_t)1 << position % 64;
}

static bool is_hidden(const struct exclude *x, uint64_t position)
{
    return position / 64 < x->hidden_cap && x->hidden[position / 64] >> position % 64 & 1;
}

static void hide(struct exclude *x, uint32_t pair)
{
    set_hidden(x, x->position);
    x->pairs[pair].last = x->position;
}

static void open_own(struct exclude *x, struct thread *t, uint32_t *pair, uint64_t function)
{
    exclude_meet(x, function);
    *pair = open_pair(x, x->position, function);
    t->accessed = false;
}

static bool is_hidden_top(const struct thread *t)
{
    return t->nframes && t->frames[t->nframes - 1].hidden;
}

/* The outermost of the hidden frames on top that are of one pair. */
static uint64_t hidden_function(const struct thread *t)
{
    size_t i = t->nframes - 1;

    while (i && t->frames[i - 1].hidden && t->frames[i].around == NONE)
        i--;
    return t->frames[i].function;
}

/* The pair that an event belongs to, NONE for a visible one; rows begin and end here. A row is of
 * one function: two calls one after the other need not have waited for each other. */
static uint32_t pair_of(struct exclude *x, struct thread *t, const struct event *ev, bool may_begin)
{
    uint64_t function;

    if (is_hidden_top(t)) {
        if (t->pair == NONE && may_begin) /* behind a callback */
            open_own(x, t, &t->pair, hidden_function(t));
        return t->pair;
    }
    if (!is_excluded_site(x, ev->site, &function)) {
        close_own(x, t, &t->row);
        return NONE;
    }
    if (t->row != NONE && x->pairs[t->row].function != function)
        close_own(x, t, &t->row);
    if (t->row == NONE && may_begin)
        open_own(x, t, &t->row, function);
    return t->row;
}

/* ---- functions ---- */

/* Of untraced code that hidden code has called nobody knows when it goes on behind the callback:
 * its pair stays open. */
static uint32_t leave_pair(struct exclude *x, struct thread *t)
{
    uint32_t pair = t->hidden_calls ? t->pair : NONE;

    if (pair == NONE)
        close_own(x, t, &t->pair);
    t->pair = NONE;
    return pair;
}

/* Does untraced code that hidden code has called enter a function now? */
static bool is_called_back(const struct thread *t)
{
    const struct call *c = t->ncalls ? &t->calls[t->ncalls - 1] : NULL;

    return c && c->hidden && c->frames == t->nframes;
}

static void learn_enter(struct exclude *x, struct thread *t, const struct event *ev)
{
    struct frame f = { ev->target, is_excluded_function(x, ev->target), NONE };

    close_own(x, t, &t->row);
    if (!f.hidden || is_called_back(t))
        f.around = leave_pair(x, t);
    else if (t->pair != NONE)
        hide(x, t->pair);
    GROW(t->frames, t->frames_cap, t->nframes + 1);
    t->frames[t->nframes++] = f;
    t->nhidden += f.hidden;
    if (f.hidden && t->pair == NONE)
        open_own(x, t, &t->pair, hidden_function(t));
    if (f.hidden)
        exclude_meet(x, ev->target);
}

static void leave_frame(struct exclude *x, struct thread *t)
{
    const struct frame *f = &t->frames[--t->nframes];

    t->nhidden -= f->hidden;
    if (!is_hidden_top(t) || f->around != NONE)
        close_own(x, t, &t->pair);
    if (f->around != NONE)
        t->pair = f->around;
}

/* Frames above the one that is left were left without an event. */
static void learn_exit(struct exclude *x, struct thread *t, const struct event *ev)
{
    size_t n = t->nframes;

    close_own(x, t, &t->row);
    while (n && t->frames[n - 1].function != ev->target)
        n--;
    if (!n)
        return;
    while (t->nframes > n)
        leave_frame(x, t);
    if (is_hidden_top(t) && t->pair != NONE)
        hide(x, t->pair);
    else if (is_hidden_top(t))
        set_hidden(x, x->position);
    leave_frame(x, t);
}

static void learn_end(struct exclude *x, struct thread *t)
{
    close_own(x, t, &t->row);
    while (t->nframes)
        leave_frame(x, t);
    t->ncalls = t->hidden_calls = 0;
    t->over = true;
}

/* ---- locks ---- */

static struct hold *hold_of(struct exclude *x, const struct event *ev)
{
    uint64_t key = sync_object_key(ev->op, ev->target);
    uint32_t lock = *map_put(&x->locks, key, (uint32_t)x->locks.count);
    uint32_t *n = map_put(&x->hold_of, (uint64_t)lock << 32 | ev->thread, (uint32_t)x->nholds);

    if (*n == x->nholds) {
        GROW(x->holds, x->holds_cap, x->nholds + 1);
        x->holds[x->nholds++].thread = ev->thread;
    }
    return &x->holds[*n];
}

static void add_object(struct touched *set, uint64_t target)
{
    if (is_named(target))
        touched_add(set, D_ENTRY(D_SYNC_KIND, named_object(target)), 0);
    else
        touched_add_memory(set, target, 1);
}

/* A visible event becomes a call of its own that touches only the lock. */
static void make_alone(struct exclude *x, uint64_t position, uint64_t lock, uint64_t function)
{
    uint32_t pair = open_pair(x, position, function);

    add_object(x->pairs[pair].set, lock);
    close_pair(x, pair, NULL);
    x->stats.halves++;
}

/* The two ends of a section; the inner ones of a recursive lock have no effect. */
static void match_ends(struct exclude *x, const struct level *from, uint32_t pair, uint64_t lock,
                       bool outermost)
{
    uint64_t visible = from->pair == NONE ? from->position : x->position;
    uint32_t other = from->pair == NONE ? pair : from->pair;

    if ((from->pair == NONE) == (pair == NONE))
        return;
    if (outermost)
        make_alone(x, visible, lock, x->pairs[other].function);
    else
        set_hidden(x, visible);
}

static void learn_lock(struct exclude *x, const struct event *ev, uint32_t pair)
{
    struct hold *h = hold_of(x, ev);
    bool acquire = ev->op == OP_ACQUIRE || ev->op == OP_ACQUIRE_SHARED;
    bool ends = !acquire && h->count, outermost;

    if (ends)
        h->count--;
    else if (acquire)
        GROW(h->levels, h->cap, h->count + 1);
    outermost = h->count == 0;
    if (pair != NONE) {
        hide(x, pair);
        if (outermost)
            add_object(x->pairs[pair].set, ev->target);
    }
    if (acquire)
        h->levels[h->count++] = (struct level){ x->position, pair };
    else if (ends) /* else: taken by somebody else, or before the trace began */
        match_ends(x, &h->levels[h->count], pair, ev->target, outermost);
}

/* ---- events ---- */

static void add_effect(struct exclude *x, uint32_t pair, const struct event *ev,
                       const uint64_t *extra)
{
    struct touched *set = x->pairs[pair].set;

    switch (op_class_of(ev->op)) {
    case CLASS_ACCESS:
    case CLASS_ATOMIC:
        touched_add_memory(op_table[ev->op].writes ? set : x->pairs[pair].reads, ev->target,
                           ev->size);
        break;
    case CLASS_MEMORY: /* free */
        touched_add_memory(set, ev->target, ev->value);
        break;
    case CLASS_THREAD:
        touched_add(set, D_ENTRY(ev->op == OP_FORK ? D_START_KIND : D_THREAD_KIND, ev->target), 0);
        break;
    case CLASS_COND:
    case CLASS_BARRIER:
    case CLASS_SEM:
    case CLASS_ONCE:
    case CLASS_ANNOTATION:
        add_object(set, ev->target);
        break;
    case CLASS_CALL:
        for (uint64_t i = 0; ev->op == OP_CALL && i < ev->old; i++)
            touched_add(set, extra[ev->value + 2 * i], extra[ev->value + 2 * i + 1]);
        break;
    default:
        break;
    }
}

/* An alloc counts, too: it comes before what uses the memory. */
static void add_written(struct exclude *x, const struct event *ev, const uint64_t *extra)
{
    if (op_is_access(ev->op) && op_table[ev->op].writes)
        touched_add_memory(&x->written, ev->target, ev->size);
    else if (op_class_of(ev->op) == CLASS_MEMORY)
        touched_add_memory(&x->written, ev->target, ev->value);
    for (uint64_t i = 0; ev->op == OP_CALL && i < ev->old; i++)
        touched_add(&x->written, extra[ev->value + 2 * i], extra[ev->value + 2 * i + 1]);
}

/* Semaphores are counters, also for those who stay: what is taken here is not left for them. */
static bool stays_visible(const struct thread *t, const struct event *ev)
{
    return ev->op == OP_BEGIN || ev->op == OP_END || ev->op == OP_FENCE || ev->op == OP_ALLOC ||
           op_class_of(ev->op) == CLASS_LINK || op_class_of(ev->op) == CLASS_SEM ||
           (ev->op == OP_BRANCH && t->accessed);
}

static void learn_call(struct exclude *x, struct thread *t, uint32_t pair)
{
    GROW(t->calls, t->calls_cap, t->ncalls + 1);
    t->calls[t->ncalls++] = (struct call){ t->nframes, pair, pair != NONE };
    if (pair == NONE)
        return;
    t->hidden_calls++;
    x->pairs[pair].calls++;
}

/* Of the innermost call. A return shares its fate, and so does its pair, which lasts up to here.
 * What excluded code does now is known event by event. */
static void learn_return(struct exclude *x, struct thread *t)
{
    struct call c = t->calls[--t->ncalls];
    struct pair *p = &x->pairs[c.pair];

    t->hidden_calls--;
    p->calls--;
    set_hidden(x, x->position);
    if (t->pair == c.pair || t->row == c.pair || (t->pair == NONE && t->row == NONE))
        p->last = x->position;
    else
        p->open = true; /* another one is under way: the two would overlap */
    if (!t->hidden_calls && (t->pair == c.pair || t->row == c.pair))
        close_own(x, t, t->row == c.pair ? &t->row : &t->pair);
}

static void learn_other(struct exclude *x, struct thread *t, const struct event *ev,
                        const uint64_t *extra)
{
    bool stays = stays_visible(t, ev), hidden;
    uint32_t pair;

    if (ev->op == OP_RETURN && t->ncalls && t->calls[t->ncalls - 1].hidden) {
        learn_return(x, t);
        return;
    }
    pair = pair_of(x, t, ev, !stays);
    if (op_class_of(ev->op) == CLASS_LOCK) {
        learn_lock(x, ev, pair);
        return;
    }
    hidden = pair != NONE && !stays;
    if (ev->op == OP_CALL)
        learn_call(x, t, pair);
    else if (ev->op == OP_RETURN && t->ncalls && t->ncalls--)
        hidden = false;
    if (hidden) {
        if (ev->op == OP_READ || ev->op == OP_WRITE)
            x->pairs[pair].quiet = t->quiet + 1;
        hide(x, pair);
        add_effect(x, pair, ev, extra);
    } else if (ev->op == OP_BRANCH) {
        t->accessed = false;
    } else {
        t->accessed |= t->nhidden && op_is_access(ev->op);
    }
}

static void learn_event(struct exclude *x, const struct event *ev, const uint64_t *extra)
{
    struct thread *t = thread_at(x, ev->thread);

    x->values |= op_is_access(ev->op) && ev->flags & EV_VALUE;
    add_written(x, ev, extra);
    t->quiet += event_ends_quiet(ev);
    switch (ev->op) {
    case OP_ENTER:
        learn_enter(x, t, ev);
        break;
    case OP_EXIT:
        learn_exit(x, t, ev);
        break;
    case OP_END:
        learn_end(x, t);
        break;
    default:
        learn_other(x, t, ev, extra);
        if (ev->op == OP_JOIN)
            thread_at(x, (uint32_t)ev->target)->over = true;
    }
}

void exclude_learn(struct exclude *x, const struct batch *b)
{
    for (size_t i = 0; i < b->count; i++) {
        x->position = b->first + i;
        learn_event(x, &b->events[i], b->extra);
    }
}

/* ---- the end of the first pass ---- */

/* Somebody may take the lock later, which the thread's end has given up: all that the thread still
 * does is between the call and its return. So it is where untraced code never returns. */
static void leave_open(struct exclude *x)
{
    for (size_t i = 0; i < x->npairs; i++)
        x->pairs[i].open |= x->pairs[i].calls > 0;
    for (size_t i = 0; i < x->nholds; i++) {
        const struct hold *h = &x->holds[i];

        if (h->count && h->levels[0].pair != NONE && x->threads[h->thread].over)
            x->pairs[h->levels[0].pair].open = true;
    }
}

static void add_mark(struct exclude *x, uint64_t position, uint32_t pair, enum mark_kind kind)
{
    GROW(x->marks, x->marks_cap, x->nmarks + 1);
    x->marks[x->nmarks++] = (struct mark){ position, pair, kind };
}

static int compare_marks(const void *a, const void *b)
{
    const struct mark *m = a, *n = b;

    return m->position < n->position ? -1 : m->position > n->position;
}

static void mark_pairs(struct exclude *x)
{
    for (uint32_t i = 0; i < x->npairs; i++) {
        const struct pair *p = &x->pairs[i];

        add_mark(x, p->call, i, p->last > p->call || p->open ? MARK_CALL : MARK_ALONE);
        if (p->last > p->call && !p->open)
            add_mark(x, p->last, i, MARK_RETURN);
    }
    if (x->nmarks)
        qsort(x->marks, x->nmarks, sizeof(*x->marks), compare_marks);
}

/* Reading what nobody writes orders nothing. */
static void forget_constants(struct exclude *x)
{
    struct d_entry *all = x->entries;

    touched_merge(&x->written);
    x->entries = NULL;
    x->nentries = x->entries_cap = 0;
    for (uint32_t i = 0; i < x->npairs; i++) {
        struct pair *p = &x->pairs[i];
        struct touched *set = xcalloc(1, sizeof(*set));
        const struct d_entry *e = all ? all + p->entries : NULL;

        for (uint32_t k = 0; k < p->nentries; k++)
            touched_add(set, e[k].what, e[k].bytes);
        for (uint32_t k = p->nentries; k < p->nentries + p->nreads; k++)
            touched_add_common(set, e[k], &x->written);
        touched_merge(set);
        x->stats.all += touched_is_all(set);
        p->entries = x->nentries;
        p->nentries = keep_entries(x, &set);
    }
    free(all);
}

void exclude_ready(struct exclude *x)
{
    for (uint32_t i = 0; i < x->npairs; i++)
        close_pair(x, i, NULL);
    forget_constants(x);
    leave_open(x);
    mark_pairs(x);
    forget_first_pass(x);
    x->globs = NULL;
    x->filtered &= !x->values;
    for (size_t i = 0; i < x->hidden_cap; i++)
        x->stats.events += (uint64_t)__builtin_popcountll(x->hidden[i]);
    for (size_t i = 0; i < x->nmarks; i++)
        x->stats.events += !is_hidden(x, x->marks[i].position);
    x->stats.pairs = x->npairs;
    x->stats.entries = x->nentries;
}

/* ---- the passes behind it ---- */

/* The first mark at the position or behind it. */
static size_t find_mark(const struct exclude *x, uint64_t position)
{
    size_t low = 0, high = x->nmarks;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (x->marks[middle].position < position)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void add_extra(struct exclude *x, struct event *ev, const uint64_t *words, uint64_t entries)
{
    GROW(x->extra, x->extra_cap, x->nextra + 2 * (size_t)entries);
    if (entries)
        memcpy(x->extra + x->nextra, words, 2 * (size_t)entries * sizeof(*words));
    ev->value = x->nextra;
    ev->old = entries;
    x->nextra += 2 * (size_t)entries;
}

static void apply_mark(struct exclude *x, const struct mark *m, struct event *ev)
{
    const struct pair *p = &x->pairs[m->pair];

    *ev = (struct event){ .target = p->function,
                          .thread = ev->thread,
                          .site = ev->site,
                          .op = m->kind == MARK_RETURN ? OP_RETURN : OP_CALL,
                          .flags = m->kind == MARK_ALONE ? EV_ALONE : 0 };
    if (m->kind != MARK_RETURN && p->lasts && x->filtered)
        ev->flags |= EV_LASTS;
    if (m->kind != MARK_RETURN && p->nentries)
        add_extra(x, ev, (const uint64_t *)(x->entries + p->entries), p->nentries);
}

/* A call of untraced code that excluded code has made: what it touches is in the list of its pair.
 * Its own list stays behind with the batch's words, so it must not name a place among ours. */
static void hide_event(struct event *ev)
{
    ev->flags |= EV_EXCLUDED | EV_IGNORED;
    if (ev->op == OP_CALL)
        ev->value = ev->old = 0;
}

void exclude_batch(struct exclude *x, struct batch *b)
{
    size_t m = find_mark(x, b->first);

    x->nextra = 0;
    for (size_t i = 0; i < b->count; i++) {
        struct event *ev = &b->events[i];
        uint64_t position = b->first + i;

        if (m < x->nmarks && x->marks[m].position == position)
            apply_mark(x, &x->marks[m++], ev);
        else if (is_hidden(x, position))
            hide_event(ev);
        else if (ev->op == OP_CALL && ev->old)
            add_extra(x, ev, b->extra + ev->value, ev->old);
    }
    b->extra = x->extra;
}
