/* patch.c - which no-ops are jumps: sites that a mode wants, and their hits
 *
 * Every production image hands over its table of places (prod.h): no-ops, and instructions that
 * make accesses; below, no-ops are both. Nothing is done with it until
 * there is a mode; then it is indexed: places (no-ops, by address) and for each site a list of its
 * places. A place is a jump while one of its sites is wanted. The block behind it reports all sites
 * of the place; a bit per site says which of them go to the mode.
 *
 * Concurrency: everything but the bits is under patch_lock, which is held for as long as text is
 * changed (tens of microseconds), by a busy thread, and while a process forks.
 * Limits: SITES_MAX sites in a process; further ones cannot be patched.
 */
#include "runtime/production/caper.h"
#include "runtime/production/patch.h"
#include "runtime/core/state.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { IMAGES_MAX = 1024, SITES_MAX = 1 << 24 };

/* Of a site that has no-ops: a list of them. */
struct link {
    uint32_t next; /* + 1 */
    uint32_t place;
};
struct module {
    const struct heddle_module *at; /* NULL: gone */
    uint32_t image;
};
struct site {
    uint32_t first; /* link + 1, 0: none */
    uint32_t what;
};
static struct image {
    const struct heddle_patch *start, *stop;
    size_t first_place, places;
    bool indexed;
} images[IMAGES_MAX];
static uint32_t nimages;

/* Arrays that grow; their memory moves, but only under the lock. */
static struct array {
    char *at;
    size_t count, room, item;
} places = { .item = sizeof(struct place) }, links = { .item = sizeof(struct link) },
  sites = { .item = sizeof(struct site) }, modules = { .item = sizeof(struct module) };

/* Places whose `change` may be set, [first, last), and how many are jumps. */
static size_t changes_first = SIZE_MAX, changes_last, places_on;

static uint8_t wanted[SITES_MAX / 8]; /* a bit per site; read without the lock */
static uint32_t patch_lock;

#define PLACE(i)  (&((struct place *)places.at)[i])
#define LINK(i)   (&((struct link *)links.at)[i])
#define SITE(i)   (&((struct site *)sites.at)[i])
#define MODULE(i) (&((struct module *)modules.at)[i])

/* A thread that may be cancelled at any instruction must not leave the lock taken: it is not, while
 * it has it. A cancellation that came meanwhile is acted on at the end, when it is not busy. */
static _Thread_local int cancel_type __attribute__((tls_model("initial-exec")));

static void lock(void)
{
    int type;

    rt_busy_begin();
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
    spin_lock(&patch_lock);
    cancel_type = type;
}

static void unlock(void)
{
    int type = cancel_type;

    spin_unlock(&patch_lock);
    rt_busy_end();
    if (type != PTHREAD_CANCEL_DEFERRED)
        pthread_setcanceltype(type, NULL);
}

/* ---- arrays ---- */

/* Room for `more` items, which are zero; false: no memory. */
static bool reserve(struct array *a, size_t more)
{
    size_t old = a->room * a->item, room = a->room, bytes;
    void *at;

    if (a->count + more <= a->room)
        return true;
    while (room < a->count + more)
        room = room * 2 + 4096;
    bytes = (room * a->item + 4095) & ~(size_t)4095;
    if (!a->at)
        at = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1L, 0L);
    else
        at =
            (void *)syscall(SYS_mremap, a->at, (old + 4095) & ~(size_t)4095, bytes, MREMAP_MAYMOVE);
    if (at == MAP_FAILED)
        return false;
    a->at = at;
    a->room = room;
    return true;
}

/* ---- indexing ---- */

#define AT(e, member) ((uintptr_t)&(e)->member + (uintptr_t)(intptr_t)(e)->member)

static const struct heddle_module *module_of(const struct heddle_patch *e)
{
    return (const struct heddle_module *)AT(e, module);
}

