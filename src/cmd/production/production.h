/* production.h - run a program under a control file; `chase`, `litehb`, `fullhb`, `caper`, `alias`
 *
 *     production_open(&p, PROD_CHASE, 0)     the control file, mapped; fill p.control
 *     production_run(&p, argv)               the program runs, with HEDDLE_RT naming the file
 *     ... p.control says what was seen, whatever end the program came to ...
 *     production_close(&p)
 *
 *     production_attach(&p, pid)             the control file of a process that runs
 *     production_change(&p, fill, arg)       other numbers and sites: they are taken up at once
 *
 * The control file is an ordinary file in the user's runtime directory ($XDG_RUNTIME_DIR, else
 * $TMPDIR, /dev/shm, /tmp), its room reserved before the program starts, so that a full disk cannot
 * hurt it. Its name starts with CONTROL_PREFIX: by that name it is found among the mappings of a
 * process
 * (/proc/PID/maps), so nothing has to be kept about who runs under which file.
 * production_control.c is about the file, production.c about the run.
 * Concurrency: one production at a time; changes by several commands are serialised by a lock on
 * the file.
 */
#ifndef HEDDLE_CMD_PRODUCTION_PRODUCTION_H
#define HEDDLE_CMD_PRODUCTION_PRODUCTION_H

#include <sys/types.h>

#include "abi/rt_prod.h"
#include "cmd/launch.h"
#include "cmd/options.h"

#define CONTROL_PREFIX "heddle-control-"
#define CONTROL_RUN    ".run-" /* between a stem and what makes the name unique */

struct production {
    struct prod_control *control; /* mapped, shared with the program */
    size_t bytes;                 /* of the mapping: the struct and the mode's own table */
    char *path;                   /* owned: of the control file */
    int fd;
    bool made; /* the file is ours to remove */
    enum program_kind kind;
    pid_t pid;
    int code; /* the program's exit code, 128 + the signal that ended it */
    double seconds;
};

/* All return 0, or the exit code after a message. A failed open or attach needs no close. */
int production_open(struct production *p, enum prod_mode_kind mode, size_t extra_bytes);
/* The same beside the file `stem`, as STEM.run-XXXXXX; it is not swept away. */
int production_open_at(struct production *p, enum prod_mode_kind mode, size_t extra_bytes,
                       const char *stem);
/* A file that a command left behind: it is this one's now. False: somebody holds it, or it is gone.
 * p->control is NULL where it was not complete. */
bool production_adopt(struct production *p, const char *path);
/* Has a process other than this one mapped the file? Reads all of /proc. */
bool production_is_mapped(const char *path);
int production_attach(struct production *p, pid_t pid);
/* Run the program to its end. `watch` (may be NULL) is called about ten times a second
 * meanwhile, by another thread, and once when it has ended. */
int production_run(struct production *p, char *const argv[], void (*watch)(void *arg), void *arg);
void production_close(struct production *p); /* a zeroed struct may be closed */
/* Remove the control files of commands that were killed; production_run() does it. */
void production_sweep(void);
/* Of an attached one: is the process gone? */
bool production_has_ended(const struct production *p);

/* Change what is to be done; `fill` writes the fields. Waits until the program has taken it up, at
 * most `patience_ms` (0: not at all); false: it has not, yet. */
bool production_change(struct production *p, void (*fill)(struct prod_control *c, void *arg),
                       void *arg, unsigned patience_ms);

/* "10ms", "1s", "500us", "2min"; without a unit milliseconds. False: it is none. */
bool parse_duration(const char *text, uint64_t *ns);
/* --max-overhead ("5%", "0.5%", "5": percent, at most 100) as parts per million, and --min-time; 0,
 * or the code of wrong usage, which is said. */
int take_max_overhead(const struct options *o, uint32_t *ppm);
int take_min_time(const struct options *o, uint64_t *ns);

/* Say on stderr why nothing can have been seen (no runtime in the program, no site patched, text
 * that cannot be changed); true if something can. `program` as the user named it. */
bool production_says(const struct production *p, const char *program);

#endif
