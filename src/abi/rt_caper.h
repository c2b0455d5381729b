/* rt_caper.h - the table behind the control file's head (rt_prod.h): caper, alias, counting
 *
 *     struct prod_control | struct caper_table | modules | bytes and counts of sites
 *
 * The command lists the modules that it knows, with a byte for each of their sites, and says in
 * the byte whether the site is to be watched. The runtime adds modules that it meets and does not
 * find (a library loaded late, a program whose static pairs are not known); all their sites are
 * watched. What is seen becomes a bit of the site's byte at once: whoever is killed, nothing
 * that was seen is lost. Bits are only ever set, by atomic operations; any number of processes
 * share the table.
 * alias: the pairs are a hash table of words at `pairs` (see CAPER_PAIR).
 */
#ifndef HEDDLE_ABI_RT_CAPER_H
#define HEDDLE_ABI_RT_CAPER_H

#include <stdint.h>

#define CAPER_MAGIC "HDLCAPR1"

/* What a site's byte says. */
enum {
    CAPER_WANTED = 1,  /* in: watch it */
    CAPER_SEEN = 2,    /* out: it accessed an object that had escaped */
    CAPER_ASSUMED = 4, /* out: not watched any more, mostly too hot: taken as if seen */
    CAPER_HIT = 8,     /* out: it was executed while it was watched */
    CAPER_WEAK = 16,   /* out: see below */
    CAPER_HIDDEN =
        32, /* in: pointers to what it accesses go unseen: when it is executed, it counts */
    CAPER_KEPT = CAPER_SEEN | CAPER_ASSUMED | CAPER_WEAK /* in the state */
};
/* A module's pointer stores and so on are one site of its table (SITE_ENTRY), which is no access.
 * One such site says that they cost too much: CAPER_ASSUMED in one run, CAPER_SEEN in two; or
 * CAPER_WEAK: an object was published by an atomic store that orders nothing, and what was done to
 * it before may race. From then on the command sets CAPER_NO_STORES. */

enum {
    CAPER_COUNT = 1,     /* flag: count each execution of all sites; slow */
    CAPER_NO_STORES = 2, /* flag: pointer stores are not watched: everything counts as escaped */
    CAPER_WEAKLY = 4,    /* flag: that is so since there was a CAPER_WEAK */
    CAPER_HAS_HIDDEN = 8 /* flag: some site is CAPER_HIDDEN */
};

/* counter[] of the control file: what caper counts */
enum {
    CAPER_HITS,        /* of watched sites, approximate */
    CAPER_ESCAPES,     /* objects that escaped */
    CAPER_SCANNED,     /* bytes that were searched for pointers */
    CAPER_GAVE_UP,     /* 1: everything counts as escaped, the rest of the run was too expensive */
    CAPER_LINKS,       /* executions of pointer stores and so on, approximate */
    CAPER_NO_LINKS,    /* 1: pointer stores could not be watched: everything counts as escaped */
    CAPER_ALIAS_FULL,  /* alias: pairs that found no room */
    CAPER_ALIAS_EVICT, /* alias: accesses that a location's set had no room for */
    CAPER_PROCESSES,
    CAPER_WEAK_STORE /* 1: everything counts as escaped since CAPER_WEAK */
};

struct caper_module {
    uint64_t id[2];
    uint64_t at;     /* from the table's start: a byte for each site */
    uint64_t counts; /* with CAPER_COUNT: a 64-bit word for each site; 0: none */
    uint32_t sites;
    uint32_t ready; /* set last */
};

struct caper_table {
    char magic[8];
    uint64_t bytes; /* of the table */
    uint64_t used;  /* taken: the next module's bytes begin here */
    uint32_t flags;
    uint32_t max_ppm; /* CPU time that watching may take, parts per million; 0: no bound */
    uint32_t modules, modules_max;
    uint32_t lock;         /* adding a module; the holder's process, taken over if that is gone */
    uint32_t modules_lost; /* found no room: nothing is known of their sites */
    uint64_t pairs;        /* alias: from the table's start */
    uint64_t pairs_room;   /* entries, a power of two */
    struct caper_module module[];
};

/* A pair of sites: each 12 bits of module and 19 of site; 0 is no pair. */
#define CAPER_MODULE_BITS       12
#define CAPER_SITE_BITS         19
#define CAPER_KEY(module, site) ((uint64_t)(module) << CAPER_SITE_BITS | (site) | UINT64_C(1) << 31)
#define CAPER_PAIR(a, b)        ((uint64_t)(a) << 32 | (b))

#endif
