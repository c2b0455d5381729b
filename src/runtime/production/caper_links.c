/* caper_links.c - how pointers spread: what patched places of production builds tell
 *
 * src/pass/production/production_links.c leaves no-ops at some stores that may store a pointer,
 * copies, allocations, stack slots and calls of untraced code. In caper they are jumps, and these
 * functions run before the store, the copy or the call, after the allocation, and where a slot's
 * life begins. Most stores are jumps themselves then (prod_site.c).
 *
 * Stack slots. A slot is marked when its function begins, on a stack that is known. When the
 * function has ended the marks stay until another slot overwrites them; that does no harm, since
 * every slot whose address is given away is marked first. Only frames of untraced code have slots
 * that are not marked: so before untraced code is called, what is left below the stack pointer is
 * taken off. Marks of a stack go when its thread ends.
 *
 * Allocations: malloc and so on tell what they gave (links_alloc, any caller); only where traced
 * code is the one that gets it, it becomes private: an object that untraced code allocates may
 * have been given away by stores that nobody sees. What realloc returns is private if what it was
 * given was.
 */
#include "runtime/production/caper.h"

#include <malloc.h>

#define ENTRY EXPORT __attribute__((preserve_most))
#define SLOW  __attribute__((preserve_most, noinline))

/* Of the calling thread. */
static _Thread_local struct {
    uintptr_t low, high; /* its stack; 0: not known */
    uintptr_t slots;     /* no slot is marked below */
    uintptr_t deepest;   /* ever */
    uintptr_t given;     /* the last allocation */
    uint64_t given_bytes;
    uintptr_t freed; /* the last one that was given back, if it was private */
} mine __attribute__((tls_model("initial-exec")));

/* ---- stores and copies ---- */

/* A pointer to a private object is stored where others may read it, or where nobody looks for one:
 * escape.c searches aligned words. */
static inline bool publishes(uintptr_t address, uint64_t value)
{
    return own_at(value) && (!own_at(address) || address & 7);
}

/* Saves registers that the fast way does not need. */
static SLOW void store_slow(uintptr_t address, uint64_t value)
{
    if (caper_on && publishes(address, value))
        escape(value);
    if (caper_left < 0)
        caper_link_tick();
}

ENTRY void __heddle_link_store(void *address, uint64_t value);
ENTRY void __heddle_link_store(void *address, uint64_t value)
{
    if (unlikely(--caper_left < 0 || publishes((uintptr_t)address, value)))
        store_slow((uintptr_t)address, value);
}

/* An atomic store that orders nothing. */
static SLOW void weak_slow(uintptr_t address, uint64_t value)
{
    if (caper_on && publishes(address, value))
        caper_weak();
    store_slow(address, value);
}

ENTRY void __heddle_link_store_weak(void *address, uint64_t value);
ENTRY void __heddle_link_store_weak(void *address, uint64_t value)
{
    if (unlikely(--caper_left < 0 || publishes((uintptr_t)address, value)))
        weak_slow((uintptr_t)address, value);
}

static unsigned words_of(const struct heddle_patch *e)
{
    return (e->what >> HIT_ENTRY_BYTES_SHIFT & 0xff) / 8;
}

bool link_is_idle(const void *address, const struct heddle_patch *e, const uint64_t *stored)
{
    bool idle = e->what >> HIT_ENTRY_BYTES_SHIFT;

    if (!caper_on)
        return true;
    for (unsigned i = 0; i < words_of(e); i++)
        idle &= !publishes((uintptr_t)address, stored[i]);
    return --caper_left >= 0 && idle;
}

void link_tell(const void *address, const struct heddle_patch *e, const uint64_t *stored)
{
    if (!(e->what >> HIT_ENTRY_BYTES_SHIFT))
        caper_give_up(CAPER_NO_LINKS);
    for (unsigned i = 0; i < words_of(e); i++)
        store_slow((uintptr_t)address, stored[i]);
}

static SLOW void copy_slow(uintptr_t from, uint64_t bytes)
{
    if (caper_on)
        escape_contents(from, from + bytes);
}

ENTRY void __heddle_link_copy(void *to, void *from, uint64_t bytes);
ENTRY void __heddle_link_copy(void *to, void *from, uint64_t bytes)
{
    if (bytes >= 8 && (!own_at((uintptr_t)to) || ((uintptr_t)to - (uintptr_t)from) & 7))
        copy_slow((uintptr_t)from, bytes);
}

/* Bytes go to a file, a pipe, a socket: whoever reads there may get the pointers among them. */
ENTRY void __heddle_link_send(void *from, uint64_t bytes);
ENTRY void __heddle_link_send(void *from, uint64_t bytes)
{
    if (!caper_on || bytes < 8 || !own_at((uintptr_t)from))
        return;
    escape_sent((uintptr_t)from, bytes);
    caper_left -= bytes < UINT64_C(1) << 24 ? (int32_t)(bytes >> 6) : 1 << 18;
    if (--caper_left < 0)
        caper_link_tick();
}

