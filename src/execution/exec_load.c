/* exec_load.c - from the sites of a trace to the program's code
 *
 * The trace says of which module (translation unit) and place in its site table a
 * site is (trace/tables.h); the module's table and bitcode are in the executable or
 * library, which must be the one that was recorded (build id). A site names function
 * and instruction by their index in the bitcode.
 *
 * A file that changed or is gone is noted and its code left out: events of it are
 * "outside" to the walk.
 */
#include "execution/exec_inside.h"
#include "base/alloc.h"
#include "base/module.h"
#include "symbol/elf_file.h"

#include <stdlib.h>
#include <string.h>

static void load_note(struct program *p, char *text)
{
    GROW(p->notes, p->notes_cap, p->nnotes + 2);
    p->notes[p->nnotes++] = text;
}

const char *program_note(const struct program *p, size_t i)
{
    return i < p->nnotes ? p->notes[i] : NULL;
}

/* ---- modules ---- */

static struct site_tables *file_of(struct program *p, uint32_t image)
{
    const struct image *m = &p->tables->images[image];
    struct elf_file elf;
    struct error err;

    if (p->file_sought[image])
        return p->files[image];
    p->file_sought[image] = true;
    elf_file_open(&elf, m->path, m->build_id, m->build_id_bytes, false);
    if (!elf.elf)
        load_note(p, xasprintf("'%s': %s", m->path, elf.problem));
    else if (!(p->files[image] = site_tables_open(m->path, &err)))
        load_note(p, xasprintf("%s", err.text));
    elf_file_close(&elf);
    return p->files[image];
}

static void find_module(struct program *p, uint32_t number)
{
    const struct origin_module *origin = &p->tables->modules[number];
    struct module *m = &p->modules[number];
    struct site_tables *file = NULL;

    m->number = number;
    if (origin->image < p->tables->nimages)
        file = file_of(p, origin->image);
    if (file)
        m->sites = site_tables_find(file, origin->id);
    if (file && !m->sites)
        load_note(
            p, xasprintf("'%s': a site table is missing", p->tables->images[origin->image].path));
}

struct module *program_module(struct program *p, uint32_t number)
{
    struct module *m = &p->modules[number];
    struct error err;
    const void *bytes;
    size_t n;

    if (m->opened || !m->sites)
        return m;
    m->opened = true;
    bytes = sites_bitcode(m->sites, &n);
    if (bytes)
        m->bitcode = p->api->open(bytes, n, &err);
    if (!m->bitcode) {
        load_note(p, xasprintf("'%s': %s", sites_string(m->sites, m->sites->source),
                               bytes ? err.text : "no bitcode"));
        return m;
    }
    m->nfunctions = p->api->functions(m->bitcode);
    m->functions = xcalloc(m->nfunctions + (size_t)1, sizeof(*m->functions));
    for (uint32_t i = 0; i < m->nfunctions; i++)
        m->functions[i] = (struct function){ .module = m, .index = i };
    for (uint32_t i = 0; i < m->sites->nsites; i++) {
        const struct sites_site *s = sites_site(m->sites, i);

        if (s->kind >= SITE_STRETCH || s->function_index >= m->nfunctions)
            continue;
        struct function *f = &m->functions[s->function_index];
        if (!f->sited)
            f->first_site = i;
        f->last_site = i;
        f->sited = true;
        f->enters |= s->kind == SITE_ENTRY;
    }
    return m;
}

/* ---- functions ---- */

static void mark_expected(struct function *f)
{
    const struct sites_header *h = f->module->sites;

    f->expects = xcalloc(f->code->ninsts + (size_t)1, sizeof(*f->expects));
    for (uint32_t i = f->first_site; f->sited && i <= f->last_site; i++) {
        const struct sites_site *s = sites_site(h, i);

        if (s->kind >= SITE_STRETCH || s->kind == SITE_ENTRY || s->function_index != f->index ||
            s->instruction_index >= f->code->nindices)
            continue;
        uint32_t at = f->code->at_index[s->instruction_index];
        if (at < f->code->ninsts && f->code->insts[at].index == s->instruction_index)
            f->expects[at] |= (uint16_t)EXPECTS(s->kind);
    }
}

static void mark_private(struct function *f, uint32_t object)
{
    if (object < f->code->nslots)
        f->is_private[object] = 1;
}

/* A variable that is accessed without a record anywhere is one that cannot be seen outside. */
static void find_private(struct function *f)
{
    const struct code *c = f->code;

    f->is_private = xcalloc(c->nslots + (size_t)1, 1);
    for (uint32_t i = 0; i < c->ninsts; i++) {
        const struct inst *inst = &c->insts[i];
        bool atomic = f->expects[i] & EXPECTS(SITE_ATOMIC);

        if (inst->op == I_LOAD && !atomic && !(f->expects[i] & EXPECTS(SITE_READ)))
            mark_private(f, inst->object);
        if (inst->op == I_STORE && !atomic && !(f->expects[i] & EXPECTS(SITE_WRITE)))
            mark_private(f, inst->object);
        if ((inst->op == I_RMW || inst->op == I_CAS) && !atomic)
            mark_private(f, inst->object);
        if ((inst->op == I_COPY_MEMORY || inst->op == I_FILL_MEMORY) &&
            !(f->expects[i] & EXPECTS(SITE_WRITE)))
            mark_private(f, inst->object);
        if (inst->op == I_COPY_MEMORY && !(f->expects[i] & EXPECTS(SITE_READ)))
            mark_private(f, (uint32_t)c->extras[inst->extra]);
    }
}

