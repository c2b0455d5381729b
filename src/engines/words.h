/* words.h - which words of memory can race at all
 *
 * A word (8 aligned bytes) *may meet* if two threads make conflicting accesses to it that
 * the order of the caller leaves unordered, and is a *suspect* if no lock protects such a pair
 * either. Being wrong on this side costs time; a word that is neither surely is not.
 *
 *     words_access(w, &now, address, size)     each access, in an order that the clocks know
 *     words_begin(w, &now, address, size)      memory that is allocated: nothing of it is known
 *
 * Most memory is used by one thread at a time, and handed on in order. So a block of 64 bytes
 * has an owner: the stamp of its last access, after which all others come or which is theirs, with
 * the locks that all of them had; which words were touched, which written, and the last write. 32
 * bytes for 64 of the program, and usually one comparison. Where that is not enough the block
 * becomes *fine*: its words keep their last accesses one by one, as stamps of thread, locks and
 * kind. An access goes from that list where the next one comes after it, conflicts with all that it
 * conflicts with, and is under no more locks.
 *
 * What the only thread of a process did before it started the next one is known to all; of such
 * accesses nothing is kept once there are others.
 */
#ifndef HEDDLE_ENGINES_WORDS_H
#define HEDDLE_ENGINES_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "order/clock.h"
#include "order/held_sets.h"

enum {
    WORD_BYTES = 8,
    WORDS_PAGE_BITS = 12,
    PAGE_WORDS = 512,
    BLOCK_BITS = 6,
    PAGE_BLOCKS = 1 << (WORDS_PAGE_BITS - BLOCK_BITS),
    BLOCK_WORDS = 8
};

/* slot + 1, set of locks, kind, time; 0: none. Sets that do not fit count as empty. */
typedef uint64_t word_stamp;
enum { STAMP_SET_MAX = (1 << 14) - 1, STAMP_SLOT_MAX = UINT16_MAX - 1 };
enum { STAMP_WRITE = 1, STAMP_ATOMIC = 2 };

/* Lists longer than this are not kept: the word is a suspect. */
enum { WORD_LIST_MAX = 64 };

struct word {
    uint16_t count, cap; /* cap 0: they are in `two` */
    union {
        word_stamp two[2];
        word_stamp *many;
    };
};

/* Words that were always accessed together, as copies of whole blocks do, share one list. */
struct fine_block {
    uint8_t shared; /* words that words[0] stands for; 0: each for itself */
    struct word words[BLOCK_WORDS];
};

struct word_block {
    word_stamp owner, writer;
    uint8_t touched, written; /* words */
    struct fine_block *fine;  /* or NULL */
};

typedef uint64_t page_bits[PAGE_WORDS / 64];

/* Zeroed, it has seen nothing. */
struct word_page {
    page_bits meets, suspects;
    struct word_block blocks[PAGE_BLOCKS];
};

/* An access under way. */
struct word_access {
    const struct clock *clock; /* what its thread knows */
    word_stamp stamp;
};

struct words {
    struct held_sets *sets;
    word_stamp alone; /* stamp (slot and time) up to which its thread was alone; 0: nobody was */
    bool dropped;     /* something was left out because of `alone` */
};

/* 0: the slot has no room in a stamp. Words that are accessed with it are suspects from then on. */
word_stamp word_stamp_make(const struct clock *c, uint32_t set, unsigned kind);

/* Words [first, last] of the page. */
void words_access(struct words *w, struct word_page *p, const struct word_access *a, unsigned first,
                  unsigned last);
/* The same words have been allocated by this access: what was before is over. */
void words_begin(struct words *w, struct word_page *p, const struct word_access *a, unsigned first,
                 unsigned last);
/* Frees what the page's blocks own. */
void words_release_page(struct word_page *p);

#endif
