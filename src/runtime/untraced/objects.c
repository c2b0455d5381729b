/* objects.c - the heap's map, and the threads' stacks (objects.h) */
#include "runtime/untraced/objects.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    MARK_START = 0x40,
    MARK_PIECE = 0x20,
    MARK_END = 0x10,
    MARK_DIRECT = 0x08,
    PAGE_BYTES = 4096,
    UNIT_SHIFT = 4,
    MAP_SHIFT = 30, /* a map is for 1 GiB */
    PIECE_SHIFT = 14,
    MAPS = 1 << (47 - MAP_SHIFT),
    BIG_MAX = 1024,
    BIG_PIECES = 1 << 14,
    STACKS_MAX = 4096
};
#define MAP_UNITS  (UINT64_C(1) << (MAP_SHIFT - UNIT_SHIFT))
#define MAP_PIECES (UINT64_C(1) << (MAP_SHIFT - PIECE_SHIFT))
_Static_assert(1 << PIECE_SHIFT == PIECE_BYTES, "");

struct span {
    uintptr_t low, high;
};

struct map {
    struct span
        pieces[MAP_PIECES]; /* of the object that the piece's first byte is in the midst of */
    uint8_t units[MAP_UNITS];
};

bool objects_on;
uintptr_t objects_reading;
static struct map *maps[MAPS];

/* ---- maps ---- */

static struct map *new_map(uintptr_t a)
{
    struct map **at = &maps[a >> MAP_SHIFT], *none = NULL;
    void *m = (void *)syscall(SYS_mmap, NULL, sizeof(struct map), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1L, 0L);

