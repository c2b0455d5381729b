/* encode_stretch.c - records of stretches, compared with the last of their kind
 *
 * The loop runs once for each basic block of the program, so it does not branch on data: changed
 * bytes are gathered with one instruction where the processor has it, from a word (pext) or from
 * the whole record (vpcompressb).
 */
#include "trace/hdl/encode_stretch.h"
#include "base/alloc.h"
#include "trace/hdl/codec_context.h"

#include <stdlib.h>
#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

enum stretch_speed stretch_speed = STRETCH_WIDE;

enum {
    AT_ONCE = 256,    /* records for which room is made */
    NUMBER_BYTES = 5, /* of a stretch's number */
    STAMP_BYTES = 10,
    SLACK = 64, /* stores are as wide as that */
    WORDS_LEAST = 1 << 10
};

struct pens {
    uint8_t *items, *numbers, *masks, *bytes;
};

/* Records that do not cross a line of the cache are read and written in half the time. */
static void grow_words(struct stretch_contexts *x, size_t need)
{
    size_t cap = x->words_cap ? x->words_cap : WORDS_LEAST;
    void *words;

    if (need <= x->words_cap)
        return;
    while (cap < need)
        cap *= 2;
    words = xaligned(64, cap * sizeof(*x->words));
    if (x->nwords)
        memcpy(words, x->words, x->nwords * sizeof(*x->words));
    free(x->words);
    x->words = words;
    x->words_cap = cap;
}

struct stretch_context *stretch_context_new(struct stretch_contexts *x, uint32_t number,
                                            unsigned words)
{
    struct stretch_context *c;

    words = (words + 7) & ~7u; /* put_words_wide() stores all eight */
    GROW(x->at, x->cap, (size_t)number + 2);
    grow_words(x, x->nwords + words);
    c = &x->at[number + 1];
    *c = (struct stretch_context){ .chunk = x->chunk,
                                   .at = (uint32_t)x->nwords,
                                   .next = { STRETCH_NONE, STRETCH_NONE } };
    memset(x->words + x->nwords, 0, words * sizeof(*x->words));
    x->nwords += words;
    return c;
}

/* ---- events between ---- */

void encoder_settle(struct encoder *e)
{
    struct column *c = &e->columns[COL_ITEMS];

    while (e->plain) {
        uint32_t n = e->plain < ITEM_EVENTS_MAX ? e->plain : ITEM_EVENTS_MAX;

        if (c->len == c->cap)
            GROW(c->data, c->cap, c->len + 1);
        c->data[c->len++] = (uint8_t)(ITEM_EVENTS | (n - 1));
        e->plain -= n;
    }
}

/* ---- words ---- */

/* The bytes of `from` where `keep` has ones, together at the low end. */
static inline uint64_t gather(uint64_t from, uint64_t keep)
{
    uint64_t to = 0;

    for (unsigned i = 0, n = 0; i < 64; i += 8)
        if (keep >> i & 1) {
            to |= (from >> i & 0xff) << n;
            n += 8;
        }
    return to;
}

static inline unsigned count_bits(unsigned byte)
{
    byte -= byte >> 1 & 0x55;
    byte = (byte & 0x33) + (byte >> 2 & 0x33);
    return (byte + (byte >> 4)) & 15;
}

/* The changed bytes of a word go to p->bytes; which they are is returned. */
static inline unsigned put_word(struct pens *p, uint64_t now, uint64_t *last, bool pext)
{
    const uint64_t low = UINT64_C(0x0101010101010101);
    uint64_t d = bytes_minus(now, *last), some, packed;
    unsigned mask;

    some = (((d & ~(low << 7)) + ~(low << 7)) | d) >> 7 & low; /* 1 where a byte is not 0 */
    mask = (unsigned)(some * UINT64_C(0x0102040810204080) >> 56);
#ifdef __x86_64__
    if (pext)
        __asm__("pext %2, %1, %0" : "=r"(packed) : "r"(d), "r"(some * 255));
    else
#endif
        packed = gather(d, some * 255);
    (void)pext;
    memcpy(p->bytes, &packed, 8);
    p->bytes += count_bits(mask);
    *last = now;
    return mask;
}

