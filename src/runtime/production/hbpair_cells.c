/* hbpair_cells.c - the accesses of the pair that are kept, by the memory they touch
 *
 * Memory is looked at in granules of 8 bytes, hashed into buckets. A granule has at most one cell
 * per slot, site and span: the thread's last access there. Longer accesses have a cell in each of
 * their granules.
 */
#include "runtime/production/hbpair.h"

#include <string.h>

enum {
    CELLS = 1 << 20,      /* 80 MiB when all are in use */
    BUCKETS = 1 << 18,    /* four cells each at most; all are looked at when litehb starts */
    SPAN_MAX = 1 << 16,   /* bytes of an access that are looked at; more is counted */
    SCAN_BYTES = 1 << 19, /* memory larger than that is forgotten by looking at every cell */
};

struct cell {
    struct hb_access access;
    uint64_t granule;
    uint32_t next; /* in its bucket or the list of free ones: number + 1 */
};

static struct cell *cells;
static uint32_t *buckets; /* number of the first + 1 */
static struct pair_mutex stripes[HB_STRIPES];
static uint32_t in_stripe[HB_STRIPES];   /* cells; with its lock */
static uint64_t filled[HB_STRIPES / 64]; /* a bit per stripe that has some */
static struct pair_mutex pool_lock;      /* taken inside a stripe */
static uint32_t used, free_cells, kept, most;
uint32_t hb_cells_version;

static uint32_t bucket_of(uint64_t granule)
{
    return (uint32_t)hb_hash(granule) % BUCKETS;
}

/* Neighbours, so that looking at all buckets of a stripe is one stretch of memory. */
static uint32_t stripe_of(uint32_t bucket)
{
    return bucket / (BUCKETS / HB_STRIPES);
}

static uint64_t last_granule(uint64_t address, uint64_t bytes)
{
    return (address + (bytes ? bytes - 1 : 0)) / 8;
}

static uint64_t looked_at(const struct hb_access *a)
{
    if (a->span.bytes <= SPAN_MAX)
        return a->span.bytes;
    __atomic_fetch_add(&rt_control->counter[HB_FORGOT], 1, __ATOMIC_RELAXED);
    return SPAN_MAX;
}

/* ---- cells; with the stripe's lock ---- */

static struct cell *cell_new(void)
{
    struct cell *c = NULL;

    pair_mutex_lock(&pool_lock);
    if (free_cells) {
        c = &cells[free_cells - 1];
        free_cells = c->next;
    } else if (used < CELLS) {
        c = &cells[used++];
    }
    kept += c != NULL;
    if (kept > most) {
        most = kept;
        __atomic_store_n(&rt_control->counter[HB_CELLS_MOST], most, __ATOMIC_RELAXED);
    }
    pair_mutex_unlock(&pool_lock);
    return c;
}

static void cell_free(struct cell *c)
{
    pair_mutex_lock(&pool_lock);
    c->next = free_cells;
    free_cells = (uint32_t)(c - cells) + 1;
    kept--;
    pair_mutex_unlock(&pool_lock);
}

static void stripe_has(uint32_t stripe, int more)
{
    uint64_t bit = UINT64_C(1) << stripe % 64, *word = &filled[stripe / 64];

    in_stripe[stripe] += (uint32_t)more;
    if (more > 0 && in_stripe[stripe] == 1)
        __atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
    else if (!in_stripe[stripe])
        __atomic_fetch_and(word, ~bit, __ATOMIC_RELAXED);
}

static bool hbpair_cells_is_same(const struct hb_access *a, const struct hb_access *b)
{
    return a->slot == b->slot && a->site == b->site && a->span.address == b->span.address &&
           a->span.bytes == b->span.bytes && a->span.write == b->span.write;
}

/* Number + 1 of the granule's cell for such accesses; 0: none. */
static uint32_t hbpair_cells_find(uint64_t granule, const struct hb_access *a)
{
    uint32_t i = buckets[bucket_of(granule)];

    while (i && !(cells[i - 1].granule == granule && hbpair_cells_is_same(&cells[i - 1].access, a)))
        i = cells[i - 1].next;
    return i;
}

/* All granules of an access are kept and replaced together: the first one tells. */
bool hb_cells_has(const struct hb_access *a)
{
    uint64_t granule = a->span.address / 8;
    uint32_t b = bucket_of(granule), i;
    struct pair_mutex *m = &stripes[stripe_of(b)];
    bool has;

    if (!__atomic_load_n(&buckets[b], __ATOMIC_RELAXED))
        return false;
    pair_mutex_lock(m);
    i = hbpair_cells_find(granule, a);
    has = i && cells[i - 1].access.epoch == a->epoch;
    pair_mutex_unlock(m);
    return has;
}

