/* stretch.c - which addresses a stretch's record needs, and the stores that write it
 *
 * An address is left out where another access of the stretch tells it: both are constant offsets
 * from one value, or from a pointer that the other one loads. All of it runs in one go, so a value
 * is the same for both.
 *
 * Stores overlap: an address is written with 8 bytes, of which the upper two are 0 and belong to
 * what is written next.
 */
#include "pass/stretch.h"

#include "base/rt_sites.h"

void stretch_clear(struct stretch *s)
{
    s->count = 0;
    s->bytes = 8 + 7 + 1; /* word 0, zeros at the end, an outcome */
    s->branch = NULL;
}

/* ---- values ---- */

static LLVMValueRef accessed_value(const struct item *item)
{
    if (LLVMIsALoadInst(item->inst))
        return item->inst;
    return LLVMIsAStoreInst(item->inst) ? LLVMGetOperand(item->inst, 0) : NULL;
}

/* Integers, pointers, floating point, vectors of numbers: what fits a word as it is. */
static bool has_word_value(struct pass *p, const struct item *item)
{
    LLVMValueRef v = accessed_value(item);
    if (!v)
        return false;
    LLVMTypeRef type = LLVMTypeOf(v);
    switch (LLVMGetTypeKind(type)) {
    case LLVMIntegerTypeKind:
    case LLVMPointerTypeKind:
    case LLVMHalfTypeKind:
    case LLVMBFloatTypeKind:
    case LLVMFloatTypeKind:
    case LLVMDoubleTypeKind:
        return true;
    case LLVMVectorTypeKind:
        return LLVMGetTypeKind(LLVMGetElementType(type)) != LLVMPointerTypeKind &&
               LLVMSizeOfTypeInBits(p->layout, type) == 8 * item->bytes;
    default:
        return false;
    }
}

bool stretch_may_have(struct pass *p, const struct item *item)
{
    if (item->kind != ITEM_ACCESS || item->bytes > 16 || item->bytes & (item->bytes - 1))
        return false;
    return stretch_value_bytes((unsigned)item->bytes) == 0 || has_word_value(p, item);
}

/* ---- addresses ---- */

static bool is_pointer_load(const struct item *item)
{
    return LLVMIsALoadInst(item->inst) && item->bytes == 8 &&
           LLVMGetTypeKind(LLVMTypeOf(item->inst)) == LLVMPointerTypeKind;
}

/* Does access `by` tell the address of the next one, `a`? */
static bool is_told_by(const struct stretch_access *by, struct stretch_access *a, unsigned back)
{
    int64_t offset = a->offset - by->offset;
    uint8_t from = (uint8_t)back;
    if (by->root != a->root) {
        if (a->root != by->item->inst || !is_pointer_load(by->item))
            return false;
        offset = a->offset;
        from |= FROM_VALUE;
    }
    if (offset != (int32_t)offset)
        return false;
    a->from = from;
    a->from_offset = (int32_t)offset;
    return true;
}

bool stretch_add(struct pass *p, struct stretch *s, struct item *item, unsigned most_bytes)
{
    struct stretch_access a = { .item = item };
    unsigned bytes = stretch_value_bytes((unsigned)item->bytes);
    if (s->count == STRETCH_ACCESSES_MAX)
        return false;
    a.root = strip_offset(p, ITEM_ADDRESS(item), &a.offset);
    for (unsigned i = s->count; i > 0; i--)
        if (is_told_by(&s->at[i - 1], &a, s->count - i + 1))
            break;
    if (!a.from)
        bytes += STRETCH_ADDRESS_BYTES;
    if (s->bytes + bytes > most_bytes)
        return false;
    s->bytes += bytes;
    s->at[s->count++] = a;
    return true;
}

/* ---- the record ---- */

void store_at(struct pass *p, LLVMValueRef place, unsigned offset, LLVMValueRef value)
{
    LLVMValueRef index = const64(p, offset);
    LLVMValueRef to = LLVMBuildInBoundsGEP2(p->b, p->i8, place, &index, 1, "");
    LLVMSetAlignment(LLVMBuildStore(p->b, value, to), 1);
}

static uint32_t number_sites(struct pass *p, const struct stretch *s)
{
    for (unsigned i = 0; i < s->count; i++) {
        number_site(p, s->at[i].item);
        table_set_from(p->table, s->at[i].item->site, s->at[i].from, s->at[i].from_offset);
    }
    if (s->branch)
        table_site(p, SITE_BRANCH, s->branch->inst, s->branch->index, 0, "");
    return table_stretch(p->table, s->count, s->branch);
}

/* As rt_stretch.h lays it out; the words of the record. */
static unsigned lay_out(const struct stretch *s, unsigned *address_at, unsigned *value_at)
{
    struct stretch_room room = STRETCH_ROOM;
    if (s->branch)
        stretch_place(&room, 1);
    for (unsigned i = 0; i < s->count; i++)
        address_at[i] = s->at[i].from ? 0 : stretch_place(&room, STRETCH_ADDRESS_BYTES);
    for (unsigned i = 0; i < s->count; i++)
        value_at[i] = stretch_place(&room, stretch_value_bytes((unsigned)s->at[i].item->bytes));
    return stretch_words(&room);
}

/* Number and mark; where data is zeros, so that the rest of the word is. */
static void write_head(struct pass *p, LLVMValueRef place, uint32_t site, unsigned words)
{
    LLVMValueRef number = LLVMBuildZExt(p->b, site_value(p, site), p->i64, "");
    uint64_t mark = (uint64_t)(STRETCH_MARK | words) << 56;
    store_at(p, place, 0, LLVMBuildOr(p->b, number, const64(p, mark), ""));
    if (words > 1)
        store_at(p, place, 8 * (words - 1), const64(p, 0));
}

unsigned write_stretch(struct pass *p, const struct stretch *s, LLVMValueRef place,
                       LLVMValueRef outcome)
{
    unsigned address_at[STRETCH_ACCESSES_MAX], value_at[STRETCH_ACCESSES_MAX];
    unsigned words = lay_out(s, address_at, value_at);
    write_head(p, place, number_sites(p, s), words);
    if (s->branch)
        store_at(p, place, 4, LLVMBuildTrunc(p->b, outcome, p->i8, ""));
    for (unsigned i = 0; i < s->count; i++)
        if (!s->at[i].from)
            store_at(p, place, address_at[i],
                     LLVMBuildPtrToInt(p->b, ITEM_ADDRESS(s->at[i].item), p->i64, ""));
    for (unsigned i = 0; i < s->count; i++) {
        const struct item *item = s->at[i].item;
        if (stretch_value_bytes((unsigned)item->bytes))
            store_at(p, place, value_at[i], to_integer(p, accessed_value(item), item->bytes));
    }
    return 8 * words;
}
