/* hbpair_mode.c - litehb and fullhb: happens-before for one pair of sites
 *
 * fullhb follows all synchronisation from start to end, keeps the accesses of both sites and finds
 * the pair in both orders. litehb (Kasikci et al., RaceMob, SOSP 2013, as in Biswas et al., CC
 * 2017, section 7.1, without its waiting) finds s1 before s2 only, and follows synchronisation only
 * while that can happen. Here is what the runtime calls; hbpair.h says where the rest is.
 */
#include "runtime/production/hbpair.h"

/* ---- what the program does ---- */

static void hbpair_hit(const struct prod_hit *h)
{
    struct pair_role role = pair_role(h->site);
    int saved = errno, guard = pair_guard_begin();

    if ((role.is[0] || role.is[1]) && h->bytes)
        hb_accessed(h, &role);
    if (h->atomic)
        hb_atomic(h);
    pair_guard_end(guard);
    errno = saved;
}

static void allocated(uint64_t address, uint64_t bytes)
{
    int guard;

    if (!hb_is_tracking())
        return;
    guard = pair_guard_begin();
    hb_cells_forget(address, bytes);
    pair_guard_end(guard);
}

/* ---- the mode ---- */

/* All atomics of the program synchronise. (patch_all() would ask while it holds its lock.) */
static void patch_atomics(void)
{
    enum { AT_A_TIME = 64 };
    uint32_t n = patch_count(), list[AT_A_TIME], found = 0;
    struct prod_hit h;

    for (uint32_t site = 0; site < n; site++) {
        if (patch_look(site, &h) && h.atomic)
            list[found++] = site;
        if (found == AT_A_TIME || (found && site + 1 == n)) {
            patch_sites(list, found, true);
            found = 0;
        }
    }
}

static void take_up(struct prod_control *c)
{
    pair_take_up(c);
    patch_atomics();
}

static void images(void)
{
    take_up(rt_control);
}

static bool init(void)
{
    return hb_objects_init() && hb_cells_init() && hb_stacks_init() && hb_threads_init();
}

static void hbpair_start(struct prod_control *c)
{
    hb_lite = c->mode == PROD_LITEHB;
    hb_tracking = !hb_lite;
    if (!init()) {
        hb_tracking = 0;
        hb_count(HB_NO_THREAD);
        return; /* nothing is patched, nothing happens */
    }
    c->counter[HB_START_NS] = prod_now_ns();
    hb_own(); /* the main thread, mostly: it is there before it does anything that we hear of */
    take_up(c);
}

static void ended(void)
{
    hb_flush_hits();
    hb_flush_counts();
    hb_tracking_ends();
}

/* One thread is left, and all that was is before what it does. */
static void hbpair_forked(void)
{
    pair_forked();
    hb_forget_early_load();
    hb_access_forked();
    hb_tracking = init() && !hb_lite;
    if (hb_threads_are_kept())
        hb_own();
}

/* They differ in how much is followed and kept, which is asked where it is. */
#define HB_MODE(its_name)                                                                          \
    { .name = (its_name),                                                                          \
      .start = hbpair_start,                                                                       \
      .changed = take_up,                                                                          \
      .hit = hbpair_hit,                                                                           \
      .sync = hb_synchronised,                                                                     \
      .alloc = allocated,                                                                          \
      .thread_fork = hb_thread_fork,                                                               \
      .thread_begin = hb_thread_begin,                                                             \
      .thread_end = hb_thread_end,                                                                 \
      .thread_join = hb_thread_join,                                                               \
      .images = images,                                                                            \
      .forked = hbpair_forked,                                                                     \
      .end = ended }
const struct rt_mode mode_litehb = HB_MODE("litehb"), mode_fullhb = HB_MODE("fullhb");
