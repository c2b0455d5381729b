/* merge.c - a heap of thread streams, and objects that make them wait
 *
 * A stream is ready when its next event may come now. Ready streams are in a
 * heap by stamp. A stream whose next event has sequence number k on an object
 * that has only seen k - 2 is parked at the object, until operation k - 1
 * comes by. A stream that was not looked at yet is in the heap by the stamp
 * in its first chunk's header, and gets its buffers when its time comes.
 */
#include "trace/merge.h"
#include "base/alloc.h"
#include "base/map.h"
#include "trace/codec.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH_EVENTS = 4096,
    STREAM_EVENTS = 512 /* decoded ahead per thread */
};

#define NO_STREAM UINT32_MAX

/* What a stream needs only between its first and its last event. */
struct buffers {
    struct decoder decoder;
    struct event events[STREAM_EVENTS];
    uint64_t sequences[STREAM_EVENTS], stamps[STREAM_EVENTS];
};

struct stream {
    uint32_t thread;
    size_t *chunks; /* of this thread, in order */
    size_t nchunks, chunks_cap;
    size_t next_chunk;
    uint64_t index; /* events delivered */
    uint64_t key;   /* stamp of its next event */
    struct buffers *buffers; /* while it is being read: a program may have had 100,000 threads */
    size_t at, count;
    uint32_t next_waiting; /* stream parked at the same object */
    bool waits;
};

struct object {
    uint64_t seen; /* sequence number of the last operation that came by */
    uint32_t waiting; /* first parked stream */
};

struct merge {
    const struct hdl_file *file;
    const struct tables *tables;
    struct trace_info *info;
    struct stream **streams;
    size_t nstreams, streams_cap;
    uint32_t *heap; /* stream numbers, smallest stamp first */
    size_t nheap;
    struct map object_index;
    struct object *objects;
    size_t nobjects, objects_cap;
    uint64_t position;
    struct event events[BATCH_EVENTS];
    uint64_t *extra;
    size_t nextra, extra_cap;
};

/* ---- streams ---- */

static struct stream *stream_of(struct merge *m, struct map *index, uint32_t thread)
{
    uint32_t *n = map_put(index, thread, (uint32_t)m->nstreams);

    if (*n == m->nstreams) {
        GROW(m->streams, m->streams_cap, m->nstreams + 1);
        m->streams[m->nstreams] = xcalloc(1, sizeof(struct stream));
        m->streams[m->nstreams++]->thread = thread;
    }
    return m->streams[*n];
}

static void lose(struct merge *m, const struct stream *s, const char *why)
{
    if (m->info->loss[0])
        return; /* the first reason is the one to look at */
    snprintf(m->info->loss, sizeof(m->info->loss), "thread %.60s stops after %" PRIu64 " events: %.120s",
             s->thread < m->tables->threads.count ? intern_get(&m->tables->threads, s->thread)
                                                  : "?",
             s->index, why);
}

/* The next chunk of a thread into its decoder. False: there is none that can be used. */
static bool stream_chunk(struct merge *m, struct stream *s)
{
    const struct hdl_chunk_header *h;
    const uint8_t *payload;
    struct error err;

    if (s->next_chunk == s->nchunks)
        return false;
    h = &m->file->chunks[s->chunks[s->next_chunk]].header;
    if (h->first != s->index) {
        lose(m, s, "events are missing");
    } else {
        payload = hdl_file_payload(m->file, s->chunks[s->next_chunk], &err);
        if (payload && decoder_start(&s->buffers->decoder, h, payload, &err) == 0) {
            s->next_chunk++;
            return true;
        }
        lose(m, s, err.text);
    }
    s->next_chunk = s->nchunks; /* what follows has a hole before it */
    return false;
}

static void stream_shut(struct stream *s)
{
    if (s->buffers) {
        decoder_release(&s->buffers->decoder);
        free(s->buffers);
        s->buffers = NULL;
    }
    s->at = s->count = 0;
}

