/* hdl_file.h - a .hdl file as a list of chunks
 *
 * Opening maps the file and walks the chunk headers once; everything behind
 * the first damaged header or names chunk is counted as lost, nothing of it is
 * used, because events whose past is missing would make false alarms. Payloads
 * of events are checked when they are read.
 * Where the beginning of a recording is gone, the chunks that stand for it come first (`past`); the
 * others have their numbers from `start.number` on.
 * The mapping shows the file as it was long when it was opened: one that grows
 * is fine. One that is made shorter meanwhile ends the process (SIGBUS), but for one that is
 * followed (hdl_file_grow()): that is read.
 */
#ifndef HEDDLE_TRACE_HDL_HDL_FILE_H
#define HEDDLE_TRACE_HDL_HDL_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "trace/hdl/format.h"
#include "trace/tables.h"
#include "trace/trace.h"

struct hdl_chunk {
    struct hdl_chunk_header header;
    uint64_t offset; /* of the payload */
    uint64_t before; /* events in the chunks before it */
};

struct hdl_file {
    const uint8_t *map; /* of its first `mapped` bytes */
    uint64_t mapped;
    uint64_t looked_at; /* bytes of payloads, since the system was last told to let go of them */
    int fd;             /* of a file that grows: read, since it may be made shorter; else -1 */
    uint8_t *buffer;    /* the payload that was read last; owned */
    size_t buffer_cap;
    uint64_t size;
    struct hdl_file_header header;
    struct hdl_start start;   /* with HDL_FEATURE_PAST */
    struct hdl_chunk *chunks; /* without the first `gone` */
    size_t count, cap;        /* `count` with those that are gone */
    size_t gone;
    size_t past; /* chunks before this one stand for a beginning that is gone */
    uint64_t events;
    bool locked;    /* somebody writes it */
    bool complete;  /* ends with an end chunk */
    char stop[160]; /* why nothing is used from `count` on; empty where nothing is there */
};

int hdl_file_open(struct hdl_file *f, const char *path, struct error *err);
void hdl_file_close(struct hdl_file *f);

/* The file may grow: keep it open. -1 where that cannot be. */
int hdl_file_follow(struct hdl_file *f, const char *path);
/* Chunks that were added since, and their names into the tables. */
void hdl_file_grow(struct hdl_file *f, struct tables *t);

/* Has what comes next been dropped before it was read? */
bool hdl_file_is_overtaken(const struct hdl_file *f);
/* Chunks before this number are of no use any more; only of a file that grows. */
void hdl_file_forget(struct hdl_file *f, size_t chunk);

static inline struct hdl_chunk *hdl_file_chunk(const struct hdl_file *f, size_t chunk)
{
    return &f->chunks[chunk - f->gone];
}

/* The payload, after its checksum was found right; NULL and an error else. Valid until the next
 * call. */
const uint8_t *hdl_file_payload(struct hdl_file *f, size_t chunk, struct error *err);
/* All chunks of names, sites' parents and variables, images and the process into the tables. The
 * file stops before a damaged one. */
void hdl_file_names(struct hdl_file *f, struct tables *t);

/* Note in info that everything from this chunk on (or, at count, behind the last one) is lost. */
void hdl_file_lost(const struct hdl_file *f, size_t chunk, const char *why,
                   struct trace_info *info);

#endif
