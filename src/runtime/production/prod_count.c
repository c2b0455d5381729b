/* prod_count.c - the mode that only counts: for tests, and for `heddle doctor`
 *
 * hits[k] are the hits of the sites of side k; if no side names a site, all sites are patched
 * and hits[0] are reads, hits[1] writes (an rmw is both). counter[0..] are events of interposers,
 * in the order of enum count.
 */
#include "runtime/production/prod.h"

enum count {
    COUNT_SYNC,
    COUNT_ALLOC,
    COUNT_FREE,
    COUNT_FORK,
    COUNT_BEGIN,
    COUNT_END,
    COUNT_JOIN,
    COUNT_IMAGES,
    COUNT_FORKED,
    COUNT_TICKS,
    COUNT_ENDS,
    COUNT_CHANGES,
    COUNT_BYTES, /* all sites are patched: of reads, and two further on of writes */
    COUNT_PLACES /* the same: sum of the bytes' addresses in their pages, so the same sum for an
                    access as for its halves */
};

static struct prod_control *control;
static uint32_t sides[2][PROD_SITES_MAX];
static uint32_t nsides[2];
static bool all;

static void prod_count_add(enum count what)
{
    __atomic_fetch_add(&control->counter[what], 1, __ATOMIC_RELAXED);
}

static bool every(uint32_t site, void *unused)
{
    (void)site;
    (void)unused;
    return true;
}

static void patch(void)
{
    uint32_t unknown = 0;

    for (int k = 0; k < 2; k++)
        patch_sites(sides[k], nsides[k], false);
    nsides[0] = nsides[1] = 0;
    if (all && control->nsites[0] + control->nsites[1] > 0)
        patch_all(every, NULL, false);
    all = control->nsites[0] + control->nsites[1] == 0;
    for (int k = 0; k < 2; k++)
        for (uint32_t i = 0; i < control->nsites[k] && i < PROD_SITES_MAX; i++) {
            int64_t site = patch_find(&control->site[k][i]);

            if (site >= 0)
                sides[k][nsides[k]++] = (uint32_t)site;
            else
                unknown++;
        }
    for (int k = 0; k < 2; k++)
        patch_sites(sides[k], nsides[k], true);
    if (all)
        patch_all(every, NULL, true);
    control->unknown = unknown;
}

static void prod_count_start(struct prod_control *c)
{
    control = c;
    patch();
}

static void changed(struct prod_control *c)
{
    (void)c;
    prod_count_add(COUNT_CHANGES);
    patch();
}

static void add_bytes(const struct prod_hit *h, int k)
{
    uint64_t places = 0;

    for (uint64_t i = 0; i < h->bytes && i < 4096; i++)
        places += (h->address + i) & 4095;
    __atomic_fetch_add(&control->counter[COUNT_BYTES + 2 * k], h->bytes, __ATOMIC_RELAXED);
    __atomic_fetch_add(&control->counter[COUNT_PLACES + 2 * k], places, __ATOMIC_RELAXED);
}

static void prod_count_hit(const struct prod_hit *h)
{
    for (int k = 0; k < 2; k++) {
        bool counts = all && (k ? h->write : h->read);

        if (counts)
            add_bytes(h, k);
        for (uint32_t i = 0; i < nsides[k]; i++)
            counts |= sides[k][i] == h->site;
        if (counts)
            __atomic_fetch_add(&control->hits[k], 1, __ATOMIC_RELAXED);
    }
}

static void count_sync(enum op op, uint64_t object)
{
    (void)op;
    (void)object;
    prod_count_add(COUNT_SYNC);
}

static void alloc(uint64_t address, uint64_t bytes)
{
    (void)address;
    (void)bytes;
    prod_count_add(COUNT_ALLOC);
}

static void freed(uint64_t address, uint64_t bytes)
{
    (void)address;
    (void)bytes;
    prod_count_add(COUNT_FREE);
}

static void thread_fork(uint32_t child)
{
    (void)child;
    prod_count_add(COUNT_FORK);
}

static void thread_begin(uint32_t thread, uint64_t stack, uint64_t bytes)
{
    (void)thread;
    if (stack && bytes)
        prod_count_add(COUNT_BEGIN);
}

static void thread_end(void)
{
    prod_count_add(COUNT_END);
}

static void thread_join(uint32_t child)
{
    (void)child;
    prod_count_add(COUNT_JOIN);
}

static void images(void)
{
    prod_count_add(COUNT_IMAGES);
    patch();
}

static void prod_count_forked(void)
{
    prod_count_add(COUNT_FORKED);
}

static void prod_count_tick(void)
{
    prod_count_add(COUNT_TICKS);
}

static void end(void)
{
    prod_count_add(COUNT_ENDS);
}

const struct rt_mode mode_count = { .name = "count",
                                    .start = prod_count_start,
                                    .changed = changed,
                                    .hit = prod_count_hit,
                                    .sync = count_sync,
                                    .alloc = alloc,
                                    .free = freed,
                                    .thread_fork = thread_fork,
                                    .thread_begin = thread_begin,
                                    .thread_end = thread_end,
                                    .thread_join = thread_join,
                                    .images = images,
                                    .forked = prod_count_forked,
                                    .tick = prod_count_tick,
                                    .end = end };