/* Decode more, once the buffer is used up. False: the stream is at its end. */
static bool stream_decode(struct merge *m, struct stream *s)
{
    struct error err;
    long n;

    if (!s->buffers)
        s->buffers = xcalloc(1, sizeof(*s->buffers));
    s->at = 0;
    do {
        n = decoder_next(&s->buffers->decoder, m->tables, s->buffers->events, STREAM_EVENTS,
                         s->buffers->sequences, s->buffers->stamps, &err);
    } while (!n && stream_chunk(m, s));
    if (n < 0) {
        lose(m, s, err.text);
        s->next_chunk = s->nchunks;
    }
    s->count = n > 0 ? (size_t)n : 0;
    return n > 0;
}

/* Is there a next event? */
static bool stream_fill(struct merge *m, struct stream *s)
{
    if (s->at == s->count && !stream_decode(m, s)) {
        stream_shut(s);
        return false;
    }
    s->key = s->buffers->stamps[s->at];
    return true;
}

/* ---- the heap ---- */

static bool before(const struct merge *m, uint32_t a, uint32_t b)
{
    const struct stream *x = m->streams[a], *y = m->streams[b];

    return x->key != y->key ? x->key < y->key : x->thread < y->thread;
}

static void heap_push(struct merge *m, uint32_t n)
{
    size_t i = m->nheap++;

    for (; i && before(m, n, m->heap[(i - 1) / 2]); i = (i - 1) / 2)
        m->heap[i] = m->heap[(i - 1) / 2];
    m->heap[i] = n;
}

static uint32_t heap_pop(struct merge *m)
{
    uint32_t top = m->heap[0], last = m->heap[--m->nheap];
    size_t i = 0;

    for (;;) {
        size_t child = 2 * i + 1;

        if (child + 1 < m->nheap && before(m, m->heap[child + 1], m->heap[child]))
            child++;
        if (child >= m->nheap || !before(m, m->heap[child], last))
            break;
        m->heap[i] = m->heap[child];
        i = child;
    }
    m->heap[i] = last;
    return top;
}

/* ---- objects ---- */

/* What a sequence number counts: operations on this object, or on this thread. */
static uint64_t object_key(const struct event *ev)
{
    uint64_t kind = op_class_of(ev->op), target = ev->target;

    if (ev->op == OP_BEGIN || ev->op == OP_END)
        target = ev->thread;
    return target ^ kind << 61 ^ kind >> 3 << 59;
}

static struct object *object_of(struct merge *m, const struct event *ev)
{
    uint32_t *n = map_put(&m->object_index, object_key(ev), (uint32_t)m->nobjects);

    if (*n == m->nobjects) {
        GROW(m->objects, m->objects_cap, m->nobjects + 1);
        m->objects[m->nobjects++] = (struct object){ 0, NO_STREAM };
    }
    return &m->objects[*n];
}

/* Put a stream where it belongs: the heap, an object's queue, or nowhere at its end. */
static void place(struct merge *m, uint32_t n)
{
    struct stream *s = m->streams[n];
    struct object *o;

    s->waits = false;
    if (!stream_fill(m, s))
        return;
    if (s->buffers->sequences[s->at]) {
        o = object_of(m, &s->buffers->events[s->at]);
        if (s->buffers->sequences[s->at] > o->seen + 1) {
            s->next_waiting = o->waiting;
            o->waiting = n;
            s->waits = true;
            return;
        }
    }
    heap_push(m, n);
}

/* An operation came by: whoever waited for it is looked at again. */
static void wake(struct merge *m, struct object *o, uint64_t sequence)
{
    uint32_t n = o->waiting;

    if (sequence > o->seen)
        o->seen = sequence;
    o->waiting = NO_STREAM;
    while (n != NO_STREAM) {
        uint32_t next = m->streams[n]->next_waiting;

        place(m, n);
        n = next;
    }
}

/* ---- events ---- */

