/* caper_mode.c - the mode `caper`: which sites access objects that have escaped
 *
 * Biswas et al. 2017, section 5: sites of statically possible pairs are watched; one that accesses
 * an escaped object is noted (deSites) and not watched any more, in this run and in all later ones.
 * Pairs are made of noted sites by the command. Where this differs:
 * - Nothing races with what happens before the first thread is created: until then no site is
 *   watched, only pointers are (caper_links.c).
 * - The paper's checks are inline and its overhead has no bound. Here a watched access calls the
 *   runtime, which is several times the cost of an access in a hot loop. So there is a bound on
 *   the CPU time (max_ppm; 0: none): a site that is too hot while all it accesses is private is
 *   *assumed* to be escaped. That gives up precision, never soundness, and is said.
 * - Pointers that are in parts or in disguise are not seen. Where the static analysis finds that an
 *   object may be reached by such, its sites are taken as escaped when they are executed.
 * - Sites that were noted are unpatched in batches, when enough hits were wasted on them to pay
 *   for it, or by the tick.
 *
 * Concurrency: bits of the table are set by atomic operations; the list of sites to be unpatched is
 * under `lock`, which hits only try to take. Who has it is busy (no handler runs) and cannot be
 * cancelled; a child process has it free again.
 */
#include "runtime/production/caper.h"
#include "runtime/production/chase_pair.h"

#include <time.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    TICK = 4093,     /* hits of a thread between two looks at what they cost; prime, so that */
    TICK_OVER = 509, /* loops do not show the same site each time; while too much is spent */
    HIT_NS = 5,
    LINK_NS = 7,          /* measured: docs/design/production.md */
    LEAST_NS = 100000000, /* of CPU time: shorter programs may spend as much as these */
    CPU_EVERY_NS = 10000000,
    WASTE = 8192, /* hits of noted sites by a thread that pay for unpatching (30 us) */
    PENDING_MAX = 4096,
    LINKS_MAX = 1 << 14,
    SAMPLES = 2 /* times that a site must be met by a tick before it is assumed */
};

bool caper_on, caper_given_up, caper_quick;
_Thread_local int32_t caper_left __attribute__((tls_model("initial-exec"))) = TICK - 1;
static _Thread_local uint32_t wasted __attribute__((tls_model("initial-exec")));
/* What caper_left began with, and one: at that hit it is below 0. */
static _Thread_local int32_t period __attribute__((tls_model("initial-exec"))) = TICK;

static struct caper_table *table;
static uint32_t pending[PENDING_MAX], npending, lock;
static uint32_t link_sites[LINKS_MAX], nlinks, looked_at;
static uint8_t *link_byte; /* in the table: of the first */
static uint8_t *samples;   /* by dense number */
static bool threads;       /* there is or was more than one: sites are watched */
static uint64_t spent_ns, link_ns;

/* ---- sites ---- */

static void unpatch_pending(void)
{
    if (!npending)
        return;
    patch_sites(pending, npending, false);
    npending = 0;
}

static bool try_lock(void)
{
    return !__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE);
}

static void caper_note(uint32_t site, uint8_t *byte, uint8_t bits)
{
    int guard = pair_guard_begin();

    __atomic_fetch_or(byte, bits | CAPER_HIT, __ATOMIC_RELAXED);
    spin_lock(&lock);
    if (npending == PENDING_MAX)
        unpatch_pending();
    pending[npending++] = site;
    spin_unlock(&lock);
    pair_guard_end(guard);
}

/* So many hits of sites that were noted and are still jumps. */
static void waste(uint32_t hits)
{
    int guard;

    wasted += hits;
    if (wasted < WASTE)
        return;
    guard = pair_guard_begin();
    if (try_lock()) {
        wasted = 0;
        unpatch_pending();
        spin_unlock(&lock);
    }
    pair_guard_end(guard);
}

/* ---- the bound ---- */

/* Of the process, not long ago. Whoever asks the kernel may lose the core: it looks at that moment
 * whether the thread's slice is over, where else it does so at each tick of its own. Asked at each
 * look, xz was switched four times as often, each time with another thread's tables in the cache:
 * its match finder took 90 % longer. */
