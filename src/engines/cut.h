/* cut.h - can a recording be cut here?
 *
 * A part of a long trace (trace/parts.h) comes after all before it as recorded.
 * Where plain accesses are not in exact order, "as recorded" must mean "as it
 * happened": the events before the cut, with what their reads really saw, must
 * be the beginning of the execution. That fails only if some read before the
 * cut saw a write behind it. Synchronisation is exact, so the true time of an
 * access lies between its thread's synchronisation before it and the next one.
 * So the cut is clean unless a read that is not certain (certain.h), whose
 * thread synchronises again after some time e, meets a write behind the cut,
 * of another thread and to the same word, whose thread has synchronised last
 * before e.
 *
 * Cost: an entry for each word with an uncertain read.
 */
#ifndef HEDDLE_ENGINES_CUT_H
#define HEDDLE_ENGINES_CUT_H

#include "engines/certain.h"

struct cut;

/* Borrows what is certain. */
struct cut *cut_new(const struct certain *c);
void cut_free(struct cut *c);

/* The next event before the cut; `cut` is a struct cut. */
void cut_add(void *cut, const struct event *e, uint64_t position);
/* Is the cut clean, with these events behind it? */
bool cut_is_clean(const struct cut *c, const struct event *rest, size_t count);

#endif
