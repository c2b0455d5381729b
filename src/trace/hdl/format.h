/* format.h - the bytes of a .hdl file
 *
 * docs/format/hdl.md is the normative description; this header is its C
 * form, and all that the recording runtime shares with the analyser. All
 * numbers are little-endian. Everything here is part of the format: change
 * it only together with the document and HDL_MAJOR or HDL_MINOR.
 */
#ifndef HEDDLE_TRACE_HDL_FORMAT_H
#define HEDDLE_TRACE_HDL_FORMAT_H

#include <stdint.h>

#define HDL_MAGIC       "HEDDLE\r\n" /* 8 bytes; the line end shows text-mode damage */
#define HDL_CHUNK_MAGIC 0x434c4448u  /* "HDLC" */

/* Files say the lowest minor version that has what they use: 1, 3 with lists, 5 with moves, 6 with
 * stretches, 7 with requests, 8 with repeats, 9 with a past, 10 with marks. */
enum {
    HDL_MAJOR = 1,
    HDL_MINOR = 10,
    HDL_MINOR_PAST = 9,
    HDL_MINOR_REPEATS = 8,
    HDL_MINOR_REQUESTS = 7,
    HDL_MINOR_STRETCHES = 6,
    HDL_MINOR_MOVES = 5,
    HDL_MINOR_LISTS = 3,
    HDL_MINOR_EVENTS = 1
};

/* Features a reader must understand to read the file at all. */
#define HDL_FEATURE_THREADS ((uint64_t)1 << 0) /* has per-thread chunks, to be merged */
#define HDL_FEATURE_STRIPES                                                                        \
    ((uint64_t)1 << 1) /* sequence numbers count per stripe (rt_stripe.h)                          \
                        */
#define HDL_FEATURE_STRETCHES ((uint64_t)1 << 2) /* may have kinds 9 and 10; since 1.2 */
#define HDL_FEATURE_LISTS     ((uint64_t)1 << 3) /* may have FILE_LIST, link, object; since 1.3 */
#define HDL_FEATURE_PATHS     ((uint64_t)1 << 4) /* stretches may be of several blocks; since 1.4 */
#define HDL_FEATURE_MOVES     ((uint64_t)1 << 5) /* may have kind 12 and TARGET_MOVE; since 1.5 */
#define HDL_FEATURE_VALUES    ((uint64_t)1 << 6) /* stretches may tell values; since 1.5 */
#define HDL_FEATURE_FRAMES    ((uint64_t)1 << 7) /* stretches may enter and leave; since 1.6 */
#define HDL_FEATURE_REQUESTS  ((uint64_t)1 << 8) /* may have request, request-shared; since 1.7 */
#define HDL_FEATURE_REPEATS   ((uint64_t)1 << 9) /* may have TARGET_REPEAT; since 1.8 */
#define HDL_FEATURE_PAST      ((uint64_t)1 << 10) /* the beginning may be gone; since 1.9 */
#define HDL_FEATURE_LOOSE     ((uint64_t)1 << 11) /* may have the flag LOOSE; since 1.10 */
#define HDL_FEATURES_KNOWN                                                                         \
    (HDL_FEATURE_THREADS | HDL_FEATURE_STRIPES | HDL_FEATURE_STRETCHES | HDL_FEATURE_LISTS |       \
     HDL_FEATURE_PATHS | HDL_FEATURE_MOVES | HDL_FEATURE_VALUES | HDL_FEATURE_FRAMES |             \
     HDL_FEATURE_REQUESTS | HDL_FEATURE_REPEATS | HDL_FEATURE_PAST | HDL_FEATURE_LOOSE)

