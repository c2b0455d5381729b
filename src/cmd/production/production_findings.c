/* production_findings.c - what a production run saw, as findings
 *
 * The access itself is explained by the site tables, as in a recording; the calls
 * that led there by debug information, from the addresses of the stack. Addresses are
 * those of one process: each has its own images.
 */
#include "cmd/production/production_findings.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "report/naming.h"
#include "report/source_lines.h"
#include "report/stacks.h"
#include "symbol/symbol.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct maker {
    struct findings *f;
    const struct prod_control *control;
    const struct sighting_report *about;
    struct source_cache sources;
    struct tables tables; /* the images of `pid` */
    struct naming naming;
    int32_t pid;
    struct frame frames[STACK_KEEP];
    size_t nframes;
    uint64_t omitted;
};

/* ---- the process ---- */

static void add_images(struct maker *m)
{
    const struct prod_control *c = m->control;
    uint32_t n = c->images < PROD_IMAGES_MAX ? c->images : PROD_IMAGES_MAX;

    for (uint32_t i = 0; i < n; i++) {
        const struct prod_image *from = &c->image[i];
        struct image *to;

        if (from->pid != m->pid || !from->end)
            continue;
        to = tables_add_image(&m->tables);
        to->path = xstrndup(from->path, strnlen(from->path, sizeof(from->path)));
        to->build_id_bytes = from->build_id_bytes < sizeof(to->build_id) ? from->build_id_bytes
                                                                         : sizeof(to->build_id);
        memcpy(to->build_id, from->build_id, to->build_id_bytes);
        to->base = from->base;
        to->low = from->start;
        to->high = from->end;
    }
}

static void leave_process(struct maker *m)
{
    naming_release(&m->naming);
    tables_release(&m->tables);
    m->tables = (struct tables){ 0 };
}

static void enter_process(struct maker *m, int32_t pid)
{
    if (m->pid == pid)
        return;
    leave_process(m);
    m->pid = pid;
    m->tables.process.known = true;
    add_images(m);
    naming_init(&m->naming, m->f, &m->tables);
}

/* ---- stacks ---- */

static void production_findings_push(struct maker *m, const char *function, const char *location,
                                     bool inlined)
{
    if (m->nframes < STACK_KEEP)
        m->frames[m->nframes++] = (struct frame){ function, location, inlined };
    else
        m->omitted++;
}

/* "file:line:column" as far as it is known; NULL where the file is not. */
static const char *location_text(struct maker *m, const char *file, uint32_t line, uint32_t column)
{
    struct buf b = { 0 };
    const char *s;

    if (!file || !*file)
        return NULL;
    buf_addstr(&b, file);
    buf_add_line(&b, line, column);
    s = naming_location(&m->naming, b.data);
    buf_release(&b);
    return s;
}

static const char *table_location(struct maker *m, const struct sites_header *h, uint32_t file,
                                  uint32_t line, uint32_t column)
{
    struct buf name = { 0 };
    const char *s;

    sites_file(h, file, &name);
    s = location_text(m, name.data, line, column);
    buf_release(&name);
    return s;
}

static const char *function_text(struct maker *m, const char *linkage)
{
    return linkage && *linkage ? naming_function(&m->naming, linkage) : NULL;
}

/* The site, and the calls that its code was inlined at. */
static void push_site(struct maker *m, const struct sites_header *h, const struct sites_site *s)
{
    uint32_t at = s->inlined_at;

    production_findings_push(m, function_text(m, sites_string(h, s->function)),
                             table_location(m, h, s->file, s->line, s->column), at != 0);
    for (; at; at = sites_frame(h, at - 1)->inlined_at) {
        const struct sites_frame *f = sites_frame(h, at - 1);

        production_findings_push(m, function_text(m, sites_string(h, f->function)),
                                 table_location(m, h, f->file, f->line, f->column),
                                 f->inlined_at != 0);
    }
}

/* Of the image that holds an address, without its directory; NULL: none does. */
static const char *image_name(struct maker *m, uint64_t pc, uint64_t *offset)
{
    const char *path = symbolizer_image(m->naming.symbols, pc, offset);
    const char *slash = path ? strrchr(path, '/') : NULL;

    return slash ? slash + 1 : path;
}

/* Code without debug information is a place in an image. */
static void push_unknown(struct maker *m, uint64_t pc)
{
    uint64_t offset = 0;
    const char *name = image_name(m, pc, &offset);
    char *text;

    if (!name)
        return;
    text = xasprintf("%s+0x%" PRIx64, name, offset);
    production_findings_push(m, NULL, findings_string(m->f, text), false);
    free(text);
}

static bool is_ours(const struct sym_frame *f)
{
    return f->function && !strncmp(f->function, "__heddle_", 9);
}

