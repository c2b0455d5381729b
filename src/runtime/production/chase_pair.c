/* chase_pair.c - the pair of a run: which sites are s1 and s2, and sightings of it
 *
 * Roles are looked up at each hit: an open-addressed table of words, each written at
 * once, so that readers need no lock. While the pair changes a hit may find nothing,
 * which is a missed chance and no more.
 */
#include "runtime/production/chase_pair.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Four times as many as there can be sites: a look-up is one or two probes. */
enum { ROLES = 4 * 2 * PROD_SITES_MAX };

/* Bits 0-31 site + 1, 32 and 33 the sides, 34 and 35 whether waiting there is in vain, 40-47 and
 * 48-55 the numbers there. */
static uint64_t roles[ROLES];

static struct pair_mutex pair_lock;
static uint32_t sites[2][PROD_SITES_MAX]; /* in this process; those that are loaded */
static uint32_t nsites[2];
static bool patched[2];
static uint32_t generation;
static uint16_t sighted[PROD_SITES_MAX][PROD_SITES_MAX]; /* number of the sighting + 1 */

/* ---- a lock that sleeps ---- */

static long futex(uint32_t *word, int op, uint32_t value)
{
    return syscall(SYS_futex, word, op, value, NULL, NULL, 0);
}

void pair_mutex_lock(struct pair_mutex *m)
{
    uint32_t free = 0;

    if (__atomic_compare_exchange_n(&m->state, &free, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return;
    while (__atomic_exchange_n(&m->state, 2, __ATOMIC_ACQUIRE))
        futex(&m->state, FUTEX_WAIT_PRIVATE, 2);
}

void pair_mutex_unlock(struct pair_mutex *m)
{
    if (__atomic_exchange_n(&m->state, 0, __ATOMIC_RELEASE) == 2)
        futex(&m->state, FUTEX_WAKE_PRIVATE, 1);
}

/* ---- roles ---- */

static uint32_t chase_pair_place_of(uint32_t site)
{
    return site * 2654435761u >> 16 & (ROLES - 1);
}

static uint64_t *chase_pair_find(uint32_t site)
{
    uint32_t i = chase_pair_place_of(site);
    uint64_t w;

    while ((w = __atomic_load_n(&roles[i], __ATOMIC_RELAXED)) && (uint32_t)w != site + 1)
        i = (i + 1) & (ROLES - 1);
    return &roles[i];
}

struct pair_role pair_role(uint32_t site)
{
    uint64_t w = __atomic_load_n(chase_pair_find(site), __ATOMIC_RELAXED);

    return (struct pair_role){ { w >> 32 & 1, w >> 33 & 1 },
                               { w >> 34 & 1, w >> 35 & 1 },
                               { (uint8_t)(w >> 40), (uint8_t)(w >> 48) } };
}

static void add_role(uint32_t site, unsigned side, uint32_t number)
{
    uint64_t *w = chase_pair_find(site);

    if (*w >> (32 + side) & 1) /* named twice: the first counts */
        return;
    __atomic_store_n(
        w, *w | (site + 1) | UINT64_C(1) << (32 + side) | (uint64_t)number << (40 + 8 * side),
        __ATOMIC_RELAXED);
}

static bool is_on_both(uint32_t site)
{
    uint64_t w = *chase_pair_find(site);

    return (w >> 32 & 3) == 3;
}

/* ---- patching; with pair_lock ---- */

static void patch(unsigned side, bool on)
{
    uint32_t list[PROD_SITES_MAX];
    size_t n = 0;

    for (uint32_t i = 0; i < nsites[side]; i++)
        if (side == 0 || !is_on_both(sites[side][i]))
            list[n++] = sites[side][i];
    if (n)
        patch_sites(list, n, on);
    patched[side] = on;
}

void pair_patch(unsigned side, bool on)
{
    pair_mutex_lock(&pair_lock);
    if (patched[side] != on)
        patch(side, on);
    pair_mutex_unlock(&pair_lock);
}

bool pair_is_patched(unsigned side)
{
    return __atomic_load_n(&patched[side], __ATOMIC_RELAXED);
}

/* Those that no module here has are counted; they may come with a library. */
static uint32_t resolve(const struct prod_control *c, unsigned side)
{
    uint32_t n = c->nsites[side] < PROD_SITES_MAX ? c->nsites[side] : PROD_SITES_MAX, unknown = 0;

    nsites[side] = 0;
    for (uint32_t i = 0; i < n; i++) {
        int64_t site = patch_find(&c->site[side][i]);

        if (site < 0) {
            unknown++;
            continue;
        }
        sites[side][nsites[side]++] = (uint32_t)site;
        add_role((uint32_t)site, side, i);
    }
    return unknown;
}

/* Could the two race, by what they do? Calls that may write count as writing. */
static bool may_race(uint32_t a, uint32_t b)
{
    struct prod_hit x, y;

    return !patch_look(a, &x) || !patch_look(b, &y) ||
           ((x.write || y.write) && !(x.atomic && y.atomic));
}

/* Sites that race with none of the other side: of "a += b" the reads, where the other side only
 * reads. */
static void find_vain(unsigned side)
{
    for (uint32_t i = 0; i < nsites[side]; i++) {
        uint64_t *w = chase_pair_find(sites[side][i]);
        uint32_t k = 0;

        while (k < nsites[!side] && !may_race(sites[side][i], sites[!side][k]))
            k++;
        if (k == nsites[!side])
            __atomic_store_n(w, *w | UINT64_C(1) << (34 + side), __ATOMIC_RELAXED);
    }
}

static void forget_roles(void)
{
    for (int i = 0; i < ROLES; i++)
        __atomic_store_n(&roles[i], 0, __ATOMIC_RELAXED);
}

void pair_take_up(struct prod_control *c)
{
    uint32_t now = __atomic_load_n(&c->generation, __ATOMIC_ACQUIRE), unknown;

    pair_mutex_lock(&pair_lock);
    for (unsigned side = 0; side < 2; side++)
        if (patched[side] && now != generation)
            patch(side, false);
    forget_roles();
    unknown = resolve(c, 0) + resolve(c, 1);
    __atomic_store_n(&c->unknown, unknown, __ATOMIC_RELAXED);
    find_vain(0);
    find_vain(1);
    if (now != generation)
        memset(sighted, 0, sizeof(sighted));
    generation = now;
    patch(0, true);
    patch(1, true);
    pair_mutex_unlock(&pair_lock);
}

uint32_t pair_generation(void)
{
    return __atomic_load_n(&generation, __ATOMIC_RELAXED);
}

/* The thread that may have held the lock does not exist here: what it left half done is done again.
 * What was seen is the parent's. */
void pair_forked(void)
{
    bool in_the_middle = pair_lock.state != 0;

    pair_lock.state = 0;
    memset(sighted, 0, sizeof(sighted));
    if (in_the_middle)
        pair_take_up(rt_control);
}

/* ---- sightings ---- */

void pair_side(struct prod_side *out, const struct prod_hit *h, const struct pair_role *role,
               unsigned side)
{
    out->site = role->number[side];
    out->tid = (uint32_t)syscall(SYS_gettid);
    out->thread = prod_thread();
    out->address = h->address;
    out->bytes = h->bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)h->bytes;
    out->write = h->write;
    out->atomic = h->atomic ? h->op : 0;
    patch_name(h->site, &out->name);
    out->frames = (uint16_t)prod_backtrace(h, out->frame, PROD_FRAMES_MAX);
}

bool pair_count_again(uint32_t one, uint32_t two)
{
    uint16_t number =
        __atomic_load_n(&sighted[one % PROD_SITES_MAX][two % PROD_SITES_MAX], __ATOMIC_ACQUIRE);

    if (number)
        __atomic_fetch_add(&rt_control->sighting[number - 1].count, 1, __ATOMIC_RELAXED);
    return number != 0;
}

void pair_report(const struct prod_side *one, const struct prod_side *two)
{
    uint32_t a = one->site % PROD_SITES_MAX, b = two->site % PROD_SITES_MAX;
    struct prod_sighting *s;

    if (pair_count_again(a, b) || !(s = prod_sighting()))
        return;
    prod_note_images(one->frame, one->frames);
    prod_note_images(two->frame, two->frames);
    s->pid = (int32_t)syscall(SYS_getpid);
    s->count = 1;
    s->side[0] = *one;
    s->side[1] = *two;
    __atomic_store_n(&s->ready, 1, __ATOMIC_RELEASE);
    /* Of two that are first at a time both stay; the report joins them. */
    __atomic_store_n(&sighted[a][b], (uint16_t)(s - rt_control->sighting + 1), __ATOMIC_RELEASE);
}

/* ---- cancellation ---- */

int pair_guard_begin(void)
{
    int old = PTHREAD_CANCEL_DEFERRED;

    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &old);
    return old;
}

/* A cancellation that came meanwhile is acted on inside: not while busy, so that handlers run again
 * as the thread ends. */
void pair_guard_end(int guard)
{
    if (guard == PTHREAD_CANCEL_DEFERRED)
        return;
    rt_busy_end();
    pthread_setcanceltype(guard, NULL);
    rt_busy_begin();
}
