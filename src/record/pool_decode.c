/* pool_decode.c - the chunks of a thread, through its encoder, to the file */
#include "record/pool_inside.h"
#include "base/alloc.h"
#include "trace/hdl/encode_stretch.h"

#include <stdlib.h>
#include <string.h>

enum {
    ENCODERS_MAX = 256,     /* of about 100 KiB; a program with more threads at work at once gets
                               smaller chunks in its file */
    FIRST_CONTEXT_BITS = 9, /* most threads are short: small to make, small to read */
    CONTEXT_BITS = 11,
    CONTEXT_BITS_LARGE = 13, /* for threads that use that many sites in turn */
    SPAN_NS_MIN = 500000     /* threads that last for some milliseconds have several chunks, too */
};

/* ---- encoders ---- */

/* A thread that fills a chunk's contexts has sites that push each other out. */
static uint32_t next_context_bits(const struct encoder *e)
{
    uint32_t bits = e->context.bits;

    if (bits < CONTEXT_BITS)
        return CONTEXT_BITS;
    return bits < CONTEXT_BITS_LARGE && encoder_contexts(e) > (3u << bits) / 4 ? bits + 1 : bits;
}

/* The encoder holds so much now. Here it shows that the file will be as large as it may be. */
static void note_pending(struct pool *p, struct stream *s, size_t bytes)
{
    uint64_t all = __atomic_add_fetch(&p->pending, bytes - s->pending, __ATOMIC_RELAXED);

    s->pending = bytes;
    sink_check_size(p->sink, all, s->stamp_last);
}

void pool_flush_stream(struct worker *w, struct stream *s)
{
    struct pool *p = w->pool;
    struct encoder *e = s->encoder;

    if (!e || !e->count)
        return;
    hdl_pack(w->packer, e);
    if (!s->over)
        s->over = !sink_append(p->sink, w->packer, s->raw.thread, s->first, s->stamp_first,
                               s->stamp_last);
    s->first += e->count;
    s->context_bits = next_context_bits(e);
    e->count = 0;
    note_pending(p, s, 0);
    pool_set_chunk_bytes(p);
    if (sink_bytes(p->sink) >= __atomic_load_n(&p->due_bytes, __ATOMIC_RELAXED))
        __atomic_store_n(&p->due, true, __ATOMIC_RELAXED);
}

/* Flush an idle stream and take its encoder. */
static struct encoder *encoder_of_idle(struct worker *w)
{
    struct pool *p = w->pool;
    struct stream *s = pool_idle_oldest(p);
    struct encoder *e;

