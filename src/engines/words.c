/* words.c - which words of memory can race at all */
#include "engines/words.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum {
    TIME_BITS = 32,
    KIND_BITS = 2,
    SET_BITS = 14,
    KIND_SHIFT = TIME_BITS,
    SET_SHIFT = TIME_BITS + KIND_BITS,
    SLOT_SHIFT = TIME_BITS + KIND_BITS + SET_BITS
};

/* ---- stamps ---- */

static inline uint32_t words_slot_of(word_stamp s)
{
    return (uint32_t)(s >> SLOT_SHIFT) - 1;
}

static inline uint32_t time_of(word_stamp s)
{
    return (uint32_t)s;
}

static inline uint32_t set_of(word_stamp s)
{
    return (uint32_t)(s >> SET_SHIFT) & STAMP_SET_MAX;
}

static inline unsigned words_kind_of(word_stamp s)
{
    return (unsigned)(s >> KIND_SHIFT) & (STAMP_WRITE | STAMP_ATOMIC);
}

/* All but the time. */
static inline bool same_sort(word_stamp a, word_stamp b)
{
    return !((a ^ b) >> TIME_BITS);
}

static inline word_stamp as_kind(word_stamp s, unsigned kind)
{
    return (s & ~((word_stamp)(STAMP_WRITE | STAMP_ATOMIC) << KIND_SHIFT)) | (word_stamp)kind
                                                                                 << KIND_SHIFT;
}

static inline word_stamp with_set(word_stamp s, uint32_t set)
{
    return (s & ~((word_stamp)STAMP_SET_MAX << SET_SHIFT)) |
           (word_stamp)(set <= STAMP_SET_MAX ? set : 0) << SET_SHIFT;
}

word_stamp word_stamp_make(const struct clock *c, uint32_t set, unsigned kind)
{
    if (__builtin_expect(c->slot >= STAMP_SLOT_MAX, 0))
        return 0;
    return (word_stamp)(c->slot + 1) << SLOT_SHIFT |
           (word_stamp)(set <= STAMP_SET_MAX ? set : 0) << SET_SHIFT |
           (word_stamp)kind << KIND_SHIFT | c->time;
}

static inline bool words_is_known(const struct word_access *a, word_stamp s)
{
    return clock_knows(a->clock, words_slot_of(s), time_of(s));
}

/* Everybody who is to come knows of it. */
static inline bool is_universal(const struct words *w, word_stamp s)
{
    return words_slot_of(s) == words_slot_of(w->alone) && time_of(s) <= time_of(w->alone) &&
           w->alone;
}

static inline bool words_conflict(unsigned a, unsigned b)
{
    return (a | b) & STAMP_WRITE && !(a & b & STAMP_ATOMIC);
}

/* ---- words, one by one ---- */

static inline word_stamp *stamps_of(struct word *x)
{
    return x->cap ? x->many : x->two;
}

static void forget_word(struct word *x)
{
    if (x->cap)
        free(x->many);
    *x = (struct word){ 0 };
}

static void words_append(struct word *x, word_stamp s)
{
    if (!x->cap && x->count == 2) {
        word_stamp *many = xmalloc(6 * sizeof(*many));

        memcpy(many, x->two, sizeof(x->two));
        x->many = many;
        x->cap = 6;
    } else if (x->cap && x->count == x->cap) {
        x->cap = (uint16_t)(x->cap * 2);
        x->many = xrealloc(x->many, x->cap, sizeof(*x->many));
    }
    stamps_of(x)[x->count++] = s;
}

/* Does `now` conflict with all that `old` conflicts with, under no more locks? */
static inline bool stands_for(word_stamp now, word_stamp old)
{
    return !(words_kind_of(old) & ~words_kind_of(now) & STAMP_WRITE) &&
           !(words_kind_of(now) & ~words_kind_of(old) & STAMP_ATOMIC) &&
           (!set_of(now) || set_of(now) == set_of(old));
}

enum { WORD_MEETS = 1, WORD_SUSPECT = 2 };

static unsigned words_compare(const struct words *w, const struct word_access *a, word_stamp old)
{
    if (!words_conflict(words_kind_of(old), words_kind_of(a->stamp)) || words_is_known(a, old))
        return 0;
    return WORD_MEETS |
           (held_sets_protect(w->sets, set_of(old), set_of(a->stamp)) ? 0 : WORD_SUSPECT);
}

