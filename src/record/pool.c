/* pool.c - streams, their chunks and encoders, and the workers */
#include "record/pool.h"
#include "base/alloc.h"
#include "record/raw.h"
#include "record/turns.h"
#include "trace/encode_stretch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    ENCODERS_MAX = 256, /* of about 100 KiB; a program with more threads at work at once gets
                           smaller chunks in its file */
    /* Encoded, before compression. Each thread has such a chunk under way: with four times as much
     * a program of five threads takes 3 MB more, for a file that is 3 % smaller. */
    CHUNK_EVENTS = 1 << 15,
    CHUNK_BYTES = 1 << 17,
    /* In each chunk the first record of a stretch is stored as a whole, and some programs run
     * through a thousand of them all the time; values fill it sooner. */
    CHUNK_EVENTS_FULL = 1 << 18,
    CHUNK_BYTES_FULL = 1 << 19,
    LEVEL_FAST = -4,        /* gives up sooner on what does not compress */
    FIRST_CONTEXT_BITS = 9, /* most threads are short: small to make, small to read */
    CONTEXT_BITS = 11,
    CONTEXT_BITS_LARGE = 13, /* for threads that use that many sites in turn */
};

struct stream {
    struct raw_thread raw;
    struct turns turns;           /* its chunks */
    bool busy, queued;            /* a worker has it; it is in the queue of work */
    struct stream *next_queued;   /* queue */
    struct stream *newer, *older; /* idle streams with an encoder, by age */
    uint64_t idle_since;          /* ms */
    struct encoder *encoder;
    uint64_t first;                   /* events in the file */
    uint64_t stamp_first, stamp_last; /* of the encoder's events */
    uint32_t context_bits;            /* of the next chunk */
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
    uint32_t chunk_events; /* at most */
    size_t chunk_bytes;
    /* `lock` protects what follows, and in streams all but raw, encoder, first and stamps, which
     * belong to the worker that made the stream busy. The output's lock may be taken inside of
     * nothing here. */
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    struct stream **streams; /* by thread */
    size_t streams_cap;
    struct stream *first_queued, *last_queued;
    unsigned nqueued, nbusy;
    struct stream idle; /* ring of idle streams with an encoder: newer is the oldest one */
    struct encoder **spare;
    size_t nspare, spare_cap, nencoders;
    bool over;
    struct pool_counts counts;

    struct worker *workers;
    unsigned nworkers;
};

static uint64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---- queues; lock held ---- */

static void enqueue(struct pool *p, struct stream *s)
{
    if (s->busy || s->queued)
        return;
    s->queued = true;
    s->next_queued = NULL;
    if (p->last_queued)
        p->last_queued->next_queued = s;
    else
        p->first_queued = s;
    p->last_queued = s;
    p->nqueued++;
}

static void idle_remove(struct stream *s)
{
    if (!s->newer)
        return;
    s->newer->older = s->older;
    s->older->newer = s->newer;
    s->newer = s->older = NULL;
}

static void idle_add(struct pool *p, struct stream *s)
{
    s->idle_since = now_ms();
    s->newer = &p->idle;
    s->older = p->idle.older;
    s->older->newer = s;
    p->idle.older = s;
}

/* The one that has been idle longest, or NULL. */
static struct stream *idle_oldest(struct pool *p)
{
    return p->idle.newer == &p->idle ? NULL : p->idle.newer;
}

static void make_busy(struct pool *p, struct stream *s)
{
    idle_remove(s);
    s->busy = true;
    p->nbusy++;
}

static void make_idle(struct pool *p, struct stream *s)
{
    s->busy = false;
    p->nbusy--;
    if (s->encoder)
        idle_add(p, s);
    if (turns_ready(&s->turns))
        enqueue(p, s);
    if (!p->nbusy && !p->nqueued)
        pthread_cond_broadcast(&p->done);
}

static struct stream *dequeue(struct pool *p)
{
    struct stream *s = p->first_queued;

