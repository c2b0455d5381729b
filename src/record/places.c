/* places.c - the sites of the trace, made from site tables and debug information
 *
 * The site tables are read from an image's file when a site of the image is
 * first used; images and modules come from the process's log (places_log.c).
 */
#include "record/places_inside.h"
#include "base/alloc.h"
#include "symbol/symbol.h"
#include "trace/hdl/encode_stretch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void places_init(struct places *p, struct sink *o, const struct ring *r)
{
    *p = (struct places){ .sink = o, .ring = r };
    p->pages = xcalloc(PLACE_PAGES, sizeof(*p->pages));
    p->stretch_pages = xcalloc(PLACE_PAGES, sizeof(*p->stretch_pages));
    p->frame_pages = xcalloc(PLACE_PAGES, sizeof(*p->frame_pages));
    p->inside = xcalloc(1, sizeof(*p->inside));
    p->inside->symbolizer = symbolizer_new();
    p->unknown_function = intern_put(&o->tables.functions, "?", 1);
}

void places_release(struct places *p)
{
    struct places_inside *in = p->inside;

    for (size_t i = 0; i < PLACE_PAGES; i++) {
        free(p->pages[i]);
        free(p->stretch_pages[i]);
        free(p->frame_pages[i]);
    }
    free(p->pages);
    free(p->stretch_pages);
    free(p->frame_pages);
    for (size_t i = 0; i < in->nmodules; i++)
        free(in->modules[i].frame_sites);
    for (size_t i = 0; i < in->images_cap; i++)
        if (in->images[i].tables)
            site_tables_close(in->images[i].tables);
    symbolizer_free(in->symbolizer);
    free(in->modules);
    free(in->images);
    map_release(&in->pc_index);
    free(in->pcs);
    intern_release(&in->pc_sites);
    free(in->pc_site);
    intern_release(&in->traced);
    free(in);
}

void pc_cache_release(struct pc_cache *c)
{
    map_release(&c->index);
    free(c->places);
    *c = (struct pc_cache){ 0 };
}

void places_read_log(struct places *p)
{
    pthread_mutex_lock(&p->sink->lock);
    places_log_read(p);
    pthread_mutex_unlock(&p->sink->lock);
}

/* ---- site tables ---- */

static const char *places_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

static void note_traced(struct places_inside *in, const struct sites_header *h)
{
    for (uint32_t i = 0; i < h->nsites; i++) {
        const struct sites_site *s = sites_site(h, i);
        const char *name = sites_string(h, s->function);

        if (s->kind == SITE_ENTRY)
            intern_put(&in->traced, name, strlen(name));
    }
}

static struct site_tables *tables_of_image(struct places *p, uint32_t image)
{
    struct image_state *state = &p->inside->images[image];
    const char *path = places_tables(p)->images[image].path;
    struct error err;

    if (state->opened)
        return state->tables;
    state->opened = true;
    state->tables = site_tables_open_small(path, &err);
    if (!state->tables)
        sink_note(p->sink, "no locations of '%s': %s", path, err.text);
    else if (site_tables_damaged(state->tables))
        sink_note(p->sink, "'%s': %zu damaged site tables", path,
                  site_tables_damaged(state->tables));
    return state->tables;
}

/* The module's table, from its own image or (should the log be odd) any other. */
static const struct sites_header *table_of(struct places *p, struct module *m)
{
    struct tables *t = places_tables(p);
    const struct site_tables *own;

    if (m->sought)
        return m->table;
    m->sought = true;
    own = tables_of_image(p, m->image);
    if (own)
        m->table = site_tables_find(own, m->log.id);
    for (uint32_t i = 0; !m->table && i < t->nimages; i++)
        if (t->images[i].traced && tables_of_image(p, i))
            m->table = site_tables_find(p->inside->images[i].tables, m->log.id);
    if (!m->table) {
        sink_note(p->sink, "'%s' has lost a site table", t->images[m->image].path);
        return NULL;
    }
    m->frame_sites = xcalloc(m->table->nframes + (size_t)1, sizeof(*m->frame_sites));
    return m->table;
}

