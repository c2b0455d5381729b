/* handles.c - which threads a pthread_t may stand for */
#include "record/handles.h"
#include "base/alloc.h"

#include <stdlib.h>

void handles_release(struct handles *h)
{
    map_release(&h->index);
    free(h->entries);
    free(h->open);
    *h = (struct handles){ 0 };
}

static void handles_add(struct handles *h, uint64_t handle, uint32_t thread)
{
    uint32_t *newest = map_put(&h->index, handle, 0);

    GROW(h->entries, h->cap, h->count + 1);
    h->entries[h->count] = (struct handle_thread){ thread, *newest };
    *newest = (uint32_t)++h->count;
}

/* True: nothing more is to be expected of it. */
static bool handles_look_at(struct handles *h, const struct ring *r, uint32_t thread)
{
    struct ring_thread t;

    ring_thread(r, thread, &t);
    if (t.reserved[0])
        handles_add(h, t.reserved[0], thread);
    return t.reserved[0] || t.state == THREAD_ENDED;
}

/* A program whose first thread has no handle does not tell them. */
static bool update(struct handles *h, const struct ring *r)
{
    size_t still = 0;

    if (!h->seen) {
        h->seen = handles_look_at(h, r, 0);
        if (!h->seen)
            return false;
    }
    for (size_t i = 0; i < h->nopen; i++)
        if (!handles_look_at(h, r, h->open[i]))
            h->open[still++] = h->open[i];
    h->nopen = still;
    for (; ring_knows_thread(r, h->seen); h->seen++)
        if (!handles_look_at(h, r, h->seen)) {
            GROW(h->open, h->open_cap, h->nopen + 1);
            h->open[h->nopen++] = h->seen;
        }
    return true;
}

size_t handles_find(struct handles *h, const struct ring *r, uint64_t handle,
                    uint32_t threads[HANDLES_MAX])
{
    const uint32_t *newest = update(h, r) ? map_get(&h->index, handle) : NULL;
    size_t n = 0;

    for (uint32_t i = newest ? *newest : 0; i && n < HANDLES_MAX; i = h->entries[i - 1].older)
        threads[n++] = h->entries[i - 1].thread;
    return n;
}
