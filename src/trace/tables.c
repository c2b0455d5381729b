/* tables.c - names of threads, variables, objects, functions and sites */
#include "trace/tables.h"
#include "base/alloc.h"

#include <inttypes.h>
#include <stdlib.h>

void tables_release(struct tables *t)
{
    intern_release(&t->threads);
    intern_release(&t->variables);
    intern_release(&t->objects);
    intern_release(&t->functions);
    intern_release(&t->sites);
    intern_release(&t->site_variables);
    free(t->site_function);
    free(t->site_parent);
    free(t->site_variable);
    free(t->site_origin);
    free(t->modules);
    stretches_release(&t->stretches);
    moves_release(&t->moves);
    process_release(&t->process);
    tables_forget_images(t);
    free(t->images);
    seam_release(&t->seam);
    *t = (struct tables){ 0 };
}

const char *tables_location(const struct tables *t, uint32_t site)
{
    return site < t->sites.count ? intern_get(&t->sites, site) : "?";
}

const char *tables_site_function(const struct tables *t, uint32_t site)
{
    if (site >= t->site_function_cap || !t->site_function[site])
        return NULL;
    return intern_get(&t->functions, t->site_function[site] - 1);
}

uint32_t tables_site_parent(const struct tables *t, uint32_t site)
{
    return site < t->site_parent_cap && t->site_parent[site] ? t->site_parent[site] - 1 : SITE_NONE;
}

const char *tables_site_variable(const struct tables *t, uint32_t site)
{
    if (site >= t->site_variable_cap || !t->site_variable[site])
        return NULL;
    return intern_get(&t->site_variables, t->site_variable[site] - 1);
}

struct site_origin tables_site_origin(const struct tables *t, uint32_t site)
{
    return site < t->site_origin_cap ? t->site_origin[site] : (struct site_origin){ 0 };
}

void tables_name_variable(const struct tables *t, uint64_t address, uint64_t size, struct buf *b)
{
    if (is_named(address) && named_variable(address) < t->variables.count)
        buf_addstr(b, intern_get(&t->variables, named_variable(address)));
    else
        buf_addf(b, "0x%" PRIx64 ":%" PRIu64, address, size);
}

void tables_name_object(const struct tables *t, uint64_t target, struct buf *b)
{
    if (is_named(target) && named_object(target) < t->objects.count)
        buf_addstr(b, intern_get(&t->objects, named_object(target)));
    else
        buf_addf(b, "0x%" PRIx64, target);
}

void tables_set_site_function(struct tables *t, uint32_t site, uint32_t function)
{
    GROW(t->site_function, t->site_function_cap, (size_t)site + 1);
    t->site_function[site] = function + 1;
}

void tables_set_site_parent(struct tables *t, uint32_t site, uint32_t parent)
{
    GROW(t->site_parent, t->site_parent_cap, (size_t)site + 1);
    t->site_parent[site] = parent + 1;
}

uint32_t tables_add_module(struct tables *t, const uint64_t id[2], uint32_t image)
{
    GROW(t->modules, t->modules_cap, t->nmodules + 1);
    t->modules[t->nmodules] = (struct origin_module){ { id[0], id[1] }, image };
    return (uint32_t)t->nmodules++;
}

void tables_set_site_origin(struct tables *t, uint32_t site, uint32_t module, uint32_t index)
{
    GROW(t->site_origin, t->site_origin_cap, (size_t)site + 1);
    t->site_origin[site] = (struct site_origin){ module + 1, index };
}

void tables_set_site_variable(struct tables *t, uint32_t site, const char *name, size_t n)
{
    GROW(t->site_variable, t->site_variable_cap, (size_t)site + 1);
    t->site_variable[site] = intern_put(&t->site_variables, name, n) + 1;
}

struct image *tables_add_image(struct tables *t)
{
    GROW(t->images, t->images_cap, t->nimages + 1);
    return &t->images[t->nimages++];
}

void tables_forget_images(struct tables *t)
{
    while (t->nimages)
        free(t->images[--t->nimages].path);
}
