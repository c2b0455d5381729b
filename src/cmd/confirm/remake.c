/* remake.c - from race.schedule to plans for the program as it is now */
#include "cmd/confirm/remake.h"
#include "base/alloc.h"
#include "cmd/confirm/confirm_count.h"
#include "cmd/confirm/schedule_make.h"

#include <stdlib.h>
#include <string.h>

/* The events of one thread, kind and function, as far as the schedule speaks of them. */
struct inside {
    uint32_t count;
    bool asked;
};

struct finder {
    struct remake *r;
    struct trace *trace;
    struct counting count;
    struct map by; /* thread, op, function -> index of list */
    struct inside *list;
    size_t nlist, cap;
    struct map asked; /* index of list, number -> event + 1; events of one name share it */
};

/* ---- accesses ---- */

static const char *slash_free(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static const char *words_of_op(uint64_t op)
{
    return op == OP_READ ? "read" : op == OP_WRITE ? "write" : op == OP_FREE ? "free" : "atomic";
}

/* Code without a site table has no variable's name and no count. */
static bool has_sites(const struct schedule_access *a)
{
    return a->place.of != 0;
}

static int find_access(struct remake *r, unsigned k, const char *program, struct error *err)
{
    const struct schedule_access *a = &r->schedule->access[k];
    enum place_match m;

    if (!a->place.function)
        return error_set(err, "access %u has no function", k + 1);
    if (!has_sites(a))
        return 0;
    m = place_sites_find(&r->sites[k], &r->files, &a->place, (unsigned)a->op);
    if (m == PLACE_NO_FUNCTION)
        error_set(err, "'%s' has no function '%s' that accesses memory", program,
                  a->place.function);
    if (m == PLACE_NO_ACCESS)
        error_set(err, "function '%s' has no %s of '%s' any more", a->place.function,
                  words_of_op(a->op), a->place.variable ? a->place.variable : "?");
    return m != PLACE_FOUND;
}

/* The variable by its name: of the program, or of one of its libraries. */
static void find_variable(struct remake *r)
{
    const struct schedule_memory *m = &r->schedule->memory;

    r->memory_missing = m->bytes != 0;
    if (!m->variable)
        return;
    for (size_t f = 0; f < r->files.count; f++) {
        if (m->image ? strcmp(slash_free(r->files.files[f].path), m->image) != 0 : f != 0)
            continue;
        r->memory_missing =
            !variable_address(r->files.files[f].path, m->variable, &r->variable_address);
        return;
    }
}

static void find_paths(struct remake *r)
{
    const struct race_schedule *s = r->schedule;

    r->paths = xcalloc(s->nthreads + 1, sizeof(*r->paths));
    for (size_t i = 0; i < s->nthreads; i++)
        r->paths[i] = s->threads[i].by == SCHEDULE_NONE
                          ? STEER_ROOT
                          : steer_child(r->paths[s->threads[i].by], (uint32_t)s->threads[i].number);
}

static bool is_told(const struct remake *r)
{
    return (r->sites[0].count && r->sites[1].count) || !r->memory_missing;
}

int remake_find(struct remake *r, const struct race_schedule *s, const char *program,
                struct error *err)
{
    *r = (struct remake){ .schedule = s };
    r->events = xcalloc(s->nevents + 1, sizeof(*r->events));
    find_paths(r);
    if (linked_open(&r->files, program, true, err) < 0)
        return -1;
    for (unsigned k = 0; k < 2; k++) {
        int found = find_access(r, k, program, err);

        if (found)
            return found;
    }
    find_variable(r);
    return 0;
}

void remake_release(struct remake *r)
{
    linked_release(&r->files);
    free(r->events);
    free(r->paths);
    *r = (struct remake){ 0 };
}

/* ---- events ---- */

/* Atomics are counted at their place, which needs no run. */
static void find_atomic(struct remake *r, size_t i)
{
    const struct schedule_event *e = &r->schedule->events[i];
    struct place_sites at;

    if (!e->place.function ||
        place_sites_find(&at, &r->files, &e->place, (unsigned)e->op) != PLACE_FOUND || at.moved)
        return;
    r->events[i] = (struct replayed_event){
        .key = { .thread = r->paths[e->thread], .index = at.at[0].index, .op = OP_LOAD },
        .number = (uint32_t)e->number,
    };
    memcpy(r->events[i].key.module, at.at[0].module, sizeof(at.at[0].module));
}

static uint64_t name_of(size_t inside, uint64_t number)
{
    return (uint64_t)inside << 32 | number;
}

static bool is_about(const struct finder *f, const struct schedule_event *e, uint32_t thread,
                     uint32_t op, const char *function)
{
    if (e->op != op || f->r->paths[e->thread] != f->count.threads[thread].path)
        return false;
    if (!e->place.function || !function)
        return e->place.function == function;
    return strcmp(e->place.function, function) == 0;
}

static void remake_ask(struct finder *f, size_t inside, uint32_t thread, uint32_t op,
                       const char *function)
{
    const struct race_schedule *s = f->r->schedule;

    for (size_t i = 0; i < s->nevents; i++)
        if (is_about(f, &s->events[i], thread, op, function)) {
            f->list[inside].asked = true;
            *map_put(&f->asked, name_of(inside, s->events[i].number), 0) = (uint32_t)i + 1;
        }
}

static size_t inside_of(struct finder *f, const struct event *e, uint32_t op, bool named)
{
    const struct tables *t = trace_tables(f->trace);
    uint32_t function = named && e->site < t->site_function_cap ? t->site_function[e->site] : 0;
    uint64_t key = ((uint64_t)e->thread << 8 ^ op) << 32 ^ function;
    uint32_t *i = map_put(&f->by, key, UINT32_MAX);

    if (*i == UINT32_MAX) {
        *i = (uint32_t)f->nlist;
        GROW(f->list, f->cap, f->nlist + 1);
        f->list[f->nlist++] = (struct inside){ 0 };
        remake_ask(f, *i, e->thread, op, function ? intern_get(&t->functions, function - 1) : NULL);
    }
    return *i;
}

static void note_found(struct finder *f, size_t inside, uint32_t number, const struct counter *c)
{
    uint32_t *i = f->list[inside].asked ? map_get(&f->asked, name_of(inside, number)) : NULL;

    if (i)
        f->r->events[*i - 1] = (struct replayed_event){
            .key = { .thread = f->count.threads[c->thread].path, .op = c->op },
            .number = c->count,
        };
}

/* An event whose function the schedule does not know is the n-th of its kind in its thread. */
static void remake_take_event(struct finder *f, const struct event *e)
{
    const struct counter *c = counting_take(&f->count, e);
    size_t in;

    if (!c || counting_is_atomic(e->op))
        return;
    in = inside_of(f, e, c->op, true);
    note_found(f, in, ++f->list[in].count, c);
    in = inside_of(f, e, c->op, false);
    note_found(f, in, c->count, c);
}

static int remake_read_trace(struct finder *f, struct error *err)
{
    struct batch b;
    bool first = true;
    int status = trace_rewind(f->trace, err);

    while (status >= 0 && (status = trace_next(f->trace, &b, err)) > 0)
        for (size_t i = 0; i < b.count; i++) {
            if (first)
                counting_begin(&f->count, b.events[i].thread);
            first = false;
            remake_take_event(f, &b.events[i]);
        }
    return status < 0 ? -1 : 0;
}

int remake_events(struct remake *r, struct trace *t, struct error *err)
{
    struct finder f = { .r = r, .trace = t };
    int status = remake_read_trace(&f, err);

    counting_release(&f.count);
    map_release(&f.by);
    map_release(&f.asked);
    free(f.list);
    r->events_missing = 0;
    for (size_t i = 0; i < r->schedule->nevents; i++) {
        if (r->schedule->events[i].op == OP_LOAD)
            find_atomic(r, i);
        r->events_missing += !r->events[i].number;
    }
    if (status == 0 && !is_told(r) && r->schedule->memory.block == SCHEDULE_NONE &&
        r->schedule->memory.stack == SCHEDULE_NONE)
        return error_set(err, "the variable of the race is not there any more");
    return status;
}

/* ---- the plan ---- */

static size_t sites_of(const struct remake *r, unsigned k)
{
    return r->sites[k].count ? r->sites[k].count : 1;
}

size_t remake_choices(const struct remake *r)
{
    return sites_of(r, 0) * sites_of(r, 1);
}

static uint32_t key_in(struct steer_plan *p, const struct steer_key *k)
{
    for (uint32_t i = 0; i < p->nkeys; i++)
        if (memcmp(&p->key[i], k, sizeof(*k)) == 0)
            return i;
    if (p->nkeys == STEER_KEYS_MAX)
        return STEER_NONE;
    p->key[p->nkeys] = *k;
    return p->nkeys++;
}

/* The event's key and number in the plan; STEER_NONE: it is not there any more. */
static uint32_t event_in(const struct remake *r, struct steer_plan *p, uint64_t event,
                         uint32_t *number)
{
    const struct replayed_event *e;

    if (event == SCHEDULE_NONE || !(e = &r->events[event])->number)
        return STEER_NONE;
    *number = e->number;
    return key_in(p, &e->key);
}

static void add_side(const struct remake *r, struct steer_plan *p, unsigned k, size_t choice)
{
    const struct schedule_access *a = &r->schedule->access[k];
    struct steer_side *s = &p->side[k];

    *s = (struct steer_side){
        .thread = a->thread == SCHEDULE_NONE ? 0 : r->paths[a->thread],
        .op = (uint32_t)a->op,
    };
    s->anchor = event_in(r, p, a->after, &s->anchor_number);
    if (!r->sites[k].count)
        return;
    s->index = r->sites[k].at[choice].index;
    memcpy(s->module, r->sites[k].at[choice].module, sizeof(s->module));
}

static void add_target(const struct remake *r, struct steer_plan *p)
{
    const struct schedule_memory *m = &r->schedule->memory;
    struct steer_target *t = &p->target;
    bool stack = m->stack != SCHEDULE_NONE;

    if (!m->bytes)
        return;
    t->bytes = m->bytes;
    if (m->variable && !r->memory_missing) {
        t->kind = STEER_IN_IMAGE;
        t->offset = r->variable_address + m->offset;
        if (m->image && strlen(m->image) < sizeof(t->image))
            strcpy(t->image, m->image);
        return;
    }
    t->offset = m->offset;
    t->key = event_in(r, p, stack ? m->stack : m->block, &t->number);
    if (t->key != STEER_NONE)
        t->kind = stack ? STEER_IN_STACK : STEER_IN_BLOCK;
}

static int compare_gates(const void *a, const void *b)
{
    const struct steer_gate *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static void add_gates(const struct remake *r, struct steer_plan *p)
{
    const struct race_schedule *s = r->schedule;

    for (size_t i = 0; i < s->norders && p->ngates < STEER_GATES_MAX; i++) {
        struct steer_gate g = { 0 };

        g.key = event_in(r, p, s->orders[i].event, &g.number);
        g.after = event_in(r, p, s->orders[i].after, &g.after_number);
        if (g.key != STEER_NONE && g.after != STEER_NONE)
            p->gate[p->ngates++] = g;
    }
    if (p->ngates)
        qsort(p->gate, p->ngates, sizeof(*p->gate), compare_gates);
}

void remake_plan(const struct remake *r, struct steer_plan *plan, size_t choice)
{
    const struct race_schedule *s = r->schedule;

    *plan = (struct steer_plan){
        .version = STEER_VERSION,
        .flags = (s->forked ? STEER_FORKED : 0u) | (s->patient ? STEER_PATIENT : 0u) |
                 (s->hasty ? STEER_HASTY : 0u) | (s->waits == 1 ? STEER_FIRST_WAITS : 0u) |
                 (s->waits == 2 ? STEER_SECOND_WAITS : 0u),
    };
    add_side(r, plan, 0, choice % sites_of(r, 0));
    add_side(r, plan, 1, choice / sites_of(r, 0));
    add_target(r, plan);
    add_gates(r, plan);
}
