/* schedule_make.c - from the plan of a confirmed race to its race.schedule */
#include "cmd/confirm/schedule_make.h"
#include "base/alloc.h"
#include "cmd/confirm/confirm_count.h"
#include "cmd/confirm/schedule_place.h"
#include "symbol/elf_file.h"
#include "symbol/symtab.h"

#include <stdlib.h>
#include <string.h>

/* An event that the plan speaks of: the number-th of a key. */
struct wanted {
    uint32_t key, number;
    uint32_t event; /* of the schedule + 1 */
};

struct maker {
    struct race_schedule *s;
    const struct steer_plan *plan;
    struct trace *trace;
    struct linked files;
    struct counting count;
    struct map keys;    /* counter -> key + 1 */
    struct map wanted;  /* number of a key's event << 16 | key -> index of list */
    struct map inside;  /* thread, op, function -> events so far */
    struct map threads; /* of the trace -> of the schedule + 1 */
    struct wanted *list;
    size_t nlist, cap;
};

/* ---- variables of a file ---- */

static void symbols_of(struct elf_file *f, struct symtab *t, const char *path)
{
    elf_file_open(f, path, NULL, 0, true);
    if (f->elf)
        symtab_add(t, f->elf);
    if (f->debug_elf)
        symtab_add(t, f->debug_elf);
    symtab_sort(t);
}

static const struct symtab_symbol *only_one(const struct symtab *t, const char *name)
{
    const struct symtab_symbol *found = NULL;

    for (size_t i = 0; i < t->data.count; i++)
        if (strcmp(t->data.list[i].name, name) == 0) {
            if (found)
                return NULL;
            found = &t->data.list[i];
        }
    return found;
}

const char *variable_at(const char *file, uint64_t address, uint64_t *offset, struct arena *strings)
{
    struct elf_file f;
    struct symtab t = { 0 };
    const struct symtab_symbol *s;
    const char *name = NULL;

    symbols_of(&f, &t, file);
    s = symtab_find(&t.data, address);
    if (s && only_one(&t, s->name)) {
        *offset = address - s->address;
        name = arena_strndup(strings, s->name, strlen(s->name));
    }
    symtab_release(&t);
    elf_file_close(&f);
    return name;
}

bool variable_address(const char *file, const char *name, uint64_t *address)
{
    struct elf_file f;
    struct symtab t = { 0 };
    const struct symtab_symbol *s;

    symbols_of(&f, &t, file);
    s = only_one(&t, name);
    if (s)
        *address = s->address;
    symtab_release(&t);
    elf_file_close(&f);
    return s;
}

/* ---- what the plan speaks of ---- */

static uint64_t name_of(uint32_t key, uint32_t number)
{
    return (uint64_t)number << 16 | key;
}

static void schedule_make_want(struct maker *m, uint32_t key, uint32_t number)
{
    uint32_t *i;

    if (key == STEER_NONE)
        return;
    i = map_put(&m->wanted, name_of(key, number), UINT32_MAX);
    if (*i != UINT32_MAX)
        return;
    *i = (uint32_t)m->nlist;
    GROW(m->list, m->cap, m->nlist + 1);
    m->list[m->nlist++] = (struct wanted){ key, number, 0 };
}

static void want_all(struct maker *m)
{
    const struct steer_plan *p = m->plan;

    for (uint32_t i = 0; i < p->ngates; i++) {
        schedule_make_want(m, p->gate[i].key, p->gate[i].number);
        schedule_make_want(m, p->gate[i].after, p->gate[i].after_number);
    }
    for (unsigned k = 0; k < 2; k++)
        schedule_make_want(m, p->side[k].anchor, p->side[k].anchor_number);
    if (p->target.kind >= STEER_IN_BLOCK)
        schedule_make_want(m, p->target.key, p->target.number);
}

/* ---- threads ---- */