static bool patch_is_known(const struct heddle_patch *e)
{
    const struct heddle_module *m = module_of(e);

    return e->nop && m->known && (uint64_t)m->base + m->sites <= SITES_MAX;
}

/* Where the run ends that begins at `at`. */
static size_t run_end(const struct place *p, size_t at, size_t n)
{
    while (++at < n && p[at - 1].nop <= p[at].nop) {
    }
    return at;
}

/* Two runs, [0, middle) and [middle, n), become one. Only what overlaps moves. */
static void merge(struct place *p, size_t middle, size_t n, struct place *room)
{
    size_t at = middle, left = 0, count, right = middle;

    while (at > 0 && p[at - 1].nop > p[middle].nop)
        at--;
    count = middle - at;
    memcpy(room, p + at, count * sizeof(*p));
    while (left < count)
        p[at++] = right < n && p[right].nop < room[left].nop ? p[right++] : room[left++];
}

/* The compiler writes no-ops where they are and instructions at their function's end, so the table
 * is two runs a function, and neighbours overlap no further than that. */
static void sort(struct place *p, size_t n, struct place *room)
{
    size_t low, middle, end;

    do {
        for (low = 0; low < n && (middle = run_end(p, low, n)) < n; low = end) {
            end = run_end(p, middle, n);
            merge(p + low, middle - low, end - low, room);
        }
    } while (run_end(p, 0, n) < n);
}

static void add_link(uint32_t number, uint32_t place, uint32_t what)
{
    struct site *s;

    if (number >= sites.count && !reserve(&sites, number + 1 - sites.count))
        return;
    if (number >= sites.count)
        sites.count = number + 1;
    if (!reserve(&links, 1))
        return;
    s = SITE(number);
    *LINK(links.count) = (struct link){ s->first, place };
    s->first = (uint32_t)++links.count;
    s->what = what;
}

static void patch_add_entry(const struct heddle_patch *e, uint32_t place)
{
    uint32_t number = module_of(e)->base + e->index;

    add_link(number, place, e->what);
    if (e->what & HIT_UPDATE) /* the write that follows is a site of its own */
        add_link(number + 1, place, (e->what & ~(unsigned)HIT_UPDATE) | HIT_WRITE);
}

/* A place for each entry, behind the places that there are; `wanted` is the entry's number. */
static size_t list_places(const struct image *im)
{
    struct place *first = PLACE(places.count), *p = first;

    for (const struct heddle_patch *e = im->start; e < im->stop; e++) {
        if (!patch_is_known(e))
            continue;
        *p = (struct place){ .nop = AT(e, nop),
                             .target = AT(e, target),
                             .wanted = (uint32_t)(e - im->start) };
        p += text_can_change(p, e->what & HIT_SITE);
    }
    return (size_t)(p - first);
}

/* Sorted, one place for all entries that name it. */
static void add_places(struct image *im)
{
    size_t n = list_places(im);
    struct place *p = PLACE(places.count);

    sort(p, n, p + n);
    im->first_place = places.count;
    for (size_t i = 0; i < n; i++) {
        const struct heddle_patch *e = im->start + p[i].wanted;

        if (places.count == im->first_place || PLACE(places.count - 1)->nop != p[i].nop) {
            p[i].wanted = 0;
            *PLACE(places.count++) = p[i];
        }
        patch_add_entry(e, (uint32_t)places.count - 1);
    }
    im->places = places.count - im->first_place;
}

static bool has_module(const struct heddle_module *m)
{
    for (size_t i = modules.count; i-- > 0;)
        if (MODULE(i)->at == m)
            return true;
    return false;
}

static void add_modules(const struct image *im)
{
    const struct heddle_module *last = NULL;

    for (const struct heddle_patch *e = im->start; e < im->stop; e++) {
        if (!patch_is_known(e) || module_of(e) == last)
            continue;
        last = module_of(e);
        if (!has_module(last) && reserve(&modules, 1))
            *MODULE(modules.count++) = (struct module){ last, (uint32_t)(im - images) };
    }
}

