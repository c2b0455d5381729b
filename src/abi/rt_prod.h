/* rt_prod.h - the control file through which the command and a production run talk
 *
 * `heddle chase`, `litehb`, `fullhb`, `caper`, `alias` make this file, map it, and
 * name it to the runtime in the program (HEDDLE_RT, key "control"), which maps it too.
 * The command writes what is to be done and bumps `generation` (a futex: a thread of
 * the runtime waits there and takes changes up while the program runs); the runtime
 * writes what it saw. All processes of one run share the file. It stays when they are
 * killed, so nothing that was seen is lost.
 *
 * A site is known by its module's id and its place in that module's table
 * (rt_sites.h): the same in every run of one build. What users see and type is
 * "MMMMMMMM:N" (first 8 hex digits of the module's id, number in its table) or
 * FILE:LINE[:COLUMN], which means all sites there.
 * Little-endian, fixed layout; PROD_VERSION changes with it.
 */
#ifndef HEDDLE_ABI_RT_PROD_H
#define HEDDLE_ABI_RT_PROD_H

#include <stdint.h>

#define PROD_MAGIC "HDLPROD1"
enum {
    PROD_VERSION = 1,
    PROD_SITES_MAX = 64,      /* of one side of a pair: FILE:LINE may be several sites */
    PROD_SIGHTINGS_MAX = 256, /* kept in full; more are counted */
    PROD_FRAMES_MAX = 48,
    PROD_IMAGES_MAX = 256
};

/* The runtime's modes that use patched sites. */
enum prod_mode_kind {
    PROD_OFF,
    PROD_CHASE,
    PROD_LITEHB,
    PROD_FULLHB,
    PROD_CAPER,
    PROD_ALIAS,
    PROD_COUNT /* patch the sites of both sides and count their hits: tests, `heddle doctor` */
};

struct prod_site {
    uint64_t module[2]; /* id, as in struct heddle_module */
    uint32_t index;     /* in its table */
    uint32_t flags;     /* the site's kind: enum site_kind */
};

/* An image (program, library) of a process that saw something: what symbolisation needs. */
struct prod_image {
    uint64_t base;       /* load address: run-time address - address in the file */
    uint64_t start, end; /* end is written last: 0 means that the entry is not complete */
    int32_t pid;
    uint32_t build_id_bytes;
    uint8_t build_id[32];
    char path[256];
};

struct prod_side {
    uint32_t site;   /* chase, hb: number in control's sites of this side */
    uint32_t tid;    /* the kernel's */
    uint64_t thread; /* numbered from 0 in its process */
    uint64_t address;
    uint32_t bytes;
    uint8_t write;
    uint8_t atomic; /* 0, or the operation: OP_LOAD, OP_STORE, OP_RMW of trace/event.h */
    uint16_t frames;
    uint64_t
        frame[PROD_FRAMES_MAX]; /* program counters: [0] in the access, then return addresses */
    struct prod_site name; /* of the site: `site` counts in sites that may change during a run */
};

struct prod_sighting {
    uint32_t ready; /* set last, with release: complete */
    int32_t pid;
    uint64_t count; /* times that this pair of sites met; the rest is of the first time */
    struct prod_side side[2];
};

/* counter[] of chase, and of litehb and fullhb. */
enum prod_chase_counter {
    CHASE_START_NS,  /* CLOCK_MONOTONIC when the first process of the run started */
    CHASE_LATE_NS,   /* part of waited_ns: waits that were over, their thread not yet running */
    CHASE_SIGNALS,   /* waits that a signal ended */
    CHASE_MET,       /* waits that a sighting ended */
    CHASE_NO_PLACE,  /* a thread would have waited, but too many did */
    CHASE_ON_DEMAND, /* times that resting sites were patched for the time of a wait */
    CHASE_RAN_NS,    /* since CHASE_START_NS, at the last wait or tick of any process */
    CHASE_OWN_NS     /* what all else but waiting costs: the command's start, patching, hits */
};
enum { CHASE_BOTH_ORDERS = 1 }; /* flags: threads wait at s2, too, for others to come to s1 */
enum prod_hb_counter {
    HB_SYNCS,   /* synchronisation operations tracked */
    HB_ATOMICS, /* atomic operations tracked */
    HB_STARTS,  /* litehb: times that tracking began */
    HB_TRACKED_NS,
    HB_FORGOT,     /* accesses and objects forgotten for lack of memory: races may be missing */
    HB_NO_THREAD,  /* threads beyond the most that are tracked: their races are missing */
    HB_CELLS_MOST, /* accesses kept at a time */
    HB_OBJECTS_MOST,
    HB_START_NS
};

struct prod_control {
    char magic[8];
    uint32_t version;
    uint32_t mode; /* enum prod_mode_kind */

    /* what is to be done; changed under an odd generation, complete when it is even again */
    uint32_t generation; /* futex */
    uint32_t nsites[2];
    uint32_t disposable; /* nobody looks at the file once the command that made it is gone */
    struct prod_site site[2][PROD_SITES_MAX];
    uint64_t delay_ns; /* t_delay */
    uint64_t least_ns; /* t_min */
    uint32_t max_ppm;  /* r_max in parts per million */
    uint32_t seed;     /* of the sampling; 0: by time */
    uint64_t flags;    /* of the mode */

    /* what the runtime says */
    uint32_t taken_up;      /* the generation that is in force */
    int32_t patch_errno;    /* text could not be made writable: why; 0 none */
    uint32_t patched;       /* places patched now */
    uint32_t unknown;       /* sites asked for that no loaded module has */
    uint64_t hits[2];       /* of patched sites s1, s2 (chase: approximate) */
    uint64_t waits;         /* times that a thread waited at s1 */
    uint64_t waited_ns;     /* wall time in which one or more waited */
    uint64_t ran_ns;        /* since the runtime's start, at the last update */
    uint64_t unpatched_hot; /* times that a hot site was unpatched for a while */
    uint64_t counter[16];   /* of the mode */
    uint32_t sightings, sightings_lost;
    uint32_t images, images_lost;
    struct prod_sighting sighting[PROD_SIGHTINGS_MAX];
    struct prod_image image[PROD_IMAGES_MAX];
    /* caper, alias: a table of the mode's own follows at the end of the file
     * (runtime/production/caper_mode.c) */
};

#endif