    if (m == MAP_FAILED)
        return NULL;
    if (__atomic_compare_exchange_n(at, &none, m, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return m;
    syscall(SYS_munmap, m, sizeof(struct map));
    return none;
}

static inline struct map *map_of(uintptr_t a)
{
    return __atomic_load_n(&maps[a >> MAP_SHIFT], __ATOMIC_ACQUIRE);
}

static inline uint8_t *unit_of(struct map *m, uintptr_t a)
{
    return &m->units[a >> UNIT_SHIFT & (MAP_UNITS - 1)];
}

static inline struct span *span_of(struct map *m, uintptr_t a)
{
    return &m->pieces[a >> PIECE_SHIFT & (MAP_PIECES - 1)];
}

static inline uint8_t objects_load(const uint8_t *u)
{
    return __atomic_load_n(u, __ATOMIC_RELAXED);
}

static inline void store(uint8_t *u, uint8_t value)
{
    __atomic_store_n(u, value, __ATOMIC_RELAXED);
}

/* The unit at or before `u`, in its piece, where an object begins or goes on; NULL: `u` is in
 * none. Words of eight units that say nothing are passed over. */
static uint8_t *piece_start(uint8_t *u, uint8_t *first)
{
    if (objects_load(u) & (MARK_START | MARK_PIECE))
        return u;
    while (u > first) {
        uint8_t v;

        while (((uintptr_t)u & 7) == 0 && u - first >= 8 && !*(const uint64_t *)(u - 8))
            u -= 8;
        if (u == first)
            return NULL;
        v = objects_load(--u);
        if (v & MARK_END)
            return NULL;
        if (v & (MARK_START | MARK_PIECE))
            return u;
    }
    return NULL;
}

/* The unit at or behind `u`, before `stop`, that is the object's last; NULL: it is further on. */
static uint8_t *piece_end(uint8_t *u, const uint8_t *stop)
{
    while (u < stop) {
        while (((uintptr_t)u & 7) == 0 && stop - u >= 8 && !*(const uint64_t *)u)
            u += 8;
        if (u == stop)
            return NULL;
        if (objects_load(u) & MARK_END)
            return u;
        u++;
    }
    return NULL;
}

/* ---- big objects ---- */

static struct big {
    uintptr_t low, high;
    uint8_t *states; /* one a piece; stays when the object goes, since others may be looking */
    uint64_t room;
    unsigned shift; /* a piece has 2^shift bytes */
} bigs[BIG_MAX];
static uint32_t nbigs, big_lock;

static uint64_t big_pieces(uintptr_t low, uintptr_t high, unsigned shift)
{
    return ((high - 1) >> shift) - (low >> shift) + 1;
}

/* An object that comes or goes meanwhile may give any number. */
static uint8_t *big_state(const struct big *b, uintptr_t a)
{
    uint64_t i = (a >> b->shift) - (b->low >> b->shift);

    return &b->states[i < b->room ? i : 0];
}

/* A place whose states have room, or get it. */
static bool big_fits(struct big *b, uint64_t pieces)
{
    void *m;

    if (b->states && b->room >= pieces) {
        memset(b->states, STATE_FRESH, pieces);
        return true;
    }
    if (b->states)
        return false;
    m = (void *)syscall(SYS_mmap, NULL, pieces, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                        -1L, 0L);
    if (m == MAP_FAILED)
        return false;
    b->states = m;
    b->room = pieces;
    return true;
}

static void big_add(uintptr_t low, uintptr_t high)
{
    unsigned shift = PIECE_SHIFT;

    while (big_pieces(low, high, shift) > BIG_PIECES)
        shift++;
    rt_busy_begin(); /* memset() may be the one that records, and a signal's handler may come here
                      */
    spin_lock(&big_lock);
    for (uint32_t i = 0; i < BIG_MAX; i++)
        if ((i == nbigs || !bigs[i].high) && big_fits(&bigs[i], big_pieces(low, high, shift))) {
            bigs[i].shift = shift;
            bigs[i].low = low;
            __atomic_store_n(&bigs[i].high, high, __ATOMIC_RELEASE);
            if (i == nbigs)
                __atomic_store_n(&nbigs, i + 1, __ATOMIC_RELEASE);
            break;
        }
    spin_unlock(&big_lock);
    rt_busy_end();
}

static struct big *big_find(uintptr_t a)
{
    uint32_t n = __atomic_load_n(&nbigs, __ATOMIC_ACQUIRE);

    for (uint32_t i = 0; i < n; i++)
        if (a - bigs[i].low < bigs[i].high - bigs[i].low)
            return &bigs[i];
    return NULL;
}

/* ---- adding and removing ---- */

void objects_add(uintptr_t a, uint64_t bytes, bool from_malloc)
{
    uintptr_t high = a + bytes, at;
    uint8_t start = MARK_START | (from_malloc && bytes < PAGE_BYTES ? MARK_DIRECT : 0);
    struct map *m;

    if (high < a || high >> 47)
        return;
    if (bytes > OBJECT_BIG) {
        big_add(a, high);
        return;
    }
    for (at = (a | (PIECE_BYTES - 1)) + 1; at < high; at += PIECE_BYTES) {
        if (!(m = map_of(at)) && !(m = new_map(at)))
            return;
        *span_of(m, at) = (struct span){ a, high };
        store(unit_of(m, at), MARK_PIECE);
    }
    if (!(m = map_of(high - 1)) && !(m = new_map(high - 1)))
        return;
    store(unit_of(m, high - 1), (objects_load(unit_of(m, high - 1)) & MARK_PIECE &&
                                         a >> PIECE_SHIFT != (high - 1) >> PIECE_SHIFT
                                     ? MARK_PIECE
                                     : 0) |
                                    MARK_END);
    if (!(m = map_of(a)) && !(m = new_map(a)))
        return;
    if (a >> UNIT_SHIFT == (high - 1) >> UNIT_SHIFT)
        start |= MARK_END;
    store(unit_of(m, a), start);
}

static void clear(const struct object *o)
{
    struct map *m;

    for (uintptr_t at = (o->low | (PIECE_BYTES - 1)) + 1; at < o->high; at += PIECE_BYTES)
        if ((m = map_of(at))) {
            store(unit_of(m, at), 0);
            *span_of(m, at) = (struct span){ 0, 0 };
        }
    if ((m = map_of(o->high - 1)))
        store(unit_of(m, o->high - 1), 0);
    if ((m = map_of(o->low)))
        store(unit_of(m, o->low), 0);
}

/* Takes the object at `a` out; what of it is outside [a, end) stays. Returns its end. */
static uintptr_t remove_at(uintptr_t a, uintptr_t end)
{
    struct big *b = nbigs ? big_find(a) : NULL;
    struct object o;

    if (b) {
        o.low = b->low;
        o.high = b->high;
        b->high = b->low = 0;
    } else if (objects_find(a, &o)) {
        clear(&o);
    } else {
        return 0;
    }
    if (end && o.low < a)
        objects_add(o.low, a - o.low, false);
    if (end && o.high > end)
        objects_add(end, o.high - end, false);
    return o.high;
}

void objects_remove(uintptr_t a, uint64_t bytes)
{
    uintptr_t at = a, end = a + bytes, next;

    if (!bytes) {
        remove_at(a, 0);
        return;
    }
    while (at < end && at >> 47 == 0) {
        next = remove_at(at, end);
        at = next ? next : (at | (PIECE_BYTES - 1)) + 1;
    }
}

/* A reader looks at one page at most. */
void objects_wait(uintptr_t a)
{
    while (unlikely(__atomic_load_n(&objects_reading, __ATOMIC_SEQ_CST) >> UNIT_SHIFT ==
                    a >> UNIT_SHIFT))
        sched_yield();
}

/* ---- finding ---- */

static bool find_big(uintptr_t a, struct object *o)
{
    struct big *b = nbigs ? big_find(a) : NULL;

    if (!b)
        return false;
    *o = (struct object){
        OBJECT_HEAP, b->low, b->high, big_state(b, a), false, false, UINT64_C(1) << b->shift
    };
    return a - o->low < o->high - o->low;
}

/* The piece's first byte is in the midst of an object, and so is `a`. */
static inline bool spans(const struct span *s, uint8_t first, uintptr_t a)
{
    return first & MARK_PIECE && a - s->low < s->high - s->low;
}

/* Where the state of the piece of an object that `a` lies in is; NULL: in none. */
static inline uint8_t *start_of(struct map *m, uintptr_t a)
{
    uint8_t *first = unit_of(m, a & ~(uintptr_t)(PIECE_BYTES - 1));

    return spans(span_of(m, a), objects_load(first), a) ? first : piece_start(unit_of(m, a), first);
}

bool objects_find(uintptr_t a, struct object *o)
{
    struct map *m = map_of(a);
    uintptr_t piece = a & ~(uintptr_t)(PIECE_BYTES - 1);
    uint8_t *start = m ? start_of(m, a) : NULL, *end;

    if (!start)
        return find_big(a, o);
    o->kind = OBJECT_HEAP;
    o->state = start;
    o->plain = false;
    o->piece = PIECE_BYTES;
    o->direct = objects_load(start) & MARK_DIRECT;
    if (objects_load(start) & MARK_PIECE) {
        struct span s = *span_of(m, a);

        o->low = s.low;
        o->high = s.high;
        return a < s.high && s.low <= a;
    }
    o->low = piece + (uintptr_t)(start - unit_of(m, piece)) * 16;
    end = piece_end(start, unit_of(m, piece) + PIECE_BYTES / 16);
    if (end) {
        o->high = piece + ((uintptr_t)(end - unit_of(m, piece)) + 1) * 16;
    } else {
        struct map *next = map_of(piece + PIECE_BYTES);

        o->high = next ? span_of(next, piece + PIECE_BYTES)->high : 0;
    }
    return a < o->high;
}

uint8_t *objects_state(uintptr_t a)
{
    struct map *m = map_of(a);
    struct big *b;

    if (m) {
        uint8_t *s = start_of(m, a);

        if (s)
            return s;
    }
    b = nbigs ? big_find(a) : NULL;
    return b ? big_state(b, a) : NULL;
}

/* The states of others are reset one by one (reach_log.c). */
void objects_forget(void)
{
    big_lock = 0;
    for (uint32_t i = 0; i < nbigs; i++)
        memset(bigs[i].states, STATE_FRESH, bigs[i].room);
}

/* ---- stacks ---- */

static struct span stacks[STACKS_MAX];
static uint32_t nstacks, stacks_lock;

void stacks_add(uintptr_t low, uintptr_t high)
{
    spin_lock(&stacks_lock);
    for (uint32_t i = 0; i < STACKS_MAX; i++)
        if (i == nstacks || !stacks[i].high) {
            stacks[i] = (struct span){ low, high };
            if (i == nstacks)
                __atomic_store_n(&nstacks, i + 1, __ATOMIC_RELEASE);
            break;
        }
    spin_unlock(&stacks_lock);
}

void stacks_remove(uintptr_t low)
{
    spin_lock(&stacks_lock);
    for (uint32_t i = 0; i < nstacks; i++)
        if (stacks[i].low == low)
            stacks[i] = (struct span){ 0, 0 };
    spin_unlock(&stacks_lock);
}

bool stacks_find(uintptr_t a, struct object *o)
{
    uint32_t n = __atomic_load_n(&nstacks, __ATOMIC_ACQUIRE);

    for (uint32_t i = 0; i < n; i++) {
        if (a - stacks[i].low >= stacks[i].high - stacks[i].low)
            continue;
        *o = (struct object){
            OBJECT_LOOSE, a & ~(uintptr_t)(LOOSE_BYTES - 1), 0, NULL, false, false, 0
        };
        o->high = o->low + LOOSE_BYTES;
        return true;
    }
    return false;
}
