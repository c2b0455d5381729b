/* naming.h - names for what a recorded program's trace has only as addresses
 *
 * Globals and lock objects are named from the files of the process (symbol/),
 * if they are still there with the build ids of the recording; nothing is
 * opened before a name is asked for. C++ names become readable.
 * Thread-local variables of the program and of libraries that were there when it started are
 * equally far below the pointer of each thread. Those of a library that came later are in a block
 * for each thread, which is known by its size; of libraries with equal sizes nothing is said.
 * For traces that were not recorded all answers are what the tables say.
 */
#ifndef HEDDLE_REPORT_NAMING_H
#define HEDDLE_REPORT_NAMING_H

#include "base/map.h"
#include "report/findings.h"

struct naming {
    struct findings *home;           /* borrowed: owns the strings */
    const struct tables *tables;     /* borrowed */
    struct symbolizer *symbols;      /* NULL: not a recorded trace */
    struct map functions;            /* linkage name (its address) -> number in home->strings */
    struct naming_pointer *pointers; /* of threads, by address; owned */
    size_t npointers;
    uint64_t reach; /* thread-local variables are at most so far below a pointer */
};

/* Thread-local storage. */
struct naming_storage {
    const char *variable; /* "table[3].next", or NULL: unknown */
    uint32_t thread;      /* whose it is; UINT32_MAX: one of several */
};

void naming_init(struct naming *n, struct findings *home, const struct tables *t);
void naming_release(struct naming *n);

/* The readable form of a function's linkage name; NULL stays NULL. */
const char *naming_function(struct naming *n, const char *linkage_name);
/* A location of a recorded program without "." and ".." in the file's name; others as they are. */
const char *naming_location(struct naming *n, const char *location);
/* A lock or another synchronisation object: "m", "table[3].lock", "lock 0x7f00". */
const char *naming_object(struct naming *n, uint64_t target);
/* A global or static variable: "table[3].next"; NULL where that is none. */
/* Does the memory stand for a file descriptor of the program? */
bool naming_is_descriptor(struct naming *n, uint64_t address);
const char *naming_global(struct naming *n, uint64_t address, uint64_t bytes);

/* Is an address in the thread-local storage of a thread? `thread`: whose stack and storage are
 * there by what the trace says, or UINT32_MAX: it says nothing. */
bool naming_thread_local(struct naming *n, uint64_t address, uint64_t bytes, uint32_t thread,
                         struct naming_storage *out);
/* Is a block that the dynamic loader allocated the storage that a thread has for a library that was
 * loaded later? The block: `address` is `offset` bytes inside of one of `block` bytes. */
bool naming_loaded_local(struct naming *n, uint64_t address, uint64_t bytes, uint64_t offset,
                         uint64_t block, const char **variable);
/* Does the trace say where the thread-local storage of a thread is? */
bool naming_knows_storage(const struct naming *n, uint32_t thread);

/* True for an address on the stack that the process started with (x86-64 Linux). */
bool naming_is_main_stack(const struct naming *n, uint64_t address);

/* The headers and libraries of the system: a reader looks for his own code first. */
bool location_is_system(const char *location);

#endif