/* Of the schedule, + 1; with its creators before it. 0: it has no path. */
static uint32_t schedule_make_thread_of(struct maker *m, uint32_t thread)
{
    const struct counted_thread *t = &m->count.threads[thread];
    struct race_schedule *s = m->s;
    uint32_t *known = map_get(&m->threads, thread), by = 0;

    if (known)
        return *known;
    if (!t->path || s->nthreads == SCHEDULE_THREADS_MOST)
        return 0;
    if (t->path != STEER_ROOT && !(by = schedule_make_thread_of(m, t->creator)))
        return 0;
    GROW(s->threads, s->threads_cap, s->nthreads + 1);
    s->threads[s->nthreads++] = t->path == STEER_ROOT
                                    ? (struct schedule_thread){ .by = SCHEDULE_NONE }
                                    : (struct schedule_thread){ by - 1, t->number };
    *map_put(&m->threads, thread, 0) = (uint32_t)s->nthreads;
    return (uint32_t)s->nthreads;
}

static uint64_t thread_by_path(struct maker *m, uint64_t path)
{
    for (uint32_t i = 0; path && i < m->count.nthreads; i++)
        if (m->count.threads[i].path == path && schedule_make_thread_of(m, i))
            return schedule_make_thread_of(m, i) - 1;
    return SCHEDULE_NONE;
}

/* ---- the pass ---- */

static bool is_key(const struct maker *m, const struct steer_key *k, const struct counter *c)
{
    struct site_origin o = { 0 };
    const struct tables *t = trace_tables(m->trace);

    if (k->op != c->op || k->thread != m->count.threads[c->thread].path)
        return false;
    if (c->site == SITE_NONE)
        return !(k->module[0] | k->module[1]);
    o = tables_site_origin(t, c->site);
    return o.module && o.index == k->index &&
           memcmp(t->modules[o.module - 1].id, k->module, sizeof(k->module)) == 0;
}

static uint32_t schedule_make_key_of(struct maker *m, const struct counter *c)
{
    uint32_t *known = map_put(&m->keys, (uint64_t)(c - m->count.counters), UINT32_MAX);

    if (*known != UINT32_MAX)
        return *known;
    *known = 0;
    for (uint32_t i = 0; i < m->plan->nkeys; i++)
        if (is_key(m, &m->plan->key[i], c))
            *known = i + 1;
    return *known;
}

static const char *schedule_make_keep(struct maker *m, const char *s)
{
    return s ? arena_strndup(&m->s->strings, s, strlen(s)) : NULL;
}

static void place_of_event(struct maker *m, struct schedule_place *p, uint32_t site)
{
    const struct tables *t = trace_tables(m->trace);
    const char *location = tables_location(t, site);
    uint32_t line, column;
    size_t n;

    p->function = schedule_make_keep(m, tables_site_function(t, site));
    if (!location_split(location, &n, &line, &column))
        return;
    p->file = arena_strndup(&m->s->strings, location, n);
    p->line = line;
    p->column = column;
}

static void keep_event(struct maker *m, struct wanted *w, const struct event *e, uint32_t in)
{
    struct race_schedule *s = m->s;
    const struct steer_key *k = &m->plan->key[w->key];
    uint32_t thread = schedule_make_thread_of(m, e->thread);
    struct schedule_event new = { .thread = thread - 1, .op = k->op, .number = w->number };

    if (!thread || s->nevents == SCHEDULE_EVENTS_MOST)
        return;
    if (!counting_is_atomic(e->op)) {
        place_of_event(m, &new.place, e->site);
        if (new.place.function)
            new.number = in;
    }
    GROW(s->events, s->events_cap, s->nevents + 1);
    s->events[s->nevents++] = new;
    w->event = (uint32_t)s->nevents;
}

/* How many of its kind its thread has done in its function. */
static uint32_t count_inside(struct maker *m, const struct event *e, const struct counter *c)
{
    const struct tables *t = trace_tables(m->trace);
    uint32_t function = e->site < t->site_function_cap ? t->site_function[e->site] : 0;
    uint64_t key = ((uint64_t)e->thread << 8 ^ c->op) << 32 ^ function;

    return ++*map_put(&m->inside, key, 0);
}

