/* store.h - sites, pairs, runs and sightings of many runs of many programs
 *
 * A SQLite file, or a PostgreSQL database ("postgres://..."), behind one interface; the tables are
 * in docs/format/fleet.md, the reasons in docs/design/fleet.md.
 *
 *     store_claim()   what should this run do? It holds that until its lease runs out
 *     store_renew()   still at it
 *     store_put()     the run's result: all or nothing, and once, however often it is put
 *
 * What store_put() returned from is durable. A run that never puts leaves a row that its lease
 * ends; no lock outlives a process.
 *
 * Ownership: opaque; rows handed out are borrowed for the call. Concurrency: one thread per store;
 * any number of processes per file or database.
 */
#ifndef HEDDLE_FLEET_STORE_H
#define HEDDLE_FLEET_STORE_H

#include "fleet/result.h"
#include "fleet/sql.h"

enum { STORE_VERSION = 1 };

/* Policy; docs/design/fleet.md has the reasons. */
enum {
    STORE_QUIET_RUNS = 3,     /* caper runs in a row without a new site: steady */
    STORE_CAPER_SHARE = 50,   /* percent of runs before that, while there are pairs to chase */
    STORE_STEADY_SHARE = 5,   /* and after it */
    STORE_LOCKSET_WEIGHT = 4, /* so many runs of a lockset-violating pair for one of another */
    STORE_LISTED = 100000,    /* pairs that wait for a run: more than runs of a year of days */
    STORE_LEASE_MS = 600000   /* renewed every third of it by a run that lives */
};

struct store;

/* Is this a database server and no file? */
bool store_is_server(const char *where);
/* As messages have it: a URL without its password. Owned by the caller. */
char *store_shown(const char *where);
/* SQL_CREATE makes a store where there is none and brings an older one up to date; SQL_WRITE does
 * not create files. `patience_ms`: how long to try again where others are in the way or the server
 * does not answer. NULL and an error. */
struct store *store_open(const char *where, enum sql_access access, int patience_ms,
                         struct error *err);
void store_close(struct store *s);
/* Is it whole? 0, or -1 and what is wrong. */
int store_check(struct store *s, struct error *err);

struct store_claim {
    enum fleet_kind kind;
    char *s1, *s2;  /* chase: owned; else NULL */
    uint64_t tries; /* chase: runs that had the pair before, in either order; 0 if asked again */
};
void store_claim_release(struct store_claim *c);

/* What `run` (run id, program, host, pid, started_ms) should do; asking again gives the same
 * answer. */
int store_claim(struct store *s, const struct fleet_result *run, int64_t lease_ms,
                struct store_claim *out, struct error *err);
/* The same with the kind decided by the caller (`kind`, `s1`, `s2` of run). */
int store_note_run(struct store *s, const struct fleet_result *run, int64_t lease_ms,
                   struct error *err);
int store_renew(struct store *s, const char *run, int64_t lease_ms, struct error *err);
/* It will not be done (`kind` as it was claimed): as if it had never been asked for. */
int store_give_back(struct store *s, const struct fleet_result *run, struct error *err);
/* 1: put, 0: it was there already, -1. A result without an end only adds sightings. */
int store_put(struct store *s, const struct fleet_result *r, struct error *err);

/* ---- reading ---- */

/* Who may write to a store may write anything. Rows that Heddle cannot have written are skipped:
 * how many since the store was opened, and what the first of them are (NULL: no more). Texts in all
 * other rows are clean (report/clean.h), ids and names of sites are such, times and numbers are not
 * negative. */
uint64_t store_skipped(const struct store *s);
const char *store_skip_text(const struct store *s, size_t i);

struct store_program {
    const char *id, *name, *path, *note;
    bool analysed; /* static pairs are there (or cannot be had: note) */
    bool steady;
    uint64_t sites, escaped;
    uint64_t pairs, lockset, possible, chased, confirmed; /* the funnel */
    uint64_t races;
    uint64_t runs[4];            /* ended, by kind */
    uint64_t running, lost;      /* now; never came back */
    uint64_t sightings, dropped; /* instances; those that runs could not keep */
    int64_t first_ms, last_ms;   /* runs; 0: none */
};
typedef int store_program_row(void *arg, const struct store_program *p);
int store_programs(struct store *s, store_program_row *row, void *arg, struct error *err);

struct store_race {
    const char *program, *id, *s1, *s2, *first_run, *race; /* the last: JSON */
    int64_t first_ms, last_ms;
    uint64_t count, runs;
};
typedef int store_race_row(void *arg, const struct store_race *r);
/* Of one program, or of all (NULL); by program, then first seen. */
int store_races(struct store *s, const char *program, store_race_row *row, void *arg,
                struct error *err);

struct store_run {
    const char *id, *program, *host, *kind, *s1, *s2, *state; /* "running", "ended", "lost" */
    int64_t pid, started_ms, ended_ms, exit;
    uint64_t sightings;
};
typedef int store_run_row(void *arg, const struct store_run *r);
/* The last `limit` started ones. */
int store_runs(struct store *s, int limit, store_run_row *row, void *arg, struct error *err);

/* The sites and static pairs of a program and what escaped, into an empty result. */
int store_load(struct store *s, const char *program, struct fleet_result *into, struct error *err);
/* Everything, as results one a line. */
int store_export(struct store *s, FILE *out, struct error *err);

#endif
