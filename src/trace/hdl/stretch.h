/* stretch.h - stretches of code, and the events that their records stand for
 *
 * Full builds write one record per stretch (abi/rt_stretch.h). The record stays as it is through
 * the writer and in the file (chunks of kind 9); what it means, the stretch's shape, is in the
 * file once (kind 10). Only a reader makes events of it.
 *
 * Ownership: a struct stretches owns its arrays. Shapes never change once added.
 */
#ifndef HEDDLE_TRACE_HDL_STRETCH_H
#define HEDDLE_TRACE_HDL_STRETCH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "abi/rt_stretch.h"
#include "trace/event.h"

#define STRETCH_NONE UINT32_MAX
/* What is no access, instead of log: the function's entry, its exit, a branch. */
enum { STRETCH_ENTER = 5, STRETCH_EXIT = 6, STRETCH_DECIDED = 7 };

/* How a block of a path begins, at its first access: where the data of the block before ends, or at
 * the next word. */
enum stretch_begins { BLOCK_GOES_ON, BLOCK_BEGINS, BLOCK_BEGINS_WORD };

/* An access, or a branch between that went as the path says; the first may be the function's entry,
 * the last its exit. In the record's word 1, a reader's entry has the site of the call. */
struct stretch_access {
    uint32_t site;  /* entry and exit: of the function's entry */
    int32_t offset; /* with `from`; of a branch: its outcome; entry and exit: the function */
    uint8_t from;   /* as in rt_stretch.h */
    uint8_t log;    /* log2 of the bytes, 0 to 4; those of 16 bytes have no value; STRETCH_... */
    bool write;
    bool told;                    /* its value is not in the record but follows (SITE_VALUE): */
    uint8_t value_from;           /* from the entry so many before, 0: none, */
    int32_t value_offset;         /* and this */
    uint8_t begins;               /* enum stretch_begins */
    uint8_t address_at, value_at; /* bytes of the record; filled in by stretches_add() */
};

struct stretch {
    uint32_t first; /* of its accesses */
    uint32_t branch_site;
    uint8_t accesses, words;
    bool branches; /* a branch ends it */
    bool is_long;  /* laid out as STRETCH_LONG of rt_stretch.h says */
    uint8_t frame; /* FRAME_ENTERED, FRAME_LEFT of rt_stretch.h */
};

struct stretches {
    struct stretch *at;
    size_t cap;
    uint32_t count;
    struct stretch_access *accesses;
    size_t naccesses, accesses_cap;
};

void stretches_release(struct stretches *s); /* a zeroed struct is empty */

/* The events of one record. */
static inline unsigned stretch_events(const struct stretch *s)
{
    return s->accesses + s->branches;
}

/* What a record of stretch `number` (which exists) says, stretch_events() of them. */
void stretch_expand(const struct stretches *s, uint32_t number, const uint64_t *record,
                    uint32_t thread, struct event *out);

/* A new stretch, with the next number; `flags` are STRETCH_BRANCHES and STRETCH_LONG of
 * rt_stretch.h. False: there is no such shape. */
bool stretches_add(struct stretches *s, const struct stretch_access *accesses, unsigned n,
                   unsigned flags, uint32_t branch_site);
/* How many of the events have all of their data in the first `bytes` of the record. */
unsigned stretch_events_within(const struct stretches *s, uint32_t number, size_t bytes);

/* The shape of one stretch as it stands in a file; back, for sites and functions below these. */
void stretches_encode(const struct stretches *s, uint32_t number, struct buf *to);
bool stretches_decode(struct stretches *s, const uint8_t **at, const uint8_t *end, uint32_t sites,
                      uint32_t functions);

#endif