/* The tables of all modules there are: what traced code consists of. */
static void read_all_tables(struct places *p)
{
    struct places_inside *in = p->inside;

    if (in->tables_read == in->nmodules)
        return;
    in->tables_read = in->nmodules;
    for (size_t i = 0; i < in->nmodules; i++) {
        const struct sites_header *h = table_of(p, &in->modules[i]);

        if (h && !in->modules[i].listed)
            note_traced(in, h);
        in->modules[i].listed = true;
    }
}

static bool is_traced(struct places *p, const char *function)
{
    const struct places_inside *in = p->inside;

    read_all_tables(p);
    return *function && intern_find(&in->traced, function, strlen(function)) != INTERN_NONE;
}

/* ---- sites of the trace ---- */

static uint64_t find_site(struct places *p, uint32_t number);

/* "file:line:column" as far as it is known, or the function alone. */
static void add_location(struct buf *b, const char *file, uint32_t line, uint32_t column,
                         const char *function)
{
    buf_addstr(b, file && *file ? file : function && *function ? function : "?");
    if (file && *file)
        buf_add_line(b, line, column);
}

/* Of a site or frame in a table, with the folder of the compilation. */
static void add_table_location(struct buf *b, const struct sites_header *h, uint32_t file,
                               uint32_t line, uint32_t column, uint32_t function)
{
    struct buf name = { 0 };

    sites_file(h, file, &name);
    add_location(b, name.data, line, column, sites_string(h, function));
    buf_release(&name);
}

static uint32_t function_number(struct places *p, const char *name)
{
    if (!name || !*name)
        return FUNCTION_NONE;
    return intern_put(&places_tables(p)->functions, name, strlen(name));
}

static uint32_t places_add_site(struct places *p, const char *location, size_t n, uint32_t function,
                                uint32_t parent)
{
    struct tables *t = places_tables(p);
    uint32_t site = intern_append(&t->sites, location, n);

    if (function != FUNCTION_NONE)
        tables_set_site_function(t, site, function);
    if (parent != SITE_NONE)
        tables_set_site_parent(t, site, parent);
    return site;
}

/* The site of the call behind frame + 1; SITE_NONE for 0. Frames end (site_tables.h checked it),
 * but may be many: no recursion. */
static uint32_t frame_site(struct places *p, struct module *m, uint32_t inlined_at)
{
    const struct sites_header *h = m->table;
    uint32_t chain[64], n = 0, parent = SITE_NONE;

    for (uint32_t at = inlined_at; at && n < 64; at = sites_frame(h, at - 1)->inlined_at) {
        if (m->frame_sites[at - 1]) {
            parent = m->frame_sites[at - 1] - 1;
            break;
        }
        chain[n++] = at - 1;
    }
    while (n) {
        const struct sites_frame *f = sites_frame(h, chain[--n]);
        const char *function = sites_string(h, f->function);
        struct buf b = { 0 };

        add_table_location(&b, h, f->file, f->line, f->column, f->function);
        parent = places_add_site(p, b.data, b.len, function_number(p, function), parent);
        m->frame_sites[chain[n]] = parent + 1;
        buf_release(&b);
    }
    return parent;
}

static uint64_t make_place(uint32_t site, uint32_t function)
{
    uint64_t number = function < 0x1fffffff ? function + (uint64_t)1 : 0;

    return PLACE_KNOWN | number << 32 | site;
}

/* The way back to the site table, for those who look into the program (src/execution/). */
static void set_origin(struct places *p, struct module *m, uint32_t site, uint32_t index)
{
    struct tables *t = places_tables(p);

    if (!m->origin)
        m->origin = tables_add_module(t, m->log.id, m->image) + 1;
    tables_set_site_origin(t, site, m->origin - 1, index);
}

/* The entry of a number; its page is made where there was none. Lock held. */
static uint64_t *page_entry(uint64_t **pages, uint32_t number)
{
    uint64_t **page = &pages[number >> PLACE_PAGE_BITS];

    if (!*page)
        __atomic_store_n(page, xcalloc((size_t)1 << PLACE_PAGE_BITS, sizeof(**page)),
                         __ATOMIC_RELEASE);
    return &(*page)[number & ((1u << PLACE_PAGE_BITS) - 1)];
}

