/* rt_stretch.h - what the record of a stretch of code holds, and where
 *
 * A stretch is a path through a few basic blocks of a full build: some accesses with their values
 * and the branches between, in order, and perhaps the branch that ends it. Which sites these are,
 * reads or writes, and of how many bytes, is known when the program is compiled: the site table
 * says it once (struct sites_site, SITE_STRETCH). The record has only what differs from time to
 * time; how the branches on the path went is known with the path:
 *
 *     byte 0-3   number of the stretch (the process's: base of the module + site)
 *     byte 4-6   data that fits
 *     byte 7     STRETCH_MARK | words of the record
 *     byte 8-    the other data; zeros up to the end of the word
 *
 * Data is the last branch's outcome (byte 4) and, block by block, the addresses that do not follow
 * from others (6 bytes each) and then the values that do not (as many bytes as the access; those of
 * 16 bytes have none), from byte 8 on: stretch_place(). A block where paths meet begins a new word.
 * A path may begin with the function's entry: word 1 is then the return address, and the low 16
 * bits of the shadow stack's depth above it. It may end with the function's exit: without an entry
 * in the same record, bytes 5 and 6 have that depth. So the record of a path is the beginning of
 * that of each longer one: code writes it block by block, and completes it wherever it may end.
 *
 * Objects of older compilers have stretches of one block (without STRETCH_LONG), whose pieces go to
 * bytes 4 to 6 where they fit, the outcome first. The plugin, the writer and readers of the file
 * all lay records out with this.
 */
#ifndef HEDDLE_ABI_RT_STRETCH_H
#define HEDDLE_ABI_RT_STRETCH_H

#include <stdint.h>

enum {
    STRETCH_MARK = 0x80, /* above all of enum ring_kind */
    STRETCH_WORDS_MAX = 32,
    STRETCH_ACCESSES_MAX = 64, /* with the branches between */
    STRETCH_ADDRESS_BYTES = 6,
    STRETCH_OUTCOMES = 256 /* a branch with more ways is a record of its own */
};

/* Where an access's address comes from (sites_site.from): 0 the record has it; else it is
 * `offset` bytes from the address of the access so many before it in the stretch, branches
 * counted, or, with FROM_VALUE, from the value of that access, which has 8 bytes. */
enum { FROM_VALUE = 0x80, FROM_BACK = 0x7f };

/* And where a store's value comes from, if the record does not have it (SITE_VALUE): it is the low
 * bytes of `offset` (from 0), or of `offset` + the value of the access so many before it, which has
 * as many bytes or more. */

/* Bits of sites_site.branches. */
enum {
    STRETCH_BRANCHES = 1, /* a branch ends it */
    STRETCH_LONG = 2,     /* nothing but the outcome is in bytes 4 to 6 */
    STRETCH_JOINS = 4     /* its last block begins at a word */
};

/* The function's frame: an entry that begins the path, an exit that ends it. */
enum { FRAME_ENTERED = 1, FRAME_LEFT = 2 };
enum {
    STRETCH_FRAME_AT = 8,
    STRETCH_FRAME_BYTES = 8,
    STRETCH_DEPTH_SHIFT = 48,
    STRETCH_LEFT_SHIFT = 40
};

/* The bytes of word 0 that are data. */
#define STRETCH_DATA UINT64_C(0x00ffffff00000000)

struct stretch_room {
    unsigned small, next; /* free bytes of word 0, and behind it */
};
#define STRETCH_ROOM      ((struct stretch_room){ 4, 8 })
#define STRETCH_ROOM_LONG ((struct stretch_room){ 7, 8 })

static inline unsigned stretch_place(struct stretch_room *r, unsigned bytes)
{
    unsigned *end = r->small + bytes <= 7 ? &r->small : &r->next;
    unsigned at = *end;

    *end += bytes;
    return at;
}

static inline unsigned stretch_value_bytes(unsigned access_bytes)
{
    return access_bytes < 16 ? access_bytes : 0;
}

static inline unsigned stretch_words(const struct stretch_room *r)
{
    return (r->next + 7) / 8;
}

#endif
