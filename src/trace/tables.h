/* tables.h - the names behind the numbers of a trace
 *
 * One struct per open trace. Readers add to it while they read, so a number
 * that occurs in a batch is always in the tables.
 * A site is a static program location. Text traces intern their location
 * field, so that equal locations are one site; recorded programs append one
 * entry per site, with its function.
 * Ownership: all strings belong to the tables and live as long as they do.
 */
#ifndef HEDDLE_TRACE_TABLES_H
#define HEDDLE_TRACE_TABLES_H

#include "base/buf.h"
#include "base/intern.h"
#include "trace/event.h"

struct tables {
    struct intern threads;
    struct intern variables; /* NAMED_ADDRESS */
    struct intern objects;   /* NAMED_OBJECT */
    struct intern functions;
    struct intern sites;     /* location text of each site */
    uint32_t *site_function; /* site -> function number + 1, 0 unknown; may be shorter */
    size_t site_function_cap;
};

void tables_release(struct tables *t); /* a zeroed struct is empty */

/* The location of a site as reports print it; "?" for SITE_NONE. */
const char *tables_location(const struct tables *t, uint32_t site);
/* The function a site is in, or NULL where unknown. */
const char *tables_site_function(const struct tables *t, uint32_t site);

/* Append the name of a variable / object ("x", or "0x7f00:4" for an address) to b. */
void tables_name_variable(const struct tables *t, uint64_t address, uint64_t size, struct buf *b);
void tables_name_object(const struct tables *t, uint64_t target, struct buf *b);

void tables_set_site_function(struct tables *t, uint32_t site, uint32_t function);

#endif
