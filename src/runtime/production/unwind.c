/* unwind.c - how to get from a function to its caller, by the unwind tables of its image
 *
 * .eh_frame_hdr is a sorted table of functions; each has a program in .eh_frame (DWARF 5, section
 * 6.4; LSB, "Exception Frames") that builds, from the function's start on, the rule for an
 * instruction. That takes half a microsecond, so rules are remembered by their instruction: a hit
 * of this cache takes 2 ns.
 *
 * The cache has no lock: a word is written beside the rule that says for which instruction it is,
 * mixed with the rule itself, so that halves of two writers fit to nothing.
 */
#include "runtime/production/unwind.h"
#include "runtime/production/unwind_image.h"

#include <stddef.h>
#include <string.h>

/* DWARF's numbers of registers. */
enum { RBP = 6, RSP = 7, RIP = 16 };
/* Encodings of pointers: form, base. */
enum { PE_FORM = 0x0f, PE_BASE = 0x70, PE_PCREL = 0x10 };
enum { DATAREL_SDATA4 = 0x3b, UDATA4 = 0x03 };
enum { WORD = 8 };

/* ---- reading ---- */

/* What is left of a piece of an image. `bad`: there was more to read than that. */
struct span {
    const uint8_t *at, *end;
    bool bad;
};

static uint64_t unwind_number(struct span *s, unsigned bytes)
{
    uint64_t v = 0;

    if ((uintptr_t)(s->end - s->at) < bytes) {
        s->bad = true;
        s->at = s->end;
        return 0;
    }
    memcpy(&v, s->at, bytes);
    s->at += bytes;
    return v;
}

static int64_t signed_number(struct span *s, unsigned bytes)
{
    unsigned shift = 64 - 8 * bytes;

    return (int64_t)(unwind_number(s, bytes) << shift) >> shift;
}

