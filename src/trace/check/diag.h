/* diag.h - what is odd about a trace, and what was done about it
 *
 * A diagnosis names the event it is about. The first DIAG_KEEP of each kind
 * are kept word for word, the rest only counted, so a broken trace cannot
 * fill the memory.
 */
#ifndef HEDDLE_TRACE_CHECK_DIAG_H
#define HEDDLE_TRACE_CHECK_DIAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DIAG_KEEP = 8 };

enum diag_level {
    DIAG_NOTE,    /* normal, worth knowing: a lock still held at the end */
    DIAG_REPAIRED /* impossible; the analysis went on with the reading that is named */
};

enum diag_kind {
    DIAG_OPEN_LOCK,
    DIAG_THREAD_NAME,
    DIAG_RELEASE_UNHELD,
    DIAG_RELEASE_FOREIGN,
    DIAG_ACQUIRE_HELD,
    DIAG_FORK_AGAIN,
    DIAG_FORK_LATE,
    DIAG_FORK_SELF,
    DIAG_JOIN_UNKNOWN,
    DIAG_JOIN_SELF,
    DIAG_AFTER_END,
    DIAG_AFTER_JOIN,
    DIAG_BEGIN_LATE,
    DIAG_RETURN_UNMATCHED,
    DIAG_VALUE_MISMATCH,
    DIAG_KINDS
};

struct diag {
    enum diag_kind kind;
    uint64_t position;
    char *text; /* owned */
};

struct diags {
    struct diag *list; /* in order of appearance */
    size_t count, cap;
    uint64_t total[DIAG_KINDS]; /* all, kept or not */
};

void diags_release(struct diags *d); /* a zeroed struct is empty */

enum diag_level diag_level(enum diag_kind kind);
const char *diag_kind_name(enum diag_kind kind); /* "acquire-held" */
uint64_t diags_repaired(const struct diags *d);  /* number of DIAG_REPAIRED ones */
/* May one of this kind mean that synchronisation is missing from the trace, or not in its order?
 * How many do. */
bool diag_is_unsure(enum diag_kind kind);
uint64_t diags_unsure(const struct diags *d);

void diag_add(struct diags *d, enum diag_kind kind, uint64_t position, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

#endif