    if (!s)
        return NULL;
    pool_make_busy(p, s);
    pthread_mutex_unlock(&p->lock);
    pool_flush_stream(w, s);
    pthread_mutex_lock(&p->lock);
    e = s->encoder;
    s->encoder = NULL;
    pool_make_idle(p, s);
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

void pool_put_encoder(struct pool *p, struct stream *s)
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

/* Does it take in more time than passes between two checkpoints? Chunks are sorted by time: those
 * of a writer that lags behind shall depend on few that stand behind them. */
static bool is_long(const struct pool *p, const struct stream *s)
{
    uint64_t age = s->stamp_first > p->began_ns ? s->stamp_first - p->began_ns : 0;
    uint64_t most = age / 8 > SPAN_NS_MIN ? age / 8 : SPAN_NS_MIN;

    return s->stamp_last - s->stamp_first > most;
}

static bool is_full(struct pool *p, struct stream *s)
{
    size_t bytes = encoder_bytes(s->encoder);

    note_pending(p, s, bytes);
    return s->encoder->count >= p->chunk_events ||
           bytes >= __atomic_load_n(&p->chunk_bytes, __ATOMIC_RELAXED) ||
           (bytes >= __atomic_load_n(&p->span_bytes, __ATOMIC_RELAXED) && is_long(p, s));
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
        if (done < r->count || is_full(w->pool, s))
            pool_flush_stream(w, s);
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
        if (!n || is_full(w->pool, s))
            pool_flush_stream(w, s);
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
    bool good = ring_copy(p->ring, number, c);
    bool stopped = sink_is_over(p->sink, good ? c->head.ns_start : 0);

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
    size_t end = at + ring_stretch_words(w->chunk.data[at]);

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

/* Records that were taken early and are longer now, once more. Behind a move of frames the stack
 * would be a wrong one: then what the record got is lost. */
static void decode_changed(struct worker *w, struct stream *s)
{
    size_t at = 0, record;
    bool moved;

    while (early_changed(&s->early, &w->chunk, &at, &record, &moved)) {
        if (moved)
            s->raw.lost++;
        else
            decode(w, s, &w->chunk, record, at);
    }
}

static void decode_chunk(struct worker *w, struct stream *s, const struct turn *c)
{
    size_t at = 0;

    if (!fetch(w, s, c->number, &w->chunk))
        return;
    w->stream = s;
    w->chunk.head.serial = c->serial;
    if (!c->insert_at) {
        decode_changed(w, s);
        at = decode_inserts(w, s, early_start(&s->early, c->serial));
        s->early.some = false;
    }
    decode(w, s, &w->chunk, at, w->chunk.words);
}

/* ---- chunks that are being filled ---- */

/* The chunk that is to be looked at, if its turn has come. What handlers recorded may come later
 * and belong into it: nothing behind that place is taken. */
static bool take_look(struct worker *w, struct stream *s, struct look *out)
{
    struct pool *p = w->pool;
    uint32_t insert_at;

    pthread_mutex_lock(&p->lock);
    *out = s->look;
    s->look.wanted = false;
    if (out->serial != s->turns.next_serial)
        out->wanted = false;
    insert_at = turns_first_insert(&s->turns, out->serial);
    pthread_mutex_unlock(&p->lock);
    if (insert_at && (!out->insert_at || insert_at < out->insert_at))
        out->insert_at = insert_at;
    return out->wanted;
}

/* While the stream is busy here, nobody gives the chunk back: it is the one that was seen, or its
 * thread has taken it again. */
static bool copy_filling(struct worker *w, const struct stream *s, const struct look *l,
                         struct chunk_copy *c)
{
    return ring_copy(w->pool->ring, l->number, c) && c->head.thread == s->raw.thread &&
           c->head.serial == l->serial && !c->head.insert_at &&
           !sink_is_over(w->pool->sink, c->head.ns_start);
}

/* How far records may be taken: where the thread was at the look, and before any handler. */
static size_t look_limit(const struct chunk_copy *c, const struct look *l, size_t from, size_t to)
{
    uint64_t end = l->insert_at && l->insert_at < l->cursor ? l->insert_at : l->cursor;
    size_t most = end >= RING_CHUNK_HEADER ? (end - RING_CHUNK_HEADER) / 8 : 0;

    if (to <= most)
        return to;
    return most > from ? raw_record_at(c, from, most) : from;
}

static void take_early(struct worker *w, struct stream *s)
{
    bool full = w->pool->full;
    struct look l;
    size_t from, to;

    if (!take_look(w, s, &l) || !copy_filling(w, s, &l, &w->chunk))
        return;
    if (l.quiet && !full && !copy_filling(w, s, &l, &w->insert))
        return;
    from = early_start(&s->early, l.serial);
    to = early_limit(&s->early, &w->chunk, l.quiet ? &w->insert : NULL, full);
    to = look_limit(&w->chunk, &l, from, to);
    if (to <= from)
        return;
    decode_changed(w, s);
    early_take(&s->early, &w->chunk, to, full);
    decode(w, s, &w->chunk, from, to);
}

/* ---- streams ---- */

void pool_end_stream(struct worker *w, struct stream *s)
{
    raw_finish(&w->reader, &s->raw);
    pool_flush_stream(w, s);
    if (s->encoder)
        pool_put_encoder(w->pool, s);
    raw_thread_release(&s->raw);
}

/* One that the file waits for is brought to where it was then. Else streams take turns where the
 * file may end soon, since one that is behind the others makes what they have useless; and nothing
 * is begun when everything has to be flushed. Lock held. */
static bool has_enough(const struct pool *p, const struct stream *s)
{
    if (s->owed)
        return !s->owed_chunks;
    return pool_is_due(p) || p->nurgent || (p->sink->max_bytes && p->nqueued);
}

static bool take_chunk(struct pool *p, struct stream *s, bool again, struct turn *c)
{
    bool found;

    pthread_mutex_lock(&p->lock);
    found = !(again && has_enough(p, s)) && turns_take(&s->turns, c);
    if (found && s->owed_chunks)
        s->owed_chunks--;
    pthread_mutex_unlock(&p->lock);
    return found;
}

/* Was something seen at the last look that was not taken yet? What the thread may still lengthen,
 * or what has to wait for a chunk before it. Lock held. */
static bool is_behind(const struct stream *s)
{
    const struct look *l = &s->look;

    if (l->cursor <= RING_CHUNK_HEADER || (int32_t)(s->turns.next_serial - l->serial) > 0)
        return false;
    return early_start(&s->early, l->serial) * 8 + RING_CHUNK_HEADER < l->cursor;
}

/* True: the file waits for this stream, and need not any more. */
static bool flush_if_owed(struct worker *w, struct stream *s)
{
    struct pool *p = w->pool;
    bool owed;

    pthread_mutex_lock(&p->lock);
    owed = s->owed;
    s->owed = false;
    pthread_mutex_unlock(&p->lock);
    if (!owed)
        return false;
    pool_flush_stream(w, s);
    pthread_mutex_lock(&p->lock);
    s->complete = is_behind(s) ? s->raw.stamp - 1 : UINT64_MAX;
    if (!--p->nowed)
        pool_settle(p);
    pthread_mutex_unlock(&p->lock);
    return true;
}

void pool_work_on(struct worker *w, struct stream *s)
{
    bool whole = false;
    struct turn c;

    w->stream = s;
    places_name_thread(w->pool->places, s->raw.thread);
    for (; take_chunk(w->pool, s, whole, &c); whole = true)
        decode_chunk(w, s, &c);
    take_early(w, s);
    if (s->raw.ended)
        pool_end_stream(w, s);
    if (flush_if_owed(w, s) && !whole && s->encoder)
        pool_put_encoder(w->pool, s); /* it has little to say: others may need it more */
}

void pool_decode_init(struct worker *w)
{
    w->reader = (struct raw_reader){ .places = w->pool->places,
                                     .clock = w->pool->clock,
                                     .ring = w->pool->ring,
                                     .take = encode,
                                     .take_run = encode_run,
                                     .arg = w };
}
