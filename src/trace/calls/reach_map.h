/* reach_map.h - what memory is known to hold: objects, and words with pointers
 *
 * Objects are disjoint ranges of bytes: blocks between alloc and free, and variables that calls
 * have told of (globals, variables on stacks), until something else is there. Pages of 4 KiB list
 * the objects that touch them, by address; an object of more than REACH_SMALL_PAGES pages is in a
 * list of its own, and may have small ones inside (a stack and its variables): the small one is
 * what an address belongs to.
 *
 * Slots are words that hold a pointer; they stand in their page, whether an object is there or not.
 *
 * Cost: adding, removing, finding an object or a slot is a look-up in a hash table and a binary
 * search within a page. Memory: 8 bytes for each page an object touches, 16 for each slot, 100 for
 * each page.
 * A zeroed struct is empty.
 */
#ifndef HEDDLE_TRACE_CALLS_REACH_MAP_H
#define HEDDLE_TRACE_CALLS_REACH_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

#define REACH_NONE UINT32_MAX

enum { REACH_PAGE_BITS = 12, REACH_SMALL_PAGES = 16, REACH_HINT_BITS = 20 };

struct reach_object {
    uint64_t start, end; /* end 0: not in use */
    uint32_t seen;       /* the owner's: the search that met it last */
    uint32_t watchers;   /* the owner's: lists that were made with it; 0: none */
    bool block;          /* an alloc made it */
};

/* An object in a page: where it starts there, 0 also for one that starts before. */
struct reach_entry {
    uint32_t offset, object;
};

struct reach_slot {
    uint64_t pointer;
    uint32_t offset; /* in the page */
};

struct reach_page {
    struct reach_entry *objects; /* by offset */
    size_t nobjects, objects_cap;
    struct reach_slot *slots; /* by offset */
    size_t nslots, slots_cap;
    uint64_t number;
};

struct reach_map {
    struct reach_object *objects;
    size_t nobjects, objects_cap; /* numbers given out */
    size_t live;                  /* in use */
    uint32_t *spare;              /* numbers to be used again */
    size_t nspare, spare_cap;
    uint32_t *large; /* by address */
    size_t nlarge, large_cap;
    struct map page_index; /* page -> pages + 1 */
    struct reach_page *pages;
    size_t npages, pages_cap;
    uint8_t *hints; /* a bit for each page that may be there: most words hold no pointers */
};

void reach_map_release(struct reach_map *m);

/* The object that an address belongs to; the large one alone. */
uint32_t reach_map_find(const struct reach_map *m, uint64_t address);
uint32_t reach_map_find_large(const struct reach_map *m, uint64_t address);
/* May there be objects or slots in the page of this address? */
bool reach_map_hint(const struct reach_map *m, uint64_t address);
/* The page with this number, or NULL. */
const struct reach_page *reach_map_page(const struct reach_map *m, uint64_t number);
/* The first slot of a page at an offset or behind it. */
size_t reach_page_slot(const struct reach_page *p, uint64_t offset);

/* What is told when an object ends to be one, before it does. */
typedef void reach_gone(void *arg, uint32_t object);

/* [start, end) becomes an object; objects of its own kind (small, large) that it overlaps are
 * gone. A variable that lies in a block is a part of it. Returns the object; *fresh: it is new. */
uint32_t reach_map_add(struct reach_map *m, uint64_t start, uint64_t end, bool block, bool *fresh,
                       reach_gone *gone, void *arg);
void reach_map_remove(struct reach_map *m, uint32_t object);
/* Small objects that overlap [start, end) are gone. */
void reach_map_clear(struct reach_map *m, uint64_t start, uint64_t end, reach_gone *gone,
                     void *arg);
/* The word at this address holds this pointer; 0: none. True: it was another one before. */
bool reach_map_link(struct reach_map *m, uint64_t address, uint64_t pointer);
/* No word that starts in [start, end) holds a pointer. True: some did. */
bool reach_map_unlink(struct reach_map *m, uint64_t start, uint64_t end);

#endif