static unsigned access_word(struct words *w, struct word *x, const struct word_access *a)
{
    word_stamp *s = stamps_of(x);
    unsigned found = 0, kept = 0;

    if (x->count && same_sort(s[x->count - 1], a->stamp)) { /* nobody else since */
        s[x->count - 1] = a->stamp;
        return 0;
    }
    for (unsigned i = 0; i < x->count; i++) {
        found |= words_compare(w, a, s[i]);
        if (is_universal(w, s[i]))
            w->dropped = true;
        else if (!words_is_known(a, s[i]) || !stands_for(a->stamp, s[i]))
            s[kept++] = s[i];
    }
    x->count = (uint16_t)kept;
    if (kept >= WORD_LIST_MAX)
        found |= WORD_MEETS | WORD_SUSPECT;
    if (found & WORD_SUSPECT)
        forget_word(x);
    else
        words_append(x, a->stamp);
    return found;
}

/* ---- blocks ---- */

static void release_fine(struct word_block *b)
{
    for (unsigned i = 0; b->fine && i < BLOCK_WORDS; i++)
        forget_word(&b->fine->words[i]);
    free(b->fine);
    b->fine = NULL;
}

/* What is known of a block's word becomes a list. */
static void list_word(const struct word_block *b, unsigned i, struct word *x)
{
    if (b->written >> i & 1)
        words_append(x, b->writer);
    if (b->touched >> i & 1 && !(b->written >> i & 1 && same_sort(b->owner, b->writer)))
        words_append(x, as_kind(b->owner, words_kind_of(b->owner) & ~(unsigned)STAMP_WRITE));
}

/* For an access to the words of `mask`. */
static void make_fine(struct word_block *b, unsigned mask)
{
    bool alike = b->touched == mask && (!b->written || b->written == mask);

    b->fine = xcalloc(1, sizeof(*b->fine));
    if (alike) {
        b->fine->shared = (uint8_t)mask;
        list_word(b, (unsigned)__builtin_ctz(mask), &b->fine->words[0]);
    }
    for (unsigned i = 0; !alike && i < BLOCK_WORDS; i++)
        list_word(b, i, &b->fine->words[i]);
    b->owner = b->writer = 0;
    b->touched = b->written = 0;
}

static void part(struct fine_block *f)
{
    unsigned shared = f->shared;
    struct word x = f->words[0];

    f->words[0] = (struct word){ 0 };
    f->shared = 0;
    for (; shared; shared &= shared - 1)
        for (unsigned k = 0; k < x.count; k++)
            words_append(&f->words[__builtin_ctz(shared)], stamps_of(&x)[k]);
    forget_word(&x);
}

static void access_fine(struct words *w, struct word_page *p, unsigned block,
                        const struct word_access *a, unsigned mask)
{
    struct fine_block *f = p->blocks[block].fine;
    uint8_t *meets = (uint8_t *)p->meets + block, *suspects = (uint8_t *)p->suspects + block;

    mask &= ~(unsigned)*suspects;
    if (f->shared && mask != f->shared)
        part(f);
    while (mask) {
        unsigned i = f->shared ? 0 : (unsigned)__builtin_ctz(mask);
        unsigned found = access_word(w, &f->words[i], a);
        unsigned these = f->shared ? mask : 1u << i;

        *meets |= (uint8_t)(found & WORD_MEETS ? these : 0);
        *suspects |= (uint8_t)(found & WORD_SUSPECT ? these : 0);
        mask &= ~these;
    }
}

static inline void own(struct word_block *b, const struct word_access *a, unsigned touched,
                       unsigned mask)
{
    b->owner = a->stamp;
    b->touched = (uint8_t)(touched | mask);
    if (words_kind_of(a->stamp) & STAMP_WRITE) {
        b->writer = a->stamp;
        b->written |= (uint8_t)mask;
    }
}

/* The owner's accesses end here, in order: does what is known of the block still say all? Sets of
 * locks become what they have in common. Where that is nothing although the access is under locks,
 * words may have different ones. */
