/* pool.c - queues of streams, and the workers */
#include "record/pool_inside.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

enum {
    /* Encoded, before compression. Each thread has such a chunk under way: with four times as much
     * a program of five threads takes 3 MB more, for a file that is 3 % smaller. */
    CHUNK_EVENTS = 1 << 15,
    CHUNK_BYTES = 1 << 17,
    /* In each chunk the first record of a stretch is stored as a whole, and some programs run
     * through a thousand of them all the time; values fill it sooner. */
    CHUNK_EVENTS_FULL = 1 << 18,
    CHUNK_BYTES_FULL = 1 << 19,
    CHUNK_BYTES_MIN = 1 << 13,
    CHUNK_BYTES_MIN_FULL = 1 << 15,
    PARTS_MIN = 16,
    SPAN_STORED = 500, /* bytes of the file: what a chunk has besides events is a sixth of that */
    KEEP_PARTS = 32,   /* of a file of which only the last part is kept */
    LEVEL_FAST = -4    /* gives up sooner on what does not compress */
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

static bool has_work(const struct pool *p)
{
    return p->first_urgent || p->first_queued;
}

/* To be flushed, before anything else is done. One that is busy sees to that itself. */
static void enqueue_urgent(struct pool *p, struct stream *s)
{
    if (s->busy || s->urgent)
        return;
    s->urgent = true;
    s->next_urgent = NULL;
    if (p->last_urgent)
        p->last_urgent->next_urgent = s;
    else
        p->first_urgent = s;
    p->last_urgent = s;
    p->nurgent++;
}

/* From the ring of idle or of busy ones. */
static void ring_remove(struct stream *s)
{
    if (!s->newer)
        return;
    s->newer->older = s->older;
    s->older->newer = s->newer;
    s->newer = s->older = NULL;
}

static void ring_add(struct stream *head, struct stream *s)
{
    s->newer = head;
    s->older = head->older;
    s->older->newer = s;
    head->older = s;
}

struct stream *pool_idle_oldest(struct pool *p)
{
    return p->idle.newer == &p->idle ? NULL : p->idle.newer;
}

void pool_make_busy(struct pool *p, struct stream *s)
{
    ring_remove(s);
    ring_add(&p->busy, s);
    s->busy = true;
    p->nbusy++;
}

void pool_make_idle(struct pool *p, struct stream *s)
{
    ring_remove(s);
    s->busy = false;
    p->nbusy--;
    if (s->encoder) {
        s->idle_since = now_ms();
        ring_add(&p->idle, s);
    }
    if (s->owed) /* since then, or who had it had something else to do with it */
        enqueue_urgent(p, s);
    if (turns_ready(&s->turns))
        enqueue(p, s);
    if (!p->nbusy || has_work(p))
        pthread_cond_broadcast(&p->done);
}

static struct stream *pop_urgent(struct pool *p)
{
    struct stream *s = p->first_urgent;

    p->first_urgent = s->next_urgent;
    if (!p->first_urgent)
        p->last_urgent = NULL;
    p->nurgent--;
    s->urgent = false;
    return s;
}

static struct stream *pop_queued(struct pool *p)
{
    struct stream *s = p->first_queued;