static void index_images(void)
{
    for (uint32_t i = 0; i < nimages; i++) {
        struct image *im = &images[i];

        if (im->indexed || !im->start || !reserve(&places, 2 * (size_t)(im->stop - im->start)))
            continue; /* twice: room to sort in */
        im->indexed = true;
        add_places(im);
        add_modules(im);
    }
}

/* ---- images ---- */

EXPORT void __heddle_register_patches(const struct heddle_patch *start,
                                      const struct heddle_patch *stop);
EXPORT void __heddle_register_patches(const struct heddle_patch *start,
                                      const struct heddle_patch *stop)
{
    uint32_t i;

    lock();
    for (i = 0; i < nimages && images[i].start; i++) {
    }
    if (i < IMAGES_MAX && start < stop) {
        images[i] = (struct image){ .start = start, .stop = stop };
        nimages = i < nimages ? nimages : i + 1;
    }
    unlock();
    prod_images();
}

/* Before the image's memory goes. Its sites' numbers are not used again. */
EXPORT void __heddle_forget_patches(const struct heddle_patch *start);
EXPORT void __heddle_forget_patches(const struct heddle_patch *start)
{
    lock();
    for (uint32_t i = 0; i < nimages; i++) {
        if (images[i].start != start)
            continue;
        for (size_t p = 0; p < images[i].places; p++) {
            places_on -= PLACE(images[i].first_place + p)->on;
            PLACE(images[i].first_place + p)->nop = 0;
        }
        for (size_t m = 0; m < modules.count; m++)
            if (MODULE(m)->image == i)
                *MODULE(m) = (struct module){ NULL, UINT32_MAX };
        images[i] = (struct image){ 0 };
    }
    unlock();
    if (rt_mode && rt_mode->gone)
        rt_mode->gone();
}

/* ---- which sites there are ---- */

int64_t patch_find(const struct prod_site *s)
{
    int64_t found = -1;

    lock();
    for (size_t i = 0; i < modules.count && found < 0; i++) {
        const struct heddle_module *m = MODULE(i)->at;

        if (m && m->id[0] == s->module[0] && m->id[1] == s->module[1] && s->index < m->sites)
            found = (int64_t)m->base + s->index;
    }
    unlock();
    return found;
}

bool patch_name(uint32_t site, struct prod_site *s)
{
    bool found = false;

    lock();
    for (size_t i = 0; i < modules.count && !found; i++) {
        const struct heddle_module *m = MODULE(i)->at;

        if (!m || site - m->base >= m->sites)
            continue;
        *s = (struct prod_site){ { m->id[0], m->id[1] }, site - m->base, 0 };
        found = true;
    }
    unlock();
    return found;
}

bool patch_module(uint32_t i, struct prod_module *out)
{
    const struct heddle_module *m;
    bool found;

    lock();
    found = i < modules.count;
    m = found ? MODULE(i)->at : NULL;
    *out = m ? (struct prod_module){ { m->id[0], m->id[1] }, m->base, m->sites }
             : (struct prod_module){ 0 };
    unlock();
    return found;
}

uint32_t patch_count(void)
{
    uint32_t n;

    lock();
    n = (uint32_t)sites.count;
    unlock();
    return n;
}

static void fill_what(struct prod_hit *h, uint32_t what)
{
    h->atomic = what & HIT_ATOMIC;
    h->write = what & HIT_WRITE;
    h->read = h->atomic ? what & HIT_READS : !h->write;
    h->order = what >> HIT_ORDER_SHIFT & 7;
    if (!h->atomic)
        h->op = h->write ? OP_WRITE : OP_READ;
    else
        h->op = !h->write ? h->read ? OP_LOAD : OP_FENCE : h->read ? OP_RMW : OP_STORE;
}

