/* enrich.c - one more pass over the trace, for all that a report shows
 *
 * Engines keep two positions per race. This pass walks the trace once more up
 * to the last of them, follows locks and call stacks (history.h), and notes
 * the state of a thread when one of its accesses is reported. The readable
 * tail of each witness comes from the same pass.
 * Memory: what the findings themselves need, not the trace.
 */
#include "report/findings.h"
#include "report/changed_reads.h"
#include "base/alloc.h"
#include "report/allocation.h"
#include "report/history.h"
#include "report/naming.h"
#include "report/schedule.h"
#include "report/source_lines.h"
#include "report/stacks.h"
#include "report/steps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A side of a race or a request of a deadlock that is looked for, and the memory it turned out to
 * touch. */
struct wanted {
    uint64_t position;
    struct side *side;
    struct waiter *waiter;     /* NULL: of a race */
    struct finding_flip *flip; /* the side is in code that was not executed; or NULL */
    uint64_t address, bytes;
    size_t race;
};

struct enricher {
    struct findings *f;
    const struct tables *tables;
    struct wanted *wanted; /* by position */
    size_t count, wanted_cap, next;
    bool allocations;            /* there are some */
    bool recorded;               /* the trace is of a recorded program */
    struct finding_flip **flips; /* by position of their new events */
    size_t nflips, flips_cap;
    struct naming naming;
    struct source_cache sources;
    struct history history;
    struct steps steps;
};

static int compare_wanted(const void *a, const void *b)
{
    const struct wanted *x = a, *y = b;

    return x->position < y->position ? -1 : x->position > y->position;
}

static void enrich_want(struct enricher *e, struct side *side, struct waiter *waiter, size_t race)
{
    GROW(e->wanted, e->wanted_cap, e->count + 1);
    e->wanted[e->count++] =
        (struct wanted){ .position = side->event, .side = side, .waiter = waiter, .race = race };
}

/* The sides of the race were the last. */
static void want_flip(struct enricher *e, struct finding_flip *flip)
{
    e->wanted[e->count - 2 + flip->side].flip = flip;
    GROW(e->flips, e->flips_cap, e->nflips + 1);
    e->flips[e->nflips++] = flip;
    for (uint64_t i = 0; i < flip->nevents; i++)
        steps_want(&e->steps, flip->first + i);
}

static int compare_flips(const void *a, const void *b)
{
    struct finding_flip *const *x = a, *const *y = b;

    return (*x)->first<(*y)->first ? -1 : (*x)->first>(*y)->first;
}

static void enricher_init(struct enricher *e, struct findings *f, const struct tables *tables)
{
    size_t room = SCHEDULE_ALL;

    *e = (struct enricher){ .f = f, .tables = tables, .recorded = tables->process.known };
    naming_init(&e->naming, f, tables);
    steps_init(&e->steps, f);
    e->steps.naming = &e->naming;
    for (size_t i = 0; i < f->count; i++) {
        for (unsigned k = 0; k < 2; k++)
            enrich_want(e, &f->races[i].sides[k], NULL, i);
        for (size_t k = 0; k < f->races[i].nflips; k++)
            want_flip(e, &f->races[i].flips[k]);
        schedule_want(f->races[i].witness, f->races[i].nwitness, &e->steps, &room);
        changes_want(&f->races[i], &e->steps);
    }
    for (size_t i = 0; i < f->ndeadlocks; i++) {
        const struct deadlock_finding *d = &f->deadlocks[i];

        for (size_t k = 0; k < d->nwaiters; k++)
            enrich_want(e, &d->waiters[k].request, &d->waiters[k], 0);
        schedule_want(d->witness, d->nwitness, &e->steps, &room);
    }
    qsort(e->wanted, e->count, sizeof(*e->wanted), compare_wanted);
    if (e->nflips)
        qsort(e->flips, e->nflips, sizeof(*e->flips), compare_flips);
    steps_seal(&e->steps);
}

static void enricher_release(struct enricher *e)
{
    free(e->wanted);
    free(e->flips);
    naming_release(&e->naming);
    source_cache_release(&e->sources);
    history_release(&e->history);
    steps_release(&e->steps);
}

static const char *location_of(struct enricher *e, uint32_t site)
{
    return site == SITE_NONE ? NULL : findings_string(e->f, tables_location(e->tables, site));
}

static const char *thread_name(struct enricher *e, uint32_t thread)
{
    return findings_string(e->f, intern_get(&e->tables->threads, thread));
}