struct hdl_file_header { /* 64 bytes */
    char magic[8];
    uint16_t major, minor;
    uint32_t header_bytes; /* where the first chunk starts */
    uint64_t required;     /* feature bits */
    uint64_t optional;
    uint8_t order;         /* enum trace_order */
    uint8_t pointer_bytes; /* of the traced program */
    uint16_t reserved0;
    uint32_t reserved1;
    uint64_t stamp_ns; /* how fine stamps are: 0 not a time */
    uint64_t created;  /* seconds since 1970, 0 unknown */
    uint32_t reserved2;
    uint32_t checksum; /* XXH32 of the 60 bytes before, seed 0 */
};

/* Behind the header of a file with HDL_FEATURE_PAST: where what is kept begins. */
struct hdl_start {   /* 64 bytes */
    uint64_t past;   /* offset of the chunk HDL_PAST that stands for what is gone; 0: nothing is */
    uint64_t first;  /* offset of the first chunk that is kept */
    uint32_t number; /* of that chunk */
    uint32_t reserved[9];
    uint32_t reserved1;
    uint32_t checksum; /* XXH32 of the 60 bytes before, seed 0 */
};

enum hdl_kind {
    HDL_MERGED = 1, /* events of all threads, in the order of the trace */
    HDL_THREAD = 2, /* events of one thread */
    HDL_NAMES = 3,  /* new entries of a name table */
    HDL_END = 4,    /* the file is complete */
    /* since 1.1 */
    HDL_PROCESS = 5,   /* the recorded process; the last one holds */
    HDL_IMAGES = 6,    /* its executables and libraries; the last one holds */
    HDL_INLINED = 7,   /* sites -> sites of the calls they were inlined at */
    HDL_VARIABLES = 8, /* sites -> names of the variables they access */
    /* since 1.2 */
    HDL_MIXED = 9,      /* events of one thread, partly as records of stretches */
    HDL_STRETCHES = 10, /* what those records stand for */
    /* since 1.3 */
    HDL_ORIGINS = 11, /* sites -> places in the program's site tables */
    /* since 1.5 */
    HDL_MOVES = 12, /* frames left and entered at once */
    /* since 1.9 */
    HDL_PAST = 13, /* chunks that stand for a beginning that is gone */
    HDL_SEAM = 14  /* inside of such a chunk: how far threads and stripes were, what memory held */
};

enum hdl_table {
    HDL_TABLE_THREADS,
    HDL_TABLE_VARIABLES,
    HDL_TABLE_OBJECTS,
    HDL_TABLE_FUNCTIONS,
    HDL_TABLE_SITES,
    HDL_TABLES
};

struct hdl_chunk_header { /* 64 bytes */
    uint32_t magic;
    uint8_t kind;
    uint8_t compression;   /* enum hdl_compression */
    uint8_t context_bits;  /* events: log2 of the number of site contexts */
    uint8_t flags;         /* kinds 2 and 9: CHUNK_... */
    uint32_t stored_bytes; /* of the payload that follows */
    uint32_t count;        /* events, names, or entries */
    uint32_t subject;      /* thread chunk: thread; names: table */
    uint32_t number;       /* of this chunk in the file, from 0 */
    uint64_t first;        /* merged: position, thread: index in the thread, names: number of
                              the first one; end: events in the file */
    uint64_t stamp_first, stamp_last; /* thread chunk; else 0 */
    uint64_t checksum;                /* XXH3-64 of the payload as stored */
    uint32_t reserved1;
    uint32_t header_checksum; /* XXH32 of the 60 bytes before, seed 0 */
};

/* Column 0 may have moves; since 1.5. And repeats; since 1.8. */
enum { CHUNK_MOVES = 1, CHUNK_REPEATS = 2 };
enum { REPEATS_MAX = 63 }; /* of an event at once */

/* The payload of an event chunk: for each column its raw and its stored length, then the columns.
 * A column whose two lengths are equal is stored as it is. */
