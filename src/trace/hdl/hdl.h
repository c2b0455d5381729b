/* hdl.h - writing Heddle's own trace format
 *
 * docs/format/hdl.md is the normative description. `convert` writes the
 * merged layout (all threads in one total order), recording the per-thread
 * layout. Reading is a source (hdl_open in source.h).
 *
 * The file appears under its own name only when hdl_finish() succeeded; until
 * then it has a temporary name (base/tempfile.h), and hdl_abort() removes it.
 * Recording is different (in_place): the file has its name from the start, so
 * that what is there can be read whatever happens to the writer.
 *
 * Concurrency: one thread at a time per writer; but hdl_pack(), the work that
 * costs, needs only a packer and an encoder, so that several threads can each
 * fill and pack chunks, and append them in whatever order is best for a reader
 * of half a file.
 */
#ifndef HEDDLE_TRACE_HDL_HDL_H
#define HEDDLE_TRACE_HDL_HDL_H

#include "trace/trace.h"

enum hdl_compression { HDL_RAW = 0, HDL_LZ4 = 1, HDL_ZSTD = 2 };

struct hdl_options {
    enum hdl_compression compression;
    int level;             /* zstd level; 0 is the default (1) */
    uint32_t chunk_events; /* 0 is the default (65536) */
    enum trace_order order;
    bool threads;      /* the file has per-thread chunks (hdl_write_thread) */
    uint64_t stamp_ns; /* how fine the stamps of per-thread chunks are, 0 not a time */
    bool stripes;      /* sequence numbers count per stripe (abi/rt_stripe.h) */
    bool stretches;    /* per-thread chunks may have records of stretches (stretch.h) */
    bool moves;        /* ... and moves (moves.h) */
    bool lists;        /* in_place: calls may have lists of any kind; else that is found out */
    bool repeats;      /* ... and repeats */
    bool requests;     /* in_place: there may be requests; else that is found out */
    bool loose;        /* in_place: there may be events marked EV_LOOSE; else that is found out */
    bool past;         /* in_place: the beginning may be dropped (hdl_drop) */
    bool in_place;     /* write to `fd`, which is the file `path` already; it is owned */
    int fd;
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
struct hdl_packer;
struct encoder;

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
/* The process and its images as the tables know them now; hdl_finish() writes them once more. */
int hdl_write_process(struct hdl_writer *w, struct error *err);
uint64_t hdl_bytes(const struct hdl_writer *w); /* written so far */

/* ---- recording: chunks of one thread, packed elsewhere ---- */

struct hdl_packer *hdl_packer_new(enum hdl_compression compression, int level);
void hdl_packer_free(struct hdl_packer *p);
/* Compress what the encoder holds, at least one event. */
void hdl_pack(struct hdl_packer *p, struct encoder *e);
/* Bytes of what was packed last: of its columns, before compression and after, and beside them. */
struct hdl_packed {
    uint64_t raw, stored, overhead;
};
struct hdl_packed hdl_packed(const struct hdl_packer *p);
/* A chunk of a thread's events, to be appended: what was packed last. */
struct hdl_packet;
struct hdl_packet *hdl_packet_new(const struct hdl_packer *p, uint32_t thread, uint64_t first,
                                  uint64_t stamp_first, uint64_t stamp_last);
void hdl_packet_free(struct hdl_packet *c);
/* Append names that are new. */
int hdl_append_names(struct hdl_writer *w, struct error *err);
/* Append a chunk, with all names that are new. After an error the file ends with its last whole
 * chunk, and may be tried again. */
int hdl_append(struct hdl_writer *w, const struct hdl_packet *c, struct error *err);

/* ---- recording: only the end is kept ---- */

/* What stands for a beginning that is dropped: seam.h, past.h. */
struct hdl_past {
    const struct seam *seam;
    const struct trace_mem *events;
};

/* The bytes of the file from its first chunk on that is kept. */
uint64_t hdl_kept(const struct hdl_writer *w);
/* The stamp of the first chunk of events of the last that have at most so many bytes; 0: all have.
 */
uint64_t hdl_stamp_before(const struct hdl_writer *w, uint64_t bytes);
/* The stamp of the first chunk of events that is kept; 0: there is none. */
uint64_t hdl_stamp_first(const struct hdl_writer *w);
/* The bytes that go when chunk `number` becomes the first. */
uint64_t hdl_bytes_before(const struct hdl_writer *w, uint32_t number);
/* Chunk `number` becomes the first, with `p` for all before it; the disk space of these is given
 * back where the file system can do that (-1 and an error else, but then it is done all the same).
 * Whenever the writer is killed, the file begins here or where it began before. */
int hdl_drop(struct hdl_writer *w, uint32_t number, const struct hdl_past *p, struct error *err);

/* What is kept of the recording `path`, which may be running, as a complete file; nothing takes its
 * place when that fails. */
int hdl_copy(const char *path, const char *copy, struct error *err);

/* Complete the file and free the writer, also when it fails. */
int hdl_finish(struct hdl_writer *w, struct error *err);
/* Give up: remove what was written (not in_place) and free the writer. */
void hdl_abort(struct hdl_writer *w);

#endif