bool patch_look(uint32_t site, struct prod_hit *h)
{
    bool found;

    lock();
    found = site < sites.count && SITE(site)->first;
    if (found) {
        *h = (struct prod_hit){ .site = site };
        fill_what(h, SITE(site)->what);
    }
    unlock();
    return found;
}

/* ---- changing ---- */

static uint8_t bit_of(uint32_t site)
{
    return (uint8_t)(1u << (site & 7));
}

bool patch_is_on(uint32_t site)
{
    return site < SITES_MAX && __atomic_load_n(&wanted[site >> 3], __ATOMIC_RELAXED) & bit_of(site);
}

static void note_change(struct place *p, uint32_t number)
{
    p->change = p->nop && (p->wanted > 0) != p->on;
    changes_first = number < changes_first ? number : changes_first;
    changes_last = number >= changes_last ? number + 1 : changes_last;
}

/* Changes the site's bit and counts at its places; notes which of them have to change. */
static void patch_want(uint32_t site, bool on)
{
    if (site >= sites.count || !SITE(site)->first || patch_is_on(site) == on)
        return;
    __atomic_fetch_xor(&wanted[site >> 3], bit_of(site), __ATOMIC_RELAXED);
    for (uint32_t l = SITE(site)->first; l; l = LINK(l - 1)->next) {
        struct place *p = PLACE(LINK(l - 1)->place);

        p->wanted += on ? 1 : -1u;
        note_change(p, LINK(l - 1)->place);
    }
}

/* Under the lock. */
static int change_text(void)
{
    struct text_changes t = { 0 };

    if (changes_first < changes_last)
        text_change(PLACE(changes_first), changes_last - changes_first, &t);
    changes_first = SIZE_MAX;
    changes_last = 0;
    places_on += t.on - t.off;
    if (rt_control) {
        rt_control->patched = (uint32_t)places_on;
        if (!rt_sandbox) /* there sites stay as they are, which is no trouble (sandbox.c) */
            rt_control->patch_errno = t.error;
    }
    errno = t.error;
    return t.error ? -1 : (int)(t.on + t.off);
}

int patch_sites(const uint32_t *list, size_t n, bool on)
{
    int saved = errno, r;

    lock();
    for (size_t i = 0; i < n; i++)
        patch_want(list[i], on);
    r = change_text();
    unlock();
    if (r >= 0)
        errno = saved;
    return r;
}

int patch_all(bool (*is_wanted)(uint32_t site, void *arg), void *arg, bool on)
{
    int saved = errno, r;

    lock();
    for (uint32_t i = 0; i < sites.count; i++)
        if (SITE(i)->first && patch_is_on(i) != on && is_wanted(i, arg))
            patch_want(i, on);
    r = change_text();
    unlock();
    if (r >= 0)
        errno = saved;
    return r;
}

/* Called when images came: those that are new can be found and patched from now on. */
void patch_index(void)
{
    lock();
    index_images();
    unlock();
}

void patch_fork_before(void)
{
    spin_lock(&patch_lock);
}

void patch_fork_after(bool child)
{
    (void)child;
    spin_unlock(&patch_lock);
}

/* ---- hits ---- */

static inline void patch_hit(struct prod_hit *h, uint32_t flags)
{
    const struct rt_mode *mode = rt_mode;

    if (!mode || tls.busy || prod_is_excused(h))
        return;
    rt_busy_begin();
    if (patch_is_on(h->site))
        mode->hit(h);
    if (flags & HIT_UPDATE && patch_is_on(h->site + 1)) {
        h->site++;
        fill_what(h, HIT_WRITE);
        mode->hit(h);
    }
    rt_busy_end();
}