    if (!s)
        return NULL;
    p->first_queued = s->next_queued;
    if (!p->first_queued)
        p->last_queued = NULL;
    p->nqueued--;
    s->queued = false;
    make_busy(p, s);
    return s;
}

/* ---- encoders ---- */

/* A thread that fills a chunk's contexts has sites that push each other out. */
static uint32_t next_context_bits(const struct encoder *e)
{
    uint32_t bits = e->context.bits;

    if (bits < CONTEXT_BITS)
        return CONTEXT_BITS;
    return bits < CONTEXT_BITS_LARGE && encoder_contexts(e) > (3u << bits) / 4 ? bits + 1 : bits;
}

static void flush_stream(struct worker *w, struct stream *s)
{
    struct encoder *e = s->encoder;

    if (!e || !e->count)
        return;
    hdl_pack(w->packer, e);
    sink_append(w->pool->sink, w->packer, s->raw.thread, s->first, s->stamp_first, s->stamp_last);
    s->first += e->count;
    s->context_bits = next_context_bits(e);
    e->count = 0;
}

/* Flush an idle stream and take its encoder. */
static struct encoder *encoder_of_idle(struct worker *w)
{
    struct pool *p = w->pool;
    struct stream *s = idle_oldest(p);
    struct encoder *e;

    if (!s)
        return NULL;
    make_busy(p, s);
    pthread_mutex_unlock(&p->lock);
    flush_stream(w, s);
    pthread_mutex_lock(&p->lock);
    e = s->encoder;
    s->encoder = NULL;
    make_idle(p, s);
    return e;
}

static struct encoder *encoder_get(struct worker *w)
{
    struct pool *p = w->pool;
    struct encoder *e = NULL;

    pthread_mutex_lock(&p->lock);
    if (p->nspare)
        e = p->spare[--p->nspare];
    else if (p->nencoders >= ENCODERS_MAX)
        e = encoder_of_idle(w);
    if (!e)
        p->nencoders++;
    pthread_mutex_unlock(&p->lock);
    if (!e) {
        e = xmalloc(sizeof(*e));
        encoder_init(e, FIRST_CONTEXT_BITS, true);
    }
    return e;
}

static void encoder_put(struct pool *p, struct stream *s)
{
    pthread_mutex_lock(&p->lock);
    GROW(p->spare, p->spare_cap, p->nspare + 1);
    p->spare[p->nspare++] = s->encoder;
    s->encoder = NULL;
    pthread_mutex_unlock(&p->lock);
}

static void start_chunk(struct worker *w, struct stream *s, uint64_t stamp)
{
    if (!s->encoder) {
        s->encoder = encoder_get(w);
        s->encoder->count = 0;
    }
    encoder_resize(s->encoder, s->first ? s->context_bits : FIRST_CONTEXT_BITS);
    encoder_start(s->encoder, stamp);
    s->stamp_first = stamp;
}

static bool is_full(const struct pool *p, const struct encoder *e)
{
    size_t bytes = 0;

    for (int i = 0; i < COLUMNS_MIXED; i++)
        bytes += e->columns[i].len;
    return e->count >= p->chunk_events || bytes >= p->chunk_bytes;
}

/* A slice of events: into the stream's encoder. */
static void encode(void *arg, const struct raw_reader *r)
{
    struct worker *w = arg;
    struct stream *s = w->stream;
    size_t done = 0;

    while (done < r->count) {
        size_t n;

        if (!s->encoder || !s->encoder->count)
            start_chunk(w, s, r->stamps[done]);
        n = encoder_add(s->encoder, r->events + done, r->count - done, r->extra,
                        r->sequences + done, r->stamps + done, w->pool->chunk_events);
        done += n;
        if (n)
            s->stamp_last = r->stamps[done - 1];
        if (done < r->count || is_full(w->pool, s->encoder))
            flush_stream(w, s);
    }
}

