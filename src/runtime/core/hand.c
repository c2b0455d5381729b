/* hand.c - locks that a program makes by hand, of instructions in inline assembly
 *
 * A word that a locked instruction (xchg, cmpxchg, lock ...) in assembly works on is noted. An
 * access to it that is volatile or in assembly synchronises, as it does on x86: a load acquires,
 * a store releases, which is how such locks are waited for and given back. To all other words it is
 * a plain access. The pass calls here after reads and before writes.
 *
 * A ticket lock has two words, and only the one that hands out tickets sees a locked instruction:
 * so a word beside it, in the same variable or block, counts as well.
 *
 * The table is a cache: an address that comes to the place of another takes it. Which word is a
 * lock is noted anew whenever it is taken, so that a lock which is held is forgotten only if
 * another, at the same place, was taken since. Memory that is freed is forgotten.
 * Limit: a word on a stack is a lock for whoever has that place later.
 */
#include "runtime/core/hand.h"
#include "runtime/core/stripe.h"

enum { WORD_BITS = 14, WORDS = 1 << WORD_BITS, WORD_BYTES = 4, FORGET_BYTES = 4096 };

bool rt_hand_locks;
static uintptr_t words[WORDS];

static uintptr_t *hand_place_of(uintptr_t word)
{
    return &words[(uint64_t)(word / WORD_BYTES) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - WORD_BITS)];
}

static bool is_word(uintptr_t a)
{
    uintptr_t word = a & ~(uintptr_t)(WORD_BYTES - 1);

    return __atomic_load_n(hand_place_of(word), __ATOMIC_RELAXED) == word;
}

/* Variables are told apart by what the modules say about themselves. */
static bool in_one_object(uintptr_t a, uintptr_t b)
{
    struct object o;

    return !statics_find(a, &o) || o.kind != OBJECT_VARIABLE || (b >= o.low && b < o.high);
}

static bool is_lock(const void *p)
{
    uintptr_t a = (uintptr_t)p;

    if (likely(!__atomic_load_n(&rt_hand_locks, __ATOMIC_RELAXED)))
        return false;
    return is_word(a) || (is_word(a - WORD_BYTES) && in_one_object(a, a - WORD_BYTES)) ||
           (is_word(a + WORD_BYTES) && in_one_object(a, a + WORD_BYTES));
}

static void hand_note(const void *p, uint32_t bytes)
{
    uintptr_t first = (uintptr_t)p & ~(uintptr_t)(WORD_BYTES - 1);

    for (uintptr_t w = first; w < (uintptr_t)p + bytes; w += WORD_BYTES)
        if (__atomic_load_n(hand_place_of(w), __ATOMIC_RELAXED) != w)
            __atomic_store_n(hand_place_of(w), w, __ATOMIC_RELAXED);
    if (!__atomic_load_n(&rt_hand_locks, __ATOMIC_RELAXED))
        __atomic_store_n(&rt_hand_locks, true, __ATOMIC_RELAXED);
}

static void forget_word(uintptr_t *place, uintptr_t from, uintptr_t to)
{
    uintptr_t w = __atomic_load_n(place, __ATOMIC_RELAXED);

    if (w >= from && w < to)
        __atomic_store_n(place, 0, __ATOMIC_RELAXED);
}

void hand_forget(const void *p, uint64_t bytes)
{
    uintptr_t from = (uintptr_t)p & ~(uintptr_t)(WORD_BYTES - 1), to = (uintptr_t)p + bytes;

    if (bytes <= FORGET_BYTES)
        for (uintptr_t w = from; w < to; w += WORD_BYTES)
            forget_word(hand_place_of(w), from, to);
    else
        for (size_t i = 0; i < WORDS; i++)
            forget_word(&words[i], from, to);
}

EXPORT void __heddle_asm_end(void *p, uint32_t bytes, uint32_t order, uint32_t site);
EXPORT void __heddle_asm_end(void *p, uint32_t bytes, uint32_t order, uint32_t site)
{
    hand_note(p, bytes);
    __heddle_atomic_end(p, bytes, order, site);
}

EXPORT void __heddle_hand_read(void *p, uint32_t bytes, uint32_t site);
EXPORT void __heddle_hand_read(void *p, uint32_t bytes, uint32_t site)
{
    if (likely(!is_lock(p)))
        rt_read(p, bytes, site);
    else
        rt_hand_load(p, bytes, site);
}

EXPORT void __heddle_hand_write(void *p, uint32_t bytes, uint32_t site);
EXPORT void __heddle_hand_write(void *p, uint32_t bytes, uint32_t site)
{
    if (likely(!is_lock(p)))
        rt_write(p, bytes, site);
    else
        rt_hand_store(p, bytes, site);
}