static const char *number_text(struct enricher *e, uint64_t value, bool is_signed)
{
    char text[24];

    if (is_signed)
        snprintf(text, sizeof(text), "%" PRId64, (int64_t)value);
    else
        snprintf(text, sizeof(text), "%" PRIu64, value);
    return findings_string(e->f, text);
}

static void fill_locks(struct enricher *e, struct side *to, const struct history_thread *t)
{
    struct held_lock *locks = arena_alloc(&e->f->memory, t->nlocks * sizeof(*locks) + 1);

    for (size_t i = 0; i < t->nlocks; i++) {
        const struct history_lock *l = &t->locks[i];

        locks[i] = (struct held_lock){
            .name = naming_object(&e->naming, l->target),
            .location = location_of(e, l->site),
            .event = l->position,
            .target = l->target,
            .shared = l->shared,
        };
        if (e->recorded)
            locks[i].stack = stack_make(&e->naming, l->site, l->calls, l->ncalls, 0);
    }
    to->locks = locks;
    to->nlocks = t->nlocks;
}

static void fill_stack(struct enricher *e, struct side *to, const struct event *ev,
                       const struct history_thread *t)
{
    const char *linkage = findings_string(e->f, tables_site_function(e->tables, ev->site));

    to->stack = stack_make(&e->naming, ev->site, t->calls, t->ncalls, t->deeper);
    to->function = to->stack.count ? to->stack.frames[0].function : NULL;
    to->symbol = linkage && linkage != to->function ? linkage : NULL;
}

static void fill_creation(struct enricher *e, struct side *to, const struct history_thread *t)
{
    to->creator = thread_name(e, t->fork_thread);
    to->created_at = findings_string(e->f, tables_location(e->tables, t->fork_site));
    to->created_event = t->fork_position;
    if (e->recorded)
        to->created_stack = stack_make(&e->naming, t->fork_site, t->fork_calls.calls,
                                       t->fork_calls.count, t->fork_calls.missing);
}

/* The lines of the access; in code of the system (a container's header), those of the code of the
 * program's own that called it. */
static void fill_source(struct enricher *e, struct side *to)
{
    const struct stack *s = &to->stack;

    for (int system = 0; system < 2; system++)
        for (size_t i = 0; i < s->count && !to->source; i++)
            if (s->frames[i].location && location_is_system(s->frames[i].location) == system)
                to->source = source_excerpt(&e->sources, e->f, s->frames[i].location);
}

static void fill_from(struct enricher *e, struct wanted *w, const struct event *ev,
                      const struct history_thread *t)
{
    struct side *to = w->side;
    bool is_signed = ev->flags & EV_SIGNED;

    w->address = ev->target;
    w->bytes = op_is_access(ev->op) ? ev->size : ev->value; /* a free's value is its size */
    to->thread = thread_name(e, ev->thread);
    to->op = findings_string(e->f, op_table[op_wanted(ev->op)].name);
    to->order = ev->order ? findings_string(e->f, order_names[ev->order]) : NULL;
    if (op_is_access(ev->op) && (ev->flags & EV_VALUE))
        to->value = number_text(e, ev->value, is_signed);
    if (op_is_access(ev->op) && (ev->flags & EV_OLD))
        to->old = number_text(e, ev->old, is_signed);
    if (!is_named(ev->target) && !w->waiter)
        to->bytes = w->bytes;
    if (e->recorded)
        to->thread_name =
            findings_string(e->f, process_thread_name(&e->tables->process, ev->thread));
    to->variable = findings_string(e->f, tables_site_variable(e->tables, ev->site));
    fill_locks(e, to, t);
    fill_stack(e, to, ev, t);
    fill_source(e, to);
    if (t->forked)
        fill_creation(e, to, t);
}

/* The access of a branch that goes another way: what the thread does from there on comes on top of
 * what it holds and where it is. */
static void fill_unexecuted(struct enricher *e, struct wanted *w, const struct event *branch)
{
    const struct finding_flip *flip = w->flip;
    const struct history_thread *t = history_of(&e->history, branch->thread);
    struct history copy = { 0 };
    uint64_t access = flip->access - flip->first;

    history_adopt(&copy, t, branch->thread);
    for (uint64_t i = 0; i < access; i++)
        history_event(&copy, &flip->events[i], flip->first + i);
    w->flip->thread = thread_name(e, branch->thread);
    fill_from(e, w, &flip->events[access], history_of(&copy, branch->thread));
    w->side->value = w->side->old = NULL; /* nobody has seen them */
    history_release(&copy);
}

