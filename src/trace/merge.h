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
struct merge *merge_new(struct hdl_file *f, const struct tables *t, struct trace_info *info);
void merge_free(struct merge *m);

/* 1 and a batch, 0 at the end. */
int merge_next(struct merge *m, struct batch *out);
void merge_rewind(struct merge *m);

/* For a file that grows; to be said before the first event is taken. merge_next() then returns 0
 * where nothing more can come now, and its order goes by sequence numbers, not by values; by
 * stamps only as far as the file goes. */
void merge_follow(struct merge *m);
/* The file's chunks from this number on are new. `over`: they are the last. */
void merge_more(struct merge *m, size_t from, bool over);

#endif