enum hdl_column {
    COL_FLAGS,   /* one byte an event */
    COL_THREADS, /* merged: thread numbers at switches; thread: stamp increments */
    COL_SITES,
    COL_SHAPES, /* the dictionary, then its indices */
    COL_TARGETS,
    COL_VALUES,
    COL_SIZES,
    COL_SEQUENCE, /* thread chunks: sequence numbers */
    COL_CALLS,    /* D of calls */
    COLUMNS,
    /* The chunks of kind 9 have four more: */
    COL_ITEMS = COLUMNS, /* one byte for each record of a stretch, or for some other events */
    COL_STRETCHES,       /* numbers of stretches */
    COL_MASKS,           /* one byte for each word of a record but the first */
    COL_BYTES,           /* the bytes that changed */
    COLUMNS_MIXED
};

struct hdl_column_header {
    uint32_t raw_bytes, stored_bytes;
};

/* The flag byte of an event. */
enum {
    FLAG_SWITCH = 1 << 0,  /* merged: another thread; thread: the stamp moves on */
    FLAG_SITE_SHIFT = 1,   /* 2 bits: 0 predicted; 1, 2, 3: 1, 2, 4 bytes */
    FLAG_SHAPE = 1 << 3,   /* another shape than the last at this site */
    FLAG_TARGET_SHIFT = 4, /* 3 bits, enum hdl_target */
    FLAG_VALUE = 1 << 7    /* another value than the last at this site */
};

/* The byte of an item. */
enum {
    ITEM_NUMBER = 1 << 0, /* not the stretch that was predicted */
    ITEM_STAMP = 1 << 1,  /* the stamp moves on */
    ITEM_SAME = 1 << 2,   /* masks as in the last record of the stretch; since 1.4 */
    ITEM_SAME_WORDS = 8,  /* ... which has no more words than this */
    ITEM_BYTES_SHIFT = 4, /* 3 bits: which of bytes 4 to 6 of the record changed */
    ITEM_EVENTS = 1 << 7, /* no record: (byte & 127) + 1 events as in chunks of kind 2 */
    ITEM_EVENTS_MAX = 128
};

enum hdl_target {
    TARGET_STRIDE,
    TARGET_LAST,
    TARGET_1,
    TARGET_2,
    TARGET_4,
    TARGET_8,
    TARGET_MOVE,  /* no event but a move, whose number stands where a site would; since 1.5 */
    TARGET_REPEAT /* no event but the last one again, some times; since 1.8 */
};

/* Event flags that exist only in files. */
enum {
    FILE_LIST = 1 << 13,    /* a call: its list is in the form with differences */
    FILE_NAMED = 1 << 14,   /* the target is a named variable or object */
    FILE_SEQUENCE = 1 << 15 /* the event has a sequence number */
};

/* An entry of a list in the form with differences: a varint, what it is in the low bits. Up to 7 it
 * is an enum d_kind. */
enum { LIST_KIND_BITS = 4, LIST_VARIABLE = 8, LIST_KINDS };

#define SIZE_EXPLICIT UINT32_MAX /* in a shape: the size is in COL_SIZES */

/* Limits: what a file claims beyond them is damage, so nothing in it can make a reader
 * allocate much. */
enum {
    SHAPES_MAX = 256,
    CHUNK_EVENTS_MAX = 1 << 20,
    CONTEXT_BITS_MAX = 14,
    THREAD_CONTEXTS = 1024,
    CALL_ENTRIES_MAX = 1 << 20, /* of one D */
    CALLS_BYTES_MAX = 32 << 20, /* of COL_CALLS: an event that would follow 1 MiB of it starts */
    CALLS_BYTES_FULL = 1 << 20, /* a new chunk */
    NAME_BYTES_MAX = 1 << 20,   /* of one name */
    NAMES_BYTES_MAX = 4 << 20,  /* of a names chunk; writers start a new one after 1 MiB */
    NAMES_BYTES_FULL = 1 << 20
};

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "files are read and written in place");

_Static_assert(sizeof(struct hdl_file_header) == 64, "file header is 64 bytes");
_Static_assert(sizeof(struct hdl_start) == 64, "the start is 64 bytes");
_Static_assert(sizeof(struct hdl_chunk_header) == 64, "chunk header is 64 bytes");

#endif