static void schedule_make_take_event(struct maker *m, const struct event *e)
{
    const struct counter *c = counting_take(&m->count, e);
    uint32_t in, key, *i;

    if (!c)
        return;
    in = count_inside(m, e, c);
    key = schedule_make_key_of(m, c);
    if (key && (i = map_get(&m->wanted, name_of(key - 1, c->count))))
        keep_event(m, &m->list[*i], e, in);
}

static int schedule_make_read_trace(struct maker *m, struct error *err)
{
    struct batch b;
    bool first = true;
    int r = trace_rewind(m->trace, err);

    while (r >= 0 && (r = trace_next(m->trace, &b, err)) > 0)
        for (size_t i = 0; i < b.count; i++) {
            if (first)
                counting_begin(&m->count, b.events[i].thread);
            first = false;
            schedule_make_take_event(m, &b.events[i]);
        }
    return r < 0 ? -1 : 0;
}

/* Relative to the folder that a module was compiled in, as its accesses are. */
static void shorten_file(const struct maker *m, struct schedule_place *p)
{
    for (size_t f = 0; f < m->files.count; f++)
        for (size_t i = 0; i < site_tables_count(m->files.files[f].tables); i++) {
            const struct sites_header *h = site_tables_get(m->files.files[f].tables, i);
            const char *folder = sites_string(h, h->directory);
            size_t n = strlen(folder);

            if (n && strncmp(p->file, folder, n) == 0 && p->file[n] == '/') {
                p->file += n + 1;
                return;
            }
        }
}

/* Which files there are is known behind the trace. */
static void name_places(struct maker *m)
{
    const struct tables *t = trace_tables(m->trace);
    struct error unused;

    for (size_t i = 0; i < t->nimages; i++)
        (void)linked_add(&m->files, t->images[i].path, false, &unused);
    for (size_t i = 0; i < m->nlist; i++) {
        const struct steer_key *k = &m->plan->key[m->list[i].key];
        struct race_schedule *s = m->s;

        if (m->list[i].event && k->op == OP_LOAD &&
            !place_of_site(&s->events[m->list[i].event - 1].place, &m->files, k->module, k->index,
                           &s->strings))
            m->list[i].event = 0;
    }
    for (size_t i = 0; i < m->s->nevents; i++)
        if (m->s->events[i].place.file)
            shorten_file(m, &m->s->events[i].place);
}

/* ---- the schedule ---- */

static uint64_t event_of(struct maker *m, uint32_t key, uint32_t number)
{
    uint32_t *i = key == STEER_NONE ? NULL : map_get(&m->wanted, name_of(key, number));

    return i && m->list[*i].event ? m->list[*i].event - 1 : SCHEDULE_NONE;
}

static void add_orders(struct maker *m)
{
    struct race_schedule *s = m->s;

    for (uint32_t i = 0; i < m->plan->ngates; i++) {
        const struct steer_gate *g = &m->plan->gate[i];
        struct schedule_order o = { event_of(m, g->key, g->number),
                                    event_of(m, g->after, g->after_number) };

        if (o.event == SCHEDULE_NONE || o.after == SCHEDULE_NONE)
            continue;
        GROW(s->orders, s->orders_cap, s->norders + 1);
        s->orders[s->norders++] = o;
    }
}

/* Code without a site table: what the report knows of the place. */
static void place_of_side(struct maker *m, struct schedule_place *p, const struct side *side)
{
    uint32_t line, column;
    size_t n;

    p->function = schedule_make_keep(m, side->symbol ? side->symbol : side->function);
    if (!side->location || !location_split(side->location, &n, &line, &column))
        return;
    p->file = arena_strndup(&m->s->strings, side->location, n);
    p->line = line;
    p->column = column;
}

static int schedule_make_add_access(struct maker *m, unsigned k, const struct side *side,
                                    struct error *err)
{
    const struct steer_side *from = &m->plan->side[k];
    struct schedule_access a = { .thread = thread_by_path(m, from->thread),
                                 .op = from->op,
                                 .bytes = side->bytes,
                                 .after = event_of(m, from->anchor, from->anchor_number) };