static void keep_in(uint64_t granule, const struct hb_access *a)
{
    uint32_t b = bucket_of(granule), i = hbpair_cells_find(granule, a);
    struct cell *c;

    if (i) {
        cells[i - 1].access = *a;
        return;
    }
    c = cell_new();
    if (!c) {
        __atomic_fetch_add(&rt_control->counter[HB_FORGOT], 1, __ATOMIC_RELAXED);
        return;
    }
    c->granule = granule;
    c->access = *a;
    c->next = buckets[b];
    buckets[b] = (uint32_t)(c - cells) + 1;
    stripe_has(stripe_of(b), 1);
}

void hb_cells_keep(const struct hb_access *a)
{
    uint64_t last = last_granule(a->span.address, looked_at(a));

    for (uint64_t g = a->span.address / 8; g <= last; g++) {
        struct pair_mutex *m = &stripes[stripe_of(bucket_of(g))];

        pair_mutex_lock(m);
        keep_in(g, a);
        pair_mutex_unlock(m);
    }
}

/* ---- meeting ---- */

static bool overlap(const struct chase_span *a, const struct chase_span *b)
{
    return a->address < b->address + b->bytes && b->address < a->address + a->bytes;
}

/* An access that is in several granules is met in the first that both touch. */
static bool is_first(const struct chase_span *a, const struct chase_span *b, uint64_t granule)
{
    return (a->address > b->address ? a->address : b->address) / 8 == granule;
}

enum { FOUND_MAX = 16 };

static uint32_t hbpair_cells_collect(uint64_t granule, const struct hb_access *a,
                                     struct hb_access *found)
{
    uint32_t b = bucket_of(granule), n = 0;
    struct pair_mutex *m = &stripes[stripe_of(b)];

    pair_mutex_lock(m);
    for (uint32_t i = buckets[b]; i && n < FOUND_MAX; i = cells[i - 1].next) {
        const struct cell *c = &cells[i - 1];

        if (c->granule == granule && c->access.slot != a->slot &&
            (c->access.span.write || a->span.write) && !(c->access.span.atomic && a->span.atomic) &&
            overlap(&c->access.span, &a->span) && is_first(&c->access.span, &a->span, granule))
            found[n++] = c->access;
    }
    pair_mutex_unlock(m);
    return n;
}

void hb_cells_meet(const struct hb_access *a, void (*f)(const struct hb_access *, void *),
                   void *arg)
{
    uint64_t last = last_granule(a->span.address, looked_at(a));
    struct hb_access found[FOUND_MAX];

    for (uint64_t g = a->span.address / 8; g <= last; g++) {
        uint32_t n;

        if (!__atomic_load_n(&buckets[bucket_of(g)], __ATOMIC_RELAXED))
            continue;
        n = hbpair_cells_collect(g, a, found);
        for (uint32_t i = 0; i < n; i++)
            f(&found[i], arg);
    }
}

/* ---- forgetting ---- */

static void forget_in(uint32_t b, uint64_t first, uint64_t last)
{
    struct pair_mutex *m = &stripes[stripe_of(b)];
    uint32_t *link = &buckets[b];

    pair_mutex_lock(m);
    while (*link) {
        struct cell *c = &cells[*link - 1];

        if (c->granule < first || c->granule > last) {
            link = &c->next;
            continue;
        }
        *link = c->next;
        __atomic_fetch_add(&hb_cells_version, 1, __ATOMIC_RELAXED);
        stripe_has(stripe_of(b), -1);
        cell_free(c);
    }
    pair_mutex_unlock(m);
}

static void forget_stripe(uint32_t stripe, uint64_t first, uint64_t last)
{
    for (uint32_t b = stripe * (BUCKETS / HB_STRIPES); stripe_of(b) == stripe; b++)
        if (__atomic_load_n(&buckets[b], __ATOMIC_RELAXED))
            forget_in(b, first, last);
}

/* Memory is given out in units of 8 bytes and more. */
void hb_cells_forget(uint64_t address, uint64_t bytes)
{
    uint64_t first = address / 8, last = last_granule(address, bytes);

    if (!__atomic_load_n(&kept, __ATOMIC_RELAXED))
        return;
    if (bytes > SCAN_BYTES) {
        for (uint32_t word = 0; word < HB_STRIPES / 64; word++)
            for (uint64_t left = __atomic_load_n(&filled[word], __ATOMIC_RELAXED); left;
                 left &= left - 1)
                forget_stripe(word * 64 + (uint32_t)__builtin_ctzll(left), first, last);
        return;
    }
    for (uint64_t g = first; g <= last; g++)
        if (__atomic_load_n(&buckets[bucket_of(g)], __ATOMIC_RELAXED))
            forget_in(bucket_of(g), g, g);
}

bool hb_cells_init(void)
{
    memset(stripes, 0, sizeof(stripes));
    memset(in_stripe, 0, sizeof(in_stripe));
    memset(filled, 0, sizeof(filled));
    pool_lock.state = 0;
    used = free_cells = kept = 0;
    hb_cells_version++;
    if (cells && buckets) {
        hb_pages_clear(buckets, BUCKETS * sizeof(*buckets));
        return true;
    }
    cells = hb_pages(CELLS * sizeof(*cells));
    buckets = hb_pages(BUCKETS * sizeof(*buckets));
    return cells && buckets;
}
