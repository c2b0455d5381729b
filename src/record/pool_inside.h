/* pool_inside.h - streams, workers and the pool, for the files that make it up
 *
 * pool.c has the queues and the workers, pool_decode.c what a worker does with a
 * stream's chunks.
 */
#ifndef HEDDLE_RECORD_POOL_INSIDE_H
#define HEDDLE_RECORD_POOL_INSIDE_H

#include "record/early.h"
#include "record/pool.h"
#include "record/raw.h"
#include "record/turns.h"

/* What the collector saw of the chunk that a thread is filling. */
struct look {
    bool wanted; /* a worker is to take what there is */
    bool quiet;  /* nothing was added since the look before */
    uint32_t number, serial;
    uint64_t cursor;
    uint32_t insert_at; /* where the first handler's chunk belongs that may come yet; 0: none */
};

struct stream {
    struct raw_thread raw;
    struct turns turns;         /* its chunks */
    bool busy, queued;          /* a worker has it; it is in the queue of work */
    bool urgent;                /* it is in the queue of those to be flushed */
    struct stream *next_queued; /* queue */
    struct stream *next_urgent;
    struct stream *newer, *older; /* idle streams with an encoder, by age; or busy ones */
    uint64_t idle_since;          /* ms */
    struct encoder *encoder;
    uint64_t first;                   /* events in the file */
    uint64_t stamp_first, stamp_last; /* of the encoder's events */
    uint32_t context_bits;            /* of the next chunk */
    bool over;                        /* the file has no place for more of it */
    size_t pending;                   /* bytes that the encoder holds, before compression */
    struct early early;               /* what was taken of the chunk that is being filled */
    struct look look;                 /* at the chunk that it is filling */
    bool owed;                        /* the file waits for a flush of it (pool_checkpoint) */
    size_t owed_chunks;               /* and for so many of its chunks before */
    uint64_t complete; /* of what was there at the last look, all up to this stamp was taken */
};

struct worker {
    struct pool *pool;
    struct raw_reader reader;
    struct hdl_packer *packer;
    struct chunk_copy chunk, insert;
    struct stream *stream;
    pthread_t thread;
};

struct pool {
    struct ring *ring;
    struct sink *sink;
    struct places *places;
    const struct clock *clock;
    uint32_t chunk_events; /* at most */
    size_t chunk_bytes;    /* atomic */
    size_t span_bytes;     /* atomic; of a chunk that ends because it spans much time, at least */
    unsigned active;       /* atomic: streams of the last checkpoint */
    bool full;             /* records of a full build */
    uint64_t began_ns;     /* CLOCK_MONOTONIC, as stamps */
    uint64_t pending;      /* atomic: bytes in all encoders */
    uint64_t due_bytes;    /* atomic: of the file, when everything has to be flushed again */
    bool due;              /* atomic: it has them */
    /* `lock` protects what follows, and in streams all but raw, encoder, first, stamps, over,
     * pending and early, which belong to the worker that made the stream busy. The
     * output's lock may be taken inside of nothing here. */
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    struct stream **streams; /* by thread */
    size_t streams_cap;
    struct stream *first_queued, *last_queued;
    struct stream *first_urgent, *last_urgent; /* come before those */
    unsigned nqueued, nurgent, nbusy;
    unsigned nowed;        /* streams that the file waits for */
    uint64_t looked_ns;    /* when the last look began: stamps up to then have all they depend on */
    uint64_t looked_stamp; /* the same by the clock that stamps are made of */
    bool looked_at_all;    /* nothing was on its way then */
    bool calls;            /* the program had called untraced code soon after */
    uint64_t complete;     /* see pool_complete() */
    struct stream idle;    /* ring of idle streams with an encoder: newer is the oldest one */
    struct stream busy;    /* ring of busy ones */
    struct encoder **spare;
    size_t nspare, spare_cap, nencoders;
    bool over;
    struct pool_counts counts;

    struct worker *workers;
    unsigned nworkers;
};

/* ---- pool.c ---- */
void pool_set_chunk_bytes(struct pool *p);
void pool_make_busy(struct pool *p, struct stream *s); /* lock held */
void pool_make_idle(struct pool *p, struct stream *s);
/* All streams of a checkpoint were flushed. Lock held; let go of meanwhile. */
void pool_settle(struct pool *p);
/* The stream that has been idle longest of those with an encoder, or NULL; lock held. */
struct stream *pool_idle_oldest(struct pool *p);

/* ---- pool_decode.c ---- */
/* All chunks whose turn has come, what there is of the one that is being filled, and a flush where
 * one is due. The stream is busy. */
void pool_work_on(struct worker *w, struct stream *s);
/* What the encoder holds goes to the file. */
void pool_flush_stream(struct worker *w, struct stream *s);
void pool_put_encoder(struct pool *p, struct stream *s);
/* A thread that has ended needs no memory. */
void pool_end_stream(struct worker *w, struct stream *s);
void pool_decode_init(struct worker *w); /* the worker's reader */

#endif