    if (!(from->module[0] | from->module[1]))
        place_of_side(m, &a.place, side);
    else if (!place_of_site(&a.place, &m->files, from->module, from->index, &m->s->strings))
        return error_set(err, "the program that was recorded is not there any more");
    if (!a.place.function)
        return error_set(err, "the function of an access is not known");
    m->s->access[m->s->naccesses++] = a;
    return 0;
}

static void add_image_memory(struct maker *m)
{
    const struct tables *t = trace_tables(m->trace);
    const struct steer_target *from = &m->plan->target;
    struct schedule_memory *to = &m->s->memory;

    for (size_t i = 0; i < t->nimages; i++) {
        const char *slash = strrchr(t->images[i].path, '/');
        const char *name = slash ? slash + 1 : t->images[i].path;

        if (*from->image ? strcmp(name, from->image) != 0 : i != 0)
            continue;
        to->variable = variable_at(t->images[i].path, from->offset, &to->offset, &m->s->strings);
        to->image = *from->image ? schedule_make_keep(m, from->image) : NULL;
        to->bytes = to->variable ? from->bytes : 0;
        return;
    }
}

static void add_memory(struct maker *m)
{
    const struct steer_target *from = &m->plan->target;
    struct schedule_memory *to = &m->s->memory;
    uint64_t event;

    *to = (struct schedule_memory){ .block = SCHEDULE_NONE, .stack = SCHEDULE_NONE };
    if (from->kind == STEER_IN_IMAGE)
        add_image_memory(m);
    if (from->kind < STEER_IN_BLOCK)
        return;
    event = event_of(m, from->key, from->number);
    *(from->kind == STEER_IN_BLOCK ? &to->block : &to->stack) = event;
    to->offset = from->offset;
    to->bytes = event == SCHEDULE_NONE ? 0 : from->bytes;
}

static void add_words(struct maker *m, const struct finding *r)
{
    struct race_schedule *s = m->s;
    const struct tables *t = trace_tables(m->trace);
    const char *slash = t->nimages ? strrchr(t->images[0].path, '/') : NULL;

    s->id = schedule_make_keep(m, r->id);
    s->variable = schedule_make_keep(m, r->variable);
    s->strength = schedule_make_keep(m, strength_names[r->strength]);
    s->program = schedule_make_keep(m, slash ? slash + 1 : NULL);
    s->met = m->plan->done.met == STEER_BEHIND ? "behind" : "together";
    s->forked = (m->plan->flags & STEER_FORKED) != 0;
    s->patient = (m->plan->flags & STEER_PATIENT) != 0;
    s->hasty = (m->plan->flags & STEER_HASTY) != 0;
    s->waits = m->plan->flags & STEER_FIRST_WAITS ? 1 : m->plan->flags & STEER_SECOND_WAITS ? 2 : 0;
}

static bool is_told(const struct maker *m)
{
    bool sites = true;

    for (unsigned k = 0; k < 2; k++)
        sites &= (m->plan->side[k].module[0] | m->plan->side[k].module[1]) != 0;
    return sites || m->s->memory.bytes;
}

static int make_in_schedule(struct maker *m, const struct finding *r, struct error *err)
{
    want_all(m);
    if (schedule_make_read_trace(m, err) < 0)
        return -1;
    name_places(m);
    thread_by_path(m, STEER_ROOT); /* T0 */
    add_words(m, r);
    add_memory(m);
    for (unsigned k = 0; k < 2; k++)
        if (schedule_make_add_access(m, k, &r->sides[k], err) < 0)
            return -1;
    add_orders(m);
    return is_told(m) ? 0 : error_set(err, "nothing but an address tells the accesses");
}

int schedule_make(struct race_schedule *s, const struct steer_plan *plan, const struct finding *r,
                  struct trace *t, struct error *err)
{
    struct maker m = { .s = s, .plan = plan, .trace = t };
    int status = make_in_schedule(&m, r, err);

    linked_release(&m.files);
    counting_release(&m.count);
    map_release(&m.keys);
    map_release(&m.wanted);
    map_release(&m.inside);
    map_release(&m.threads);
    free(m.list);
    if (status < 0)
        race_schedule_release(s);
    return status;
}
