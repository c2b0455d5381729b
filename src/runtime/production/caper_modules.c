/* caper_modules.c - the modules' bytes in the control file (abi/rt_caper.h)
 *
 * A module is looked up by its id once, when it is met; from then on a site's byte is found by the
 * site's dense number. Modules that the command did not list are added.
 * Lock: the table's own, across processes: held for a few instructions; if its holder was killed
 * it is taken over. Inside this process updates come one at a time (update_lock).
 */
#include "runtime/production/caper.h"
#include "runtime/production/chase_pair.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DENSE_MAX = 1 << 24 };

uint8_t **table_bytes;
uint64_t **table_counts;
uint32_t table_sites;
static uint32_t *module_of; /* dense number -> number in the table + 1 */
static struct caper_table *table;
static uint32_t update_lock;

static void *pages(size_t bytes)
{
    void *m = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1L, 0L);

    return m == MAP_FAILED ? NULL : m;
}

struct caper_table *table_open(void)
{
    size_t room = rt_control_bytes - sizeof(struct prod_control);
    struct caper_table *t = (struct caper_table *)(rt_control + 1);

    if (rt_control_bytes < sizeof(struct prod_control) + sizeof(*t) ||
        memcmp(t->magic, CAPER_MAGIC, sizeof(t->magic)) != 0 || t->bytes > room)
        return NULL;
    table_bytes = pages(DENSE_MAX * sizeof(*table_bytes));
    table_counts = pages(DENSE_MAX * sizeof(*table_counts));
    module_of = pages(DENSE_MAX * sizeof(*module_of));
    if (!table_bytes || !table_counts || !module_of)
        return NULL;
    table = t;
    return t;
}

/* ---- modules ---- */

static void lock_table(void)
{
    uint32_t self = (uint32_t)syscall(SYS_getpid), holder = 0;

    while (!__atomic_compare_exchange_n(&table->lock, &holder, self, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED)) {
        if (holder == self || syscall(SYS_kill, (long)holder, 0L) == 0 || errno != ESRCH)
            holder = 0;
        sched_yield();
    }
}

static int64_t find_module(const uint64_t id[2])
{
    uint32_t n = __atomic_load_n(&table->modules, __ATOMIC_ACQUIRE);

    for (uint32_t i = 0; i < n; i++)
        if (table->module[i].id[0] == id[0] && table->module[i].id[1] == id[1])
            return i;
    return -1;
}

/* All of its sites are wanted. */
static int64_t add_module(const uint64_t id[2], uint32_t sites)
{
    struct caper_module *m = &table->module[table->modules];
    uint64_t counts = table->flags & CAPER_COUNT ? 8 * (uint64_t)sites : 0;
    uint64_t at = (table->used + 7) & ~UINT64_C(7);

    if (table->modules == table->modules_max || table->bytes - table->used < counts + sites + 8) {
        __atomic_fetch_add(&table->modules_lost, 1, __ATOMIC_RELAXED);
        return -1;
    }
    *m = (struct caper_module){ { id[0], id[1] }, at + counts, counts ? at : 0, sites, 0 };
    table->used = at + counts + sites;
    memset((char *)table + m->at, CAPER_WANTED, sites);
    m->ready = 1;
    return __atomic_fetch_add(&table->modules, 1, __ATOMIC_RELEASE);
}

static int64_t module_number(const uint64_t id[2], uint32_t sites)
{
    int64_t n = find_module(id);

    if (n >= 0)
        return n;
    lock_table();
    n = find_module(id);
    if (n < 0)
        n = add_module(id, sites);
    __atomic_store_n(&table->lock, 0, __ATOMIC_RELEASE);
    return n;
}

static void note_module(const struct prod_module *p)
{
    int64_t n = module_number(p->id, p->sites);
    struct caper_module *m = n < 0 ? NULL : &table->module[n];

    for (uint32_t i = 0; m && i < p->sites && i < m->sites; i++) {
        module_of[p->base + i] = (uint32_t)n + 1;
        if (m->counts)
            table_counts[p->base + i] = (uint64_t *)((char *)table + m->counts) + i;
        __atomic_store_n(&table_bytes[p->base + i], (uint8_t *)table + m->at + i, __ATOMIC_RELEASE);
    }
    if (table_sites < p->base + p->sites)
        table_sites = p->base + p->sites;
}

void table_update(void)
{
    static uint32_t noted;
    struct prod_module m;
    int guard;

    rt_busy_begin();
    guard = pair_guard_begin();
    spin_lock(&update_lock);
    for (; patch_module(noted, &m); noted++)
        if (m.sites && m.base + m.sites <= DENSE_MAX)
            note_module(&m);
    spin_unlock(&update_lock);
    pair_guard_end(guard);
    rt_busy_end();
}

/* Whoever was about to add modules in the parent is not here. */
void table_forked(void)
{
    update_lock = 0;
}

uint64_t table_key(uint32_t site)
{
    const struct caper_module *m;
    uint64_t index;

    if (site >= table_sites || !table_bytes[site])
        return 0;
    m = &table->module[module_of[site] - 1];
    index = (uint64_t)(table_bytes[site] - ((uint8_t *)table + m->at));
    if (module_of[site] > 1u << CAPER_MODULE_BITS || index >> CAPER_SITE_BITS)
        return 0;
    return CAPER_KEY(module_of[site] - 1, index);
}