static void enrich_fill_side(struct enricher *e, struct wanted *w, const struct event *ev)
{
    fill_from(e, w, ev, history_of(&e->history, ev->thread));
}

static void fill_waiter(struct enricher *e, struct waiter *w, const struct event *ev)
{
    w->lock = naming_object(&e->naming, ev->target);
    w->lock_key = is_named(ev->target) ? w->lock : NULL;
}

static bool is_wanted(const struct enricher *e, uint64_t position)
{
    return e->next < e->count && e->wanted[e->next].position == position;
}

/* What waits for a lock has not got it: requests are looked at before they happen. */
static void feed_event(struct enricher *e, const struct event *ev, uint64_t position)
{
    if (is_wanted(e, position) && op_is_on_lock(ev->op)) {
        for (; is_wanted(e, position); e->next++) {
            enrich_fill_side(e, &e->wanted[e->next], ev);
            if (e->wanted[e->next].waiter)
                fill_waiter(e, e->wanted[e->next].waiter, ev);
        }
    }
    history_event(&e->history, ev, position);
    e->allocations |= ev->op == OP_ALLOC;
    for (; is_wanted(e, position); e->next++)
        if (e->wanted[e->next].flip)
            fill_unexecuted(e, &e->wanted[e->next], ev);
        else
            enrich_fill_side(e, &e->wanted[e->next], ev);
}

static void feed_batch(struct enricher *e, const struct batch *b)
{
    for (size_t i = 0; i < b->count && e->next < e->count; i++)
        feed_event(e, &b->events[i], b->first + i);
    steps_feed(&e->steps, b, e->tables);
}

/* All steps that are in the trace itself. */
static bool trace_steps_done(const struct enricher *e)
{
    return steps_done(&e->steps) ||
           (e->nflips && e->steps.list[e->steps.next].position >= e->flips[0]->first);
}

static void keep_steps(struct enricher *e, struct finding_flip *flip)
{
    flip->steps = arena_alloc(&e->f->memory, (flip->nevents + 1) * sizeof(*flip->steps));
    for (uint64_t i = 0; i < flip->nevents; i++) {
        const struct step_text *t = steps_get(&e->steps, flip->first + i);

        flip->steps[i] = (struct schedule_step){ .index = i, .event = flip->first + i };
        if (t) {
            flip->steps[i].thread = t->thread;
            flip->steps[i].operation = t->operation;
            flip->steps[i].location = t->location;
        }
    }
}

static void feed_flips(struct enricher *e)
{
    for (size_t i = 0; i < e->nflips; i++) {
        const struct finding_flip *flip = e->flips[i];
        struct batch b = { .events = (struct event *)(uintptr_t)flip->events,
                           .count = flip->nevents,
                           .first = flip->first };

        steps_feed(&e->steps, &b, e->tables);
        keep_steps(e, e->flips[i]);
    }
}

static int enrich_read_trace(struct enricher *e, struct trace *t, struct error *err)
{
    struct batch b;
    int r = trace_rewind(t, err);

    while (r >= 0 && !e->f->stopped && (e->next < e->count || !trace_steps_done(e))) {
        r = trace_next(t, &b, err);
        if (r == 0)
            return error_set(err, "the trace changed while it was read: event %" PRIu64 " is gone",
                             e->wanted[e->count - 1].position);
        if (r > 0)
            feed_batch(e, &b);
        e->f->stopped = e->f->progress && e->f->progress(e->f->progress_arg, trace_info(t));
    }
    if (!e->f->stopped)
        feed_flips(e);
    return r < 0 ? -1 : 0;
}

/* The first byte that both accesses touch. */
static uint64_t race_address(const struct wanted *a, const struct wanted *b)
{
    return a->address > b->address ? a->address : b->address;
}

/* The name the compiler has for what one of the accesses touches; rather that of the one whose
 * first byte it is, then of the smaller one. */
static const char *compiler_name(const struct wanted *a, const struct wanted *b, uint64_t start)
{
    const char *of_a = a->side->variable, *of_b = b->side->variable;

    if (!of_a || !of_b)
        return of_a ? of_a : of_b;
    if ((a->address == start) != (b->address == start))
        return a->address == start ? of_a : of_b;
    return a->bytes <= b->bytes ? of_a : of_b;
}

static const char *variable_text(struct enricher *e, uint64_t start, uint64_t bytes)
{
    struct buf name = { 0 };
    const char *text;

    tables_name_variable(e->tables, start, bytes, &name);
    text = findings_string(e->f, name.data);
    buf_release(&name);
    return text;
}

