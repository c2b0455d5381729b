/* caper_map.c - which memory is private (caper.h) */
#include "runtime/production/caper.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { UNIT = 1 << OWN_UNIT_SHIFT, PAGE = 1 << OWN_PAGE_SHIFT };

struct own_map *own_maps[OWN_MAPS];

static struct own_map *new_map(uintptr_t a)
{
    struct own_map **at = &own_maps[a >> OWN_MAP_SHIFT], *none = NULL;
    void *m = (void *)syscall(SYS_mmap, NULL, sizeof(struct own_map), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1L, 0L);

    if (m == MAP_FAILED)
        return NULL;
    if (__atomic_compare_exchange_n(at, &none, m, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return m;
    syscall(SYS_munmap, m, sizeof(struct own_map));
    return none;
}

static inline struct own_map *map_of(uintptr_t a)
{
    return __atomic_load_n(&own_maps[a >> OWN_MAP_SHIFT], __ATOMIC_ACQUIRE);
}

static inline uint8_t *unit_of(struct own_map *m, uintptr_t a)
{
    return &m->units[a >> OWN_UNIT_SHIFT & (OWN_UNITS - 1)];
}

static inline uint8_t *page_of(struct own_map *m, uintptr_t a)
{
    return &m->pages[a >> OWN_PAGE_SHIFT & (OWN_PAGES - 1)];
}

static inline uint8_t caper_map_load(const uint8_t *u)
{
    return __atomic_load_n(u, __ATOMIC_RELAXED);
}

static inline void store(uint8_t *u, uint8_t value)
{
    __atomic_store_n(u, value, __ATOMIC_RELAXED);
}

/* Units of one page. A page that was inside something as a whole is left over from a stack slot
 * that is gone: its units are 0. */
static void caper_map_fill(struct own_map *m, uintptr_t low, uintptr_t high, uint8_t value)
{
    if (caper_map_load(page_of(m, low)))
        store(page_of(m, low), 0);
    memset(unit_of(m, low), value, (high - low + UNIT - 1) >> OWN_UNIT_SHIFT);
}

/* From the end to the start: START comes last. */
void own_mark(uintptr_t a, uint64_t bytes)
{
    uintptr_t high = a + (bytes ? bytes : 1), at = high, end;
    struct own_map *m;

    if (a & (UNIT - 1) || high < a || high >> 47)
        return;
    while (at > a) {
        end = at;
        at = (end - 1) & ~(uintptr_t)(PAGE - 1);
        m = map_of(at);
        if (!m && !(m = new_map(at)))
            return;
        if (at > a && end - at == PAGE) {
            store(page_of(m, at), OWN_INSIDE);
            continue;
        }
        at = at > a ? at : a;
        caper_map_fill(m, at, end, OWN_INSIDE);
    }
    __atomic_store_n(unit_of(map_of(a), a), OWN_START, __ATOMIC_RELEASE);
}

bool own_start(uintptr_t a, uintptr_t *low)
{
    uint8_t now;

    a &= ~(uintptr_t)(UNIT - 1);
    while ((now = own_at(a)) == OWN_INSIDE) {
        bool whole = caper_map_load(page_of(map_of(a), a));

        if (whole)
            a &= ~(uintptr_t)(PAGE - 1);
        a -= UNIT;
    }
    *low = a;
    return now == OWN_START;
}

bool own_take(uintptr_t low, uintptr_t *high)
{
    struct own_map *m = map_of(low);
    uint8_t start = OWN_START;
    uintptr_t at = low + UNIT;

    if (!m || !__atomic_compare_exchange_n(unit_of(m, low), &start, 0, false, __ATOMIC_SEQ_CST,
                                           __ATOMIC_SEQ_CST))
        return false;
    while (at >> 47 == 0 && (m = map_of(at)) != NULL) {
        if ((at & (PAGE - 1)) == 0 && caper_map_load(page_of(m, at))) {
            store(page_of(m, at), 0);
            at += PAGE;
        } else if (!caper_map_load(page_of(m, at)) &&
                   caper_map_load(unit_of(m, at)) == OWN_INSIDE) {
            store(unit_of(m, at), 0);
            at += UNIT;
        } else {
            break;
        }
    }
    *high = at;
    return true;
}

void own_clear(uintptr_t low, uintptr_t high)
{
    uintptr_t at = low & ~(uintptr_t)(UNIT - 1), end;

    if (high >> 47)
        return;
    for (; at < high; at = end) {
        struct own_map *m = map_of(at);

        end = (at | (PAGE - 1)) + 1;
        if (!m) {
            end = (at | ((UINT64_C(1) << OWN_MAP_SHIFT) - 1)) + 1;
            continue;
        }
        end = end < high ? end : high;
        caper_map_fill(m, at, end, 0);
    }
}
