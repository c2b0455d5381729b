/* tables.h - the names behind the numbers of a trace
 *
 * One struct per open trace. Readers add to it while they read, so a number
 * that occurs in a batch is always in the tables.
 * A site is a static program location. Text traces intern their location
 * field, so that equal locations are one site; recorded programs append one
 * entry per site, with its function. Where code was inlined, a site's parent
 * is the site of the call in the function around it; parents have smaller
 * numbers than their children.
 * A recorded trace also says which process it is of (process.h).
 * Ownership: all strings belong to the tables and live as long as they do.
 */
#ifndef HEDDLE_TRACE_TABLES_H
#define HEDDLE_TRACE_TABLES_H

#include "base/buf.h"
#include "base/intern.h"
#include "trace/hdl/seam.h"
#include "trace/event.h"
#include "trace/hdl/moves.h"
#include "trace/process.h"
#include "trace/hdl/stretch.h"

/* A translation unit of the program, and where a site stands in its site table: the way from a site
 * of the trace to an instruction of the program (src/execution/). */
struct origin_module {
    uint64_t id[2]; /* as in abi/rt_sites.h */
    uint32_t image; /* number in tables.images */
};
struct site_origin {
    uint32_t module; /* number in tables.modules + 1, 0 unknown */
    uint32_t index;  /* in the module's site table */
};

struct tables {
    struct intern threads;
    struct intern variables; /* NAMED_ADDRESS */
    struct intern objects;   /* NAMED_OBJECT */
    struct intern functions;
    struct intern sites;     /* location text of each site */
    uint32_t *site_function; /* site -> function number + 1, 0 unknown; may be shorter */
    size_t site_function_cap;
    uint32_t
        *site_parent; /* site -> site of the call it was inlined at + 1, 0 none; may be shorter */
    size_t site_parent_cap;
    uint32_t *site_variable; /* site -> number in site_variables + 1, 0 unknown; may be shorter */
    size_t site_variable_cap;
    struct intern site_variables;    /* "counter", "struct q::head" */
    struct site_origin *site_origin; /* may be shorter than the sites */
    size_t site_origin_cap;
    struct origin_module *modules;
    size_t nmodules, modules_cap;
    struct stretches stretches; /* of full builds: what records stand for */
    struct moves moves;         /* frames left and entered at once */
    struct process process;     /* of recorded traces */
    struct image *images;       /* its executable and libraries, in the order they were seen */
    size_t nimages, images_cap;
    struct seam seam; /* of recordings whose beginning is gone: where it ends */
};

void tables_release(struct tables *t); /* a zeroed struct is empty */

/* The location of a site as reports print it; "?" for SITE_NONE. */
const char *tables_location(const struct tables *t, uint32_t site);
/* The function a site is in, or NULL where unknown. */
const char *tables_site_function(const struct tables *t, uint32_t site);
/* The site of the call that this site's code was inlined at, or SITE_NONE. */
uint32_t tables_site_parent(const struct tables *t, uint32_t site);
/* What the site accesses, as the compiler names it ("struct q::head"), or NULL. */
const char *tables_site_variable(const struct tables *t, uint32_t site);
/* Where the site stands in the program's site tables; module 0 where that is not known. */
struct site_origin tables_site_origin(const struct tables *t, uint32_t site);

/* Append the name of a variable / object ("x", or "0x7f00:4" for an address) to b. */
void tables_name_variable(const struct tables *t, uint64_t address, uint64_t size, struct buf *b);
void tables_name_object(const struct tables *t, uint64_t target, struct buf *b);

void tables_set_site_function(struct tables *t, uint32_t site, uint32_t function);
/* The parent's number must be smaller. */
void tables_set_site_parent(struct tables *t, uint32_t site, uint32_t parent);
void tables_set_site_variable(struct tables *t, uint32_t site, const char *name, size_t n);
/* The number of a new module. */
uint32_t tables_add_module(struct tables *t, const uint64_t id[2], uint32_t image);
/* The module must be there. */
void tables_set_site_origin(struct tables *t, uint32_t site, uint32_t module, uint32_t index);
/* A new image, to be filled in; valid until the next one. */
struct image *tables_add_image(struct tables *t);
void tables_forget_images(struct tables *t);

#endif
