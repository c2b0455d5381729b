/* rt_steer.h - the plan of a controlled run: what `heddle confirm` asks for, and what came of it
 *
 * Behind the struct prod_control of a control file (rt_prod.h), whose images and first sighting
 * hold what was seen. The command writes the plan before the program starts and nothing afterwards;
 * the runtime (runtime/steer/steer.h) reads it and fills in `done`. docs/design/confirm.md explains
 * it.
 *
 * Names that are the same in every run of one build:
 * - A thread is its creation path: the root, or "the n-th thread that P creates".
 * - An event is the n-th of its key: thread, kind of operation and, for atomics, the site in its
 *   module's table. Kinds without a site are those of the C library's functions.
 * - Memory is an offset in an image, or in what the thread's n-th allocation (a key, too) returned.
 *
 * Little-endian, fixed layout; STEER_VERSION changes with it.
 */
#ifndef HEDDLE_ABI_RT_STEER_H
#define HEDDLE_ABI_RT_STEER_H

#include "abi/rt_prod.h"

enum {
    STEER_VERSION = 1,
    STEER_KEYS_MAX = 2048,
    STEER_GATES_MAX = 4096,
    STEER_NOTES_MAX = 8,
    STEER_PATH_BYTES = 256
};
#define STEER_NONE UINT32_MAX
#define STEER_ROOT UINT64_C(0x9e3779b97f4a7c15) /* the path of the process's first thread */

/* The path of the n-th thread (from 1) that a thread creates; 0, which is no path, stays 0. */
static inline uint64_t steer_child(uint64_t path, uint32_t n)
{
    uint64_t h = (path ^ n) * UINT64_C(0xff51afd7ed558ccd);

    return path ? (h ^ h >> 32) | 1 : 0;
}

struct steer_key {
    uint64_t thread;    /* its path */
    uint64_t module[2]; /* 0, 0: of any place */
    uint32_t index;     /* of the site in the module's table */
    uint32_t op;        /* enum op; OP_LOAD stands for all atomics */
};

/* The `number`-th event of `key` waits until the `after_number`-th of `after` is done. Sorted by
 * key and number. */
struct steer_gate {
    uint32_t key, number;
    uint32_t after, after_number;
};

/* One of the two accesses of the race. */
struct steer_side {
    uint64_t thread;    /* path; 0: any */
    uint64_t module[2]; /* 0, 0: code that no site table knows: the access is told by its memory */
    uint32_t index;
    uint32_t op;                    /* enum op */
    uint32_t anchor, anchor_number; /* not before this event is done; STEER_NONE: at any time */
};

enum steer_target_kind {
    STEER_ANYWHERE, /* the two accesses must meet, wherever */
    STEER_IN_IMAGE,
    STEER_IN_BLOCK, /* from its start */
    STEER_IN_STACK  /* from its end */
};
struct steer_target {
    uint32_t kind; /* enum steer_target_kind */
    uint32_t key, number;
    uint32_t unused;
    uint64_t offset, bytes;
    char image[STEER_PATH_BYTES];
};

enum steer_flags {
    STEER_FORKED = 1,       /* the race is in a process that fork() made */
    STEER_PATIENT = 2,      /* wait longer */
    STEER_FIRST_WAITS = 4,  /* only a thread at side 0 waits for another, */
    STEER_SECOND_WAITS = 8, /* or only one at side 1; neither: whoever comes first */
    STEER_HASTY = 16,       /* wait before an access for a short time only */
    /* Once they have met, one goes first, and is held up behind its access until the other one has
     * made its own (runtime/steer/steer_order.c): the thread at side 0, */
    STEER_FIRST_GOES = 32,
    STEER_SECOND_GOES = 64, /* or the one at side 1. */
    /* The one that goes second sees what a machine could show it, too: an update what was there
     * before the other's write, a wide read half of it. */
    STEER_MIXED = 128
};

enum steer_values {
    STEER_BEFORE_KNOWN = 1,
    STEER_AFTER_KNOWN = 2,
    STEER_MIXABLE = 4, /* STEER_MIXED makes a difference */
    STEER_WAS_MIXED = 8,
    STEER_WENT = 16,   /* the one that goes first has left for its access */
    STEER_ORDERED = 32 /* the other one went second, and only when the first one was done */
};

/* How the two met. */
enum steer_met {
    STEER_NOT_MET,
    STEER_TOGETHER, /* both stood before their accesses */
    STEER_BEHIND    /* one had made its own, and nothing since that another thread could see orders
                       it before the other, which stood before its own */
};

/* Why the schedule was left. */
enum steer_note_kind {
    STEER_NOTE_NONE,
    STEER_NOTE_GATE,     /* the event that a thread waited for did not come; `gate` */
    STEER_NOTE_BLOCKED,  /* everybody waited for somebody else; `side` or `gate` went on */
    STEER_NOTE_SIDE,     /* nobody came; `side` went on */
    STEER_NOTE_ELSEWHERE /* the other came to its access, at another address */
};
struct steer_note {
    uint32_t kind;
    uint32_t number; /* gate or side */
    uint64_t address[2];
};

struct steer_done {
    uint32_t met;      /* enum steer_met; set last, with release: the sighting is complete */
    uint32_t taken_up; /* processes that read the plan */
    uint32_t came[2];  /* times that a thread stood before its access, armed, at this side */
    uint32_t waits, given_up;
    uint64_t waited_ns;
    uint32_t gates_passed, gates_left;
    uint32_t target_known; /* the memory of the race was there */
    uint32_t notes;
    struct steer_note note[STEER_NOTES_MAX];
    uint64_t address, bytes; /* that both accesses touch */
    /* What stood there: before both, and after the first of the two had gone on. */
    uint64_t before, after;
    uint32_t values; /* enum steer_values */
    uint32_t first;  /* the side that went first */
};

struct steer_plan {
    uint32_t version;
    uint32_t flags;
    uint32_t nkeys, ngates;
    uint64_t patience_ns; /* of one wait */
    uint64_t budget_ns;   /* of all of them: the time from the first wait on */
    struct steer_side side[2];
    struct steer_target target;
    struct steer_key key[STEER_KEYS_MAX];
    struct steer_gate gate[STEER_GATES_MAX];
    struct steer_done done;
};

#endif
