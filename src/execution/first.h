/* first.h - what variables hold before anybody writes them
 *
 * Of variables that only traced code can name (own.c) it is what the initialiser says, unless
 * the trace shows something else: then the variable is left out. Addresses in initialisers
 * are not constants; variables that have some are left out as a whole.
 *
 * Nothing is known where the walk lost its place (then code ran that nobody saw) and in a process
 * that began as a copy of another. Read only once listed.
 */
#ifndef HEDDLE_EXECUTION_FIRST_H
#define HEDDLE_EXECUTION_FIRST_H

#include "trace/trace.h"

struct walk;

struct firsts {
    struct first_variable {
        uint64_t address, bytes;
        const uint8_t *data; /* in `data` */
    } *list;                 /* by address */
    size_t count;
    uint8_t *data; /* of all of them */
};

/* Of the variables that the walk met, at its end; the trace is the one that was walked. */
void firsts_list(struct firsts *f, struct walk *w, const struct trace_mem *trace);
void firsts_release(struct firsts *f); /* a zeroed struct is empty */
/* At most 8 bytes of one variable; false: not known. */
bool firsts_value(const struct firsts *f, uint64_t address, uint64_t bytes, uint64_t *value);

#endif
