/* only.h - recording only some sites (heddle record --only-sites)
 *
 * The command writes a file of struct prod_site; a bit per site says whether its plain accesses
 * are recorded. Synchronisation, atomics and memory always are. An access that is left out is
 * not marked in the filter, so it covers nothing.
 * Limit: full builds append without asking.
 */
#ifndef HEDDLE_RUNTIME_CORE_ONLY_H
#define HEDDLE_RUNTIME_CORE_ONLY_H

#include "runtime/core/rt.h"

extern HIDDEN uint8_t *only_bits; /* by site; NULL: all sites are recorded */
enum { ONLY_SITES = 1 << 24 };    /* further ones are recorded */

HIDDEN void only_read(const char *path);
HIDDEN void only_module(const struct heddle_module *m); /* it has its base */

/* Accesses without a site (libc's on behalf of untraced code) are left out. */
static inline bool only_leaves_out(uint64_t where)
{
    if (likely(!only_bits))
        return false;
    return where >= ONLY_SITES ? (where & WHERE_PC) != 0
                               : !(only_bits[where >> 3] >> (where & 7) & 1);
}

#endif
