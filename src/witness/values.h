/* values.h - the values of a schedule in which reads see something else
 *
 * Evaluates the expressions of an execution (execution/execution.h) along a schedule, byte by
 * byte, and says at the first event that could not be what it is why. It shares nothing with
 * the engine that made the schedule but the definition of the nodes.
 *
 * Values are SAME (as recorded, known or not), OTHER (known) or BAD (they depend on something
 * that changed, in a way that nothing tells). docs/design/recipe.md has the rules.
 *
 * Concurrency: none. Between schedules: changing_clear().
 */
#ifndef HEDDLE_WITNESS_VALUES_H
#define HEDDLE_WITNESS_VALUES_H

#include "base/error.h"
#include "execution/execution.h"

#define VALUES_NONE UINT32_MAX

/* A part of an access: one cell of memory. */
struct values_cell {
    uint32_t life;          /* which memory */
    uint64_t offset, bytes; /* in the access */
    uint32_t observed;      /* the event that wrote it last in the trace, VALUES_NONE: nobody */
    bool hidden;            /* untraced code may have written it since, and had not in the trace */
};

struct changing;

struct changing *changing_new(const struct execution *e, size_t nthreads, size_t nlives);
void changing_free(struct changing *v);
const struct execution *changing_execution(const struct changing *v);
/* What a piece of memory holds at the beginning. */
void changing_set_first(struct changing *v, uint32_t life, uint64_t value);

/* What the record says about a part of an access: what it read, or wrote. */
bool changing_recorded(const struct changing *v, uint32_t event, bool write, uint64_t offset,
                       uint64_t bytes, uint64_t *value);

/* Is the event what it is, after what its thread has read? Before each event, and for the two that
 * race. */
bool changing_check_next(struct changing *v, uint32_t event, struct error *err);
/* All reads of the thread so far must be SAME: a call's callback, code that is not known. */
bool changing_check_same(struct changing *v, uint32_t event, struct error *err);

/* An access, cell by cell; reads first. */
void changing_read(struct changing *v, uint32_t event, const struct values_cell *c);
void changing_write(struct changing *v, uint32_t event, const struct values_cell *c);
void changing_fork(struct changing *v, uint32_t parent, uint32_t child);
/* Does the memory hold what that writer wrote there in the trace? */
bool changing_is_same(const struct changing *v, uint32_t life, uint32_t writer);

/* What a read saw, if that was not what it saw in the trace; *known: its value is. *writer: of the
 * first byte that differs. */
bool changing_changed(const struct changing *v, uint32_t event, uint64_t *value, bool *known,
                      uint32_t *writer);

void changing_clear(struct changing *v);

#endif
