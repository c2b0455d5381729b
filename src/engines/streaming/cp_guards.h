/* cp_guards.h - inside of the cp engine: which sections conflict, rule (a)
 *
 * For each variable and each lock that was held at an access to it: the last
 * exclusive section that wrote it, and the sections that accessed it since, at
 * most one per thread and kind. A section that conflicts with an older one
 * also conflicts with the exclusive writer in between, or was ordered by it,
 * so the older ones need not be kept.
 * A conflict here is about values, not about races: same bytes, one of the two
 * writes, different threads; two atomics conflict like others, since swapping
 * the sections would change what is read. Two shared sections exclude nothing
 * and get no edge.
 * Cost: a look-up per access and lock held; memory per (variable, lock).
 */
#ifndef HEDDLE_ENGINES_STREAMING_CP_GUARDS_H
#define HEDDLE_ENGINES_STREAMING_CP_GUARDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

struct cp;
struct step;

struct cp_use_since {
    uint32_t section;
    bool writes;
};

struct cp_guard {
    uint32_t var, lock;
    uint32_t next; /* of the same variable; of the free ones */
    uint32_t last; /* section that came by last */
    bool last_writes;
    uint32_t writer; /* last exclusive section that wrote, 0 none */
    struct cp_use_since *since;
    size_t nsince, since_cap;
};

/* A block that was freed: the sections in which that happened. */
struct cp_freed {
    uint32_t *held;
    size_t nheld, held_cap;
    bool is;
};

struct cp_guards {
    struct cp_guard *guards; /* [0] unused */
    size_t count, cap;
    uint32_t free;
    struct map index; /* variable and lock -> guard, 0 none */
    struct cp_guarded {
        uint32_t first, recent;
    } *vars;
    size_t vars_cap;
    struct cp_freed *blocks;
    size_t blocks_cap;
};

void cp_guards_release(struct cp_guards *g);
/* An access (or a split, an alloc, a free) by a thread with its open sections. */
void cp_guards_step(struct cp *c, const struct step *s);

#endif
