/* tracedir.h - the traces of a directory
 *
 * A recording leaves a file for each process: PID.hdl, and PID-2.hdl, PID-3.hdl
 * where the process became another program (exec). While it writes, the
 * writer holds a lock (flock, exclusive) on its file.
 */
#ifndef HEDDLE_CMD_TRACEDIR_H
#define HEDDLE_CMD_TRACEDIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct trace_file {
    char *path; /* owned */
    char *name; /* inside path */
    pid_t pid;  /* 0: not named like a recording */
    uint64_t start;
};

struct tracedir {
    struct trace_file *files; /* in the order their recordings began */
    size_t count, cap;
};

/* All .hdl files; 0, or -1 and errno. */
int tracedir_read(struct tracedir *d, const char *path);
void tracedir_release(struct tracedir *d);
bool tracedir_is(const char *path); /* a directory at all? */

/* When a file was made, in nanoseconds. */
uint64_t trace_file_start(const char *path);
/* Named as the writer names files, and begun by it (or still empty): may be replaced. */
bool trace_file_is_ours(const struct trace_file *f);
/* The writer is still at work on it. */
bool trace_file_is_busy(const struct trace_file *f);
/* The process it is of still runs. */
bool trace_file_is_live(const struct trace_file *f);

#endif
