/* taints.h - which marked accesses are needed to tell that a thread is tainted
 *
 * A marked ("loose") read that does not find what it saw taints its thread, and what a tainted
 * thread writes loosely satisfies no read (docs/design/marks.md). So even memory that one thread
 * alone uses counts: where a read that matters saw a loose write, its being executed demands that
 * the writer was not tainted. But of all reads that demand the same it is enough to keep one, with
 * the write it saw.
 *
 * Only a *chance* can taint a thread: a loose read of a word with accesses that hard edges and
 * hand-overs leave unordered (sieve.h; any other read finds what it saw), or one that sees a loose
 * write of another thread. Chances of a thread are counted as they come. A read R of what W wrote
 * demands that none of its writer's first n chances was bad: n is at least the number of those
 * before W, and at most that of those before the end of W's quiet period. If an earlier read of
 * R's thread demands no less, W and R need not be kept.
 *
 *     taints_read(), taints_write(), taints_overwrite()   reads that matter, loose and other writes
 *     taints_chance(t, thread)                            after a loose read that is one
 *     taints_quiet(t, thread)                             the thread's quiet period ends
 */
#ifndef HEDDLE_ENGINES_TAINTS_H
#define HEDDLE_ENGINES_TAINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "engines/words.h"

/* What is known of loose writes, by halves of words. */
enum { TAINT_BYTES = 4, TAINT_UNITS = PAGE_WORDS * WORD_BYTES / TAINT_BYTES };

struct taint_unit {
    uint32_t last;  /* loose write that is still there: its moment, ..., its bytes; 0: none is */
    uint32_t after; /* the beginning of the moment, so many events */
};

/* Of a page of words; zeroed, there was no loose write. */
struct taint_words {
    struct taint_unit units[TAINT_UNITS];
    page_bits written;  /* loosely, whenever it was */
    page_bits demanded; /* all accesses are needed to know who is tainted */
    page_bits early;    /* read loosely when that was no chance, */
    uint32_t reader;    /* by this thread alone */
};

/* Between two chances of a thread, in one quiet period; made where something is written loosely. */
struct moment {
    uint64_t begin; /* position */
    uint32_t thread;
    uint32_t before; /* chances of the thread */
    uint32_t until;  /* the same at the end of the quiet period; UINT32_MAX: it goes on */
    uint32_t next;   /* of the same quiet period */
};

struct taint_thread {
    uint32_t chances;
    uint32_t moment, first; /* the present one, and those of this quiet period, or 0 */
    uint32_t demanded;      /* of its own chances, by what it has read */
    bool gave_up;
};

/* A zeroed struct has seen nothing. */
struct taints {
    struct moment *moments; /* the first is none */
    size_t count, cap;
    struct taint_thread *threads;
    size_t threads_cap;
    uint64_t *needed; /* positions, until taints_finish() in no order */
    size_t nneeded, needed_cap;
    struct map demanded; /* reader and writer -> of the writer's chances */
    bool gave_up;        /* some thread did */
};

void taints_release(struct taints *t);

/* Bytes are those of the unit. A loose write; true: what it leaves cannot be described, so all
 * accesses to the word are needed. */
bool taints_write(struct taints *t, struct taint_unit *u, unsigned bytes, uint32_t thread,
                  uint64_t position);
/* Another write. */
void taints_overwrite(struct taint_unit *u, unsigned bytes);
/* A read that matters. True: it is not known what it saw, so all accesses to the word are needed.
 */
bool taints_read(struct taints *t, const struct taint_unit *u, unsigned bytes, uint32_t thread,
                 uint64_t position);
/* Does it see a loose write of another thread? */
bool taints_is_foreign(const struct taints *t, const struct taint_unit *u, unsigned bytes,
                       uint32_t thread);

void taints_chance(struct taints *t, uint32_t thread);
void taints_quiet(struct taints *t, uint32_t thread);

/* Chances of the thread were missed: whether it is tainted nobody knows. */
void taints_give_up(struct taints *t, uint32_t thread);
bool taints_gave_up(const struct taints *t, uint32_t thread);

/* `needed` becomes sorted, each position once. */
void taints_finish(struct taints *t);

#endif
