/* merge.c - a heap of thread streams, and objects that make them wait
 *
 * A stream is ready when its next event may come now. Ready streams are in a
 * heap by stamp. A stream whose next event has sequence number k on an object
 * that has only seen k - 2 is parked at the object, until operation k - 1
 * comes by. A stream that was not looked at yet is in the heap by the stamp
 * in its first chunk's header, and gets its buffers when its time comes.
 *
 * With the feature STRIPES an object is a stripe, one of 65,536 counters
 * (abi/rt_stripe.h); without it, each object of the program counts alone.
 *
 * Recorders often do not know the size of a block that is freed. The order is
 * known here, so the size is that of the last alloc at the address.
 *
 * Where plain reads have values, the order is refined by them (merge_values.h): a stream is out of
 * the heap while it waits for the value of its next read, or until others have read what its next
 * write destroys.
 *
 * Cost: a logarithm of the number of streams per run of events without
 * sequence numbers; memory for the streams that have begun and not ended, and
 * 16 bytes for each address where memory was allocated.
 */
#include "trace/hdl/merge.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "base/map.h"
#include "abi/rt_stripe.h"
#include "trace/hdl/codec.h"
#include "trace/hdl/merge_values.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH_EVENTS = 4096,
    STREAM_EVENTS = 512, /* decoded ahead per thread */
    BEGIN_MAX = 64,      /* threads at once, for which it is seen to that they begin in time */
};

/* Stream numbers, the one with the smallest key first. */
struct heap {
    uint32_t *at;
    size_t count, cap;
};

/* What is decoded lives only between a thread's first and last event, the decoder only while a
 * chunk is not decoded to its end: a program may have had 100,000 threads. */
struct stream {
    uint32_t thread;
    size_t *chunks; /* of this thread, in order */
    size_t nchunks, chunks_cap;
    size_t next_chunk;
    uint64_t index; /* events delivered, or gone */
    uint64_t key;   /* stamp of its next event; while it waits, that event's sequence number */
    struct decoder *decoder;
    struct event *events;
    uint64_t *sequences, *stamps, *extra;
    size_t events_cap, extra_cap, nextra;
    size_t at, count; /* in events */
    bool waits;
    bool seen;             /* some event was decoded */
    uint32_t number;       /* in merge.streams */
    uint64_t limit, until; /* it waits for a value up to this stamp, and this position */
    struct stream *needer; /* NULL: for that of its read; else until this one */
    uint64_t needed;       /* has delivered so many events */
    bool patient;          /* it has waited */
    bool begun;            /* decoded in the heap, where it has no right place yet */
    uint64_t skip;         /* of its chunk: events that are gone */
    bool dry;              /* it has delivered all that the file has; there may be more */
};

struct object {
    uint64_t seen;       /* sequence number of the last operation that came by */
    struct heap waiting; /* parked streams, the one to come first in front */
};

struct merge {
    struct hdl_file *file;
    const struct tables *tables;
    struct trace_info *info;
    uint64_t lost_before; /* bytes that were lost without our doing */
    bool lost;            /* a thread ended early */
    struct stream **streams;
    size_t nstreams, streams_cap;
    struct map stream_index; /* by thread */
    bool following;          /* the file grows */
    uint64_t limit;          /* no event with a later stamp comes */
    size_t past;             /* next chunk of what stands for a beginning that is gone */
    struct decoder *past_decoder;
    struct heap ready;
    struct decoder **spare;
    size_t nspare, spare_cap;
    bool stripes;
    struct map object_index; /* not with stripes */
    struct object *objects;
    size_t nobjects, objects_cap;
    struct map block_index; /* address -> blocks */
    uint64_t *blocks;       /* bytes of the block allocated there, 0 none */
    size_t nblocks, blocks_cap;
    struct values values;
    size_t unseen;                              /* streams of which no event was decoded */
    struct stream *hopeful[VALUES_WAITING_MAX]; /* they wait for a value, longest first */
    size_t nhopeful;
    const struct trace_thin *thin; /* or NULL */
    bool thinned;                  /* what is decoded may lack events */
    uint64_t position;
    size_t nevents;
    struct event events[BATCH_EVENTS];
    uint64_t *extra;
    size_t nextra, extra_cap;
};

/* ---- decoders ---- */

static struct decoder *decoder_get(struct merge *m)
{
    return m->nspare ? m->spare[--m->nspare] : xcalloc(1, sizeof(struct decoder));
}

static void decoder_put(struct merge *m, struct decoder *d)
{
    GROW(m->spare, m->spare_cap, m->nspare + 1);
    m->spare[m->nspare++] = d;
}

