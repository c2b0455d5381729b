/* teller.h - how check_trace.c and lockcheck.c word their diagnoses
 *
 * Knows the event at hand, the names, and whether the event was already seen
 * in an earlier pass (then nothing is told again).
 */
#ifndef HEDDLE_TRACE_CHECK_TELLER_H
#define HEDDLE_TRACE_CHECK_TELLER_H

#include "base/buf.h"
#include "trace/check/diag.h"
#include "trace/tables.h"

struct teller {
    const struct tables *tables; /* borrowed */
    struct diags *diags;         /* borrowed */
    uint64_t position;           /* of the event being checked */
    uint64_t told;               /* events before this position were told in an earlier pass */
    struct buf name;             /* scratch of teller_object() */
};

void teller_release(struct teller *t);

/* False: the text would not be kept, so do not go looking for details. */
bool teller_wants(const struct teller *t, enum diag_kind kind);

const char *teller_thread(const struct teller *t, uint32_t thread);
const char *teller_function(const struct teller *t, uint64_t function);
const char *teller_object(struct teller *t, uint64_t target); /* valid until the next call */

/* A diagnosis about the event at hand, or about an earlier one. */
void tell(struct teller *t, enum diag_kind kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void tell_at(struct teller *t, enum diag_kind kind, uint64_t position, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

#endif
