/* caper.h - dynamic escape analysis: is an object private to its thread?
 *
 * docs/design/production.md, "caper". Memory is not private unless the map says so: what traced
 * code has allocated, and its stack slots. Everything else (globals, thread-local variables,
 * mappings, memory that untraced code has allocated or that is older than the runtime) counts as
 * escaped from the beginning.
 *
 * The map has a byte for each 16 bytes, in maps of 1 GiB that are made where there are private
 * objects: START where one begins, INSIDE further on, 0 elsewhere. Pages that lie inside an object
 * as a whole have a byte of their own instead. Whether an address is private is two or three
 * loads; the extent of a private object is found by searching for its START, once in its life,
 * when it escapes or is freed.
 *
 * Concurrency: an object's bytes are written by its own thread; losing START is an exchange, so
 * one thread only takes an object off. Looking may come at any time.
 */
#ifndef HEDDLE_RUNTIME_PRODUCTION_CAPER_H
#define HEDDLE_RUNTIME_PRODUCTION_CAPER_H

#include "abi/rt_caper.h"
#include "runtime/production/prod.h"
#include "runtime/core/state.h"

enum {
    OWN_INSIDE = 1,
    OWN_START = 2,
    OWN_UNIT_SHIFT = 4,
    OWN_PAGE_SHIFT = 12,
    OWN_MAP_SHIFT = 30,
    OWN_MAPS = 1 << (47 - OWN_MAP_SHIFT)
};
#define OWN_UNITS (UINT64_C(1) << (OWN_MAP_SHIFT - OWN_UNIT_SHIFT))
#define OWN_PAGES (UINT64_C(1) << (OWN_MAP_SHIFT - OWN_PAGE_SHIFT))

struct own_map {
    uint8_t pages[OWN_PAGES]; /* OWN_INSIDE: the whole page is; its units are 0 */
    uint8_t units[OWN_UNITS];
};
extern HIDDEN struct own_map *own_maps[OWN_MAPS];

static inline uint8_t own_at(uintptr_t a)
{
    const struct own_map *m;
    uint8_t page;

    if (unlikely(a >> 47))
        return 0;
    m = __atomic_load_n(&own_maps[a >> OWN_MAP_SHIFT], __ATOMIC_RELAXED);
    if (!m)
        return 0;
    page = __atomic_load_n(&m->pages[a >> OWN_PAGE_SHIFT & (OWN_PAGES - 1)], __ATOMIC_RELAXED);
    return page ? page
                : __atomic_load_n(&m->units[a >> OWN_UNIT_SHIFT & (OWN_UNITS - 1)],
                                  __ATOMIC_RELAXED);
}

/* [a, a + bytes) is a private object; a is a multiple of 16, and nothing else is in its last
 * unit. */
HIDDEN void own_mark(uintptr_t a, uint64_t bytes);
/* The private object that `a` lies in, if any: where it begins. */
HIDDEN bool own_start(uintptr_t a, uintptr_t *low);
/* Takes the object that begins at `low` off the map; false: somebody else did. Its end. */
HIDDEN bool own_take(uintptr_t low, uintptr_t *high);
/* Nothing in the range is private any more, whatever objects it cuts. */
HIDDEN void own_clear(uintptr_t low, uintptr_t high);

/* ---- caper_escape.c ---- */

/* The object that the pointer leads to, if private, has escaped, and all that can be reached from
 * it. Returns when that is so. */
HIDDEN void escape(uintptr_t pointer);
/* Pointers among these bytes have been given away. */
HIDDEN void escape_contents(uintptr_t low, uintptr_t high);
/* The same of bytes that are about to be written to a file or sent; the range may be wrong. */
HIDDEN void escape_sent(uintptr_t low, uintptr_t bytes);
HIDDEN void escape_wait(uintptr_t freed); /* until nobody reads the object that begins there */
HIDDEN void escape_forked(void);

/* ---- caper_mode.c ---- */

extern HIDDEN bool caper_on;    /* the map is kept */
extern HIDDEN bool caper_quick; /* hits of private memory say nothing */
/* A patched instruction that may store a pointer: is there anything to do? Do it. They keep all
 * registers. `stored` is what it is about to store; e says how much, 0: nobody knows what. */
struct heddle_patch;
__attribute__((preserve_all)) HIDDEN bool
link_is_idle(const void *address, const struct heddle_patch *e, const uint64_t *stored);
__attribute__((preserve_all)) HIDDEN void
link_tell(const void *address, const struct heddle_patch *e, const uint64_t *stored);

extern HIDDEN bool caper_given_up; /* everything counts as escaped */
HIDDEN void caper_give_up(unsigned counter);
/* A private object was published by an atomic store that orders nothing. */
HIDDEN void caper_weak(void);
/* The calling thread's hits and links until it looks at what they cost: below 0 it is time. */
extern HIDDEN _Thread_local int32_t caper_left __attribute__((tls_model("initial-exec")));
HIDDEN void caper_link_tick(void);
HIDDEN void caper_threads(void); /* there will be another thread: sites are watched from now on */
HIDDEN void links_thread_begin(uintptr_t stack, uint64_t bytes);
HIDDEN void links_thread_end(void);
HIDDEN void links_alloc(uint64_t address, uint64_t bytes);
HIDDEN void links_free(uint64_t address, uint64_t bytes);
HIDDEN void links_gone(void); /* an image: other functions may come to be at its addresses */

/* ---- caper_modules.c: the table in the control file ---- */

HIDDEN struct caper_table *table_open(void); /* NULL: there is none */
/* The byte of a site by its dense number, NULL: none. Those of new modules after table_update(). */
HIDDEN void table_update(void);
extern HIDDEN uint8_t **table_bytes; /* by dense number, below table_sites */
extern HIDDEN uint64_t **table_counts;
extern HIDDEN uint32_t table_sites;
HIDDEN void table_forked(void);
HIDDEN uint64_t table_key(uint32_t site); /* CAPER_KEY, 0: none */

#endif