/* ---- streams ---- */

static struct stream *stream_of(struct merge *m, uint32_t thread)
{
    uint32_t *n = map_put(&m->stream_index, thread, (uint32_t)m->nstreams);

    if (*n == m->nstreams) {
        GROW(m->streams, m->streams_cap, m->nstreams + 1);
        m->streams[m->nstreams] = xcalloc(1, sizeof(struct stream));
        m->streams[m->nstreams]->number = (uint32_t)m->nstreams;
        m->streams[m->nstreams++]->thread = thread;
    }
    return m->streams[*n];
}

/* Events delivered and decoded. */
static uint64_t events_known(const struct stream *s)
{
    return s->index + s->count - s->at;
}

/* The thread ends before its chunk number `from`. */
static void lose(struct merge *m, struct stream *s, size_t from, const char *why)
{
    for (; from < s->nchunks; from++)
        m->info->lost_bytes += sizeof(struct hdl_chunk_header) +
                               hdl_file_chunk(m->file, s->chunks[from])->header.stored_bytes;
    s->next_chunk = s->nchunks; /* what follows has a hole before it */
    m->lost = true;
    if (m->info->loss[0])
        return; /* the first reason is the one to look at */
    snprintf(
        m->info->loss, sizeof(m->info->loss), "thread %.60s stops after %" PRIu64 " events: %.120s",
        s->thread < m->tables->threads.count ? intern_get(&m->tables->threads, s->thread) : "?",
        events_known(s), why);
}

/* Chunks all of whose events are gone. */
static void skip_gone(const struct merge *m, struct stream *s)
{
    for (; s->next_chunk < s->nchunks; s->next_chunk++) {
        const struct hdl_chunk_header *h =
            &hdl_file_chunk(m->file, s->chunks[s->next_chunk])->header;

        if (h->first + h->count > s->index)
            return;
    }
}

/* The next chunk of a thread into its decoder. False: there is none that can be used. */
static bool stream_chunk(struct merge *m, struct stream *s)
{
    const struct hdl_chunk_header *h;
    const uint8_t *payload;
    struct error err;

    if (!s->seen)
        skip_gone(m, s);
    if (s->next_chunk == s->nchunks)
        return false;
    h = &hdl_file_chunk(m->file, s->chunks[s->next_chunk])->header;
    if (s->seen ? h->first != events_known(s) : h->first > events_known(s)) {
        lose(m, s, s->next_chunk, "events are missing");
        return false;
    }
    s->decoder = decoder_get(m);
    payload = hdl_file_payload(m->file, s->chunks[s->next_chunk], &err);
    if (payload && decoder_start(s->decoder, h, payload, &err) == 0) {
        s->next_chunk++;
        s->skip = events_known(s) - h->first;
        return true;
    }
    decoder_put(m, s->decoder);
    s->decoder = NULL;
    lose(m, s, s->next_chunk, err.text);
    return false;
}

static void stream_shut(struct merge *m, struct stream *s)
{
    if (s->decoder)
        decoder_put(m, s->decoder);
    free(s->events);
    free(s->sequences);
    free(s->stamps);
    free(s->extra);
    s->decoder = NULL;
    s->events = NULL;
    s->sequences = s->stamps = s->extra = NULL;
    s->events_cap = s->extra_cap = s->nextra = s->at = s->count = 0;
}

static void stream_room(struct stream *s, size_t events)
{
    if (events <= s->events_cap)
        return;
    s->events_cap = events;
    s->events = xrealloc(s->events, events, sizeof(*s->events));
    s->sequences = xrealloc(s->sequences, events, sizeof(*s->sequences));
    s->stamps = xrealloc(s->stamps, events, sizeof(*s->stamps));
}

/* What is not delivered yet moves to the front, the D of its calls too. */
static void stream_compact(struct stream *s)
{
    size_t left = s->count - s->at, nextra = 0;

    if (!s->at)
        return;
    memmove(s->events, s->events + s->at, left * sizeof(*s->events));
    memmove(s->sequences, s->sequences + s->at, left * sizeof(*s->sequences));
    memmove(s->stamps, s->stamps + s->at, left * sizeof(*s->stamps));
    for (size_t i = 0; i < left; i++) {
        struct event *ev = &s->events[i];

        if (ev->op != OP_CALL)
            continue;
        if (ev->old)
            memmove(s->extra + nextra, s->extra + ev->value, 2 * ev->old * sizeof(*s->extra));
        ev->value = nextra;
        nextra += 2 * ev->old;
    }
    s->at = 0;
    s->count = left;
    s->nextra = nextra;
}