/* All words of a record; the item's bits, and the masks of words 1 to 7. */
static inline unsigned put_words(struct pens *p, const uint64_t *w, uint64_t *last, unsigned words,
                                 uint64_t *masks, bool pext)
{
    unsigned item = put_word(p, w[0] & STRETCH_DATA, &last[0], pext);

    *masks = 0;
    for (unsigned i = 1; i < words; i++) {
        *p->masks++ = (uint8_t)put_word(p, w[i], &last[i], pext);
        *masks |= (uint64_t)p->masks[-1] << (8 * (i - 1) & 63);
    }
    return item;
}

#ifdef __x86_64__
#define WIDE __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt,bmi,bmi2,lzcnt")))

/* Up to eight words from word i on; which bytes changed. */
static inline WIDE uint64_t put_eight(struct pens *p, const uint64_t *w, uint64_t *last, unsigned n,
                                      __m512i data)
{
    __mmask8 these = (__mmask8)_bzhi_u32(0xff, n);
    __m512i now = _mm512_and_si512(_mm512_maskz_loadu_epi64(these, w), data);
    __m512i change = _mm512_sub_epi8(now, _mm512_load_si512(last));
    uint64_t mask = _mm512_test_epi8_mask(change, change);

    _mm512_store_si512(last, now); /* a store of less would delay the next load */
    _mm512_storeu_si512(p->bytes, _mm512_maskz_compress_epi8(mask, change));
    p->bytes += __builtin_popcountll(mask);
    return mask;
}

/* The same, eight words at a time. */
static inline WIDE unsigned put_words_wide(struct pens *p, const uint64_t *w, uint64_t *last,
                                           unsigned words, uint64_t *masks)
{
    const __m512i all = _mm512_set1_epi64(-1);
    uint64_t mask =
        put_eight(p, w, last, words, _mm512_mask_set1_epi64(all, 1, (long long)STRETCH_DATA));
    unsigned item = mask & 0xff;

    *masks = mask >>= 8;
    memcpy(p->masks, &mask, 8);
    p->masks += words < 8 ? words - 1 : 7;
    for (unsigned i = 8; __builtin_expect(i < words, 0); i += 8) {
        mask = put_eight(p, w + i, last + i, words - i, all);
        memcpy(p->masks, &mask, 8);
        p->masks += words - i < 8 ? words - i : 8;
    }
    return item;
}
#endif

static inline uint8_t *put_number(uint8_t *at, uint32_t v)
{
    for (; v >= 0x80; v >>= 7)
        *at++ = (uint8_t)(v | 0x80);
    *at++ = (uint8_t)v;
    return at;
}

#ifdef __x86_64__
/* The same without branches; it counts only if `new` is 1, not 0. */
static inline WIDE uint8_t *put_number_wide(uint8_t *at, uint32_t v, size_t new)
{
    unsigned more = (unsigned)(31 - __builtin_clz(v | 1)) / 7; /* bytes but one */
    uint64_t bytes = _pdep_u64(v, UINT64_C(0x7f7f7f7f7f));

    bytes |= _bzhi_u64(UINT64_C(0x8080808080), 8 * more);
    memcpy(at, &bytes, 8);
    return at + ((more + 1) & -new);
}
#endif

/* ---- records ---- */

/* Of a number the compiler does not know what it was computed from: it makes no branches of it. */
static inline size_t hidden(size_t n)
{
    __asm__("" : "+r"(n));
    return n;
}

static inline uint64_t entry_of(uint64_t *const *pages, unsigned page_bits, uint32_t number)
{
    const uint64_t *page = __atomic_load_n(&pages[number >> page_bits], __ATOMIC_ACQUIRE);

    return page ? __atomic_load_n(&page[number & ((1u << page_bits) - 1)], __ATOMIC_ACQUIRE) : 0;
}

static inline bool entry_fits(uint64_t entry, unsigned words, size_t left)
{
    return entry && (entry >> 32 & 0xff) == words && words <= left;
}

