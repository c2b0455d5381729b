/* pairs_file.h - statically possible pairs, as a file that other commands read
 *
 *     struct pairs p = { 0 };
 *     if (pairs_read(&p, "prog.pairs", &err) < 0) ...
 *     i = pairs_find(&p, module, index);  pairs_has(&p, i, j);  pairs_each(&p, fn, arg);
 *     pairs_release(&p);
 *
 * Sites fall into classes: all sites of a class have the same partners, so pairs are kept
 * between classes and a program with a hundred million pairs of sites has a file of its sites'
 * size. A pair of a class with itself means every two sites of it, and each site with itself.
 * docs/format/pairs.md is the format.
 *
 * Invariants of a struct that was read: sites are sorted by (module, index) and are unique,
 * classes and modules are in range, class pairs have a <= b, are sorted and unique; every site
 * is in some pair.
 * Ownership: the struct owns all of it. Concurrency: read-only once read.
 */
#ifndef HEDDLE_PROGRAM_PAIRS_FILE_H
#define HEDDLE_PROGRAM_PAIRS_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/map.h"
#include "base/rt_prod.h"

#define PAIRS_NONE UINT32_MAX

struct pairs_image {
    char *path;     /* owned: as it was analysed */
    char *build_id; /* owned: hexadecimal, "" where the file has none */
};

struct pairs_site {
    struct prod_site id; /* flags: the site's kind */
    uint32_t group;      /* its class */
};

struct pairs {
    struct pairs_image *images; /* [0] is the program */
    size_t nimages, images_cap;
    bool lockset; /* refined by locks: not sound */
    struct pairs_site *sites;
    size_t nsites, sites_cap;
    uint32_t ngroups;
    struct pairs_groups {
        uint32_t a, b;
    } *pairs; /* of classes */
    size_t npairs, pairs_cap;
    /* made by pairs_read() and pairs_index(): */
    uint32_t *start;   /* class -> where its members begin in `members`; ngroups + 1 of them */
    uint32_t *members; /* sites, by class */
    struct map index;  /* pair of classes -> 1 */
};

void pairs_release(struct pairs *p); /* a zeroed struct is empty */
/* -1 and an error that names the file and the line. */
int pairs_read(struct pairs *p, const char *path, struct error *err);
int pairs_read_stream(struct pairs *p, FILE *in, const char *shown, struct error *err);
/* After a struct was filled by hand: sorts, and makes what the questions need. */
void pairs_index(struct pairs *p);

/* The number of a site, PAIRS_NONE where it is in no pair. */
uint32_t pairs_find(const struct pairs *p, const uint64_t module[2], uint32_t index);
bool pairs_has(const struct pairs *p, uint32_t site_a, uint32_t site_b);
/* Unordered pairs of sites; a site with itself counts. */
uint64_t pairs_count(const struct pairs *p);
/* Calls fn for each, i <= j, grouped by classes; stops where it returns false. */
void pairs_each(const struct pairs *p, bool (*fn)(void *arg, uint32_t i, uint32_t j), void *arg);

/* Write errors show in ferror(out). */
void pairs_write(const struct pairs *p, FILE *out);

#endif