/* The D that was just decoded belongs to the stream, which may outlive the decoder's use. */
static void stream_take_extra(struct stream *s, const struct decoder *d, size_t events)
{
    if (!d->nextra)
        return;
    GROW(s->extra, s->extra_cap, s->nextra + d->nextra);
    memcpy(s->extra + s->nextra, d->extra, d->nextra * sizeof(*s->extra));
    for (size_t i = s->count; i < s->count + events; i++)
        if (s->events[i].op == OP_CALL)
            s->events[i].value += s->nextra;
    s->nextra += d->nextra;
}

/* Of the events that were just decoded those that are gone; how many are left. */
static long stream_drop_gone(struct stream *s, long n)
{
    size_t drop = s->skip < (uint64_t)n ? (size_t)s->skip : (size_t)n;
    size_t left = (size_t)n - drop;

    if (!drop)
        return n;
    s->skip -= drop;
    memmove(s->events + s->count, s->events + s->count + drop, left * sizeof(*s->events));
    memmove(s->sequences + s->count, s->sequences + s->count + drop, left * sizeof(*s->sequences));
    memmove(s->stamps + s->count, s->stamps + s->count + drop, left * sizeof(*s->stamps));
    return (long)left;
}

/* May it go? What stands for others, in a thin pass, has no operation. */
static inline bool is_dropped(const struct merge *m, const struct event *ev)
{
    return (ev->op <= OP_WRITE || ev->op == OP_ENTER || ev->op == OP_EXIT) &&
           m->thin->drops(m->thin->arg, ev);
}

/* Of the `n` events that were just decoded those that are wanted; one for each run of others with
 * one stamp, so that all come when they would. How many there are then. */
static size_t stream_thin(struct merge *m, struct stream *s, size_t n)
{
    struct event *events = s->events + s->count, *last = NULL;
    uint64_t *sequences = s->sequences + s->count, *stamps = s->stamps + s->count;
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        bool goes = !sequences[i] && is_dropped(m, &events[i]);

        if (goes && last && stamps[kept - 1] == stamps[i]) {
            last->value++;
            s->index++; /* it counts as delivered */
            continue;
        }
        stamps[kept] = stamps[i];
        sequences[kept] = sequences[i];
        events[kept] = events[i];
        last = NULL;
        if (goes) {
            last = &events[kept];
            *last = (struct event){ .thread = events[i].thread, .site = SITE_NONE, .value = 1 };
        }
        kept++;
    }
    return kept;
}

/* Decode more, behind what there is. False: the stream is at its end. */
static bool stream_decode(struct merge *m, struct stream *s)
{
    struct decoder *d;
    struct error err;
    bool valued;
    size_t left;
    long n;

    stream_compact(s);
    if (!s->decoder && !stream_chunk(m, s))
        return false;
    d = s->decoder;
    left = d->count - d->done;
    stream_room(s, s->count + (left < STREAM_EVENTS ? left : STREAM_EVENTS));
    n = decoder_next(d, m->tables, s->events + s->count, s->events_cap - s->count,
                     s->sequences + s->count, s->stamps + s->count, &err);
    valued = d->valued;
    if (n > 0)
        stream_take_extra(s, d, (size_t)n);
    if (d->done == d->count) {
        s->decoder = NULL;
        decoder_put(m, d);
    }
    if (n <= 0) {
        if (n < 0)
            lose(m, s, s->next_chunk - 1, err.text);
        return false;
    }
    n = stream_drop_gone(s, n);
    m->unseen -= !s->seen;
    s->seen = true;
    if (!n)
        return stream_decode(m, s);
    if (!m->following && valued)
        values_decoded(&m->values, s->events + s->count, (size_t)n);
    s->count += m->thin && !m->following ? stream_thin(m, s, (size_t)n) : (size_t)n;
    return true;
}

/* Is there a next event? */
static bool stream_fill(struct merge *m, struct stream *s)
{
    if (s->at == s->count && !stream_decode(m, s)) {
        stream_shut(m, s);
        return false;
    }
    return true;
}

/* ---- heaps ---- */

static bool before(const struct merge *m, uint32_t a, uint32_t b)
{
    const struct stream *x = m->streams[a], *y = m->streams[b];

    return x->key != y->key ? x->key < y->key : x->thread < y->thread;
}

static void heap_push(const struct merge *m, struct heap *h, uint32_t n)
{
    size_t i = h->count++;

    GROW(h->at, h->cap, h->count);
    for (; i && before(m, n, h->at[(i - 1) / 2]); i = (i - 1) / 2)
        h->at[i] = h->at[(i - 1) / 2];
    h->at[i] = n;
}

