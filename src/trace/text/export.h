/* export.h - writing a trace in the text format or in a format of other tools
 *
 * What a format cannot say is left out and counted, never silently: ask
 * export_lost() before export_finish(). docs/format/foreign.md says what maps
 * to what. A path that ends in ".gz" or ".zst" is compressed. The file
 * appears under its own name only when export_finish() succeeded.
 *
 *     struct exporter *e = export_open(path, EXPORT_STD, trace_tables(t), &err);
 *     while (...) export_write(e, &batch, &err);
 *     export_finish(e, &err);
 */
#ifndef HEDDLE_TRACE_TEXT_EXPORT_H
#define HEDDLE_TRACE_TEXT_EXPORT_H

#include "base/buf.h"
#include "trace/trace.h"

enum export_format { EXPORT_STD, EXPORT_RR, EXPORT_CSV, EXPORT_RVP };

struct export_lost {
    uint64_t ops[OP_COUNT];   /* events left out, by operation */
    uint64_t values;          /* values left out */
    uint64_t invented_values; /* accesses without a value, written with 0 (rvp) */
    uint64_t orders;          /* atomics whose memory order became seq_cst */
    uint64_t ranges;          /* accesses whose address and size became a name (rr, csv) */
};

struct exporter;

/* The format and compression that a file name asks for: -1 where it names none of these. */
int export_format_of(const char *path);

/* `tables` is borrowed and may grow while events are written. */
struct exporter *export_open(const char *path, enum export_format format,
                             const struct tables *tables, struct error *err);
/* Batches must be consecutive. */
int export_write(struct exporter *e, const struct batch *b, struct error *err);
/* What was left out so far; valid until the exporter is freed. */
const struct export_lost *export_lost(const struct exporter *e);
/* Complete the file and free the exporter, also when it fails. */
int export_finish(struct exporter *e, struct error *err);
/* Give up: remove what was written and free the exporter. NULL is allowed. */
void export_abort(struct exporter *e);

/* Append "12 fence, 3 values, ..." to b; false (and nothing appended) where nothing was lost. */
bool export_lost_text(const struct export_lost *lost, struct buf *b);

#endif