/* The whole of a hit. Apart, so that the entries save no registers where there is nothing to do. */
#define HIT_SLOW(convention, suffix)                                                               \
    __attribute__((convention, noinline)) static void slow_hit##suffix(                            \
        const void *address, uint64_t what, const struct heddle_module *module, uint64_t bytes,    \
        const void *frame)                                                                         \
    {                                                                                              \
        uint32_t flags = (uint32_t)(what >> HIT_FLAGS_SHIFT) & 0xffff;                             \
        struct prod_hit h = { .address = (uintptr_t)address,                                       \
                              .bytes = bytes,                                                      \
                              .site = module->base + (uint32_t)what,                               \
                              .from = prod_entry(frame) };                                         \
                                                                                                   \
        h.pc = h.from.pc - 1;                                                                      \
        fill_what(&h, flags);                                                                      \
        patch_hit(&h, flags);                                                                      \
    }

static inline bool is_on(uint64_t what, const struct heddle_module *module)
{
    uint32_t number = module->base + (uint32_t)what;

    return patch_is_on(number) || (what >> HIT_FLAGS_SHIFT & HIT_UPDATE && patch_is_on(number + 1));
}

/* In caper most hits are of private memory, and that is all there is to say of them; likewise in
 * prod_site.c. */
static inline bool is_idle(const void *address, uint64_t what, const struct heddle_module *module)
{
    return (caper_quick && own_at((uintptr_t)address) && --caper_left >= 0) || !is_on(what, module);
}

#define HIT_FUNCTIONS(convention, suffix)                                                          \
    HIT_SLOW(convention, suffix)                                                                   \
    __attribute__((convention)) EXPORT void __heddle_hit##suffix(                                  \
        const void *address, uint64_t what, const struct heddle_module *module);                   \
    __attribute__((convention)) EXPORT void __heddle_hit##suffix(                                  \
        const void *address, uint64_t what, const struct heddle_module *module)                    \
    {                                                                                              \
        if (!is_idle(address, what, module))                                                       \
            slow_hit##suffix(address, what, module, what >> HIT_BYTES_SHIFT,                       \
                             __builtin_frame_address(0));                                          \
    }                                                                                              \
    __attribute__((convention)) EXPORT void __heddle_hit_range##suffix(                            \
        const void *address, uint64_t what, const struct heddle_module *module, uint64_t bytes);   \
    __attribute__((convention)) EXPORT void __heddle_hit_range##suffix(                            \
        const void *address, uint64_t what, const struct heddle_module *module, uint64_t bytes)    \
    {                                                                                              \
        if (!is_idle(address, what, module))                                                       \
            slow_hit##suffix(address, what, module, bytes, __builtin_frame_address(0));            \
    }

/* Of a stub (prod_site.c): the access, or accesses, of one patched instruction. */
bool site_is_idle(const void *address, const struct heddle_patch *e)
{
    (void)address;
    for (;; e++) {
        uint64_t what = e->index | (uint64_t)(e->what & HIT_ENTRY_FLAGS) << HIT_FLAGS_SHIFT;

        if (is_on(what, module_of(e)))
            return false;
        if (!(e->what & HIT_MORE))
            return true;
    }
}

void site_hit(const void *address, const struct heddle_patch *e, const uintptr_t *stub)
{
    const struct prod_entry from = { stub[-1], (uintptr_t)stub,
                                     *(uintptr_t *)__builtin_frame_address(0) };

    for (;; e++) {
        struct prod_hit h = { .address = (uintptr_t)address + (e->what >> HIT_ENTRY_DELTA_SHIFT),
                              .bytes = e->what >> HIT_ENTRY_BYTES_SHIFT & 0xff,
                              .site = module_of(e)->base + e->index,
                              .pc = AT(e, nop) + NOP_BYTES - 1,
                              .from = from };

        fill_what(&h, e->what & HIT_ENTRY_FLAGS);
        patch_hit(&h, 0);
        if (!(e->what & HIT_MORE))
            return;
    }
}

HIT_FUNCTIONS(preserve_most, )
HIT_FUNCTIONS(preserve_all, _all)