static uint32_t heap_pop(const struct merge *m, struct heap *h)
{
    uint32_t top = h->at[0], last = h->at[--h->count];
    size_t i = 0;

    for (;;) {
        size_t child = 2 * i + 1;

        if (child + 1 < h->count && before(m, h->at[child + 1], h->at[child]))
            child++;
        if (child >= h->count || !before(m, h->at[child], last))
            break;
        h->at[i] = h->at[child];
        i = child;
    }
    h->at[i] = last;
    return top;
}

/* ---- objects ---- */

/* What a sequence number counts: operations on this object, or on this thread. */
static uint64_t sequence_key(const struct event *ev)
{
    bool own = ev->op == OP_BEGIN || ev->op == OP_END;

    return sync_object_key(ev->op, own ? ev->thread : ev->target);
}

static struct object *stripe_of(struct merge *m, const struct event *ev)
{
    bool own = ev->op == OP_BEGIN || ev->op == OP_END;

    return &m->objects[ring_stripe(op_class_of(ev->op), own ? ev->thread : ev->target)];
}

static struct object *object_of(struct merge *m, const struct event *ev)
{
    uint32_t *n;

    if (m->stripes)
        return stripe_of(m, ev);
    n = map_put(&m->object_index, sequence_key(ev), (uint32_t)m->nobjects);

    if (*n == m->nobjects) {
        GROW(m->objects, m->objects_cap, m->nobjects + 1);
        m->objects[m->nobjects++] = (struct object){ 0 };
    }
    return &m->objects[*n];
}

/* Put a stream where it belongs: the heap, an object's queue, or nowhere at its end. */
static void place(struct merge *m, uint32_t n)
{
    struct stream *s = m->streams[n];
    struct object *o;

    if (!stream_fill(m, s)) {
        s->dry = m->following;
        return;
    }
    if (s->sequences[s->at]) {
        o = object_of(m, &s->events[s->at]);
        if (s->sequences[s->at] - 1 > o->seen) {
            s->key = s->sequences[s->at];
            s->waits = true;
            heap_push(m, &o->waiting, n);
            return;
        }
    }
    s->key = s->stamps[s->at];
    heap_push(m, &m->ready, n);
}

/* An operation came by: whoever waited for it is ready now. */
static void wake(struct merge *m, struct object *o, uint64_t sequence)
{
    invariant(sequence - 1 <= o->seen); /* its predecessor on the object came before */
    if (sequence > o->seen)
        o->seen = sequence;
    while (o->waiting.count && m->streams[o->waiting.at[0]]->key - 1 <= o->seen) {
        uint32_t n = heap_pop(m, &o->waiting);
        struct stream *s = m->streams[n];

        s->waits = false;
        s->key = s->stamps[s->at];
        heap_push(m, &m->ready, n);
    }
}

/* ---- blocks of memory ---- */

static void note_alloc(struct merge *m, const struct event *ev)
{
    uint32_t *n = map_put(&m->block_index, ev->target, (uint32_t)m->nblocks);

    if (*n == m->nblocks) {
        GROW(m->blocks, m->blocks_cap, m->nblocks + 1);
        m->nblocks++;
    }
    m->blocks[*n] = ev->value;
}

/* A block that nobody saw allocated keeps the size 0: its free is without effect. */
static void note_free(struct merge *m, struct event *ev)
{
    const uint32_t *n = map_get(&m->block_index, ev->target);

    if (!n)
        return;
    if (!ev->value)
        ev->value = m->blocks[*n];
    m->blocks[*n] = 0;
}

/* ---- events ---- */

static void deliver(struct merge *m, struct stream *s)
{
    struct event *to;

    invariant(m->nevents < BATCH_EVENTS && s->at < s->count && !s->waits);
    to = &m->events[m->nevents++];

    *to = s->events[s->at];
    if (to->op == OP_CALL) {
        GROW(m->extra, m->extra_cap, m->nextra + 2 * to->old);
        if (to->old)
            memcpy(m->extra + m->nextra, s->extra + to->value, 2 * to->old * sizeof(*m->extra));
        to->value = m->nextra;
        m->nextra += 2 * to->old;
    } else if (to->op == OP_ALLOC) {
        note_alloc(m, to);
    } else if (to->op == OP_FREE) {
        note_free(m, to);
    }
    if (m->values.on)
        m->info->value_mismatches += values_deliver(&m->values, to);
    s->index++;
    s->at++;
}