static uint64_t leb(struct span *s, bool is_signed)
{
    uint64_t v = 0, byte;
    unsigned shift = 0;

    do {
        byte = unwind_number(s, 1);
        if (shift < 64)
            v |= (byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    if (is_signed && shift < 64 && byte & 0x40)
        v |= ~UINT64_C(0) << shift;
    return v;
}

static uint64_t uleb(struct span *s)
{
    return leb(s, false);
}

static void skip(struct span *s, uint64_t bytes)
{
    if ((uint64_t)(s->end - s->at) < bytes) {
        s->bad = true;
        bytes = (uint64_t)(s->end - s->at);
    }
    s->at += bytes;
}

/* A pointer; what it points to is not looked at where it is indirect. */
static uint64_t encoded(struct span *s, uint8_t how)
{
    uint64_t base = (how & PE_BASE) == PE_PCREL ? (uintptr_t)s->at : 0;

    switch (how & PE_FORM) {
    case 0x00:
    case 0x04:
    case 0x0c:
        return base + unwind_number(s, 8);
    case 0x01:
        return base + uleb(s);
    case 0x02:
        return base + unwind_number(s, 2);
    case 0x03:
        return base + unwind_number(s, 4);
    case 0x09:
        return base + leb(s, true);
    case 0x0a:
        return base + (uint64_t)signed_number(s, 2);
    case 0x0b:
        return base + (uint64_t)signed_number(s, 4);
    default:
        s->bad = true;
        return 0;
    }
}

/* ---- the function's entry ---- */

/* One length and what it is of; bad: not there, or longer than the image. */
static struct span unwind_record(struct span s)
{
    uint64_t bytes = unwind_number(&s, 4);

    if (bytes == 0 || bytes > (uint64_t)(s.end - s.at)) /* the end; or 64-bit DWARF */
        s.bad = true;
    else
        s.end = s.at + bytes;
    return s;
}

/* In the sorted table; NULL: no entry begins at or before it. */
static const uint8_t *unwind_search(const uint8_t *table, uint64_t n, const uint8_t *header,
                                    uintptr_t pc)
{
    uint64_t low = 0, high = n;
    int32_t row[2];

    while (low < high) {
        uint64_t middle = (low + high) / 2;

        memcpy(row, table + middle * sizeof(row), sizeof(row));
        if ((uintptr_t)header + (uintptr_t)(intptr_t)row[0] <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low)
        return NULL;
    memcpy(row, table + (low - 1) * sizeof(row), sizeof(row));
    return header + row[1];
}

static struct span find_entry(const struct unwind_image *image, uintptr_t pc)
{
    static const struct span none = { .bad = true };
    struct span s = { image->header, image->end, false };
    const uint8_t *at;
    uint8_t how[4];
    uint64_t n;

    for (int i = 0; i < 4; i++)
        how[i] = (uint8_t)unwind_number(&s, 1);
    if (s.bad || how[0] != 1 || how[2] != UDATA4 || how[3] != DATAREL_SDATA4)
        return none;
    encoded(&s, how[1]); /* .eh_frame itself */
    n = unwind_number(&s, 4);
    if (s.bad || n > (uint64_t)(s.end - s.at) / 8)
        return none;
    at = unwind_search(s.at, n, image->header, pc);
    return at >= image->low && at < image->end
               ? unwind_record((struct span){ at, image->end, false })
               : none;
}

/* What the functions of a file have in common ("CIE"). */
struct common {
    struct span program;
    uint64_t code_align;
    int64_t data_align;
    uint8_t pointers; /* how they are encoded */
    bool augmented, signal;
};

static void read_augmentation(struct span *s, const char *letters, struct common *c)
{
    uint64_t bytes = uleb(s);
    const uint8_t *from = s->at;

    c->augmented = true;
    for (letters++; *letters && !s->bad; letters++)
        if (*letters == 'R')
            c->pointers = (uint8_t)unwind_number(s, 1);
        else if (*letters == 'L')
            unwind_number(s, 1);
        else if (*letters == 'P')
            encoded(s, (uint8_t)unwind_number(s, 1));
        else
            c->signal |= *letters == 'S';
    s->at = from;
    skip(s, bytes);
}

static bool read_common(struct span s, struct common *c)
{
    const char *letters;
    uint8_t version;

    s = unwind_record(s);
    if (s.bad || unwind_number(&s, 4) != 0)
        return false;
    version = (uint8_t)unwind_number(&s, 1);
    letters = (const char *)s.at;
    while (!s.bad && unwind_number(&s, 1))
        ;
    c->code_align = uleb(&s);
    c->data_align = (int64_t)leb(&s, true);
    if ((version == 1 ? unwind_number(&s, 1) : uleb(&s)) != RIP || s.bad)
        return false;
    if (*letters == 'z')
        read_augmentation(&s, letters, c);
    else if (*letters)
        return false;
    c->program = s;
    return !s.bad && (version == 1 || version == 3);
}

/* ---- its program ---- */

struct row {
    uint64_t cfa_reg;
    int64_t cfa;
    int64_t rbp, rip;        /* from the CFA */
    bool rbp_saved, strange; /* an expression; or no caller */
};
enum { REMEMBERED = 8 };

struct machine {
    struct row now, first, remembered[REMEMBERED];
    unsigned depth;
    const struct common *common;
    uint64_t at, pc;
};

static void set_saved(struct machine *m, uint64_t reg, int64_t offset)
{
    if (reg == RBP) {
        m->now.rbp = offset;
        m->now.rbp_saved = true;
    } else if (reg == RIP) {
        m->now.rip = offset;
    }
}

static void set_same(struct machine *m, uint64_t reg)
{
    if (reg == RBP)
        m->now.rbp_saved = false;
}

static void set_strange(struct machine *m, uint64_t reg)
{
    m->now.strange |= reg == RBP || reg == RIP;
}

static void set_first(struct machine *m, uint64_t reg)
{
    if (reg == RBP) {
        m->now.rbp = m->first.rbp;
        m->now.rbp_saved = m->first.rbp_saved;
    } else if (reg == RIP) {
        m->now.rip = m->first.rip;
    }
}

static void advance(struct machine *m, uint64_t units)
{
    m->at += units * m->common->code_align;
}

static void unwind_remember(struct machine *m, bool restore)
{
    if (!restore && m->depth < REMEMBERED)
        m->remembered[m->depth++] = m->now;
    else if (restore && m->depth)
        m->now = m->remembered[--m->depth];
    else
        m->now.strange = true;
}

/* The instructions that are not three in one byte (advance, offset, restore). */
static bool execute_one(struct machine *m, struct span *s, uint8_t op)
{
    int64_t align = m->common->data_align;
    uint64_t reg;

    switch (op) {
    case 0x00: /* nop */
        return true;
    case 0x01: /* set_loc */
        m->at = encoded(s, m->common->pointers);
        return true;
    case 0x02:
    case 0x03: /* advance_loc1, 2 */
        advance(m, unwind_number(s, op - 1u));
        return true;
    case 0x04:
        advance(m, unwind_number(s, 4));
        return true;
    case 0x05: /* offset_extended */
        reg = uleb(s);
        set_saved(m, reg, (int64_t)uleb(s) * align);
        return true;
    case 0x06: /* restore_extended */
        set_first(m, uleb(s));
        return true;
    case 0x07: /* undefined: of rip, there is no caller */
        set_strange(m, uleb(s));
        return true;
    case 0x08: /* same_value */
        set_same(m, uleb(s));
        return true;
    case 0x09: /* register */
        set_strange(m, uleb(s));
        uleb(s);
        return true;
    case 0x0a:
    case 0x0b:
        unwind_remember(m, op == 0x0b);
        return true;
    case 0x0c: /* def_cfa */
        m->now.cfa_reg = uleb(s);
        m->now.cfa = (int64_t)uleb(s);
        return true;
    case 0x0d: /* def_cfa_register */
        m->now.cfa_reg = uleb(s);
        return true;
    case 0x0e: /* def_cfa_offset */
        m->now.cfa = (int64_t)uleb(s);
        return true;
    case 0x0f: /* def_cfa_expression */
        m->now.cfa_reg = UINT64_MAX;
        skip(s, uleb(s));
        return true;
    case 0x10:
    case 0x16: /* expression, val_expression */
        set_strange(m, uleb(s));
        skip(s, uleb(s));
        return true;
    case 0x11: /* offset_extended_sf */
        reg = uleb(s);
        set_saved(m, reg, (int64_t)leb(s, true) * align);
        return true;
    case 0x12: /* def_cfa_sf */
        m->now.cfa_reg = uleb(s);
        m->now.cfa = (int64_t)leb(s, true) * align;
        return true;
    case 0x13: /* def_cfa_offset_sf */
        m->now.cfa = (int64_t)leb(s, true) * align;
        return true;
    case 0x14:
    case 0x15: /* val_offset, val_offset_sf */
        set_strange(m, uleb(s));
        uleb(s);
        return true;
    case 0x2e: /* GNU_args_size */
        uleb(s);
        return true;
    default:
        return false;
    }
}

/* Up to the row of pc. */
static bool execute(struct machine *m, struct span s)
{
    while (s.at < s.end && !s.bad && m->at <= m->pc) {
        uint8_t op = (uint8_t)unwind_number(&s, 1), low = op & 0x3f;

        switch (op >> 6) {
        case 1:
            advance(m, low);
            break;
        case 2:
            set_saved(m, low, (int64_t)uleb(&s) * m->common->data_align);
            break;
        case 3:
            set_first(m, low);
            break;
        default:
            if (!execute_one(m, &s, op))
                return false;
        }
    }
    return !s.bad;
}

/* ---- rules ---- */

static const struct unwind_rule end = { .kind = UNWIND_END };

/* What the caches' words have room for; no frame is larger. */
enum { MOST = 1 << 24 };

static struct unwind_rule rule_of(const struct row *r, bool signal)
{
    if (signal)
        return (struct unwind_rule){ .kind = UNWIND_SIGNAL };
    if (r->strange || r->rip != -WORD || (r->cfa_reg != RSP && r->cfa_reg != RBP) ||
        r->cfa < WORD || r->cfa >= MOST || (r->rbp_saved && (r->rbp > -WORD || r->rbp <= -MOST)))
        return end;
    return (struct unwind_rule){ .kind = UNWIND_CALLER,
                                 .from_rbp = r->cfa_reg == RBP,
                                 .cfa = (uint32_t)r->cfa,
                                 .rbp = r->rbp_saved ? (uint32_t)-r->rbp : 0 };
}

static struct unwind_rule unwind_look_up(uintptr_t pc)
{
    struct machine m = { .pc = pc };
    struct common common = { 0 };
    struct unwind_image image;
    struct span s, cie;
    const uint8_t *id;
    uint64_t bytes;

    if (!unwind_image_find(pc, &image) || image.header < image.low || image.header >= image.end)
        return end;
    s = find_entry(&image, pc);
    id = s.at;
    bytes = s.bad ? 0 : unwind_number(&s, 4);
    if (!bytes || bytes > (uint64_t)(id - image.low))
        return end;
    cie = (struct span){ id - bytes, image.end, false };
    if (!read_common(cie, &common))
        return end;
    m.common = &common;
    if (!execute(&m, common.program)) /* at 0: all of it */
        return end;
    m.first = m.now;
    m.at = encoded(&s, common.pointers);
    if (pc < m.at || pc - m.at >= encoded(&s, common.pointers & PE_FORM))
        return end;
    if (common.augmented)
        skip(&s, uleb(&s));
    return execute(&m, s) ? rule_of(&m.now, common.signal) : end;
}

/* ---- rules that are known ---- */

enum { CACHE = 1 << 12 };
static struct {
    uint64_t check, rule;
} cache[CACHE];
static uint32_t generation;

static uint64_t pack(struct unwind_rule r)
{
    return (uint64_t)r.kind | (uint64_t)r.from_rbp << 2 | (uint64_t)r.cfa << 8 |
           (uint64_t)r.rbp << 32;
}

static struct unwind_rule unpack(uint64_t w)
{
    return (struct unwind_rule){ .kind = (enum unwind_kind)(w & 3),
                                 .from_rbp = w >> 2 & 1,
                                 .cfa = (uint32_t)(w >> 8 & (MOST - 1)),
                                 .rbp = (uint32_t)(w >> 32) };
}

struct unwind_rule unwind_rule(uintptr_t pc)
{
    uint64_t key = pc ^ (uint64_t)__atomic_load_n(&generation, __ATOMIC_RELAXED) << 48;
    uint32_t i = (uint32_t)(pc * UINT64_C(0x9e3779b97f4a7c15) >> 32) % CACHE;
    uint64_t rule = __atomic_load_n(&cache[i].rule, __ATOMIC_RELAXED);
    struct unwind_rule r;

    if (rule && __atomic_load_n(&cache[i].check, __ATOMIC_RELAXED) == (key ^ rule))
        return unpack(rule);
    r = unwind_look_up(pc);
    rule = pack(r) | 1 << 3; /* never 0 */
    __atomic_store_n(&cache[i].rule, rule, __ATOMIC_RELAXED);
    __atomic_store_n(&cache[i].check, key ^ rule, __ATOMIC_RELAXED);
    return r;
}

void unwind_images(void)
{
    unwind_image_update();
    __atomic_fetch_add(&generation, 1, __ATOMIC_RELAXED);
}
