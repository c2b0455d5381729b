/* merge.h - per-thread chunks to one order
 *
 * The order respects each thread's own order and, on every object, the
 * sequence numbers that the runtime took while it owned the object; within
 * that freedom events come in the order of their stamps. An event whose
 * predecessor on its object is missing (lost at a crash) ends its thread: the
 * result is always a prefix that could have been observed.
 */
#ifndef HEDDLE_TRACE_MERGE_H
#define HEDDLE_TRACE_MERGE_H

#include "trace/hdl_file.h"

struct merge;

/* The file and tables are borrowed. */
struct merge *merge_new(const struct hdl_file *f, const struct tables *t, struct trace_info *info);
void merge_free(struct merge *m);

/* 1 and a batch, 0 at the end. */
int merge_next(struct merge *m, struct batch *out);
void merge_rewind(struct merge *m);

#endif
