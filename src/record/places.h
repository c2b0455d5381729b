/* places.h - site numbers and return addresses of a process to sites of the trace
 *
 * A site of the trace is made when its place is first used: from the site
 * table in the executable or library (symbol/site_tables.h), or from debug
 * information (symbol/symbol.h). Places, functions and images go to the tables
 * of the output; its lock protects all of this.
 *
 * Looking up a site number again is two loads, without a lock; an address, a
 * look-up in the caller's own cache.
 */
#ifndef HEDDLE_RECORD_PLACES_H
#define HEDDLE_RECORD_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "record/sink.h"
#include "record/ring.h"
#include "trace/hdl/encode_raw.h"

/* A place in a word: */
#define PLACE_KNOWN       (UINT64_C(1) << 63)
#define PLACE_CALL_TRACED (UINT64_C(1) << 62) /* a call of a function that is traced itself */
#define PLACE_LOOSE       RAW_PLACE_LOOSE     /* an access that is marked (EV_LOOSE) */
static inline uint32_t place_site(uint64_t place)
{
    return (uint32_t)place; /* SITE_NONE: unknown */
}

#define FUNCTION_NONE UINT32_MAX
/* The function it is in; of a call, the function called. */
static inline uint32_t place_function(uint64_t place)
{
    uint32_t n = (uint32_t)(place >> 32) & 0x1fffffff;

    return n ? n - 1 : FUNCTION_NONE;
}

enum { PLACE_PAGE_BITS = 16, PLACE_PAGES = 1 << (32 - PLACE_PAGE_BITS) };

struct places {
    struct sink *sink;
    const struct ring *ring;
    uint64_t **pages;          /* site number >> PLACE_PAGE_BITS -> places */
    uint64_t **stretch_pages;  /* the same -> stretch_entry() of trace/hdl/encode_stretch.h */
    uint64_t **frame_pages;    /* the same -> place of the entry of the function entered or left */
    uint32_t generation;       /* grows when addresses change their meaning */
    uint32_t unknown_function; /* of the trace: "?" */
    uint32_t named_threads;    /* threads below this have names */
    struct places_inside *inside;
};

/* A thread's own copy of what addresses mean. A zeroed struct is empty. */
struct pc_cache {
    struct map index;
    uint64_t *places;
    size_t count, cap;
    uint32_t generation;
};

void places_init(struct places *p, struct sink *o, const struct ring *r);
void places_release(struct places *p);
void pc_cache_release(struct pc_cache *c);

/* Read what is new in the process's log: images, modules, texts. Also done when a place is not
 * known. */
void places_read_log(struct places *p);

uint64_t places_find_site(struct places *p, uint32_t number);
/* The place a call returns to; 0 is no place. */
uint64_t places_find_pc(struct places *p, struct pc_cache *c, uint64_t pc);
void places_name_threads(struct places *p, uint32_t thread);
/* Is the address in code that is traced? */
bool places_pc_is_traced(struct places *p, uint64_t pc);

/* Are both sites of the trace in one function? */
bool places_same_function(struct places *p, uint32_t a, uint32_t b);

/* The thread's number is in use: it has a name from here on. */
static inline void places_name_thread(struct places *p, uint32_t thread)
{
    if (__builtin_expect(thread >= __atomic_load_n(&p->named_threads, __ATOMIC_RELAXED), 0))
        places_name_threads(p, thread);
}

/* The number of a move of the trace (trace/hdl/moves.h). */
uint32_t places_move(struct places *p, const struct move_frame *frames, unsigned left,
                     unsigned entered);

/* Makes the entry of a stretch. False: there is no such stretch. */
bool places_find_stretch(struct places *p, uint32_t number);
/* The events of a record of stretch `number` (of the trace); how many of them have all of their
 * data in its first `bytes`. */
unsigned places_expand(struct places *p, uint32_t number, const uint64_t *record, size_t bytes,
                       uint32_t thread, struct event *out);

static inline uint64_t places_site(struct places *p, uint32_t number)
{
    const uint64_t *page = __atomic_load_n(&p->pages[number >> PLACE_PAGE_BITS], __ATOMIC_ACQUIRE);
    uint64_t place = 0;

    if (page)
        place = __atomic_load_n(&page[number & ((1u << PLACE_PAGE_BITS) - 1)], __ATOMIC_RELAXED);
    return place ? place : places_find_site(p, number);
}

#endif
