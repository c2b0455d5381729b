/* merge.h - per-thread chunks to one order
 *
 * The order respects each thread's own order and, on every object, the
 * sequence numbers that the runtime took while it owned the object; within
 * that freedom events come in the order of their stamps. An event whose
 * predecessor on its object is missing (lost at a crash) ends its thread: the
 * result is always a prefix that could have been observed.
 *
 * Where the beginning of the file is gone, the events that stand for it come first, and threads and
 * stripes go on from where the cut says (seam.h).
 */
#ifndef HEDDLE_TRACE_HDL_MERGE_H
#define HEDDLE_TRACE_HDL_MERGE_H

#include "trace/hdl/seam.h"
#include "trace/hdl/hdl_file.h"

struct merge;

/* The file and tables are borrowed. */
struct merge *merge_new(struct hdl_file *f, const struct tables *t, struct trace_info *info);
void merge_free(struct merge *m);

/* 1 and a batch, 0 at the end. */
int merge_next(struct merge *m, struct batch *out);
void merge_rewind(struct merge *m);

/* As trace_thin(). */
void merge_thin(struct merge *m, const struct trace_thin *thin);

/* For a file that grows; to be said before the first event is taken. merge_next() then returns 0
 * where nothing more can come now, and its order goes by sequence numbers, not by values; by
 * stamps only as far as the file goes. */
void merge_follow(struct merge *m);
/* The file's chunks from this number on are new. `over`: they are the last. */
void merge_more(struct merge *m, size_t from, bool over);
/* For a file that grows: only events up to this stamp come. */
void merge_limit(struct merge *m, uint64_t stamp);
/* Has a thread ended because something of it could not be read? */
bool merge_has_lost(const struct merge *m);
/* Events of its chunks that are gone. */
uint64_t merge_gone(const struct merge *m);
/* How far threads and stripes are, and which blocks are allocated, into `c`; which chunk is the
 * first that is not done with (the file's number of chunks where all are). */
size_t merge_seam(const struct merge *m, struct seam *c);

#endif
