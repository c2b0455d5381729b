/* fleet.h - what the files of `heddle fleet` share (docs/design/fleet.md)
 *
 * A job is one `heddle fleet run`: the store and its spool, the program, and the result that grows
 * until it is put. Nothing of it may change what the program does: where something of ours fails
 * the program runs plain, and only --verbose says why.
 */
#ifndef HEDDLE_CMD_PRODUCTION_FLEET_H
#define HEDDLE_CMD_PRODUCTION_FLEET_H

#include "cmd/common.h"
#include "cmd/production/production.h"
#include "fleet/result.h"
#include "fleet/store.h"
#include "symbol/linked.h"

struct fleet_place {
    const char *where; /* of the store; borrowed */
    char *shown;       /* owned: without a password */
    char *spool;       /* owned: folder */
};
void fleet_place_init(struct fleet_place *p, const struct options *o);
void fleet_place_release(struct fleet_place *p);

enum { FLEET_DELAYS = 8 }; /* that --delay may name */

/* The process that has the store while the program runs (fleet_beside.h). */
struct fleet_beside {
    pid_t pid;
    int fd;     /* to it; -1: there is none */
    int shared; /* file in memory: what it was given by the store */
};

struct fleet_job {
    const struct options *o;
    struct fleet_place place;
    struct store *store; /* `run`: only the process beside has it; NULL: cannot be reached */
    struct fleet_beside beside;
    int talk;         /* in that process: messages go there; else -1 */
    double began;     /* when the command did */
    int live;         /* holds RUN.live (spool.h); -1 */
    uint64_t wait_ns; /* how long the program may wait for the store */
    char *path;       /* owned: of the program */
    struct linked linked;
    char *const *argv;
    struct fleet_result result;
    struct fleet_result known; /* caper: `escaped` is what the store has */
    int64_t lease_ms;
    uint32_t max_ppm; /* chase: of the time; caper: of CPU time */
    /* chase */
    uint64_t delay_ns[FLEET_DELAYS], least_ns;
    uint32_t ndelays;
    uint64_t tries; /* of the pair, before this run */
};

/* Messages with --verbose only: the program's streams are its own. */
void fleet_say(const struct fleet_job *j, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Identifies a build: of its files and the tables in them. 32 hex digits. */
void fleet_build_id(const struct linked *l, char id[FLEET_ID_CHARS + 1]);
/* Start a new result for the program of the job. */
void fleet_new_result(struct fleet_job *j);

/* The static pairs into the result; where they cannot be had `note` says why. fleet_static.c */
void fleet_static(const struct linked *l, struct fleet_result *r);
/* Make them and put them; 0, or -1 (said with --verbose). */
int fleet_analyse(struct fleet_job *j);

/* Run the program; *code is its exit code. False: it was not started, and may be run plain. */
bool fleet_chase(struct fleet_job *j, int *code); /* fleet_chase.c */
bool fleet_caper(struct fleet_job *j, int *code); /* fleet_caper.c */
/* Beside it, before: what the store knows, into the result and the machine's state. 0, or -1. */
int fleet_caper_prepare(struct fleet_job *j, struct fleet_result *known);
/* Runs whose heddle was killed: what they saw goes into the spool. fleet_chase.c */
void fleet_adopt_orphans(struct fleet_job *j);

int fleet_serve(const struct options *o);   /* fleet_serve.c */
int cmd_fleet_run(const struct options *o); /* fleet_run.c */

#endif