static uint64_t site_from_table(struct places *p, struct module *m, uint32_t index)
{
    const struct sites_header *h = m->table;
    const struct sites_site *s = sites_site(h, index);
    const char *function = sites_string(h, s->function), *variable = sites_string(h, s->variable);
    uint32_t number = function_number(p, function);
    uint32_t parent = frame_site(p, m, s->inlined_at), site;
    bool call = s->kind == SITE_CALL || s->kind == SITE_LIBC;
    bool loose = s->kind <= SITE_ATOMIC && h->flags & SITES_MARKED && s->loose;
    struct buf b = { 0 };

    add_table_location(&b, h, s->file, s->line, s->column, s->function);
    site = places_add_site(p, b.data, b.len, number, parent);
    set_origin(p, m, site, index);
    buf_release(&b);
    if (call)
        return make_place(site, function_number(p, *variable ? variable : "?")) |
               (is_traced(p, variable) ? PLACE_CALL_TRACED : 0);
    if (*variable)
        tables_set_site_variable(places_tables(p), site, variable, strlen(variable));
    return make_place(site, number) | (loose ? PLACE_LOOSE : 0);
}

/* A module whose table is gone: its sites can still be told apart. */
static uint64_t site_without_table(struct places *p, const struct module *m, uint32_t number)
{
    struct buf b = { 0 };
    uint32_t site;

    buf_addf(&b, "%s#%u", places_base_name(places_tables(p)->images[m->image].path), number);
    site = places_add_site(p, b.data, b.len, function_number(p, b.data), SITE_NONE);
    buf_release(&b);
    return make_place(site, places_tables(p)->site_function[site] - 1);
}

/* The site of the trace for a site of the table; it may be asked for again. */
static uint32_t known_site(struct places *p, const struct module *m, uint32_t index)
{
    return place_site(find_site(p, m->log.base + index));
}

/* The stretches that this one goes on from, the first one first, itself last; 0: there is no such
 * path. Each stands before the next in the table. */
static unsigned places_path_of(const struct module *m, uint32_t index,
                               uint32_t path[STRETCH_ACCESSES_MAX + 1])
{
    unsigned n = 0;

    for (;;) {
        const struct sites_site *s = sites_site(m->table, index);

        if (n > STRETCH_ACCESSES_MAX || s->kind != SITE_STRETCH)
            return 0;
        path[n++] = index;
        if (!s->function_index)
            break;
        if (s->function_index > index)
            return 0;
        index = s->function_index - 1;
    }
    for (unsigned i = 0; i < n / 2; i++) {
        uint32_t swapped = path[i];

        path[i] = path[n - 1 - i];
        path[n - 1 - i] = swapped;
    }
    return n;
}

struct shape {
    struct stretch_access a[STRETCH_ACCESSES_MAX];
    unsigned n;
    enum stretch_begins next; /* how the block of the next access begins */
    uint64_t frame;           /* place of the entry of the function entered or left; 0: none */
};

/* How the value of the last access follows. */
static bool add_value(const struct sites_site *x, struct shape *to)
{
    struct stretch_access *a = to->n ? &to->a[to->n - 1] : NULL;

    if (!a || a->told)
        return false;
    a->told = true;
    a->value_from = x->from;
    a->value_offset = x->offset;
    return true;
}

/* The function's entry or exit. */
static bool add_frame(struct places *p, const struct module *m, const struct sites_site *x,
                      struct shape *to)
{
    uint32_t entry = (uint32_t)x->offset, function;

