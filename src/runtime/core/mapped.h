/* mapped.h - memory that has several addresses
 *
 * A part of a file that is mapped twice is the same memory at two addresses, so a lock or an
 * atomic in it is one object. It goes by the address that it has in the first mapping of its file
 * that holds it, also when that mapping has gone but others are left.
 *
 * Shared mappings of files only, and not those that a program makes in a sandbox, where the file
 * cannot be asked for. Limit: plain accesses go by the address that was used, so those by two
 * addresses are two variables.
 *
 * Cost: one look at mapped_twice for each synchronisation until a file is mapped twice.
 * Concurrency: a spin lock of its own, held while busy.
 */
#ifndef HEDDLE_RUNTIME_CORE_MAPPED_H
#define HEDDLE_RUNTIME_CORE_MAPPED_H

#include "runtime/core/state.h"

struct mapped_file {
    uint64_t device, inode;
    uint64_t low, high; /* what is mapped of it */
};

extern HIDDEN bool mapped_twice; /* some part of a file is, or was */

/* True if a part of the file is mapped elsewhere, or nobody can tell any more. */
HIDDEN bool mapped_add(uint64_t address, const struct mapped_file *file);
HIDDEN void mapped_remove(uint64_t address, uint64_t bytes);
/* Where the part of a file at `from` went. True as mapped_add(). */
HIDDEN bool mapped_move(uint64_t from, uint64_t to, uint64_t bytes);
HIDDEN void mapped_forked(void);

HIDDEN uint64_t mapped_first(uint64_t address);

/* The address that stands for the object at this one. */
static inline uint64_t mapped_object(uint64_t address)
{
    return likely(!__atomic_load_n(&mapped_twice, __ATOMIC_RELAXED)) ? address
                                                                     : mapped_first(address);
}

#endif
