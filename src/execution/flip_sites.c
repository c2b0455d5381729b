/* flip_sites.c - sites of code that was not executed
 *
 * A trace names only the sites it met. The site tables in the program have all of them,
 * so a new one is added to the trace's tables the way the recorder does (record/places.c):
 * location, function, the frames it was inlined into, the variable.
 */
#include "execution/flip_inside.h"
#include "base/alloc.h"

#include <string.h>

static uint32_t function_number(struct tables *t, const char *name)
{
    return intern_put(&t->functions, name, strlen(name));
}

static uint32_t flip_sites_add_site(struct tables *t, const struct sites_header *h, uint32_t file,
                                    uint32_t line, uint32_t column, uint32_t function,
                                    uint32_t parent)
{
    const char *name = sites_string(h, function);
    struct buf b = { 0 };
    uint32_t site;

    sites_file(h, file, &b);
    if (b.len && line)
        buf_addf(&b, ":%u", line);
    if (b.len && line && column)
        buf_addf(&b, ":%u", column);
    if (!b.len)
        buf_addstr(&b, *name ? name : "?");
    site = intern_append(&t->sites, b.data, b.len);
    buf_release(&b);
    if (*name)
        tables_set_site_function(t, site, function_number(t, name));
    if (parent != SITE_NONE)
        tables_set_site_parent(t, site, parent);
    return site;
}

/* The site of the call behind frame + 1. Chains end (symbol/site_tables.h). */
static uint32_t frame_site(struct tables *t, const struct sites_header *h, uint32_t inlined_at,
                           unsigned depth)
{
    const struct sites_frame *f;
    uint32_t parent;

    if (!inlined_at || depth == 0)
        return SITE_NONE;
    f = sites_frame(h, inlined_at - 1);
    parent = frame_site(t, h, f->inlined_at, depth - 1);
    return flip_sites_add_site(t, h, f->file, f->line, f->column, f->function, parent);
}

static uint32_t new_site(struct flips *all, const struct module *m, uint32_t index)
{
    enum { FRAMES_MAX = 64 };
    const struct sites_site *s = sites_site(m->sites, index);
    const char *variable = sites_string(m->sites, s->variable);
    uint32_t parent = frame_site(all->tables, m->sites, s->inlined_at, FRAMES_MAX);
    uint32_t site = flip_sites_add_site(all->tables, m->sites, s->file, s->line, s->column,
                                        s->function, parent);

    tables_set_site_origin(all->tables, site, m->number, index);
    if (*variable && s->kind != SITE_CALL && s->kind != SITE_LIBC)
        tables_set_site_variable(all->tables, site, variable, strlen(variable));
    return site;
}

uint32_t flip_site(struct flips *all, const struct function *f, uint32_t index, unsigned kinds,
                   uint32_t *bytes)
{
    const struct sites_header *h = f->module->sites;

    for (uint32_t i = f->first_site; f->sited && i <= f->last_site; i++) {
        const struct sites_site *s = sites_site(h, i);
        uint32_t *known;

        if (s->kind >= SITE_STRETCH || s->function_index != f->index ||
            s->instruction_index != index || !(EXPECTS(s->kind) & kinds))
            continue;
        known = map_put(&all->site_of, (uint64_t)f->module->number << 32 | i, SITE_NONE);
        if (*known == SITE_NONE)
            *known = new_site(all, f->module, i);
        *bytes = s->size;
        return *known;
    }
    *bytes = 0;
    return SITE_NONE;
}

uint32_t flip_function(struct flips *all, const struct function *f)
{
    return function_number(all->tables, f->code->name);
}
