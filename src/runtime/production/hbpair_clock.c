/* hbpair_clock.c - vector clocks, and the synchronisation objects that hold them
 *
 * An object's clock has as many entries as it needs, from lists of blocks by size.
 */
#include "runtime/production/hbpair.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    OBJECTS = 1 << 21,
    CLASSES = 9,            /* blocks of 4, 8, ... 1024 entries */
    CLOCK_BYTES = 512 << 20 /* address space; touched as needed */
};

struct object {
    uint64_t key;
    struct hb_clock clock;
    uint32_t next; /* in its bucket, or in the list of free ones */
};

static struct object *objects;
static uint32_t *buckets; /* number of the first + 1 */
static struct pair_mutex stripes[HB_STRIPES];
static struct pair_mutex pool_lock; /* protects all that follows; taken inside a stripe */
static uint32_t used, free_objects;
static char *clocks;
static size_t clocks_used;
static struct block {
    struct block *next;
    uint64_t rest;
} *free_blocks[CLASSES];

void *hb_pages(size_t bytes)
{
    void *m = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1L, 0L);

    return m == MAP_FAILED ? NULL : m;
}

void hb_pages_clear(void *at, size_t bytes)
{
    if (syscall(SYS_madvise, at, bytes, MADV_DONTNEED))
        memset(at, 0, bytes);
}

/* ---- clocks ---- */

bool hb_clock_learn(struct hb_clock *to, const struct hb_clock *from)
{
    bool news = false;

    for (uint32_t i = 0; i < from->n; i++) {
        uint32_t old = i < to->n ? to->at[i] : 0;

        if (from->at[i] > old || i >= to->n) {
            news |= from->at[i] > old;
            to->at[i] = from->at[i] > old ? from->at[i] : old;
        }
    }
    if (from->n > to->n)
        to->n = from->n;
    return news;
}

static unsigned class_of(uint32_t entries)
{
    unsigned k = 0;

    while (4u << k < entries)
        k++;
    return k;
}

/* With pool_lock. */
static void *block_get(unsigned k)
{
    size_t bytes = sizeof(struct block) << k;
    struct block *b = free_blocks[k];

    if (b) {
        free_blocks[k] = b->next;
    } else if (clocks_used + bytes <= CLOCK_BYTES) {
        b = (struct block *)(void *)(clocks + clocks_used);
        clocks_used += bytes;
    }
    return b;
}

static void block_put(void *at, unsigned k)
{
    struct block *b = at;

    b->next = free_blocks[k];
    free_blocks[k] = b;
}

static bool clock_reserve(struct hb_clock *c, uint32_t n)
{
    unsigned k = class_of(n);
    uint32_t *b;

    if (n <= c->room)
        return true;
    pair_mutex_lock(&pool_lock);
    b = block_get(k);
    if (b && c->room) {
        memcpy(b, c->at, c->n * sizeof(*b));
        block_put(c->at, class_of(c->room));
    }
    pair_mutex_unlock(&pool_lock);
    if (!b)
        return false;
    c->at = b;
    c->room = 4u << k;
    return true;
}

/* ---- objects ---- */

/* Addresses have 47 bits. */
static uint64_t hbpair_clock_key_of(enum hb_kind kind, uint64_t object)
{
    return object << 4 | (uint64_t)kind;
}

static struct object *hbpair_clock_find(uint64_t key, uint32_t bucket)
{
    for (uint32_t i = buckets[bucket]; i; i = objects[i - 1].next)
        if (objects[i - 1].key == key)
            return &objects[i - 1];
    return NULL;
}

static void note_most(uint32_t n)
{
    uint64_t *most = &rt_control->counter[HB_OBJECTS_MOST];

    if (n > __atomic_load_n(most, __ATOMIC_RELAXED))
        __atomic_store_n(most, n, __ATOMIC_RELAXED);
}

static struct object *hbpair_clock_add(uint64_t key, uint32_t bucket)
{
    struct object *o = NULL;

    pair_mutex_lock(&pool_lock);
    if (free_objects) {
        o = &objects[free_objects - 1];
        free_objects = o->next;
    } else if (used < OBJECTS) {
        o = &objects[used++];
        note_most(used);
    }
    pair_mutex_unlock(&pool_lock);
    if (!o)
        return NULL;
    o->key = key;
    o->clock.n = 0;
    o->next = buckets[bucket];
    buckets[bucket] = (uint32_t)(o - objects) + 1;
    return o;
}

static struct pair_mutex *lock(uint64_t key, uint32_t *bucket)
{
    struct pair_mutex *m;

    *bucket = (uint32_t)hb_hash(key) % HB_BUCKETS;
    m = &stripes[*bucket % HB_STRIPES];
    pair_mutex_lock(m);
    return m;
}

bool hb_object_learn(enum hb_kind kind, uint64_t object, struct hb_clock *to)
{
    uint64_t key = hbpair_clock_key_of(kind, object);
    uint32_t bucket;
    struct pair_mutex *m = lock(key, &bucket);
    struct object *o = hbpair_clock_find(key, bucket);
    bool news = o && hb_clock_learn(to, &o->clock);

    pair_mutex_unlock(m);
    return news;
}

bool hb_object_add(enum hb_kind kind, uint64_t object, const struct hb_clock *from)
{
    uint64_t key = hbpair_clock_key_of(kind, object);
    uint32_t bucket;
    struct pair_mutex *m = lock(key, &bucket);
    struct object *o = hbpair_clock_find(key, bucket);
    bool done = (o || (o = hbpair_clock_add(key, bucket))) && clock_reserve(&o->clock, from->n);

    if (done)
        hb_clock_learn(&o->clock, from);
    pair_mutex_unlock(m);
    return done;
}

/* Its block stays with it, for the next object. */
void hb_object_drop(enum hb_kind kind, uint64_t object)
{
    uint64_t key = hbpair_clock_key_of(kind, object);
    uint32_t bucket, *link;
    struct pair_mutex *m = lock(key, &bucket);

    link = &buckets[bucket];
    while (*link && objects[*link - 1].key != key)
        link = &objects[*link - 1].next;
    if (*link) {
        uint32_t number = *link;

        *link = objects[number - 1].next;
        pair_mutex_lock(&pool_lock);
        objects[number - 1].next = free_objects;
        free_objects = number;
        pair_mutex_unlock(&pool_lock);
    }
    pair_mutex_unlock(m);
}

bool hb_objects_init(void)
{
    memset(stripes, 0, sizeof(stripes));
    pool_lock.state = 0;
    used = free_objects = 0;
    clocks_used = 0;
    memset(free_blocks, 0, sizeof(free_blocks));
    if (objects && buckets && clocks) {
        hb_pages_clear(objects, OBJECTS * sizeof(*objects));
        hb_pages_clear(buckets, HB_BUCKETS * sizeof(*buckets));
        return true;
    }
    objects = hb_pages(OBJECTS * sizeof(*objects));
    buckets = hb_pages(HB_BUCKETS * sizeof(*buckets));
    clocks = hb_pages(CLOCK_BYTES);
    return objects && buckets && clocks;
}
