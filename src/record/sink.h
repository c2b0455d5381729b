/* sink.h - the file a recording goes to, shared by the threads of the writer
 *
 * `lock` protects everything here: tables, file, and what is noted about the
 * process. When the file must not grow any more (full disk, size limit)
 * `stopped` is set, and the process is told to record no more.
 *
 * Chunks are staged in memory, and go to the file together, oldest first, when
 * all threads have been brought up to date: what is in the file can be ordered
 * at any moment, since what it depends on is there, too.
 *
 * The size limit is foreseen: what the encoders hold counts, so that it still
 * fits. Chunks that were begun before the newest event of the file are taken
 * even then, since others may depend on them; those begun later are dropped.
 * One that does not fit all the same takes the place of those that were begun
 * later, and where there are none, the file ends at its stamp; one that cannot be
 * written ends the file (`failed`). So it has a prefix of each thread's events.
 */
#ifndef HEDDLE_RECORD_SINK_H
#define HEDDLE_RECORD_SINK_H

#include <pthread.h>
#include <stdbool.h>

#include "record/ring.h"
#include "trace/hdl/codec.h"
#include "trace/hdl/hdl.h"

struct sink {
    pthread_mutex_t lock;
    struct tables tables;
    struct hdl_writer *hdl;
    struct ring *ring;
    char *path;                   /* of the file */
    uint64_t keep_ns, keep_bytes; /* only the last so many are kept (tail.h); 0: all */
    uint64_t max_bytes;           /* 0: any size */
    uint64_t reserve;             /* of these, for what stands behind the last events */
    struct staged *staged;        /* chunks that are not in the file yet */
    size_t nstaged, staged_cap;
    uint64_t staged_bytes, staged_count;
    uint64_t cut;                     /* stamp that has no place any more; 0: none yet */
    uint64_t newest;                  /* stamp of the last event that was appended */
    uint64_t raw_bytes, stored_bytes; /* of what was appended, before and after compression */
    uint64_t over_ns; /* atomic, with `stopped`: chunks that were begun later are not taken */
    bool stopped;     /* atomic; read without the lock */
    bool failed;      /* writing did: nothing more is appended */
};

struct sink_options {
    const char *directory;
    const char *name; /* of the file, %p is the process; NULL: "%p" */
    const char *list; /* file in the directory that gets the new one's name, or NULL */
    uint64_t max_bytes;
    uint64_t keep_ns, keep_bytes;
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
    return __atomic_load_n(&o->stopped, __ATOMIC_ACQUIRE);
}

/* Is a chunk that was begun at that time (CLOCK_MONOTONIC) to be dropped? */
static inline bool sink_is_over(const struct sink *o, uint64_t begun_ns)
{
    return __builtin_expect(sink_is_stopped(o), 0) &&
           begun_ns > __atomic_load_n(&o->over_ns, __ATOMIC_RELAXED);
}

/* Encoders hold so many bytes that are not appended yet, with events up to this stamp: stops where
 * the file will reach its limit with them. Takes the lock. */
void sink_stop_at_limit(struct sink *o, uint64_t pending, uint64_t stamp);
static inline void sink_check_size(struct sink *o, uint64_t pending, uint64_t stamp)
{
    if (__builtin_expect(o->max_bytes != 0, 0) && !sink_is_stopped(o))
        sink_stop_at_limit(o, pending, stamp);
}

uint64_t sink_bytes(struct sink *o); /* of the file with what is staged; takes the lock */
uint64_t sink_part(struct sink *o, unsigned parts); /* of these, before compression; likewise */
uint64_t sink_raw_bytes(struct sink *o,
                        uint64_t stored); /* what is so much in the file; likewise */
/* The process as it is known now, so that a file that is cut says why; takes the lock. */
void sink_tell_process(struct sink *o);

/* Stage a chunk of a thread's events; takes the lock. False: it has no place, nor have later ones.
 */
bool sink_append(struct sink *o, const struct hdl_packer *p, uint32_t thread, uint64_t first,
                 uint64_t stamp_first, uint64_t stamp_last);
/* What is staged, and was begun up to then, goes to the file; takes the lock. */
void sink_commit(struct sink *o, uint64_t stamp);
/* Threads up to this number have names from here on; takes the lock. */
void sink_name_threads(struct sink *o, uint32_t thread);
/* A line for the user, kept with the process; lock held. The first few only. */
void sink_note(struct sink *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