/* A race is about the bytes that both accesses touch. Its name: of a variable with only a name,
 * of a global, of what the compiler says; NULL where it has to wait for the allocation. */
static void name_variable(struct enricher *e, struct finding *r, const struct wanted *a,
                          const struct wanted *b)
{
    uint64_t start = race_address(a, b);
    uint64_t end_a = a->address + a->bytes, end_b = b->address + b->bytes;
    uint64_t end = end_a < end_b ? end_a : end_b, bytes = end > start ? end - start : 0;

    if (is_named(start)) {
        r->variable = r->variable_key = variable_text(e, start, bytes);
        return;
    }
    r->address = start;
    r->bytes = bytes;
    r->variable = naming_global(&e->naming, start, bytes);
    if (naming_is_descriptor(&e->naming, start))
        findings_descriptor(r);
    if (!r->variable)
        r->variable = compiler_name(a, b, start);
}

/* Name what the races are about; addresses are questions for allocations_find(). */
static size_t name_variables(struct enricher *e, struct allocation_query *queries)
{
    const struct wanted **first = xcalloc(e->f->count + 1, sizeof(*first));
    size_t n = 0;

    for (size_t i = 0; i < e->count; i++) {
        const struct wanted *a = first[e->wanted[i].race], *b = &e->wanted[i];
        struct finding *r;

        if (b->waiter)
            continue;
        r = &e->f->races[b->race];
        first[b->race] = b;
        if (!a)
            continue; /* the second side of the race comes later */
        name_variable(e, r, a, b);
        if (r->bytes)
            queries[n++] = (struct allocation_query){ r->address, a->position, r };
    }
    free(first);
    return n;
}

static const char *enrich_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* The thread whose stack or block an access is to, as the trace says; UINT32_MAX: it does not. */
static uint32_t stack_owner(const struct enricher *e, const struct finding *r)
{
    const struct allocation *a = r->allocation;

    return a ? intern_find(&e->tables->threads, a->thread, strlen(a->thread)) : UINT32_MAX;
}

/* Storage of a thread is at the end of the block that its stack is in, or, for libraries that were
 * loaded later, in blocks that the dynamic loader allocates for the thread. */
static bool find_storage(struct enricher *e, struct finding *r, struct naming_storage *s)
{
    struct allocation *a = r->allocation;
    uint32_t owner = stack_owner(e, r);

    if (a && !a->is_stack) {
        s->thread = owner;
        return strncmp(a->location, "ld-", 3) == 0 &&
               naming_loaded_local(&e->naming, r->address, r->bytes, a->offset, a->bytes,
                                   &s->variable);
    }
    if (naming_thread_local(&e->naming, r->address, r->bytes, owner, s))
        return true;
    if (a)
        a->maybe_local = !naming_knows_storage(&e->naming, owner);
    return false;
}

static bool name_thread_local(struct enricher *e, struct finding *r)
{
    struct naming_storage s = { 0 };
    struct buf b = { 0 };

    if (!e->recorded || !find_storage(e, r, &s))
        return false;
    r->allocation = NULL;
    r->thread_local_of = s.thread == UINT32_MAX ? "?" : thread_name(e, s.thread);
    if (s.variable)
        r->variable = s.variable;
    if (r->variable)
        return true;
    buf_addf(&b, "thread-local storage of %s", r->thread_local_of);
    r->variable = findings_string(e->f, b.data);
    buf_release(&b);
    return true;
}

/* What nobody has a name for is a part of something that was allocated. */
static void name_allocated(struct enricher *e, struct finding *r)
{
    const struct allocation *a = r->allocation;
    const char *at;
    struct buf b = { 0 };

    if (r->variable || !e->recorded)
        return;
    if (!a && !naming_is_main_stack(&e->naming, r->address))
        return;
    at = a ? stack_own_location(&a->stack) : NULL;
    if (!a)
        buf_addf(&b, "stack of %s", thread_name(e, 0));
    else if (a->is_stack)
        buf_addf(&b, "%s of %s", a->maybe_local ? "stack or thread-local memory" : "stack",
                 a->thread);
    else
        buf_addf(&b, "heap block of %" PRIu64 " byte%s allocated at %s, offset %" PRIu64, a->bytes,
                 a->bytes == 1 ? "" : "s", enrich_base_name(at ? at : a->location), a->offset);
    r->variable = findings_string(e->f, b.data);
    buf_release(&b);
}

/* ---- locks that could be taken at both accesses ---- */