/* ---- what is given away ---- */

/* Marks that slots of ended functions left below the caller's frame. */
static void drop_old_slots(uintptr_t sp)
{
    if (mine.slots >= sp || sp - mine.low >= mine.high - mine.low)
        return;
    own_clear(mine.slots, sp);
    mine.slots = sp;
}

/* To another thread, or to untraced code. */
ENTRY void __heddle_link_give(uint64_t value);
ENTRY void __heddle_link_give(uint64_t value)
{
    if (!caper_on)
        return;
    drop_old_slots((uintptr_t)__builtin_frame_address(0));
    escape(value);
    if (--caper_left < 0)
        caper_link_tick();
}

/* ---- which functions are traced ---- */

/* Some that are: their marks lie among code, which is in no cache for data. */
static uintptr_t traced[TARGETS];

/* The plugin puts two words before each function. */
static bool has_mark(uintptr_t function)
{
    uint64_t mark[2];

    if ((function & 4095) < sizeof(mark)) /* what is before may not be there */
        return false;
    __builtin_memcpy(mark, (const char *)function - sizeof(mark), sizeof(mark));
    return mark[0] == TRACED_MARK && mark[1] == ~TRACED_MARK;
}

static SLOW uint32_t untraced_slow(uintptr_t function, uintptr_t *known)
{
    if (caper_left < 0)
        caper_link_tick();
    if (!has_mark(function))
        return 1;
    __atomic_store_n(known, function, __ATOMIC_RELAXED);
    return 0;
}

/* Before a call of a function that this module does not have. */
ENTRY uint32_t __heddle_link_untraced(void *function);
ENTRY uint32_t __heddle_link_untraced(void *function)
{
    uintptr_t f = (uintptr_t)function, *known = &traced[f >> TARGET_SHIFT & (TARGETS - 1)];

    if (likely(--caper_left >= 0 && __atomic_load_n(known, __ATOMIC_RELAXED) == f))
        return 0;
    return untraced_slow(f, known);
}

void links_gone(void)
{
    for (int i = 0; i < TARGETS; i++)
        __atomic_store_n(&traced[i], 0, __ATOMIC_RELAXED);
}

/* ---- others ---- */

/* Before a call that makes threads without pthread_create(). */
ENTRY void __heddle_link_threads(void);
ENTRY void __heddle_link_threads(void)
{
    int saved = errno;

    rt_busy_begin();
    caper_threads();
    rt_busy_end();
    errno = saved;
}

/* ---- objects ---- */

/* Where the function's slot lives from now on. */
ENTRY void __heddle_link_slot(void *slot, uint64_t bytes);
ENTRY void __heddle_link_slot(void *slot, uint64_t bytes)
{
    uintptr_t a = (uintptr_t)slot;

    if (!caper_on)
        return;
    if ((a & 15) || a - mine.low >= mine.high - mine.low) {
        own_clear(a, a + bytes);
        return;
    }
    own_mark(a, bytes);
    mine.slots = a < mine.slots ? a : mine.slots;
    mine.deepest = a < mine.deepest ? a : mine.deepest;
    if (--caper_left < 0)
        caper_link_tick();
}

/* No other object lies in its last unit: some allocators have objects of 8 bytes. */
static bool is_alone(uintptr_t a, uint64_t bytes)
{
    return (a & 15) == 0 && (bytes > 8 || malloc_usable_size((void *)a) > 8);
}

ENTRY void __heddle_link_alloc(void *p);
ENTRY void __heddle_link_alloc(void *p)
{
    if (!caper_on || !p || (uintptr_t)p != mine.given || !is_alone(mine.given, mine.given_bytes))
        return;
    own_mark(mine.given, mine.given_bytes);
    mine.given = 0;
}

/* realloc(old): its contents may be known to others if the old object was. */
ENTRY void __heddle_link_realloc(void *p, void *old);
ENTRY void __heddle_link_realloc(void *p, void *old)
{
    if (!old || (uintptr_t)old == mine.freed)
        __heddle_link_alloc(p);
}

void links_alloc(uint64_t address, uint64_t bytes)
{
    mine.given = address;
    mine.given_bytes = bytes;
}

void links_free(uint64_t address, uint64_t bytes)
{
    uintptr_t high;

    mine.freed = 0;
    if (bytes) { /* a mapping */
        own_clear(address, address + bytes);
        return;
    }
    if (own_at(address) == OWN_START && own_take(address, &high))
        mine.freed = address;
    else
        escape_wait(address);
}

/* ---- threads ---- */

void links_thread_begin(uintptr_t stack, uint64_t bytes)
{
    mine.low = stack;
    mine.high = mine.slots = mine.deepest = stack + bytes;
}

void links_thread_end(void)
{
    if (mine.deepest < mine.high)
        own_clear(mine.deepest, mine.high);
    mine.low = mine.high = mine.slots = mine.deepest = 0;
}