/* ---- values ---- */

/* The stream's next event is over before this. */
static uint64_t next_stamp(const struct stream *s)
{
    for (size_t i = s->at + 1; i < s->count; i++)
        if (s->stamps[i] > s->stamps[s->at])
            return s->stamps[i];
    return UINT64_MAX;
}

/* How many of the stream's next events could come now, whatever others do. */
static size_t free_events(struct merge *m, const struct stream *s)
{
    size_t i = s->at;

    for (; i < s->count && i - s->at < VALUES_AHEAD; i++)
        if (s->sequences[i] && s->sequences[i] - 1 > object_of(m, &s->events[i])->seen)
            break;
    return i - s->at;
}

/* Threads that may have begun by now, so that what they do first is known. */
static void begin_others(struct merge *m, uint64_t limit)
{
    if (!m->unseen || m->ready.count > BEGIN_MAX)
        return;
    for (size_t i = 0; i < m->ready.count; i++) {
        struct stream *o = m->streams[m->ready.at[i]];

        if (!o->events && o->key < limit && stream_fill(m, o))
            o->begun = true;
    }
}

/* Should another stream's events come before the next of `s`? Then `s` waits for the last of them.
 */
static bool comes_after(struct merge *m, struct stream *s, struct stream *o)
{
    struct values_ahead ahead;
    size_t n;

    if (o == s || !o->events || !stream_fill(m, o))
        return false;
    if (o->count - o->at < VALUES_AHEAD)
        stream_decode(m, o);
    ahead = (struct values_ahead){ o->events + o->at, o->stamps + o->at, free_events(m, o) };
    n = values_before(&m->values, &s->events[s->at], ahead, s->limit);
    s->needer = o;
    s->needed = o->index + n;
    return n > 0;
}

static bool comes_after_any(struct merge *m, struct stream *s)
{
    for (size_t i = 0; i < m->nhopeful; i++)
        if (comes_after(m, s, m->hopeful[i]))
            return true;
    for (size_t i = 0; i < m->ready.count && i < BEGIN_MAX; i++)
        if (comes_after(m, s, m->streams[m->ready.at[i]]))
            return true;
    return false;
}

/* The stream waits: for the value that its next event, a read, saw; or until others have read
 * what it, a write, destroys. */
static bool wait_for_value(struct merge *m, struct stream *s)
{
    const struct event *ev = &s->events[s->at];

    if (s->patient || !m->ready.count || m->nhopeful == VALUES_WAITING_MAX ||
        !values_matter(&m->values, ev))
        return false;
    s->limit = next_stamp(s);
    s->until = m->position + m->nevents + VALUES_WAIT;
    s->needer = NULL;
    if (!values_contradict(&m->values, ev) && !comes_after_any(m, s))
        return false;
    m->hopeful[m->nhopeful++] = s;
    return true;
}

/* What it waits for has happened. */
static bool is_satisfied(const struct merge *m, const struct stream *s)
{
    return s->needer ? s->needer->index >= s->needed
                     : !values_contradict(&m->values, &s->events[s->at]);
}

/* There is no hope: the interval in which the access was made is over. */
static bool is_late(const struct merge *m, const struct stream *s)
{
    return !m->ready.count || m->streams[m->ready.at[0]]->key >= s->limit ||
           m->position + m->nevents >= s->until;
}

/* A stream that waited for a value and need not any more, or NULL. */
static struct stream *end_of_wait(struct merge *m)
{
    size_t late = m->nhopeful, i;
    struct stream *s;

    for (i = 0; i < m->nhopeful && !is_satisfied(m, m->hopeful[i]); i++)
        if (late == m->nhopeful && is_late(m, m->hopeful[i]))
            late = i;
    if (i == m->nhopeful) {
        i = late;
        if (i == m->nhopeful)
            return NULL;
        m->hopeful[i]->patient = true; /* as it is, then */
    }
    s = m->hopeful[i];
    memmove(&m->hopeful[i], &m->hopeful[i + 1], (--m->nhopeful - i) * sizeof(s));
    return s;
}

/* What is delivered needs a look by itself. */
static inline bool is_odd(const struct event *ev)
{
    return ev->op == OP_CALL || ev->op == OP_ALLOC || ev->op == OP_FREE;
}

/* May an event with this stamp come before those of the other stream? (NULL: there is none.) */
static inline bool comes_first(const struct stream *s, uint64_t stamp, const struct stream *other)
{
    return !other || stamp < other->key || (stamp == other->key && s->thread < other->thread);
}