/* The same for records that need no events between. */
static void encode_run(void *arg, struct raw_run *run)
{
    struct worker *w = arg;
    struct stream *s = w->stream;

    for (;;) {
        bool stretch;
        size_t n;

        raw_run_take_stamps(run);
        stretch = raw_run_is_stretch(run);
        if (!stretch && !raw_run_is_common(run))
            return;

        if (!s->encoder || !s->encoder->count)
            start_chunk(w, s, run->stamp);
        n = stretch ? encoder_add_stretches(s->encoder, run, w->pool->chunk_events)
                    : encoder_add_raw(s->encoder, run, w->pool->chunk_events);
        if (n)
            s->stamp_last = stretch ? run->stamp : run->encoded;
        else if (run->refused || (stretch && raw_run_is_unknown(run)))
            return;
        if (!n || is_full(w->pool, s->encoder))
            flush_stream(w, s);
    }
}

/* ---- chunks ---- */

static void note_damage(struct worker *w, const struct stream *s, const char *what)
{
    struct pool *p = w->pool;

    __atomic_fetch_add(&p->counts.damaged, 1, __ATOMIC_RELAXED);
    pthread_mutex_lock(&p->sink->lock);
    sink_note(p->sink, "a buffer of thread T%u was damaged: %s", s->raw.thread, what);
    pthread_mutex_unlock(&p->sink->lock);
}

/* Copy the chunk and give it back. False: it is of no use. */
static bool fetch(struct worker *w, const struct stream *s, uint32_t number, struct chunk_copy *c)
{
    struct pool *p = w->pool;
    bool good = ring_copy(p->ring, number, c), stopped = sink_is_stopped(p->sink);

    ring_give_back(p->ring, number);
    if (stopped)
        __atomic_fetch_add(&p->counts.dropped, 1, __ATOMIC_RELAXED);
    else if (!good)
        note_damage(w, s, "impossible length");
    else
        __atomic_fetch_add(&p->counts.records_bytes, 8 * c->words, __ATOMIC_RELAXED);
    return good && !stopped;
}

static void decode(struct worker *w, struct stream *s, struct chunk_copy *c, size_t from, size_t to)
{
    const char *fault = raw_decode(&w->reader, &s->raw, c, from, to);

    if (fault)
        note_damage(w, s, fault);
}

/* The rest of the record at word `at`, of which the first events were taken; the word behind it. */
static size_t raw_after(struct worker *w, struct stream *s, size_t at, unsigned done)
{
    size_t end = at + (w->chunk.data[at] >> 56 & 0x7f);

    raw_decode_part(&w->reader, &s->raw, &w->chunk, at, done, end);
    return end;
}

/* The chunk up to word `to`, where a handler came, perhaps inside of a record that became longer
 * afterwards. The word that the next records begin at, or that record. */
static size_t decode_up_to(struct worker *w, struct stream *s, size_t at, size_t to, unsigned *done)
{
    size_t begins = raw_record_at(&w->chunk, at, to);

    if (*done && begins > at) {
        at = raw_after(w, s, at, *done);
        *done = 0;
    }
    if (begins > at) {
        decode(w, s, &w->chunk, at, begins);
        at = begins;
    }
    if (begins < to)
        *done = raw_decode_part(&w->reader, &s->raw, &w->chunk, at, *done, to);
    return at;
}

/* What handlers recorded while the thread was at word `at` of its chunk, or everything that is
 * left for the chunk. Returns the word up to which the chunk was decoded. */
static size_t decode_inserts(struct worker *w, struct stream *s, size_t at)
{
    uint32_t serial = w->chunk.head.serial;
    unsigned done = 0; /* events of the record at `at`, when the handler came in its midst */
    struct turn c;

    for (;;) {
        size_t to;
        bool found;

        pthread_mutex_lock(&w->pool->lock);
        found = turns_take_insert(&s->turns, serial, &c);
        pthread_mutex_unlock(&w->pool->lock);
        if (!found)
            break;
        to = c.insert_at >= RING_CHUNK_HEADER ? (c.insert_at - RING_CHUNK_HEADER) / 8 : 0;
        if (to > w->chunk.words)
            to = w->chunk.words;
        at = decode_up_to(w, s, at, to, &done);
        if (fetch(w, s, c.number, &w->insert))
            decode(w, s, &w->insert, 0, w->insert.words);
    }
    return done ? raw_after(w, s, at, done) : at;
}

