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
    free(t->site_function);
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
