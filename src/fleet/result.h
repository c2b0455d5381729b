/* result.h - what one run found, as it goes into the store
 *
 * The same struct for every kind of run, and one JSON text for it (docs/format/fleet.md), on one
 * line: what waits in the spool, and what `fleet export` writes and `fleet import` reads.
 * A site is named "MMMMMMMM:N" (abi/rt_prod.h), unique within a program.
 *
 * Ownership: strings belong to `memory`; a zeroed struct is empty. Concurrency: none.
 */
#ifndef HEDDLE_FLEET_RESULT_H
#define HEDDLE_FLEET_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/intern.h"

enum { FLEET_RESULT_VERSION = 1, FLEET_ID_CHARS = 32 };

enum fleet_kind {
    FLEET_PLAIN,  /* nothing: the program as it is */
    FLEET_STATIC, /* the program is not run: its pairs */
    FLEET_CAPER,
    FLEET_CHASE
};
const char *fleet_kind_name(enum fleet_kind kind);
int fleet_kind_of(const char *name); /* -1: none */

struct fleet_site {
    const char *name;
    const char *location, *function; /* or NULL */
    const char *access;              /* "read", "write" ...; or NULL */
    int64_t group;                   /* its class in the sound pairs; -1: it is in none */
    int64_t lockgroup;               /* and in those that locks refined */
};

/* Every site of one class may race with every site of the other; a class with itself: any two
 * sites of it, and each with itself. Programs with a hundred million pairs have few of these. */
struct fleet_groups {
    uint32_t a, b; /* a <= b */
    bool refined;  /* of the lockset-refined variant: no lock is known to protect both */
};

/* One pair of sites that met. */
struct fleet_sighting {
    uint32_t number; /* in its run */
    const char *s1, *s2;
    uint64_t count;
    int64_t seen_ms;
    const char *id;   /* the race's fingerprint */
    const char *race; /* JSON: an element of `races` of a result (docs/schema/result.schema.json) */
};

struct fleet_result {
    char run[FLEET_ID_CHARS + 1];
    const char *program; /* identifies the build */
    const char *name, *path;
    const char *host;
    int64_t pid;
    int64_t started_ms, ended_ms; /* 0: still runs */
    enum fleet_kind kind;
    const char *s1, *s2; /* chase: the pair, in this order; else NULL */
    int64_t exit;        /* of the program; 128 + signal */
    uint64_t dropped;    /* sightings that the run could not keep */
    const char *note;    /* what did not work, or NULL */
    struct fleet_site *sites;
    size_t nsites, sites_cap;
    struct fleet_groups *groups; /* static */
    size_t ngroups, groups_cap;
    const char *pairs;    /* static: the file that `heddle static --format sites` writes, or NULL */
    const char **escaped; /* caper: names of sites */
    size_t nescaped, escaped_cap;
    struct fleet_sighting *sightings;
    size_t nsightings, sightings_cap;
    struct arena memory;
};

void fleet_result_release(struct fleet_result *r);

/* A copy that lives as long as the result; NULL stays NULL. */
const char *fleet_string(struct fleet_result *r, const char *s);
uint32_t fleet_add_site(struct fleet_result *r, struct fleet_site site); /* copies; its number */
void fleet_add_groups(struct fleet_result *r, struct fleet_groups groups);
void fleet_add_escaped(struct fleet_result *r, const char *site);
void fleet_add_sighting(struct fleet_result *r, struct fleet_sighting sighting);

/* How many unordered pairs of sites the classes mean; `refined`: of the lockset variant. */
uint64_t fleet_count_pairs(const struct fleet_result *r, bool refined);

/* Is it one that a run can have made? 0, or -1 and what is wrong (result_check.c). */
int fleet_result_check(const struct fleet_result *r, struct error *err);
bool fleet_is_id(const char *s);      /* of a run or a program */
bool fleet_is_site(const char *s);    /* "MMMMMMMM:N" */
bool fleet_is_race_id(const char *s); /* a fingerprint */

/* One line, with its newline; names that are not clean (report/clean.h) are made so. Write errors
 * show in ferror(out). */
void fleet_result_write(const struct fleet_result *r, FILE *out);
/* Fill an empty struct from one line, and check it; -1 and an error, then it is empty again. */
int fleet_result_read(struct fleet_result *r, const char *line, size_t length, struct error *err);

/* A new id: 128 random bits in hex. */
void fleet_new_id(char id[FLEET_ID_CHARS + 1]);
/* Milliseconds since 1970. */
int64_t fleet_now_ms(void);

#endif
