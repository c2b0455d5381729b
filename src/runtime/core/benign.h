/* benign.h - memory whose races the program declared benign
 *
 * A table of ranges, filled by annotations (AnnotateBenignRace ...); accesses that
 * lie in one are not recorded. Without any the question costs one load.
 * Ranges beyond BENIGN_MAX are not kept, and counted.
 * Concurrency: ranges are added, never removed; readers take no lock.
 */
#ifndef HEDDLE_RUNTIME_CORE_BENIGN_H
#define HEDDLE_RUNTIME_CORE_BENIGN_H

#include "runtime/core/rt.h"

enum { BENIGN_MAX = 1024 };

extern HIDDEN uint32_t benign_used; /* ranges that may be read */

HIDDEN void benign_add(const volatile void *address, uint64_t bytes);
HIDDEN bool benign_find(uintptr_t address, uint64_t bytes);
HIDDEN void benign_tell(struct ring_header *r);

static inline bool is_benign(const void *address, uint64_t bytes)
{
    return unlikely(__atomic_load_n(&benign_used, __ATOMIC_ACQUIRE)) &&
           benign_find((uintptr_t)address, bytes);
}

#endif