static uint64_t cpu_ns(void)
{
    static uint64_t asked_ns, known_ns;
    uint64_t now = prod_now_ns(), last = __atomic_load_n(&asked_ns, __ATOMIC_RELAXED);
    struct timespec t;

    if (now - last >= CPU_EVERY_NS &&
        __atomic_compare_exchange_n(&asked_ns, &last, now, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED) &&
        !syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &t))
        __atomic_store_n(&known_ns, (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec,
                         __ATOMIC_RELAXED);
    return __atomic_load_n(&known_ns, __ATOMIC_RELAXED);
}

static bool caper_is_over(uint64_t ns)
{
    uint64_t cpu = cpu_ns();

    return table->max_ppm && ns > (cpu > LEAST_NS ? cpu : LEAST_NS) / 1000 * table->max_ppm / 1000;
}

void caper_give_up(unsigned counter)
{
    caper_given_up = true;
    caper_quick = false;
    rt_control->counter[counter] = 1;
}

/* Later runs shall not try it again, if this was not the first (abi/rt_caper.h). */
static void say_too_expensive(void)
{
    if (link_byte)
        __atomic_fetch_or(link_byte, *link_byte & CAPER_ASSUMED ? CAPER_SEEN : CAPER_ASSUMED,
                          __ATOMIC_RELAXED);
    caper_give_up(CAPER_GAVE_UP);
}

/* What its thread did to the object while it was private may race with whoever reads the pointer,
 * and nobody knows by which sites: from now on, and in later runs, everything counts as escaped.
 * Before there is a second thread the store is ordered by its creation. */
void caper_weak(void)
{
    if (!threads || caper_given_up)
        return;
    if (link_byte)
        __atomic_fetch_or(link_byte, CAPER_WEAK, __ATOMIC_RELAXED);
    caper_give_up(CAPER_WEAK_STORE);
}

/* Pointer stores cannot be left out one by one: without them nothing is known. They may cost
 * twice as much as the sites. */
void caper_link_tick(void)
{
    uint64_t ns;

    caper_left = TICK - 1;
    if (!table)
        return;
    rt_control->counter[CAPER_LINKS] += (uint64_t)period;
    ns = __atomic_add_fetch(&link_ns, (uint64_t)period * LINK_NS, __ATOMIC_RELAXED);
    period = TICK;
    if (caper_is_over(ns / 2) && !caper_given_up)
        say_too_expensive();
}

/* The site that a tick meets stands for the hits since the last one. */
static void hit_tick(uint32_t site, uint8_t *byte)
{
    uint32_t hits = (uint32_t)period;
    uint64_t ns = __atomic_add_fetch(&spent_ns, (uint64_t)hits * HIT_NS, __ATOMIC_RELAXED);
    bool over = caper_is_over(ns);

    period = over ? TICK_OVER : TICK;
    caper_left = period - 1;
    rt_control->counter[CAPER_HITS] += hits;
    if (*byte & (CAPER_SEEN | CAPER_ASSUMED))
        waste(hits);
    else if (over && ++samples[site] >= SAMPLES)
        caper_note(site, byte, CAPER_ASSUMED);
}

/* ---- hits ---- */

static void caper_hit(const struct prod_hit *h)
{
    uint8_t *byte = h->site < table_sites ? table_bytes[h->site] : NULL;

    if (!byte || !h->bytes)
        return;
    if (unlikely(table->flags & CAPER_COUNT) && table_counts[h->site])
        __atomic_fetch_add(table_counts[h->site], 1, __ATOMIC_RELAXED);
    if (!threads)
        return;
    if (unlikely(--caper_left < 0))
        hit_tick(h->site, byte);
    if (likely(own_at(h->address) && !caper_given_up && !(*byte & CAPER_HIDDEN)))
        return;
    if (*byte & (CAPER_SEEN | CAPER_ASSUMED))
        waste(1);
    else if (*byte & CAPER_WANTED)
        caper_note(h->site, byte,
                   caper_given_up || own_at(h->address) ? CAPER_ASSUMED : CAPER_SEEN);
}

/* ---- patching ---- */