    if (entry >= m->table->nsites || sites_site(m->table, entry)->kind != SITE_ENTRY ||
        (x->from != FRAME_ENTERED && x->from != FRAME_LEFT) || to->n == STRETCH_ACCESSES_MAX)
        return false;
    to->frame = find_site(p, m->log.base + entry);
    function = place_function(to->frame);
    if (function == FUNCTION_NONE)
        to->frame = make_place(place_site(to->frame), function = p->unknown_function);
    to->a[to->n++] =
        (struct stretch_access){ .site = place_site(to->frame),
                                 .offset = (int32_t)function,
                                 .log = x->from == FRAME_ENTERED ? STRETCH_ENTER : STRETCH_EXIT,
                                 .begins = (uint8_t)to->next };
    to->next = BLOCK_GOES_ON;
    return true;
}

static bool places_add_access(struct places *p, const struct module *m, uint32_t index,
                              struct shape *to)
{
    const struct sites_site *x = sites_site(m->table, index);

    if (x->kind == SITE_VALUE)
        return add_value(x, to);
    if (x->kind == SITE_FRAME)
        return add_frame(p, m, x, to);
    if ((x->kind != SITE_READ && x->kind != SITE_WRITE) || !x->size || x->size > 16 ||
        x->size & (x->size - 1) || to->n == STRETCH_ACCESSES_MAX)
        return false;
    to->a[to->n++] = (struct stretch_access){ .site = known_site(p, m, index),
                                              .offset = x->offset,
                                              .from = x->from,
                                              .log = (uint8_t)__builtin_ctz(x->size),
                                              .write = x->kind == SITE_WRITE,
                                              .begins = (uint8_t)to->next };
    to->next = BLOCK_GOES_ON;
    return true;
}

/* The block at the end of stretch `index`: its accesses, and where they and its branch stand. */
static bool add_block(struct places *p, const struct module *m, uint32_t index, bool first,
                      struct shape *to)
{
    const struct sites_site *s = sites_site(m->table, index);
    uint32_t before = s->size + (s->branches & STRETCH_BRANCHES) + s->column;

    if (s->size > 2 * STRETCH_ACCESSES_MAX || before > index)
        return false;
    if (s->branches & STRETCH_JOINS)
        to->next = BLOCK_BEGINS_WORD;
    else if (!first && to->next == BLOCK_GOES_ON)
        to->next = BLOCK_BEGINS;
    for (uint32_t i = 0; i < s->size; i++)
        if (!places_add_access(p, m, index - before + i, to))
            return false;
    return true;
}

static uint32_t branch_of(struct places *p, const struct module *m, uint32_t index)
{
    return known_site(p, m, index - sites_site(m->table, index)->column - 1);
}

/* The branch that ends stretch `index`, when the path goes on with stretch `to`. */
static bool add_decided(struct places *p, const struct module *m, uint32_t index, uint32_t to,
                        struct shape *shape)
{
    uint32_t outcome = sites_site(m->table, to)->instruction_index;

    if (!(sites_site(m->table, index)->branches & STRETCH_BRANCHES))
        return !outcome;
    if (!outcome || outcome > STRETCH_OUTCOMES || shape->n == STRETCH_ACCESSES_MAX)
        return false;
    shape->a[shape->n++] = (struct stretch_access){ .site = branch_of(p, m, index),
                                                    .offset = (int32_t)outcome - 1,
                                                    .log = STRETCH_DECIDED };
    return true;
}

/* A stretch's shape, from the sites before it. 0: it is none that could be. Lock held. */
static uint64_t stretch_from_table(struct places *p, struct module *m, uint32_t index)
{
    unsigned flags = sites_site(m->table, index)->branches & (STRETCH_BRANCHES | STRETCH_LONG);
    struct stretches *all = &places_tables(p)->stretches;
    struct shape shape = { .n = 0 };
    uint32_t path[STRETCH_ACCESSES_MAX + 1], branch = SITE_NONE;
    unsigned n = places_path_of(m, index, path);

    for (unsigned i = 0; i < n; i++)
        if (!add_block(p, m, path[i], i == 0, &shape) ||
            (i + 1 < n && !add_decided(p, m, path[i], path[i + 1], &shape)))
            return 0;
    if (flags & STRETCH_BRANCHES)
        branch = branch_of(p, m, index);
    if (!n || !stretches_add(all, shape.a, shape.n, flags, branch))
        return 0;
    if (shape.frame)
        *page_entry(p->frame_pages, m->log.base + index) = shape.frame;
    return stretch_entry(all->count - 1, &all->at[all->count - 1]);
}