static void decode_chunk(struct worker *w, struct stream *s, const struct turn *c)
{
    size_t at = 0;

    if (!fetch(w, s, c->number, &w->chunk))
        return;
    w->stream = s;
    w->chunk.head.serial = c->serial;
    if (!c->insert_at)
        at = decode_inserts(w, s, 0);
    decode(w, s, &w->chunk, at, w->chunk.words);
}

/* A thread that has ended needs no memory. */
static void end_stream(struct worker *w, struct stream *s)
{
    raw_finish(&w->reader, &s->raw);
    flush_stream(w, s);
    if (s->encoder)
        encoder_put(w->pool, s);
    raw_thread_release(&s->raw);
}

static bool take_chunk(struct pool *p, struct stream *s, struct turn *c)
{
    bool found;

    pthread_mutex_lock(&p->lock);
    found = turns_take(&s->turns, c);
    pthread_mutex_unlock(&p->lock);
    return found;
}

static void work_on(struct worker *w, struct stream *s)
{
    struct turn c;

    w->stream = s;
    places_name_thread(w->pool->places, s->raw.thread);
    while (take_chunk(w->pool, s, &c))
        decode_chunk(w, s, &c);
    if (s->raw.ended)
        end_stream(w, s);
}

/* ---- adding ---- */

/* Lock held. */
static struct stream *stream_of(struct pool *p, uint32_t thread)
{
    GROW(p->streams, p->streams_cap, (size_t)thread + 1);
    if (!p->streams[thread]) {
        p->streams[thread] = xcalloc(1, sizeof(struct stream));
        p->streams[thread]->raw.thread = thread;
    }
    return p->streams[thread];
}

static void add_chunk(struct pool *p, uint32_t number)
{
    struct ring_chunk head;
    struct stream *s;

    ring_peek(p->ring, number, &head);
    if (!ring_knows_thread(p->ring, head.thread)) {
        __atomic_fetch_add(&p->counts.damaged, 1, __ATOMIC_RELAXED);
        ring_give_back(p->ring, number);
        return;
    }
    s = stream_of(p, head.thread);
    turns_add(&s->turns, (struct turn){ number, head.serial, head.insert_serial, head.insert_at });
    if (turns_ready(&s->turns))
        enqueue(p, s);
}

void pool_add(struct pool *p, const uint32_t *numbers, size_t n)
{
    unsigned queued;

    pthread_mutex_lock(&p->lock);
    for (size_t i = 0; i < n; i++)
        add_chunk(p, numbers[i]);
    queued = p->nqueued;
    if (queued > 1) /* one is the collector's */
        pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
}

/* ---- workers ---- */

static bool work_once(struct worker *w)
{
    struct pool *p = w->pool;
    struct stream *s;

    pthread_mutex_lock(&p->lock);
    s = dequeue(p);
    pthread_mutex_unlock(&p->lock);
    if (!s)
        return false;
    work_on(w, s);
    pthread_mutex_lock(&p->lock);
    make_idle(p, s);
    pthread_mutex_unlock(&p->lock);
    return true;
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    struct pool *p = w->pool;

    for (;;) {
        pthread_mutex_lock(&p->lock);
        while (!p->nqueued && !p->over)
            pthread_cond_wait(&p->work, &p->lock);
        if (p->over) {
            pthread_mutex_unlock(&p->lock);
            return NULL;
        }
        pthread_mutex_unlock(&p->lock);
        work_once(w);
    }
}