/* Events that nobody could come between, and that need no look: all at once. The first of them may
 * come now. False: it needs a look. */
static bool take_plain(struct merge *m, struct stream *s)
{
    size_t room = BATCH_EVENTS - m->nevents, left = s->count - s->at, n = 0;
    const struct stream *next = m->ready.count ? m->streams[m->ready.at[0]] : NULL;
    uint64_t stamp = s->stamps[s->at];

    if (left < room)
        room = left;
    for (; n < room && !s->sequences[s->at + n] && !is_odd(&s->events[s->at + n]); n++) {
        uint64_t now = s->stamps[s->at + n];

        if (now != stamp && (now > m->limit || !comes_first(s, now, next)))
            break;
        stamp = now;
    }
    memcpy(m->events + m->nevents, s->events + s->at, n * sizeof(*m->events));
    m->nevents += n;
    s->at += n;
    s->index += n;
    return n > 0;
}

/* May the stream go on without asking anybody? */
static bool may_go_on(struct merge *m, struct stream *s, uint32_t n)
{
    if (s->at == s->count || s->sequences[s->at])
        return false;
    s->key = s->stamps[s->at];
    return s->key <= m->limit && (!m->ready.count || !before(m, m->ready.at[0], n));
}

/* Take events of one stream while nobody else could come first. False: it waits for a value. */
static bool take_run(struct merge *m, uint32_t n)
{
    struct stream *s = m->streams[n];
    uint64_t sequence;

    if (m->values.on)
        begin_others(m, next_stamp(s));
    do {
        if (!m->values.on && !m->nhopeful && take_plain(m, s))
            continue;
        sequence = s->sequences[s->at];
        if (m->values.on && wait_for_value(m, s))
            return false;
        s->patient = false;
        deliver(m, s);
        if (sequence) {
            wake(m, object_of(m, &m->events[m->nevents - 1]), sequence);
            break;
        }
    } while (m->nevents < BATCH_EVENTS && !m->nhopeful && may_go_on(m, s, n));
    return true;
}

/* The stream whose turn it is; -1: none is left. */
static long next_turn(struct merge *m)
{
    struct stream *s = m->nhopeful ? end_of_wait(m) : NULL;

    if (s)
        return (long)s->number;
    if (!m->ready.count || m->streams[m->ready.at[0]]->key > m->limit)
        return -1;
    return (long)heap_pop(m, &m->ready);
}

/* At the end: who still waits has lost something. */
static void note_waiting(struct merge *m)
{
    for (size_t i = 0; i < m->nstreams; i++) {
        struct stream *s = m->streams[i];
        char why[120];

        if (!s->waits)
            continue;
        s->waits = false;
        snprintf(why, sizeof(why), "operation %" PRIu64 " of the %s it uses next was lost",
                 s->sequences[s->at] - 1, m->stripes ? "stripe" : "object");
        s->count = s->at; /* nor is what follows of use */
        lose(m, s, s->next_chunk, why);
    }
}

/* ---- a beginning that is gone ---- */

/* Nothing can be said without it. */
static void lose_past(struct merge *m, const char *why)
{
    m->ready.count = 0;
    m->lost = true;
    snprintf(m->info->loss, sizeof(m->info->loss), "what stands for its beginning: %.120s", why);
    m->past = m->file->past;
}

/* The next events of those that stand for it; 0: that was all. */
static long past_events(struct merge *m)
{
    struct decoder *d = m->past_decoder;
    struct error err;
    long n;

    while ((n = decoder_next(d, m->tables, m->events, BATCH_EVENTS, NULL, NULL, &err)) == 0) {
        const struct hdl_chunk_header *h;
        const uint8_t *payload;

        for (; m->past < m->file->past; m->past++)
            if (hdl_file_chunk(m->file, m->past)->header.kind == HDL_MERGED)
                break;
        if (m->past == m->file->past)
            return 0;
        h = &hdl_file_chunk(m->file, m->past)->header;
        payload = hdl_file_payload(m->file, m->past++, &err);
        if (!payload || decoder_start(d, h, payload, &err) < 0) {
            n = -1;
            break;
        }
    }
    if (n < 0)
        lose_past(m, err.text);
    return n > 0 ? n : 0;
}

static bool past_next(struct merge *m, struct batch *out)
{
    long n;

    if (!m->past_decoder) {
        if (m->past == m->file->past)
            return false;
        m->past_decoder = decoder_get(m);
        m->past_decoder->count = m->past_decoder->done = 0;
    }
    n = past_events(m);
    if (!n) {
        decoder_put(m, m->past_decoder);
        m->past_decoder = NULL;
        return false;
    }
    *out = (struct batch){ m->events, (size_t)n, m->position, m->past_decoder->extra };
    m->position += (uint64_t)n;
    return true;
}