static uint64_t new_site(struct places *p, uint32_t number)
{
    struct module *m = places_module(p->inside, number);
    const struct sites_header *h;

    if (!m)
        return make_place(SITE_NONE, FUNCTION_NONE);
    h = table_of(p, m);
    if (!h || number - m->log.base >= h->nsites)
        return site_without_table(p, m, number);
    if (sites_site(h, number - m->log.base)->kind >= SITE_STRETCH)
        return make_place(SITE_NONE, FUNCTION_NONE); /* a record of another kind names it */
    return site_from_table(p, m, number - m->log.base);
}

/* Lock held. */
static uint64_t find_site(struct places *p, uint32_t number)
{
    uint64_t *entry = page_entry(p->pages, number), place = *entry;

    if (!place) { /* nobody was faster */
        places_log_read(p);
        place = new_site(p, number);
        __atomic_store_n(entry, place, __ATOMIC_RELAXED);
    }
    return place;
}

uint64_t places_find_site(struct places *p, uint32_t number)
{
    uint64_t place;

    pthread_mutex_lock(&p->sink->lock);
    place = find_site(p, number);
    pthread_mutex_unlock(&p->sink->lock);
    return place;
}

bool places_find_stretch(struct places *p, uint32_t number)
{
    struct module *m;
    uint64_t *entry;
    bool found;

    pthread_mutex_lock(&p->sink->lock);
    entry = page_entry(p->stretch_pages, number);
    if (!*entry) {
        places_log_read(p);
        m = places_module(p->inside, number);
        if (m && table_of(p, m) && number - m->log.base < m->table->nsites &&
            sites_site(m->table, number - m->log.base)->kind == SITE_STRETCH)
            __atomic_store_n(entry, stretch_from_table(p, m, number - m->log.base),
                             __ATOMIC_RELEASE); /* its frame is there before */
    }
    found = *entry != 0;
    pthread_mutex_unlock(&p->sink->lock);
    return found;
}

unsigned places_expand(struct places *p, uint32_t number, const uint64_t *record, size_t bytes,
                       uint32_t thread, struct event *out)
{
    const struct stretches *all = &places_tables(p)->stretches;
    unsigned n;

    pthread_mutex_lock(&p->sink->lock);
    stretch_expand(all, number, record, thread, out);
    n = stretch_events_within(all, number, bytes);
    pthread_mutex_unlock(&p->sink->lock);
    return n;
}

uint32_t places_move(struct places *p, const struct move_frame *frames, unsigned left,
                     unsigned entered)
{
    uint32_t number;

    pthread_mutex_lock(&p->sink->lock);
    number = moves_put(&places_tables(p)->moves, frames, left, entered);
    pthread_mutex_unlock(&p->sink->lock);
    return number;
}

/* ---- addresses ---- */

/* Equal places of different addresses are one site. */
static uint32_t pc_site(struct places *p, const struct sym_frame *f, uint32_t parent)
{
    struct places_inside *in = p->inside;
    struct buf b = { 0 };
    uint32_t number, known = in->pc_sites.count, location;

    add_location(&b, f->file, f->line, f->column, f->function);
    location = (uint32_t)b.len;
    buf_addf(&b, "\n%s\n%u", f->function, parent);
    number = intern_put(&in->pc_sites, b.data, b.len);
    if (number == known) {
        GROW(in->pc_site, in->pc_site_cap, number + (size_t)1);
        in->pc_site[number] =
            places_add_site(p, b.data, location, function_number(p, f->function), parent);
    }
    buf_release(&b);
    return in->pc_site[number];
}