    p->first_queued = s->next_queued;
    if (!p->first_queued)
        p->last_queued = NULL;
    p->nqueued--;
    s->queued = false;
    return s;
}

/* A stream that is in both queues comes once: whoever has it does all there is to do. */
static struct stream *dequeue(struct pool *p)
{
    while (p->first_urgent || p->first_queued) {
        struct stream *s = p->first_urgent ? pop_urgent(p) : pop_queued(p);

        if (!s->busy) {
            pool_make_busy(p, s);
            return s;
        }
    }
    return NULL;
}

/* ---- adding ---- */

/* Lock held. */
static struct stream *stream_of(struct pool *p, uint32_t thread)
{
    GROW(p->streams, p->streams_cap, (size_t)thread + 1);
    if (!p->streams[thread]) {
        p->streams[thread] = xcalloc(1, sizeof(struct stream));
        p->streams[thread]->raw.thread = thread;
        p->streams[thread]->complete = UINT64_MAX;
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
    pool_work_on(w, s);
    pthread_mutex_lock(&p->lock);
    pool_make_idle(p, s);
    pthread_mutex_unlock(&p->lock);
    return true;
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    struct pool *p = w->pool;

    for (;;) {
        pthread_mutex_lock(&p->lock);
        while (!(p->first_urgent || (p->first_queued && !pool_is_due(p))) && !p->over)
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
    bool more;

    do {
        while (pool_work(p))
            ;
        pthread_mutex_lock(&p->lock);
        while (p->nbusy && !has_work(p))
            pthread_cond_wait(&p->done, &p->lock);
        more = has_work(p);
        pthread_mutex_unlock(&p->lock);
    } while (more);
}

void pool_flush_idle(struct pool *p, uint64_t milliseconds)
{
    struct worker *w = &p->workers[0];
    uint64_t now = now_ms();
    struct stream *s;

    pthread_mutex_lock(&p->lock);
    while ((s = pool_idle_oldest(p)) && now - s->idle_since >= milliseconds) {
        pool_make_busy(p, s);
        pthread_mutex_unlock(&p->lock);
        pool_flush_stream(w, s);
        pool_put_encoder(p, s);
        pthread_mutex_lock(&p->lock);
        pool_make_idle(p, s);
    }
    pthread_mutex_unlock(&p->lock);
}

/* A chunk is but a small part of the file, and so are those of all threads together, so that a cut,
 * or one that does not fit, costs little. */
void pool_set_chunk_bytes(struct pool *p)
{
    unsigned streams = __atomic_load_n(&p->active, __ATOMIC_RELAXED);
    uint64_t part = sink_part(p->sink, 2 * streams < PARTS_MIN ? PARTS_MIN : 2 * streams);
    uint64_t least = p->full ? CHUNK_BYTES_MIN_FULL : CHUNK_BYTES_MIN;
    uint64_t most = p->full ? CHUNK_BYTES_FULL : CHUNK_BYTES, limit = p->sink->max_bytes / 8;
    uint64_t keep = p->sink->keep_bytes / KEEP_PARTS;
    size_t bytes;

    if (keep && (!limit || keep < limit))
        limit = keep;
    if (limit && limit < most)
        most = limit < CHUNK_BYTES_MIN ? CHUNK_BYTES_MIN : limit;
    bytes = part < least ? least : part;
    __atomic_store_n(&p->chunk_bytes, bytes < most ? bytes : most, __ATOMIC_RELAXED);
    __atomic_store_n(&p->span_bytes, sink_raw_bytes(p->sink, SPAN_STORED), __ATOMIC_RELAXED);
}

/* ---- chunks that are being filled; lock held ---- */

/* A look at a chunk: is it being filled, and is there anything new? */
static void pool_look_at(struct pool *p, uint32_t number)
{
    struct ring_chunk head;
    struct look *l;

    if (!ring_is_filling(p->ring, number, &head) || head.insert_at ||
        !ring_knows_thread(p->ring, head.thread))
        return;
    l = &stream_of(p, head.thread)->look;
    if (l->number != number || l->serial != head.serial || l->cursor != head.cursor) {
        *l = (struct look){ true, false, number, head.serial, head.cursor, 0 };
    } else if (!l->quiet) {
        l->wanted = l->quiet = true;
    }
    if (l->wanted)
        enqueue_urgent(p, p->streams[head.thread]);
}

/* A handler's chunk: it belongs into one that may have been looked at. */
static void look_at_handler(struct pool *p, uint32_t number)
{
    struct ring_chunk head;
    struct look *l;

    if (!ring_is_here(p->ring, number, &head) || !head.insert_at ||
        !ring_knows_thread(p->ring, head.thread))
        return;
    l = &stream_of(p, head.thread)->look;
    if (l->serial == head.insert_serial && (!l->insert_at || head.insert_at < l->insert_at))
        l->insert_at = head.insert_at;
}

void pool_look(struct pool *p)
{
    uint32_t chunks = ring_chunks(p->ring);
    struct timespec t;

    pthread_mutex_lock(&p->lock);
    clock_gettime(CLOCK_MONOTONIC, &t);
    p->looked_ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    p->looked_stamp = clock_ns(p->clock, __rdtsc() >> RING_STAMP_SHIFT);
    p->looked_at_all = true;
    for (uint32_t i = 0; i < chunks; i++)
        pool_look_at(p, i);
    if (p->full) /* in this order: a handler that begins now comes behind what was looked at */
        for (uint32_t i = 0; i < chunks; i++)
            look_at_handler(p, i);
    pthread_mutex_unlock(&p->lock);
}

void pool_doubt(struct pool *p)
{
    pthread_mutex_lock(&p->lock);
    p->looked_at_all = false;
    pthread_mutex_unlock(&p->lock);
}

static void owe(struct pool *p, struct stream *s)
{
    if (!s->owed)
        p->nowed++;
    s->owed = true;
    s->owed_chunks = s->turns.count;
    enqueue_urgent(p, s);
}

/* Lock held. */
static uint64_t complete_up_to(const struct pool *p)
{
    uint64_t stamp = p->looked_stamp - 1;

    if (!p->calls)
        return UINT64_MAX;
    for (size_t i = 0; i < p->streams_cap; i++)
        if (p->streams[i] && p->streams[i]->complete < stamp)
            stamp = p->streams[i]->complete;
    return stamp;
}

void pool_settle(struct pool *p)
{
    uint64_t looked = p->looked_ns, complete = complete_up_to(p);
    bool sure = p->looked_at_all;

    pthread_mutex_unlock(&p->lock);
    sink_commit(p->sink, looked);
    pthread_mutex_lock(&p->lock);
    if (sure)
        p->complete = complete;
}

unsigned pool_checkpoint(struct pool *p, uint64_t due_bytes)
{
    unsigned n;

    pool_set_chunk_bytes(p);
    pthread_mutex_lock(&p->lock);
    p->calls = __atomic_load_n(&p->ring->header->calls, __ATOMIC_SEQ_CST) != 0;
    __atomic_store_n(&p->due_bytes, due_bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&p->due, false, __ATOMIC_RELAXED);
    for (struct stream *s = p->first_urgent; s; s = s->next_urgent) /* they were looked at */
        owe(p, s);
    for (struct stream *s = p->idle.newer; s != &p->idle; s = s->newer)
        owe(p, s);
    for (struct stream *s = p->busy.newer; s != &p->busy; s = s->newer)
        owe(p, s);
    for (struct stream *s = p->first_queued; s; s = s->next_queued)
        owe(p, s);
    n = p->nowed;
    __atomic_store_n(&p->active, n, __ATOMIC_RELAXED);
    pthread_cond_broadcast(&p->work);
    if (!n)
        pool_settle(p);
    pthread_mutex_unlock(&p->lock);
    return n;
}

uint64_t pool_complete(struct pool *p)
{
    uint64_t complete;

    pthread_mutex_lock(&p->lock);
    complete = p->complete;
    pthread_mutex_unlock(&p->lock);
    return complete;
}

bool pool_is_settled(struct pool *p)
{
    bool settled;

    pthread_mutex_lock(&p->lock);
    settled = !p->nowed;
    pthread_mutex_unlock(&p->lock);
    return settled;
}

bool pool_is_due(const struct pool *p)
{
    return __atomic_load_n(&p->due, __ATOMIC_RELAXED);
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
        ring_remove(s);
        counts->lost += s->raw.lost;
        pool_end_stream(&p->workers[0], s);
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
    p->clock = c;
    p->began_ns = now_ms() * 1000000;
    p->full = full;
    p->chunk_events = full ? CHUNK_EVENTS_FULL : CHUNK_EVENTS;
    pool_set_chunk_bytes(p);
    p->idle.newer = p->idle.older = &p->idle;
    p->busy.newer = p->busy.older = &p->busy;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->done, NULL);
    p->workers = xcalloc(workers, sizeof(*p->workers));
    for (unsigned i = 0; i < workers; i++) {
        struct worker *w = &p->workers[i];

        w->pool = p;
        w->packer =
            hdl_packer_new(compression, level || compression != HDL_LZ4 ? level : LEVEL_FAST);
        pool_decode_init(w);
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
        early_release(&s->early);
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
