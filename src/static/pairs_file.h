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
 * docs/format/pairs.md is the format: text, for people and other tools, and a form that is mapped:
 *
 *     pairs_map_write(&p, out);   pairs_map(&p, path, &err);   pairs_check(&p, path, &err);
 *
 * Mapping reads the sites, but not the pairs of classes, however many there are; whoever goes on
 * to ask pairs_has(), pairs_count() or pairs_each() calls pairs_check() first, which reads them.
 *
 * Invariants of a struct that was read: sites are sorted by (module, index) and are unique,
 * classes and modules are in range, class pairs have a <= b, are sorted and unique; every site
 * is in some pair.
 * Ownership: the struct owns all of it. Concurrency: read-only once read.
 */
#ifndef HEDDLE_STATIC_PAIRS_FILE_H
#define HEDDLE_STATIC_PAIRS_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "abi/rt_prod.h"

/* In the flags of a site, beside its kind: it may access memory to which pointers are passed on in
 * a form that a run cannot see. caper takes it as escaped when it is executed. */
#define PAIRS_HIDDEN    UINT32_C(0x100)
#define PAIRS_NONE      UINT32_MAX
#define PAIRS_MAP_MAGIC "HDLPAIR1" /* the first bytes of the form that is mapped */

struct pairs_image {
    char *path;     /* owned: as it was analysed */
    char *build_id; /* owned: hexadecimal, "" where the file has none */
};

struct pairs_site {
    struct prod_site id; /* flags: the site's kind, PAIRS_HIDDEN */
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
    uint64_t total;    /* pairs of sites */
    void *mapping;     /* not NULL: the arrays are in it, and cannot be written */
    size_t mapping_bytes;
};

void pairs_release(struct pairs *p); /* a zeroed struct is empty */
/* -1 and an error that names the file and the line. */
int pairs_read(struct pairs *p, const char *path, struct error *err);
int pairs_read_stream(struct pairs *p, FILE *in, const char *shown, struct error *err);
/* After a struct was filled by hand: sorts, and makes what the questions need. */
void pairs_index(struct pairs *p);
/* Makes `start` and `members` of sites that are in order. */
void pairs_list_members(struct pairs *p);

/* The number of a site, PAIRS_NONE where it is in no pair. */
uint32_t pairs_find(const struct pairs *p, const uint64_t module[2], uint32_t index);
/* The first site that is not before that one; nsites where there is none. */
size_t pairs_from(const struct pairs *p, const uint64_t module[2], uint32_t index);
bool pairs_has(const struct pairs *p, uint32_t site_a, uint32_t site_b);
/* Unordered pairs of sites; a site with itself counts. The same among sites of which there are
 * `marked[class]` in a class. */
uint64_t pairs_count(const struct pairs *p);
uint64_t pairs_count_marked(const struct pairs *p, const uint64_t *marked);
/* Calls fn for each, i <= j, grouped by classes; stops where it returns false. */
void pairs_each(const struct pairs *p, bool (*fn)(void *arg, uint32_t i, uint32_t j), void *arg);

/* Write errors show in ferror(out). */
void pairs_write(const struct pairs *p, FILE *out);

/* ---- pairs_map.c: the form that is mapped ---- */

void pairs_map_write(const struct pairs *p, FILE *out);
uint64_t pairs_hash(const struct pairs *p); /* of all that is in it */
/* pairs_read() does it, too, where the file begins so. */
int pairs_map(struct pairs *p, const char *path, struct error *err);
int pairs_check(const struct pairs *p, const char *path, struct error *err);

#endif