/* Variables whose accesses are recorded: what they hold is gone with their frame. */
static void list_locals(struct function *f)
{
    const struct code *c = f->code;
    size_t cap = 0;

    for (uint32_t i = 0; i < c->ninsts; i++) {
        if (c->insts[i].op != I_ALLOCA || f->is_private[c->insts[i].to])
            continue;
        GROW(f->locals, cap, f->nlocals + (size_t)1);
        f->locals[f->nlocals++] = i;
    }
}

struct function *program_function(struct program *p, struct module *m, uint32_t index)
{
    struct function *f;

    if (index >= m->nfunctions)
        return NULL;
    f = &m->functions[index];
    if (!f->decoded) {
        f->decoded = true;
        f->code = p->api->code(m->bitcode, index);
        if (f->code) {
            mark_expected(f);
            find_private(f);
            list_locals(f);
            f->consts = xcalloc(f->code->nconsts + (size_t)1, sizeof(*f->consts));
        }
    }
    return f;
}

static void list_externals(struct program *p)
{
    for (uint32_t i = 0; i < p->tables->nmodules; i++) {
        struct module *m = program_module(p, i);

        for (uint32_t k = 0; k < m->nfunctions; k++) {
            const char *name = p->api->external(m->bitcode, k);
            uint32_t known = p->externals.count;

            if (!name || intern_put(&p->externals, name, strlen(name)) != known)
                continue;
            GROW(p->external, p->external_cap, known + (size_t)1);
            p->external[known] = &m->functions[k];
        }
    }
}

struct function *program_external(struct program *p, const char *name)
{
    uint32_t n;
    struct function *f;

    if (!p->listed)
        list_externals(p);
    p->listed = true;
    n = intern_find(&p->externals, name, strlen(name));
    f = n == INTERN_NONE ? NULL : p->external[n];
    return f ? program_function(p, f->module, f->index) : NULL;
}

/* ---- sites ---- */

static void load_add_entry(struct program *p, uint32_t site)
{
    uint32_t function = p->tables->site_function[site] - 1;
    uint32_t *last = map_put(&p->entries, function, site);

    if (*last != site) {
        p->next_entry[site] = *last + 1;
        *last = site;
    }
}

static bool find_places(struct program *p)
{
    const struct tables *t = p->tables;
    bool any = false;

    p->nplaces = t->sites.count;
    p->places = xcalloc(t->sites.count + (size_t)1, sizeof(*p->places));
    p->next_entry = xcalloc(t->sites.count + (size_t)1, sizeof(*p->next_entry));
    for (uint32_t i = 0; i < t->sites.count; i++) {
        struct site_origin o = tables_site_origin(t, i);
        const struct sites_header *h = o.module ? p->modules[o.module - 1].sites : NULL;

        if (!h || o.index >= h->nsites)
            continue;
        const struct sites_site *s = sites_site(h, o.index);
        p->places[i] = (struct place){ o.module, s->function_index, s->instruction_index, s->kind };
        any |= sites_has_bitcode(h);
        if (s->kind == SITE_ENTRY && i < t->site_function_cap && t->site_function[i])
            load_add_entry(p, i);
    }
    return any;
}

struct program *program_open(const struct tables *t, struct error *err)
{
    struct program *p = xcalloc(1, sizeof(*p));

    p->tables = t;
    p->files = xcalloc(t->nimages + 1, sizeof(struct site_tables *));
    p->file_sought = xcalloc(t->nimages + 1, sizeof(*p->file_sought));
    p->modules = xcalloc(t->nmodules + 1, sizeof(*p->modules));
    for (uint32_t i = 0; i < t->nmodules; i++)
        find_module(p, i);
    if (!find_places(p))
        error_set(err, "no code of the program: %s",
                  p->nnotes ? p->notes[0] : "the trace does not say where its sites are from");
    else
        p->api = module_symbol("bitcode", "heddle_bitcode", err);
    if (!p->api) {
        program_close(p);
        return NULL;
    }
    return p;
}

static void close_module(struct program *p, struct module *m)
{
    for (uint32_t i = 0; i < m->nfunctions; i++) {
        free(m->functions[i].expects);
        free(m->functions[i].is_private);
        free(m->functions[i].consts);
        free(m->functions[i].locals);
        free(m->functions[i].joins);
    }
    free(m->functions);
    free(m->symbols);
    free(m->learned);
    if (m->bitcode)
        p->api->close(m->bitcode);
}

void program_close(struct program *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->tables->nmodules; i++)
        close_module(p, &p->modules[i]);
    for (size_t i = 0; i < p->tables->nimages; i++)
        site_tables_close(p->files[i]);
    for (size_t i = 0; i < p->nnotes; i++)
        free(p->notes[i]);
    free(p->files);
    free(p->file_sought);
    free(p->modules);
    free(p->places);
    free(p->next_entry);
    program_symbols_release(p);
    map_release(&p->entries);
    intern_release(&p->externals);
    free(p->external);
    free(p->notes);
    free(p);
}