bool raw_run_is_unknown(const struct raw_run *r)
{
    uint64_t entry = entry_of(r->stretch_pages, r->page_bits, (uint32_t)*r->at);

    return !entry_fits(entry, ring_stretch_words(*r->at), (size_t)(r->end - r->at));
}

static bool take_frame(struct raw_run *r, uint64_t *w, uint64_t entry)
{
    r->refused = r->take_frame && !r->take_frame(r->arg, w, stretch_entry_frame(entry));
    return !r->refused;
}

/* Up to AT_ONCE records, for which there is room; how many events: one function for each kind of
 * processor. */
#define ADD_NAME                        add_plain
#define ADD_WORDS(p, w, last, words, m) put_words(p, w, last, words, m, false)
#define PUT_NUMBER(at, v, new)          ((new) ? put_number(at, v) : (at))
#include "trace/hdl/encode_stretch_loop.h"

#ifdef __x86_64__
#define ADD_NAME                        add_pext
#define ADD_WORDS(p, w, last, words, m) put_words(p, w, last, words, m, true)
#define PUT_NUMBER(at, v, new)          ((new) ? put_number(at, v) : (at))
#include "trace/hdl/encode_stretch_loop.h"

#define ADD_NAME                        WIDE add_wide
#define ADD_WORDS(p, w, last, words, m) put_words_wide(p, w, last, words, m)
#define PUT_NUMBER(at, v, new)          put_number_wide(at, v, new)
#include "trace/hdl/encode_stretch_loop.h"
#endif

typedef size_t add_function(struct encoder *e, struct raw_run *r, struct pens *pens,
                            uint32_t limit);

static add_function *best_function(enum stretch_speed most)
{
#ifdef __x86_64__
    if (most >= STRETCH_WIDE && __builtin_cpu_supports("avx512vbmi2") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("lzcnt"))
        return add_wide;
    if (most >= STRETCH_PEXT && __builtin_cpu_supports("bmi2"))
        return add_pext;
#endif
    (void)most;
    return add_plain;
}

static inline void column_room(struct column *c, size_t bytes)
{
    if (__builtin_expect(c->cap < c->len + bytes, 0))
        GROW(c->data, c->cap, c->len + bytes);
}

static void encode_stretch_make_room(struct encoder *e, struct pens *p)
{
    static const unsigned most[] = { 1, NUMBER_BYTES, STRETCH_WORDS_MAX, 8 * STRETCH_WORDS_MAX };
    uint8_t **pens[] = { &p->items, &p->numbers, &p->masks, &p->bytes };

    column_room(&e->columns[COL_THREADS], STAMP_BYTES);
    for (int i = 0; i < 4; i++) {
        struct column *c = &e->columns[COL_ITEMS + i];

        column_room(c, AT_ONCE * (size_t)most[i] + SLACK);
        *pens[i] = c->data + c->len;
    }
}

static void note_ends(struct encoder *e, const struct pens *p)
{
    struct column *c = e->columns;

    c[COL_ITEMS].len = (size_t)(p->items - c[COL_ITEMS].data);
    c[COL_STRETCHES].len = (size_t)(p->numbers - c[COL_STRETCHES].data);
    c[COL_MASKS].len = (size_t)(p->masks - c[COL_MASKS].data);
    c[COL_BYTES].len = (size_t)(p->bytes - c[COL_BYTES].data);
}

size_t encoder_add_stretches(struct encoder *e, struct raw_run *r, uint32_t limit)
{
    size_t n, first;
    struct pens p;

    encoder_settle(e);
    encode_stretch_make_room(e, &p);
    first = e->columns[COL_ITEMS].len;
    n = best_function(stretch_speed)(e, r, &p, limit);
    note_ends(e, &p);
    if (!n)
        return 0;
    if (encoder_put_stamp(e, r->stamp))
        e->columns[COL_ITEMS].data[first] |= ITEM_STAMP;
    e->mixed = true;
    e->count += (uint32_t)n;
    return n;
}