static void push_address(struct maker *m, uint64_t pc)
{
    struct sym_frame found[SYM_FRAMES_MAX];
    int n = m->naming.symbols ? symbolizer_frames(m->naming.symbols, pc, found, SYM_FRAMES_MAX) : 0;

    if (n > 0 && is_ours(&found[n - 1]))
        return;
    for (int i = 0; i < n; i++)
        production_findings_push(m, function_text(m, found[i].function),
                                 location_text(m, found[i].file, found[i].line, found[i].column),
                                 found[i].inlined);
    if (n <= 0 && m->naming.symbols)
        push_unknown(m, pc);
}

static bool is_in_libc(struct maker *m, uint64_t pc)
{
    const char *name = image_name(m, pc, NULL);

    return name && !strncmp(name, "libc.so", 7);
}

/* By its name: _start, and in static programs what else starts main() and threads. */
static bool is_named_start(struct maker *m, uint64_t pc)
{
    static const char *const names[] = { "_start",
                                         "__libc_start_main_impl",
                                         "__libc_start_main",
                                         "__libc_start_call_main",
                                         "start_thread",
                                         "clone",
                                         "__clone",
                                         "clone3",
                                         "__clone3" };
    struct sym_frame f;

    if (symbolizer_frames(m->naming.symbols, pc, &f, 1) != 1 || !f.function)
        return false;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (!strcmp(f.function, names[i]))
            return true;
    return false;
}

/* The frames without those that start main() and threads. The C library's mostly have no debug
 * information; above them the program's own may have any name, also start_thread. */
static uint32_t without_start(struct maker *m, const struct prod_side *from, uint32_t n)
{
    bool seen = false;

    if (!m->naming.symbols || n == PROD_FRAMES_MAX) /* cut: its outermost frame is not the start */
        return n;
    for (; n > 1; n--) {
        uint64_t pc = from->frame[n - 1] - 1;

        if (is_in_libc(m, pc))
            seen = true;
        else if (seen || !is_named_start(m, pc))
            break;
    }
    return n;
}

static void fill_stack(struct maker *m, struct side *to, const struct prod_side *from,
                       const struct sites_header *h, const struct sites_site *s)
{
    uint32_t n = from->frames < PROD_FRAMES_MAX ? from->frames : PROD_FRAMES_MAX;

    m->nframes = 0;
    m->omitted = 0;
    if (s)
        push_site(m, h, s);
    else if (n)
        push_address(m, from->frame[0]);
    n = without_start(m, from, n);
    for (uint32_t i = 1; i < n; i++)
        push_address(m, from->frame[i] - 1);
    to->stack = (struct stack){ .count = m->nframes, .omitted = m->omitted };
    to->stack.frames = memcpy(arena_alloc(&m->f->memory, m->nframes * sizeof(*m->frames) + 1),
                              m->frames, m->nframes * sizeof(*m->frames));
}

/* ---- a side ---- */

/* As in a recording: of the system's headers, the program's own code that called. */
static void fill_source(struct maker *m, struct side *to)
{
    const struct stack *s = &to->stack;

    for (int system = 0; system < 2; system++)
        for (size_t i = 0; i < s->count && !to->source; i++)
            if (s->frames[i].location && location_is_system(s->frames[i].location) == system)
                to->source = source_excerpt(&m->sources, m->f, s->frames[i].location);
}

static const char *operation(const struct prod_side *s)
{
    if (s->atomic && op_is_known(s->atomic))
        return op_table[s->atomic].name;
    return op_table[s->write ? OP_WRITE : OP_READ].name;
}

static const char *thread_text(struct maker *m, uint64_t number)
{
    char text[24];

    snprintf(text, sizeof(text), "T%" PRIu64, number);
    return findings_string(m->f, text);
}

/* Where the site is explained, or NULL. */
static const struct sites_site *site_of(struct maker *m, const struct prod_side *from,
                                        const struct sites_header **h)
{
    size_t file;

    *h = linked_find(m->about->files, from->name.module, &file);
    return *h && from->name.index < (*h)->nsites ? sites_site(*h, from->name.index) : NULL;
}

static void production_findings_fill_side(struct maker *m, struct side *to,
                                          const struct prod_side *from)
{
    const struct sites_header *h;
    const struct sites_site *s = site_of(m, from, &h);
    const char *linkage = s ? findings_string(m->f, sites_string(h, s->function)) : NULL;

    to->thread = thread_text(m, from->thread);
    to->op = findings_string(m->f, operation(from));
    to->bytes = from->bytes;
    to->locks_unknown = true;
    fill_stack(m, to, from, h, s);
    to->function = to->stack.count ? to->stack.frames[0].function : NULL;
    to->location = to->stack.count ? to->stack.frames[0].location : NULL;
    if (!to->location)
        to->location = to->function ? to->function : findings_string(m->f, "?");
    to->symbol = linkage && *linkage && linkage != to->function ? linkage : NULL;
    if (s && *sites_string(h, s->variable) && s->kind != SITE_LIBC)
        to->variable = findings_string(m->f, sites_string(h, s->variable));
    fill_source(m, to);
}