/* The position of the last access that has locks to ask about. */
static uint64_t want_lives(struct enricher *e, struct locklives *lives)
{
    uint64_t last = 0;

    for (size_t i = 0; i < e->f->count; i++)
        for (unsigned k = 0; k < 2; k++) {
            const struct finding *r = &e->f->races[i];

            for (size_t j = 0; j < r->sides[k].nlocks; j++) {
                locklives_want(lives, r->sides[k].locks[j].target);
                last = r->sides[1].event > last ? r->sides[1].event : last;
            }
        }
    locklives_seal(lives);
    return last;
}

/* The thread on whose stack, or in whose thread-local storage, a lock is; NULL: nobody's. */
static const char *lock_owner(struct enricher *e, const struct locklife *life)
{
    struct naming_storage s = { .thread = life->stack };

    if (life->stack == UINT32_MAX &&
        !naming_thread_local(&e->naming, life->target, 1, UINT32_MAX, &s))
        return naming_is_main_stack(&e->naming, life->target) ? thread_name(e, 0) : NULL;
    return s.thread == UINT32_MAX ? NULL : thread_name(e, s.thread);
}

/* Only the thread of this side takes it, and it is there for this thread alone; what both reach may
 * be with the lock on one stack. */
static bool is_own_lock(struct enricher *e, const struct finding *r, const struct side *s,
                        const struct locklife *life)
{
    const char *owner = life->several ? NULL : lock_owner(e, life);

    if (!owner || owner != s->thread)
        return false;
    if (r->allocation && r->allocation->is_stack)
        return r->allocation->thread != owner;
    return !(owner == thread_name(e, 0) && naming_is_main_stack(&e->naming, r->address));
}

static void mark_locks(struct enricher *e, const struct finding *r, const struct locklives *lives)
{
    for (unsigned k = 0; k < 2; k++)
        for (size_t i = 0; i < r->sides[k].nlocks; i++) {
            struct held_lock *l = &r->sides[k].locks[i];
            const struct locklife *life = locklives_get(lives, l->target);

            l->only_here = life && (!locklife_spans(life, r->sides[0].event, r->sides[1].event) ||
                                    is_own_lock(e, r, &r->sides[k], life));
            l->only_here |= e->f->stopped; /* nobody knows */
        }
}

static int name_all(struct enricher *e, struct trace *t, struct error *err)
{
    struct allocation_query *queries = xcalloc(e->f->count + 1, sizeof(*queries));
    size_t n = name_variables(e, queries);
    struct locklives lives = { 0 };
    uint64_t last = want_lives(e, &lives);
    int r = 0;

    if (!e->f->stopped && ((n && e->allocations) || lives.count))
        r = allocations_find(&e->naming, queries, n, &lives, last, t, err);
    for (size_t i = 0; i < e->f->count && r == 0; i++)
        mark_locks(e, &e->f->races[i], &lives);
    locklives_release(&lives);
    for (size_t i = 0; i < n && r == 0; i++)
        if (!name_thread_local(e, queries[i].race))
            name_allocated(e, queries[i].race);
    for (size_t i = 0; i < e->f->count; i++)
        if (!e->f->races[i].variable)
            e->f->races[i].variable =
                variable_text(e, e->f->races[i].address, e->f->races[i].bytes);
    free(queries);
    return r;
}

static void choose_schedules(struct enricher *e)
{
    struct findings *f = e->f;

    for (size_t i = 0; i < f->count; i++) {
        struct finding *r = &f->races[i];
        struct schedule_choice c;

        r->nschedule = schedule_choose(f, r->witness, r->nwitness, 2, &e->steps, &c);
        r->schedule = c.steps;
        r->switches = c.switches;
        changes_fill(f, r, &e->steps);
    }
    for (size_t i = 0; i < f->ndeadlocks; i++) {
        struct deadlock_finding *d = &f->deadlocks[i];

        struct schedule_choice c;

        d->nschedule = schedule_choose(f, d->witness, d->nwitness, d->nwaiters, &e->steps, &c);
        d->schedule = c.steps;
        d->switches = c.switches;
    }
}

int findings_enrich(struct findings *f, struct trace *t, struct error *err)
{
    struct enricher e;
    int r;

    if (f->count == 0 && f->ndeadlocks == 0)
        return 0;
    enricher_init(&e, f, trace_tables(t));
    r = enrich_read_trace(&e, t, err);
    if (r == 0)
        r = name_all(&e, t, err);
    if (r == 0 && !f->stopped)
        choose_schedules(&e);
    enricher_release(&e);
    return r;
}
