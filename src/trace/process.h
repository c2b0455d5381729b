/* process.h - which process a recorded trace is of, and what was left out of it
 *
 * Written by the recorder into chunks of kind 5 (process) and 6 (images);
 * docs/format/hdl.md has the bytes. Traces that were not recorded have none:
 * `known` is false.
 * Ownership: strings and arrays belong to the struct.
 */
#ifndef HEDDLE_TRACE_PROCESS_H
#define HEDDLE_TRACE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Numbers of a process; part of the format: append only. */
enum process_number {
    PROCESS_PID,
    PROCESS_MODE,         /* enum ring_mode: 1 record, 2 full */
    PROCESS_FILTER,       /* 1: the filter was on */
    PROCESS_START_NS,     /* since 1970 */
    PROCESS_CLOCK_NS,     /* the stamp at that moment */
    PROCESS_END,          /* enum process_end */
    PROCESS_STATUS,       /* exit status, or the signal's number */
    PROCESS_LOST,         /* accesses lost because the writer lagged */
    PROCESS_FILTERED,     /* accesses dropped by the filter's slow half */
    PROCESS_LATE,         /* events of threads after their end */
    PROCESS_IGNORED,      /* accesses ignored on request */
    PROCESS_OVERRUNS,     /* shadow stacks that were too small */
    PROCESS_DAMAGED,      /* chunks of raw records that were damaged */
    PROCESS_DROPPED,      /* chunks dropped after the file could not grow any more */
    PROCESS_MODULES_LOST, /* modules that did not fit the log */
    PROCESS_FORKED,       /* 1: made by fork(), it went on with its parent's memory and locks */
    PROCESS_NUMBERS,
    PROCESS_LOSSES_END = PROCESS_FORKED /* those from PROCESS_LOST on say what is missing */
};
extern const char *const process_number_names[PROCESS_NUMBERS]; /* "accesses lost" ... */

enum process_end {
    PROCESS_RUNNING, /* not over when this was written */
    PROCESS_GONE,    /* over, nothing more is known */
    PROCESS_EXITED,  /* with a status */
    PROCESS_KILLED,  /* by a signal */
    PROCESS_EXECED   /* went on as another program */
};

struct process_thread {
    uint32_t thread;  /* number in the table of threads */
    uint32_t tid;     /* of the system */
    uint64_t pointer; /* its pthread_t, below which its thread-local variables are; 0: not known */
    char *name;       /* as pthread_setname_np() set it, or NULL */
};

/* Each thread has the thread-local variables of an image `offset` bytes below its pointer. */
struct process_tls {
    uint32_t image; /* number in the table of images */
    uint64_t offset, bytes;
};

struct process {
    bool known;
    uint64_t numbers[PROCESS_NUMBERS];
    char *command; /* the command line, arguments separated by blanks; or NULL */
    char **notes;  /* for the user: what went wrong or was left out */
    size_t nnotes, notes_cap;
    struct process_thread *threads; /* those that have a system thread */
    size_t nthreads, threads_cap;
    struct process_tls *tls; /* by image; not those whose variables are elsewhere in each thread */
    size_t ntls, tls_cap;
};

/* An executable or library of the process. */
struct image {
    char *path;
    uint8_t build_id[32];
    uint32_t build_id_bytes;
    bool traced;             /* has sites of its own */
    uint32_t modules, sites; /* translation units compiled for tracing, and their sites */
    uint64_t base;           /* what an address has above the ELF file's own */
    uint64_t low, high;      /* addresses it occupies */
};

/* So begins the note that says why nothing more was recorded: the size limit, a full disk. */
#define PROCESS_STOPPED "recording stopped: "
/* That of a recording whose accesses were left out for a time (record --stopped, heddle ctl). */
#define PROCESS_PAUSED "accesses were not recorded all the time: recording was stopped on request"

void process_release(struct process *p); /* a zeroed struct is empty */
/* The thread, or NULL; the name the program gave it, or NULL. */
const struct process_thread *process_thread(const struct process *p, uint32_t thread);
const char *process_thread_name(const struct process *p, uint32_t thread);
/* Was the recording of accesses stopped for a time? */
bool process_was_paused(const struct process *p);
/* "exited with status 3", "killed by signal 9 (KILL)"; NULL while running. */
const char *process_end_text(const struct process *p, char *text, size_t n);

void process_add_note(struct process *p, const char *text, size_t n);
void process_add_thread(struct process *p, uint32_t thread, uint32_t tid, uint64_t pointer,
                        const char *name, size_t n);
/* In ascending order; what makes no sense (bytes 0 or above the offset) is left out. */
void process_add_tls(struct process *p, uint32_t image, uint64_t offset, uint64_t bytes);

/* The bytes of a chunk's column and back; count is the number of entries. */
uint32_t process_encode(const struct process *p, struct buf *out);
int process_decode(struct process *p, uint32_t count, const uint8_t *at, const uint8_t *end);
void image_encode(const struct image *m, struct buf *out);
/* The image at `at`, which moves on; -1: damaged. */
int image_decode(struct image *m, const uint8_t **at, const uint8_t *end);

#endif
