/* reply.c - the thread that answers what untraced code may do (reply.h) */
#include "record/reply.h"
#include "base/alloc.h"
#include "symbol/effects.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct reply {
    struct ring *ring;
    pthread_t thread;
    bool stop; /* atomic */
    struct effects *effects;
    uint64_t log_at; /* read so far */
    uint64_t used;   /* of the room for tables */
};

static void add_image(struct reply *p, const char *payload, size_t bytes)
{
    struct log_image l;
    char *path;

    if (bytes <= sizeof(l))
        return;
    memcpy(&l, payload, sizeof(l));
    path = xstrndup(payload + sizeof(l), strnlen(payload + sizeof(l), bytes - sizeof(l)));
    if (l.low < l.high)
        effects_add(p->effects, path, l.base, l.low, l.high);
    free(path);
}

static void read_log(struct reply *p)
{
    const char *payload;
    uint32_t kind;
    size_t bytes;

    while (ring_log_entry(p->ring, &p->log_at, &kind, &payload, &bytes))
        if (kind == LOG_IMAGE)
            add_image(p, payload, bytes);
}

static void reply_answer(struct reply *p)
{
    struct ring_header *h = p->ring->header;
    struct buf table = { 0 };

    read_log(p);
    effects_make(p->effects, &table);
    if (table.len <= RING_EFFECTS_BYTES - p->used) {
        memcpy((char *)h + RING_EFFECTS_OFFSET + p->used, table.data, table.len);
        __atomic_store_n(&h->effects_at, RING_EFFECTS_OFFSET + p->used, __ATOMIC_RELEASE);
        p->used += table.len;
    }
    buf_release(&table);
}

static void *serve(void *arg)
{
    struct reply *p = arg;

    for (;;) {
        uint32_t wanted = ring_asked(p->ring);

        if (__atomic_load_n(&p->stop, __ATOMIC_SEQ_CST))
            return NULL;
        reply_answer(p);
        ring_answer(p->ring, wanted);
    }
}

struct reply *reply_start(struct ring *r)
{
    struct reply *p = xcalloc(1, sizeof(*p));

    p->ring = r;
    p->effects = effects_new();
    if (pthread_create(&p->thread, NULL, serve, p) == 0)
        return p;
    effects_free(p->effects);
    free(p);
    return NULL;
}

void reply_stop(struct reply *p)
{
    if (!p)
        return;
    __atomic_store_n(&p->stop, true, __ATOMIC_SEQ_CST);
    ring_ask_self(p->ring);
    pthread_join(p->thread, NULL);
    effects_free(p->effects);
    free(p);
}
