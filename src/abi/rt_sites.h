/* rt_sites.h - the site table inside an instrumented object file
 *
 * Section ".llvmcmd" (not loaded, survives strip; in ".llvmbc", the other name
 * the compiler leaves out of memory, ar and nm expect bare bitcode) holds one blob per
 * translation unit, each at a multiple of 8 bytes: struct sites_packed, and behind it, each a zstd
 * frame, the table and the bitcode that its sites were taken from, without debug information. The
 * table is: struct sites_header, sites, frames, strings. Blobs of the first version are such a
 * table as it is, and the bitcode as it is; they are still read.
 * A reader walks the section: at each multiple of 8 either a magic, or padding or something else
 * of the compiler's, which it skips. Offsets of strings count from the start of
 * the string area, where offset 0 is the empty string (unknown).
 * Little-endian. Shared by pass/ (writes) and symbol/, bitcode/ (read).
 */
#ifndef HEDDLE_ABI_RT_SITES_H
#define HEDDLE_ABI_RT_SITES_H

#include <stdint.h>

#define SITES_SECTION      ".llvmcmd"
#define SITES_MAGIC        "HDLSITE1"
#define SITES_PACKED_MAGIC "HDLSITE2"

/* A part that is as large packed is as it is: the compiler's LLVM had no zstd, say. */
struct sites_packed {
    char magic[8];
    uint64_t total_bytes; /* of the blob, this header included, a multiple of 8 */
    uint64_t id[2];       /* as in struct heddle_module */
    uint64_t table_bytes, table_packed;
    uint64_t bitcode_bytes, bitcode_packed;
};

struct sites_header {
    char magic[8];
    uint64_t total_bytes; /* of the table, this header included, a multiple of 8 */
    uint64_t id[2];       /* as in struct heddle_module */
    uint32_t nsites, nframes;
    uint32_t string_bytes;
    uint32_t flags;          /* MODULE_... of abi/abi.h; SITES_MARKED */
    uint64_t bitcode_offset; /* first version: from the start of the blob; 0: none */
    uint64_t bitcode_bytes;
    uint32_t source;    /* string: the main source file */
    uint32_t directory; /* string: of the compilation */
};

/* Tables of default builds that say which accesses are loose (docs/design/marks.md). */
#define SITES_MARKED (UINT32_C(1) << 8)

enum site_kind {
    SITE_READ = 1,
    SITE_WRITE,
    SITE_ATOMIC, /* load, store, rmw, cas, fence */
    SITE_ENTRY,  /* a function's entry; file and line are its declaration's */
    SITE_BRANCH,
    SITE_CALL, /* of untraced code; `variable` is the function called, "" for a pointer */
    SITE_LIBC, /* of a modelled libc function; `variable` as for SITE_CALL */
    /* No place in the program but the shape of a stretch's record (rt_stretch.h). `size` accesses
     * of its last block and, if `branches` says so, the branch behind those stand right before it
     * in the table, but for `column` other stretches with the same last block. `function_index`, if
     * not 0, is 1 + the stretch that it goes on from (before it in the table), `instruction_index`,
     * if not 0, 1 + how the branch went that ends that one. */
    SITE_STRETCH,
    /* Nor this: how the value of the store before it in the table follows (rt_stretch.h, `from` and
     * `offset`). It counts as one of the stretch's accesses. */
    SITE_VALUE,
    /* Nor this: the function's entry (`from` FRAME_ENTERED) or exit (FRAME_LEFT) as part of a
     * stretch; `offset` is the function's SITE_ENTRY. It counts as one of the accesses. */
    SITE_FRAME
};

struct sites_site {
    uint8_t kind; /* enum site_kind */
    union {
        uint8_t from;     /* access of a stretch: see rt_stretch.h */
        uint8_t branches; /* SITE_STRETCH: bits of rt_stretch.h */
        uint8_t loose;    /* SITES_MARKED: accesses and atomics: 1 if marked (EV_LOOSE) */
    };
    uint16_t column;
    uint32_t line;              /* 0 unknown; column 0: perhaps the line beside it (pass/table.c) */
    uint32_t size;              /* bytes, where fixed */
    uint32_t file;              /* string, as the debug information spells it (with directory) */
    uint32_t function;          /* string: linkage name of the function the code comes from */
    uint32_t variable;          /* string: "counter", "struct q::head"; see kind */
    uint32_t inlined_at;        /* frame number + 1, 0: not inlined */
    uint32_t function_index;    /* of the function that holds the instruction, in the bitcode */
    uint32_t instruction_index; /* in that function, counted over its blocks */
    int32_t offset;             /* access of a stretch: with `from` */
};

/* Where an inlined function was called. */
struct sites_frame {
    uint32_t file, line, column;
    uint32_t function; /* the function that contains the call */
    uint32_t inlined_at;
    uint32_t reserved;
};

_Static_assert(sizeof(struct sites_packed) == 64, "part of the format");
_Static_assert(sizeof(struct sites_header) == 72, "part of the format");
_Static_assert(sizeof(struct sites_site) == 40, "part of the format");
_Static_assert(sizeof(struct sites_frame) == 24, "part of the format");

#endif