bool pool_work(struct pool *p)
{
    return work_once(&p->workers[0]);
}

void pool_wait(struct pool *p)
{
    while (pool_work(p))
        ;
    pthread_mutex_lock(&p->lock);
    while (p->nbusy || p->nqueued)
        pthread_cond_wait(&p->done, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

void pool_flush_idle(struct pool *p, uint64_t milliseconds)
{
    struct worker *w = &p->workers[0];
    uint64_t now = now_ms();
    struct stream *s;

    pthread_mutex_lock(&p->lock);
    while ((s = idle_oldest(p)) && now - s->idle_since >= milliseconds) {
        make_busy(p, s);
        pthread_mutex_unlock(&p->lock);
        flush_stream(w, s);
        encoder_put(p, s);
        pthread_mutex_lock(&p->lock);
        make_idle(p, s);
    }
    pthread_mutex_unlock(&p->lock);
}

void pool_finish(struct pool *p, struct pool_counts *counts)
{
    pool_wait(p);
    pthread_mutex_lock(&p->lock);
    for (size_t i = 0; i < p->streams_cap; i++) {
        if (!p->streams[i])
            continue;
        p->streams[i]->turns.final = true;
        if (turns_ready(&p->streams[i]->turns))
            enqueue(p, p->streams[i]);
    }
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    pool_wait(p);
    *counts = p->counts;
    for (size_t i = 0; i < p->streams_cap; i++) {
        struct stream *s = p->streams[i];

        if (!s)
            continue;
        p->workers[0].stream = s;
        idle_remove(s);
        counts->lost += s->raw.lost;
        end_stream(&p->workers[0], s);
    }
}

/* ---- life cycle ---- */

struct pool *pool_new(struct ring *r, struct sink *o, struct places *places, const struct clock *c,
                      unsigned workers, enum hdl_compression compression, int level)
{
    struct pool *p = xcalloc(1, sizeof(*p));
    bool full = r->header->mode == RING_MODE_FULL;

    p->ring = r;
    p->sink = o;
    p->places = places;
    p->chunk_events = full ? CHUNK_EVENTS_FULL : CHUNK_EVENTS;
    p->chunk_bytes = full ? CHUNK_BYTES_FULL : CHUNK_BYTES;
    p->idle.newer = p->idle.older = &p->idle;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->done, NULL);
    p->workers = xcalloc(workers, sizeof(*p->workers));
    for (unsigned i = 0; i < workers; i++) {
        struct worker *w = &p->workers[i];

        w->pool = p;
        w->packer =
            hdl_packer_new(compression, level || compression != HDL_LZ4 ? level : LEVEL_FAST);
        w->reader = (struct raw_reader){ .places = places,
                                         .clock = c,
                                         .ring = r,
                                         .take = encode,
                                         .take_run = encode_run,
                                         .arg = w };
        if (i && pthread_create(&w->thread, NULL, worker_main, w) != 0) {
            hdl_packer_free(w->packer);
            break; /* with fewer, then */
        }
        p->nworkers++;
    }
    return p;
}

void pool_free(struct pool *p)
{
    pthread_mutex_lock(&p->lock);
    p->over = true;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    for (unsigned i = 1; i < p->nworkers; i++)
        pthread_join(p->workers[i].thread, NULL);
    for (unsigned i = 0; i < p->nworkers; i++) {
        hdl_packer_free(p->workers[i].packer);
        raw_reader_release(&p->workers[i].reader);
    }
    for (size_t i = 0; i < p->streams_cap; i++) {
        struct stream *s = p->streams[i];

        if (!s)
            continue;
        raw_thread_release(&s->raw);
        turns_release(&s->turns);
        free(s);
    }
    for (size_t i = 0; i < p->nspare; i++) {
        encoder_release(p->spare[i]);
        free(p->spare[i]);
    }
    free(p->spare);
    free(p->streams);
    free(p->workers);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->work);
    pthread_cond_destroy(&p->done);
    free(p);
}
