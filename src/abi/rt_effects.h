/* rt_effects.h - what functions of untraced code may do, as the writer tells the runtime
 *
 * Made from the machine code of a process's images (symbol/effects.h), laid down in the memory that
 * the two share. A table: this header, then its arrays, one behind the other, in the order of their
 * numbers, each at a multiple of 8; images, functions and pieces by address, names by hash.
 * Addresses are those of the process.
 */
#ifndef HEDDLE_ABI_RT_EFFECTS_H
#define HEDDLE_ABI_RT_EFFECTS_H

#include <stdint.h>

enum effects_does {
    EFFECTS_KERNEL = 1 << 0,   /* makes system calls that may order threads */
    EFFECTS_LOCAL = 1 << 1,    /* looks at thread-local variables */
    EFFECTS_KEYS = 1 << 2,     /* ... thread-specific data */
    EFFECTS_STORES = 1 << 3,   /* may store pointers into memory that it was given */
    EFFECTS_ALL = 1 << 4,      /* may touch anything */
    EFFECTS_TRACED = 1 << 5,   /* of a name: traced functions alone have it */
    EFFECTS_CLONES = 1 << 6,   /* starts threads that nobody sees */
    EFFECTS_DISGUISES = 1 << 7 /* uses memory by pointers that are not stored as such */
};

struct effects_table {
    uint64_t bytes; /* of all of it */
    uint32_t nimages, nfunctions, nnames, nsets, nmembers, npieces;
};

struct effects_image {
    uint64_t low, high;
    uint32_t set; /* everything in it */
    uint32_t unused;
};

struct effects_function {
    uint64_t address;
    uint32_t set, unused;
};

struct effects_name {
    uint64_t hash; /* effects_hash() */
    uint32_t set, unused;
};

struct effects_set {
    uint32_t does;         /* enum effects_does */
    uint32_t first, count; /* in the members, which are numbers of pieces */
    uint32_t unused;
};

/* A variable, or what lies between two. */
struct effects_piece {
    uint64_t low, high;
};

/* Does a system call order threads only by memory that is passed to it (futex), or not at all?
 * Numbers of x86-64: memory, time, identity, scheduling. */
static inline int effects_is_harmless(int64_t number)
{
    static const uint16_t numbers[] = { 9,   10,  11,  12,  14,  15,  24,  28,  35,  39,
                                        60,  63,  96,  97,  98,  99,  100, 102, 104, 107,
                                        108, 110, 157, 158, 160, 186, 201, 202, 203, 204,
                                        218, 228, 229, 230, 231, 302, 309, 318, 334 };

    for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (numbers[i] == number)
            return 1;
    return 0;
}

/* clone, clone3: fork() and pthread_create() are seen. */
static inline int effects_is_clone(int64_t number)
{
    return number == 56 || number == 435;
}

/* The name by which the compiler calls syscall() with such a number. */
#define EFFECTS_HARMLESS "syscall (harmless)"

static inline uint64_t effects_hash(const char *name)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return h;
}

#endif
