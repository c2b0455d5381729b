/* sink.h - the file a recording goes to, shared by the threads of the writer
 *
 * `lock` protects everything here: tables, file, and what is noted about the
 * process. When the file must not grow any more (full disk, size limit)
 * `stopped` is set, the process is told to record no more, and chunks that
 * still come are dropped: a file is then a prefix of each thread's events.
 * Events that were decoded by then are still written, unless writing failed.
 */
#ifndef HEDDLE_RECORD_SINK_H
#define HEDDLE_RECORD_SINK_H

#include <pthread.h>
#include <stdbool.h>

#include "record/ring.h"
#include "trace/codec.h"
#include "trace/hdl.h"

struct sink {
    pthread_mutex_t lock;
    struct tables tables;
    struct hdl_writer *hdl;
    struct ring *ring;
    uint64_t max_bytes; /* 0: any size */
    bool stopped;       /* atomic; read without the lock */
    bool failed;        /* writing did */
};

struct sink_options {
    const char *directory;
    const char *name; /* of the file, %p is the process; NULL: "%p" */
    const char *list; /* file in the directory that gets the new one's name, or NULL */
    uint64_t max_bytes;
    enum hdl_compression compression;
    int level;
};

/* Makes the file, "PID.hdl", or "PID-2.hdl" where that exists ..., and locks it (flock). */
int sink_open(struct sink *o, struct ring *r, const struct sink_options *options,
              struct error *err);
/* Completes the file; -1 where that failed (it is readable all the same). */
int sink_close(struct sink *o, struct error *err);

static inline bool sink_is_stopped(const struct sink *o)
{
    return __atomic_load_n(&o->stopped, __ATOMIC_RELAXED);
}

/* A chunk of a thread's events; takes the lock. */
void sink_append(struct sink *o, const struct hdl_packer *p, uint32_t thread, uint64_t first,
                 uint64_t stamp_first, uint64_t stamp_last);
/* Threads up to this number have names from here on; takes the lock. */
void sink_name_threads(struct sink *o, uint32_t thread);
/* A line for the user, kept with the process; lock held. The first few only. */
void sink_note(struct sink *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
