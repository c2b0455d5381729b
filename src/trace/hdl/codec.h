/* codec.h - events to columns of bytes and back: the predictor encoding
 *
 * Within a chunk both sides keep the same context: for each thread the last
 * site, for each site what came next, the last shape (operation, size, order,
 * flags), target, stride and value. What the context predicts costs a bit of
 * the event's flag byte; only surprises are written, each kind of surprise
 * into a column of its own, so that the compressor behind sees like with like.
 * Contexts start empty in every chunk: chunks are independent.
 *
 * The encoder trusts its events; the decoder trusts nothing: it never reads
 * outside its columns, and checks every number against the tables.
 * Cost (bench/results/analysis.md): about 6 ns an event either way.
 */
#ifndef HEDDLE_TRACE_HDL_CODEC_H
#define HEDDLE_TRACE_HDL_CODEC_H

#include <stddef.h>

#include "base/error.h"
#include "trace/hdl/compress.h"
#include "trace/event.h"
#include "trace/hdl/format.h"
#include "trace/hdl/stretch.h"
#include "trace/tables.h"

/* Half a cache line: each event looks at one. */
struct site_context {
    uint64_t shape;
    uint64_t target, stride;
    uint32_t next;
    bool simple; /* decoder: an access of fixed size without value or sequence number */
};

/* What came after a move: an event's site, another move. */
struct move_context {
    uint32_t site, move;
};

/* What both directions know after the same events. */
struct codec_context {
    struct site_context *sites;
    uint64_t *values;           /* the last of each site, as many */
    struct move_context *moves; /* by number, as many as sites */
    uint32_t *moves_after;      /* which move came after a site, as many */
    uint32_t last_move;         /* MOVE_NONE: the last was an event */
    uint32_t bits;              /* log2 of their number */
    uint32_t mask;
    uint32_t last_site[THREAD_CONTEXTS];
    uint64_t sequence;
    uint32_t thread; /* of the previous event */
};

/* What a chunk of kind 9 knows of a stretch: its last record, and which stretch came after it,
 * for either outcome of its branch. Entries of other chunks are void. */
struct stretch_context {
    uint32_t chunk; /* that it belongs to */
    uint32_t at;    /* first word of its last record */
    uint32_t next[2];
    uint64_t masks; /* which bytes of its words 1 to 7 changed last, if it has no more */
};

struct stretch_contexts {
    struct stretch_context *at; /* by number + 1; the first stands for the chunk's beginning */
    size_t cap;
    uint64_t *words; /* at a multiple of 64 bytes, like each record's */
    size_t nwords, words_cap;
    uint32_t chunk;   /* the current one's number, from 1 */
    uint32_t last;    /* stretch + 1 */
    uint32_t outcome; /* and its branch's, the lowest bit */
};

/* ---- encoding ---- */

struct column {
    uint8_t *data;
    size_t len, cap;
};

struct encoder {
    struct codec_context context;
    struct stretch_contexts stretches;
    struct column columns[COLUMNS_MIXED];
    uint32_t plain; /* events since the last record of a stretch, not yet said in COL_ITEMS */
    bool mixed;     /* the chunk has records of stretches */
    uint64_t shapes[SHAPES_MAX];
    uint32_t nshapes;
    uint16_t shape_hash[2 * SHAPES_MAX]; /* shape -> index + 1 */
    uint32_t count;                      /* events in the chunk so far */
    bool threads;                        /* per-thread chunk: stamps and sequence numbers */
    bool lists;                          /* something in some chunk needs HDL_FEATURE_LISTS */
    bool requests;                       /* some chunk has some */
    bool loose;                          /* some event of any chunk is marked EV_LOOSE */
    bool moves, repeats;                 /* the chunk has some */
    uint64_t stamp;
};

void encoder_init(struct encoder *e, uint32_t context_bits, bool threads);
void encoder_release(struct encoder *e);
/* Another number of contexts, before the next chunk is started. */
void encoder_resize(struct encoder *e, uint32_t context_bits);
size_t encoder_bytes(const struct encoder *e);      /* of its columns */
uint32_t encoder_contexts(const struct encoder *e); /* in use in this chunk */
/* Start the next chunk. In a thread chunk the first event's stamp is `stamp`. */
void encoder_start(struct encoder *e, uint64_t stamp);
/* Takes as many of the n events as fit the chunk (at most `limit` events in all); returns how
 * many: fewer than asked for means that the chunk is full. A D has at most CALL_ENTRIES_MAX
 * entries. `sequence` (0: none) and `stamp` are per event, for thread chunks; else NULL. An event
 * OP_MOVE stands for a move: number in `target`, how many events in `size`. */
enum { OP_MOVE = 255 };
size_t encoder_add(struct encoder *e, const struct event *events, size_t n, const uint64_t *extra,
                   const uint64_t *sequence, const uint64_t *stamp, uint32_t limit);

/* Parts of it, for encode_raw.c: the flags of a stamp; a site's new shape, unless the dictionary
 * is full. */
unsigned encoder_put_stamp(struct encoder *e, uint64_t stamp);
bool encoder_put_shape(struct encoder *e, struct site_context *c, uint64_t shape);
/* COL_ITEMS says all: before a record of a stretch, and before the columns are taken. */
void encoder_settle(struct encoder *e);

/* ---- decoding ---- */

struct decoder {
    struct codec_context context;
    struct stretch_contexts stretches;
    struct decompressor decompressor;
    uint8_t *data; /* all columns, each with slack behind it */
    size_t data_cap;
    int columns; /* COLUMNS or COLUMNS_MIXED */
    const uint8_t *at[COLUMNS_MIXED], *end[COLUMNS_MIXED];
    uint32_t plain;                                 /* events before the next item */
    struct event waiting[STRETCH_ACCESSES_MAX + 1]; /* of a record or move, not yet handed out */
    unsigned nwaiting, waiting_at;
    uint64_t shapes[SHAPES_MAX];
    uint32_t nshapes;
    uint32_t count, done; /* events of the chunk */
    bool threads;
    bool moves, repeats; /* the chunk may have some */
    bool valued;         /* some event of the chunk may have a value */
    uint32_t thread;     /* of the next event, unless it switches */
    uint32_t *last_site; /* of that thread, in the context */
    uint64_t stamp;
    uint64_t *extra; /* D of the calls decoded by the last decoder_next() */
    size_t nextra, extra_cap;
};

void decoder_release(struct decoder *d); /* a zeroed struct is empty */
/* Take a chunk's payload apart and decompress it. */
int decoder_start(struct decoder *d, const struct hdl_chunk_header *h, const uint8_t *payload,
                  struct error *err);
/* Up to n events; 0 at the end of the chunk, -1 on damage. For thread chunks `sequence` and
 * `stamp` take a number per event; else they may be NULL. */
long decoder_next(struct decoder *d, const struct tables *t, struct event *events, size_t n,
                  uint64_t *sequence, uint64_t *stamp, struct error *err);

/* ---- shared small things ---- */

static inline uint64_t zigzag(uint64_t delta)
{
    return delta << 1 ^ (uint64_t)((int64_t)delta >> 63);
}

static inline uint64_t unzigzag(uint64_t z)
{
    return z >> 1 ^ -(z & 1);
}

#endif
