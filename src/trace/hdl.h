/* hdl.h - writing Heddle's own trace format
 *
 * docs/format/hdl.md is the normative description. `convert` writes the
 * merged layout (all threads in one total order), recording the per-thread
 * layout. Reading is a source (hdl_open in source.h).
 *
 * The file appears under its own name only when hdl_finish() succeeded; until
 * then it has a temporary name (base/tempfile.h), and hdl_abort() removes it.
 */
#ifndef HEDDLE_TRACE_HDL_H
#define HEDDLE_TRACE_HDL_H

#include "trace/trace.h"

enum hdl_compression { HDL_RAW = 0, HDL_LZ4 = 1, HDL_ZSTD = 2 };

struct hdl_options {
    enum hdl_compression compression;
    int level;             /* zstd level; 0 is the default (1) */
    uint32_t chunk_events; /* 0 is the default (65536) */
    enum trace_order order;
    bool threads;      /* the file has per-thread chunks (hdl_write_thread) */
    uint64_t stamp_ns; /* how fine the stamps of per-thread chunks are, 0 not a time */
};

/* A stretch of one thread's events. */
struct hdl_stream {
    const struct event *events;
    const uint64_t *sequences; /* 1, 2, ... on each object; 0: the event has none */
    const uint64_t *stamps;    /* never decreasing within a thread */
    const uint64_t *extra;
    size_t count;
};

struct hdl_writer;

/* `tables` is borrowed and may grow while events are written; what is known of a name (its
 * text, a site's function) must be there when events that use it are written. */
struct hdl_writer *hdl_create(const char *path, const struct tables *tables,
                              const struct hdl_options *options, struct error *err);
/* Batches must be consecutive. A D has at most CALL_ENTRIES_MAX entries (format.h). */
int hdl_write(struct hdl_writer *w, const struct batch *b, struct error *err);
/* The per-thread layout: `first` counts the thread's events before these. A file has one
 * layout or the other. */
int hdl_write_thread(struct hdl_writer *w, uint32_t thread, uint64_t first,
                     const struct hdl_stream *s, struct error *err);
/* Complete the file and free the writer, also when it fails. */
int hdl_finish(struct hdl_writer *w, struct error *err);
/* Give up: remove what was written and free the writer. */
void hdl_abort(struct hdl_writer *w);

#endif