/* Nothing is known but the image, or not even that. */
static uint64_t unknown_pc(struct places *p, uint64_t pc)
{
    uint64_t offset = 0;
    const char *path = symbolizer_image(p->inside->symbolizer, pc, &offset);
    struct buf b = { 0 };
    uint32_t function, site;

    if (path)
        buf_addf(&b, "%s+0x%" PRIx64, places_base_name(path), offset);
    else
        buf_addf(&b, "0x%" PRIx64, pc);
    function = function_number(p, b.data);
    site = places_add_site(p, b.data, b.len, function, SITE_NONE);
    buf_release(&b);
    return make_place(site, function);
}

/* Code of the runtime, which calls handlers and makes events: no place of the program. Its files
 * are compiled under this name (meson.build). */
static bool is_ours(const struct sym_frame *f)
{
    static const char name[] = "__heddle_", folder[] = "/heddle-runtime/";

    return (f->function && !strncmp(f->function, name, sizeof(name) - 1)) ||
           (f->file && !strncmp(f->file, folder, sizeof(folder) - 1));
}

static uint64_t new_pc(struct places *p, uint64_t pc)
{
    struct sym_frame frames[SYM_FRAMES_MAX];
    int n = symbolizer_frames(p->inside->symbolizer, pc - 1, frames, SYM_FRAMES_MAX);
    uint32_t site = SITE_NONE;

    if (n <= 0)
        return unknown_pc(p, pc - 1);
    if (is_ours(&frames[n - 1]))
        return make_place(SITE_NONE, FUNCTION_NONE);
    for (int i = n - 1; i >= 0; i--) /* the outermost is the parent of the others */
        site = pc_site(p, &frames[i], site);
    return make_place(site, function_number(p, frames[n - 1].function)); /* what was entered */
}

/* Lock held. */
static uint64_t shared_pc(struct places *p, uint64_t pc)
{
    struct places_inside *in = p->inside;
    uint32_t *n;

    places_log_read(p);
    n = map_put(&in->pc_index, pc, (uint32_t)in->npcs);
    if (*n == in->npcs) {
        GROW(in->pcs, in->pcs_cap, in->npcs + 1);
        in->pcs[in->npcs++] = new_pc(p, pc);
    }
    return in->pcs[*n];
}

uint64_t places_find_pc(struct places *p, struct pc_cache *c, uint64_t pc)
{
    uint32_t generation = __atomic_load_n(&p->generation, __ATOMIC_ACQUIRE), *n;

    if (!pc)
        return make_place(SITE_NONE, FUNCTION_NONE);
    if (c->generation != generation) {
        map_clear(&c->index);
        c->count = 0;
        c->generation = generation;
    }
    n = map_put(&c->index, pc, (uint32_t)c->count);
    if (*n == c->count) {
        GROW(c->places, c->cap, c->count + 1);
        pthread_mutex_lock(&p->sink->lock);
        c->places[c->count++] = shared_pc(p, pc);
        pthread_mutex_unlock(&p->sink->lock);
    }
    return c->places[*n];
}

bool places_pc_is_traced(struct places *p, uint64_t pc)
{
    const struct tables *t = places_tables(p);
    bool traced = false;

    pthread_mutex_lock(&p->sink->lock);
    for (size_t i = 0; i < t->nimages && !traced; i++)
        traced = p->inside->images[i].current && t->images[i].traced && pc > t->images[i].low &&
                 pc <= t->images[i].high;
    pthread_mutex_unlock(&p->sink->lock);
    return traced;
}

bool places_same_function(struct places *p, uint32_t a, uint32_t b)
{
    const struct tables *t = places_tables(p);
    const char *f, *g;

    pthread_mutex_lock(&p->sink->lock);
    f = tables_site_function(t, a);
    g = tables_site_function(t, b);
    pthread_mutex_unlock(&p->sink->lock);
    return f && f == g;
}

/* All that exist at once: a name each time would be a chunk of names each time. */
void places_name_threads(struct places *p, uint32_t thread)
{
    uint32_t all = __atomic_load_n(&p->ring->header->threads, __ATOMIC_RELAXED);

    if (all > thread && all <= RING_THREADS_MAX)
        thread = all - 1;
    sink_name_threads(p->sink, thread);
    __atomic_store_n(&p->named_threads, thread + 1, __ATOMIC_RELAXED);
}