/* Threads, stripes and blocks as they were there. */
static void begin_at_seam(struct merge *m)
{
    const struct seam *c = &m->tables->seam;

    for (size_t i = 0; i < c->count; i++) {
        const struct seam_entry *e = &c->entries[i];
        const uint32_t *n;

        if (e->kind == SEAM_THREAD && (n = map_get(&m->stream_index, e->key)))
            m->streams[*n]->index = e->value;
        else if (e->kind == SEAM_STRIPE && m->stripes)
            m->objects[e->key].seen = e->value;
        else if (e->kind == SEAM_BLOCK)
            note_alloc(m, &(struct event){ .target = e->key, .value = e->value });
    }
}

bool merge_has_lost(const struct merge *m)
{
    return m->lost;
}

uint64_t merge_gone(const struct merge *m)
{
    uint64_t gone = 0;

    for (size_t i = 0; i < m->nstreams; i++)
        for (size_t k = 0; k < m->streams[i]->nchunks; k++) {
            const struct stream *s = m->streams[i];
            const struct hdl_chunk_header *h = &hdl_file_chunk(m->file, s->chunks[k])->header;
            uint64_t end = h->first + h->count < s->index ? h->first + h->count : s->index;

            gone += end > h->first ? end - h->first : 0;
        }
    return gone;
}

static void seam_streams(const struct merge *m, struct seam *c, size_t *first)
{
    for (size_t i = 0; i < m->nstreams; i++) {
        const struct stream *s = m->streams[i];
        size_t chunk = s->next_chunk - (s->decoder || s->at < s->count);

        if (s->index)
            seam_add(c, SEAM_THREAD, s->thread, s->index);
        if (chunk < s->nchunks && s->chunks[chunk] < *first)
            *first = s->chunks[chunk];
    }
}

size_t merge_seam(const struct merge *m, struct seam *c)
{
    size_t first = m->file->count;

    seam_streams(m, c, &first);
    for (size_t i = 0; i < m->nobjects && m->stripes; i++)
        if (m->objects[i].seen)
            seam_add(c, SEAM_STRIPE, i, m->objects[i].seen);
    for (size_t i = 0; i < m->block_index.nslots; i++) {
        const struct map_slot *s = &m->block_index.slots[i];

        if (s->used && m->blocks[s->value])
            seam_add(c, SEAM_BLOCK, s->key, m->blocks[s->value]);
    }
    return first;
}

void merge_thin(struct merge *m, const struct trace_thin *thin)
{
    m->thin = thin;
    m->thinned |= thin != NULL;
}

/* How many events more the batch stands for than it has. */
static uint64_t skipped_in(const struct merge *m)
{
    uint64_t skipped = 0;

    for (size_t i = 0; m->thinned && i < m->nevents; i++)
        skipped += event_positions(&m->events[i]) - 1;
    return skipped;
}

void merge_limit(struct merge *m, uint64_t stamp)
{
    m->limit = stamp;
}

int merge_next(struct merge *m, struct batch *out)
{
    long turn;

    if (past_next(m, out))
        return 1;
    m->nextra = 0;
    m->nevents = 0;
    while (m->nevents < BATCH_EVENTS && (turn = next_turn(m)) >= 0) {
        struct stream *s = m->streams[turn];
        /* else only its first stamp was known so far */
        bool goes_on = !s->events || s->begun || take_run(m, (uint32_t)turn);

        s->begun = false;
        if (goes_on)
            place(m, (uint32_t)turn);
    }
    if (!m->nevents) {
        if (!m->following)
            note_waiting(m);
        return 0;
    }
    *out = (struct batch){ m->events, m->nevents, m->position, m->extra, skipped_in(m) };
    m->position += m->nevents + out->skipped;
    m->info->bytes_read = m->info->expected_events
                              ? (uint64_t)((double)m->position / (double)m->info->expected_events *
                                           (double)m->info->bytes_total)
                              : 0;
    return 1;
}

static void forget_objects(struct merge *m)
{
    for (size_t i = 0; i < m->nobjects; i++)
        if (m->objects[i].waiting.at)
            free(m->objects[i].waiting.at);
    if (m->nobjects)
        memset(m->objects, 0, m->nobjects * sizeof(*m->objects));
    if (!m->stripes)
        m->nobjects = 0;
    map_clear(&m->object_index);
    map_clear(&m->block_index);
    m->nblocks = 0;
    values_clear(&m->values);
    m->values.on = false; /* each pass finds out when the first did: they must not differ */
}