static void deliver(struct merge *m, struct stream *s, struct event *to)
{
    *to = s->buffers->events[s->at];
    if (to->op == OP_CALL) {
        GROW(m->extra, m->extra_cap, m->nextra + 2 * to->old);
        memcpy(m->extra + m->nextra, s->buffers->decoder.extra + to->value,
               2 * to->old * sizeof(*m->extra));
        to->value = m->nextra;
        m->nextra += 2 * to->old;
    }
    s->index++;
    s->at++;
}

/* May the stream go on without asking anybody? */
static bool may_go_on(struct merge *m, struct stream *s, uint32_t n)
{
    if (s->at == s->count || s->buffers->sequences[s->at])
        return false;
    s->key = s->buffers->stamps[s->at];
    return !m->nheap || !before(m, m->heap[0], n);
}

/* Take events of one stream while nobody else could come first. Returns how many. */
static size_t take_run(struct merge *m, uint32_t n, struct event *to, size_t room)
{
    struct stream *s = m->streams[n];
    size_t done = 0;

    do {
        uint64_t sequence = s->buffers->sequences[s->at];
        struct event *ev = &to[done++];

        deliver(m, s, ev);
        if (sequence) {
            wake(m, object_of(m, ev), sequence);
            break;
        }
    } while (done < room && may_go_on(m, s, n));
    return done;
}

static void note_waiting(struct merge *m)
{
    for (size_t i = 0; i < m->nstreams; i++) {
        struct stream *s = m->streams[i];
        char why[120];

        if (!s->waits)
            continue;
        snprintf(why, sizeof(why), "operation %" PRIu64 " of the object it uses next was lost",
                 s->buffers->sequences[s->at] - 1);
        lose(m, s, why);
    }
}

int merge_next(struct merge *m, struct batch *out)
{
    size_t n = 0;

    m->nextra = 0;
    while (n < BATCH_EVENTS && m->nheap) {
        uint32_t top = heap_pop(m);

        if (m->streams[top]->buffers)
            n += take_run(m, top, m->events + n, BATCH_EVENTS - n);
        place(m, top);
    }
    if (!n) {
        note_waiting(m);
        return 0;
    }
    *out = (struct batch){ m->events, n, m->position, m->extra };
    m->position += n;
    m->info->bytes_read = m->info->expected_events
                              ? (uint64_t)((double)m->position / (double)m->info->expected_events *
                                           (double)m->info->bytes_total)
                              : 0;
    return 1;
}

void merge_rewind(struct merge *m)
{
    m->position = 0;
    m->nheap = 0;
    map_clear(&m->object_index);
    m->nobjects = 0;
    for (size_t i = 0; i < m->nstreams; i++) {
        struct stream *s = m->streams[i];

        stream_shut(s);
        s->next_chunk = 0;
        s->index = 0;
        s->waits = false;
        s->key = m->file->chunks[s->chunks[0]].header.stamp_first;
        heap_push(m, (uint32_t)i);
    }
}

struct merge *merge_new(const struct hdl_file *f, const struct tables *t, struct trace_info *info)
{
    struct merge *m = xcalloc(1, sizeof(*m));
    struct map index = { 0 };

    m->file = f;
    m->tables = t;
    m->info = info;
    for (size_t i = 0; i < f->count; i++) {
        struct stream *s;

        if (f->chunks[i].header.kind != HDL_THREAD)
            continue;
        s = stream_of(m, &index, f->chunks[i].header.subject);
        GROW(s->chunks, s->chunks_cap, s->nchunks + 1);
        s->chunks[s->nchunks++] = i;
    }
    map_release(&index);
    m->heap = xcalloc(m->nstreams, sizeof(*m->heap));
    merge_rewind(m);
    return m;
}

void merge_free(struct merge *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->nstreams; i++) {
        stream_shut(m->streams[i]);
        free(m->streams[i]->chunks);
        free(m->streams[i]);
    }
    free(m->streams);
    free(m->heap);
    free(m->objects);
    free(m->extra);
    map_release(&m->object_index);
    free(m);
}