static bool take_over(struct words *w, struct word_block *b, const struct word_access *a,
                      unsigned mask)
{
    struct word_access now = *a;
    uint32_t set;

    if (!b->owner) {
        own(b, a, 0, mask);
        return true;
    }
    if (!words_is_known(a, b->owner))
        return false;
    if (is_universal(w, b->owner) && !is_universal(w, a->stamp)) {
        w->dropped = true;
        b->written = 0;
        own(b, a, 0, mask);
        return true;
    }
    set = held_sets_common(w->sets, set_of(b->owner), set_of(a->stamp));
    if (!set && set_of(a->stamp))
        return false;
    now.stamp = with_set(a->stamp, set);
    own(b, &now, b->touched, mask);
    return true;
}

/* Most accesses are to a block that their thread has, with the same locks as before: nothing is to
 * be looked up for them. */
static inline bool own_again(const struct words *w, struct word_block *b,
                             const struct word_access *a, unsigned mask)
{
    const word_stamp kinds = (word_stamp)(STAMP_WRITE | STAMP_ATOMIC) << KIND_SHIFT;

    if (b->fine || !b->owner || ((b->owner ^ a->stamp) & ~kinds) >> TIME_BITS ||
        words_kind_of(a->stamp) & STAMP_ATOMIC || is_universal(w, b->owner))
        return false;
    own(b, a, b->touched, mask);
    return true;
}

static void access_block(struct words *w, struct word_page *p, unsigned block,
                         const struct word_access *a, unsigned mask)
{
    struct word_block *b = &p->blocks[block];

    if (__builtin_expect(own_again(w, b, a, mask), 1))
        return;
    if (!b->fine) {
        if (!(words_kind_of(a->stamp) & STAMP_ATOMIC) && take_over(w, b, a, mask))
            return;
        make_fine(b, mask);
    }
    access_fine(w, p, block, a, mask);
}

static inline unsigned words_between(unsigned from, unsigned to)
{
    return (1u << to) - (1u << from);
}

/* Whatever else is done to them. */
static void suspect(struct word_page *p, unsigned first, unsigned last)
{
    for (unsigned i = first; i <= last; i++) {
        p->meets[i / 64] |= UINT64_C(1) << i % 64;
        p->suspects[i / 64] |= UINT64_C(1) << i % 64;
    }
}

void words_access(struct words *w, struct word_page *p, const struct word_access *a, unsigned first,
                  unsigned last)
{
    if (__builtin_expect(!a->stamp, 0)) {
        suspect(p, first, last);
        return;
    }
    for (unsigned i = first; i <= last; i = (i | (BLOCK_WORDS - 1)) + 1) {
        unsigned end = last - i < BLOCK_WORDS ? last % BLOCK_WORDS : BLOCK_WORDS - 1;

        if (last / BLOCK_WORDS != i / BLOCK_WORDS)
            end = BLOCK_WORDS - 1;
        access_block(w, p, i / BLOCK_WORDS, a, words_between(i % BLOCK_WORDS, end + 1));
    }
}

/* An alloc is a write, and the first thing that happens. */
void words_begin(struct words *w, struct word_page *p, const struct word_access *a, unsigned first,
                 unsigned last)
{
    if (__builtin_expect(!a->stamp, 0)) {
        suspect(p, first, last);
        return;
    }
    for (unsigned i = first; i <= last; i++) {
        struct word_block *b = &p->blocks[i / BLOCK_WORDS];

        if (i % BLOCK_WORDS == 0 && i + BLOCK_WORDS - 1 <= last) {
            release_fine(b);
            *b = (struct word_block){ .owner = 0 };
            own(b, a, 0, words_between(0, BLOCK_WORDS));
            i += BLOCK_WORDS - 1;
            continue;
        }
        if (!b->fine && take_over(w, b, a, 1u << i % BLOCK_WORDS))
            continue;
        if (!b->fine)
            make_fine(b, 1u << i % BLOCK_WORDS);
        if (b->fine->shared)
            part(b->fine);
        forget_word(&b->fine->words[i % BLOCK_WORDS]);
        words_append(&b->fine->words[i % BLOCK_WORDS], a->stamp);
    }
}

void words_release_page(struct word_page *p)
{
    for (unsigned i = 0; i < PAGE_BLOCKS; i++)
        release_fine(&p->blocks[i]);
}