void merge_rewind(struct merge *m)
{
    m->position = 0;
    m->thinned = m->thin != NULL;
    m->ready.count = m->nhopeful = 0;
    m->unseen = m->nstreams;
    m->info->lost_bytes = m->lost_before;
    m->info->value_mismatches = 0;
    m->past = 0;
    if (m->past_decoder)
        decoder_put(m, m->past_decoder);
    m->past_decoder = NULL;
    forget_objects(m);
    for (size_t i = 0; i < m->nstreams; i++) {
        struct stream *s = m->streams[i];

        stream_shut(m, s);
        s->next_chunk = 0;
        s->index = 0;
        s->skip = 0;
        s->waits = s->seen = s->begun = s->patient = s->dry = false;
        s->key = hdl_file_chunk(m->file, s->chunks[0])->header.stamp_first;
        heap_push(m, &m->ready, (uint32_t)i);
    }
    begin_at_seam(m);
}

/* Chunks that a stream is done with. */
static void forget_chunks(struct merge *m)
{
    enum { AT_A_TIME = 64 };
    size_t first = m->file->count;

    for (size_t i = 0; i < m->nstreams; i++) {
        struct stream *s = m->streams[i];
        size_t done = s->next_chunk - (s->decoder || s->at < s->count);

        if (done > AT_A_TIME) {
            memmove(s->chunks, s->chunks + done, (s->nchunks - done) * sizeof(*s->chunks));
            s->nchunks -= done;
            s->next_chunk -= done;
            done = 0;
        }
        if (done < s->nchunks && s->chunks[done] < first)
            first = s->chunks[done];
    }
    if (!m->past_decoder && m->past == m->file->past)
        hdl_file_forget(m->file, first);
}

/* Chunks of threads from this number on go to their streams. A stream that is new, or had nothing
 * more to give, is ready when it is asked. */
static void add_chunks(struct merge *m, size_t from)
{
    const struct hdl_file *f = m->file;

    for (size_t i = from > f->past ? from : f->past; i < f->count; i++) {
        const struct hdl_chunk_header *h = &hdl_file_chunk(f, i)->header;
        struct stream *s;

        if (h->kind != HDL_THREAD && h->kind != HDL_MIXED)
            continue;
        s = stream_of(m, h->subject);
        GROW(s->chunks, s->chunks_cap, s->nchunks + 1);
        s->chunks[s->nchunks++] = i;
    }
}

void merge_follow(struct merge *m)
{
    m->following = true;
}

void merge_more(struct merge *m, size_t from, bool over)
{
    size_t known = m->nstreams;

    add_chunks(m, from);
    forget_chunks(m);
    m->following = !over;
    for (size_t i = 0; i < known; i++)
        if (m->streams[i]->dry) {
            m->streams[i]->dry = false;
            place(m, (uint32_t)i);
        }
    m->unseen += m->nstreams - known;
    for (size_t i = known; i < m->nstreams; i++) {
        m->streams[i]->key = hdl_file_chunk(m->file, m->streams[i]->chunks[0])->header.stamp_first;
        heap_push(m, &m->ready, (uint32_t)i);
    }
}

struct merge *merge_new(struct hdl_file *f, const struct tables *t, struct trace_info *info)
{
    struct merge *m = xcalloc(1, sizeof(*m));

    m->file = f;
    m->tables = t;
    m->info = info;
    m->lost_before = info->lost_bytes;
    m->limit = UINT64_MAX;
    m->stripes = f->header.required & HDL_FEATURE_STRIPES;
    if (m->stripes) {
        m->objects = xcalloc(RING_STRIPES, sizeof(*m->objects));
        m->nobjects = m->objects_cap = RING_STRIPES;
    }
    add_chunks(m, 0);
    merge_rewind(m);
    return m;
}

void merge_free(struct merge *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->nstreams; i++) {
        stream_shut(m, m->streams[i]);
        free(m->streams[i]->chunks);
        free(m->streams[i]);
    }
    while (m->nspare) {
        struct decoder *d = m->spare[--m->nspare];

        decoder_release(d);
        free(d);
    }
    forget_objects(m);
    map_release(&m->stream_index);
    map_release(&m->object_index);
    map_release(&m->block_index);
    values_release(&m->values);
    free(m->blocks);
    free(m->spare);
    free(m->streams);
    free(m->ready.at);
    free(m->objects);
    free(m->extra);
    free(m);
}