static bool is_wanted(uint32_t site, void *arg)
{
    const uint8_t *byte = site < table_sites ? table_bytes[site] : NULL;

    (void)arg;
    return byte && (table->flags & CAPER_COUNT ||
                    (*byte & CAPER_WANTED && !(*byte & (CAPER_SEEN | CAPER_ASSUMED))));
}

/* The compiler lost track of it (pass/production/production_code.cpp), so it cannot be watched. */
static void assume(uint8_t *byte)
{
    if (byte && *byte & CAPER_WANTED)
        __atomic_fetch_or(byte, CAPER_ASSUMED | CAPER_HIT, __ATOMIC_RELAXED);
}

/* The no-ops of production_links.c: one number for a module's, a fence without order. Sites that
 * have no place are found on the way. */
static void find_links(void)
{
    struct prod_hit h;
    uint32_t first = nlinks;

    for (; looked_at < table_sites; looked_at++) {
        if (!patch_look(looked_at, &h)) {
            assume(table_bytes[looked_at]);
            continue;
        }
        if (h.op != OP_FENCE || h.order)
            continue;
        link_byte = link_byte ? link_byte : table_bytes[looked_at];
        table_bytes[looked_at] = NULL;
        if (nlinks < LINKS_MAX)
            link_sites[nlinks++] = looked_at;
        else
            caper_give_up(CAPER_NO_LINKS);
    }
    if (caper_on && nlinks > first && patch_sites(link_sites + first, nlinks - first, true) < 0)
        caper_give_up(CAPER_NO_LINKS);
}

static void update(void)
{
    table_update();
    find_links();
    if (threads || table->flags & CAPER_COUNT)
        patch_all(is_wanted, NULL, true);
}

/* ---- the mode ---- */

extern void *__libc_stack_end __attribute__((weak)); /* of the dynamic linker */

static void note_main_stack(void)
{
    struct rlimit limit;
    uintptr_t end = &__libc_stack_end ? (uintptr_t)__libc_stack_end : 0, bytes = 8 << 20;

    if (!end)
        return;
    if (syscall(SYS_getrlimit, RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < (1 << 30))
        bytes = limit.rlim_cur;
    end = (end | 4095) + 1;
    links_thread_begin(end - bytes, bytes);
}

static void caper_start(struct prod_control *c)
{
    table = table_open();
    if (!table)
        return;
    samples = (uint8_t *)syscall(SYS_mmap, NULL, 1L << 24, 3L, 0x4022L, -1L, 0L);
    __atomic_fetch_add(&c->counter[CAPER_PROCESSES], 1, __ATOMIC_RELAXED);
    note_main_stack();
    caper_given_up = table->flags & CAPER_NO_STORES;
    caper_on = !caper_given_up;
    rt_deaf_to_memory = !caper_on;
    update();
}

static void images(void)
{
    if (table)
        update();
}

void caper_threads(void)
{
    if (!table || threads)
        return;
    threads = true;
    caper_quick = !caper_given_up && !(table->flags & (CAPER_COUNT | CAPER_HAS_HIDDEN));
    patch_all(is_wanted, NULL, true);
}

static void thread_fork(uint32_t child)
{
    (void)child;
    caper_threads();
}

static void thread_begin(uint32_t thread, uint64_t stack, uint64_t bytes)
{
    (void)thread;
    links_thread_begin(stack, bytes);
}

static void caper_tick(void)
{
    if (!table || !try_lock())
        return;
    unpatch_pending();
    spin_unlock(&lock);
    if (caper_given_up && caper_on) {
        caper_on = false;
        rt_deaf_to_memory = true;
        patch_sites(link_sites, nlinks, false);
    }
}

static void caper_forked(void)
{
    if (!table)
        return;
    lock = 0;
    escape_forked();
    table_forked();
    __atomic_fetch_add(&rt_control->counter[CAPER_PROCESSES], 1, __ATOMIC_RELAXED);
}

const struct rt_mode mode_caper = {
    .name = "caper",
    .start = caper_start,
    .hit = caper_hit,
    .alloc = links_alloc,
    .free = links_free,
    .thread_fork = thread_fork,
    .thread_begin = thread_begin,
    .thread_end = links_thread_end,
    .images = images,
    .gone = links_gone,
    .forked = caper_forked,
    .tick = caper_tick,
};