/* ---- the race ---- */

/* The compiler's name for what is accessed: of the access that starts there, then of the smaller.
 */
static const char *compiler_name(const struct finding *r, const struct prod_side *from,
                                 uint64_t start)
{
    const char *first = r->sides[0].variable, *second = r->sides[1].variable;
    bool starts[2] = { from[0].address == start, from[1].address == start };

    if (!first || !second)
        return first ? first : second;
    if (starts[0] != starts[1])
        return starts[0] ? first : second;
    return from[0].bytes <= from[1].bytes ? first : second;
}

static void name_variable(struct maker *m, struct finding *r, const struct prod_side *side)
{
    uint64_t start = side[0].address > side[1].address ? side[0].address : side[1].address;
    uint64_t end0 = side[0].address + side[0].bytes, end1 = side[1].address + side[1].bytes;
    char text[48];

    r->address = start;
    r->bytes = (end0 < end1 ? end0 : end1) - start;
    r->variable = naming_global(&m->naming, start, r->bytes);
    if (!r->variable)
        r->variable = compiler_name(r, side, start);
    if (r->variable)
        return;
    if (naming_is_main_stack(&m->naming, start))
        snprintf(text, sizeof(text), "stack of T0");
    else
        snprintf(text, sizeof(text), "0x%" PRIx64 ":%" PRIu64, start, r->bytes);
    r->variable = findings_string(m->f, text);
}

static bool same_places(const struct finding *a, const struct finding *b)
{
    const char *a0 = a->sides[0].location, *a1 = a->sides[1].location;
    const char *b0 = b->sides[0].location, *b1 = b->sides[1].location;

    return (a0 == b0 && a1 == b1) || (a0 == b1 && a1 == b0); /* interned */
}

/* One race per unordered pair of locations: the first stays, the others are counted. */
static void add_race(struct maker *m, const struct finding *r)
{
    struct findings *f = m->f;

    for (size_t i = 0; i < f->count; i++)
        if (same_places(&f->races[i], r)) {
            f->races[i].count += r->count;
            return;
        }
    GROW(f->races, f->cap, f->count + 1);
    f->races[f->count++] = *r;
    f->engines[0].races++;
}

static void add_sighting(struct maker *m, const struct prod_sighting *s, uint64_t number)
{
    struct finding r = { .strength = m->about->strength, .count = s->count, .engines = 1 };

    enter_process(m, s->pid);
    r.decided_by = m->f->engines[0].name;
    for (unsigned k = 0; k < 2; k++) {
        r.sides[k].event = 2 * number + k;
        production_findings_fill_side(m, &r.sides[k], &s->side[k]);
    }
    name_variable(m, &r, s->side);
    add_race(m, &r);
}

/* How many different processes, and threads of them, the sightings are of. */
static void count_threads(struct findings *f, const struct prod_control *c, uint32_t n)
{
    struct map threads = { 0 }, pids = { 0 };

    for (uint32_t i = 0; i < n; i++) {
        if (!c->sighting[i].ready)
            continue;
        map_put(&pids, (uint32_t)c->sighting[i].pid, 0);
        for (unsigned k = 0; k < 2; k++)
            map_put(&threads, c->sighting[i].side[k].tid, 0);
    }
    f->trace.threads = threads.count;
    f->trace.recording.processes = pids.count > 1 ? pids.count : 0; /* one is not worth a line */
    map_release(&threads);
    map_release(&pids);
}

/* Ids name files as seen from the program. */
static void set_program(struct findings *f, const struct linked *files)
{
    char *path = files->count ? realpath(files->files[0].path, NULL) : NULL;

    f->trace.program = findings_string(f, path);
    free(path);
}

void production_findings(struct findings *f, const struct prod_control *c,
                         const struct sighting_report *about)
{
    struct maker *m = xcalloc(1, sizeof(*m));
    uint32_t n = c->sightings < PROD_SIGHTINGS_MAX ? c->sightings : PROD_SIGHTINGS_MAX;
    uint64_t number = 0;

    *m = (struct maker){ .f = f, .control = c, .about = about, .pid = -1 };
    f->trace.path = findings_string(f, about->program);
    f->trace.order = TRACE_EXACT;
    set_program(f, about->files);
    findings_add_engine(f, about->engine, about->seconds, about->complete);
    for (uint32_t i = 0; i < n; i++)
        if (__atomic_load_n(&c->sighting[i].ready, __ATOMIC_ACQUIRE))
            add_sighting(m, &c->sighting[i], number++);
    f->trace.events = 2 * number;
    count_threads(f, c, n);
    findings_sort(f);
    findings_identify(f);
    leave_process(m);
    source_cache_release(&m->sources);
    free(m);
}
