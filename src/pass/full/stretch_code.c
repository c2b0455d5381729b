/* stretch_code.c - which addresses a stretch's record needs, and the stores that write it
 *
 * An address is left out where another access of the segment tells it: both are constant offsets
 * from one value, or from a pointer that the other one loads. A path has no loop, so a value is the
 * same for both.
 *
 * Stores overlap: an address is written with 8 bytes, of which the upper two are 0 and belong to
 * what is written next. The first word is stored last of all, and at once: until then the record
 * is what it was after the block before.
 */
#include "pass/full/stretch_code.h"

#include "abi/rt_sites.h"

void path_begin(struct pass *p, struct path *path)
{
    struct stretch *s = &path->stretch;
    path->open = path->joins = false;
    path->base = const64(p, 0);
    path->index = const32(p, 0);
    path->paths = 1;
    path->from[0] = (struct path_from){ 0, 0 };
    path->decides = NULL;
    path->enters = false;
    path->entry = NULL;
    s->count = s->written = s->entries = s->most_events = 0;
    s->room = STRETCH_ROOM_LONG;
    s->most_bytes = 8;
    s->branch = NULL;
    s->exits = false;
}

void path_enter(struct path *path, LLVMValueRef entry)
{
    struct stretch *s = &path->stretch;
    path->enters = true;
    path->entry = entry;
    stretch_place(&s->room, STRETCH_FRAME_BYTES);
    s->most_bytes += STRETCH_FRAME_BYTES;
    s->entries = s->most_events = 1;
}

void path_decide(struct path *path, unsigned outcome)
{
    if (!path->decides)
        return;
    for (unsigned i = 0; i < path->paths; i++)
        path->from[i].outcome = outcome + 1;
    path->decides = NULL;
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

/* The bytes that a record has of it. */
static unsigned bytes_of_value(const struct stretch_access *a)
{
    return a->told ? 0 : stretch_value_bytes((unsigned)a->item->bytes);
}

/* ---- values that follow ---- */

/* One step towards where v comes from, of which the low `bits` count: v = result + offset there.
 * NULL: there is none. */
static LLVMValueRef step_back(struct pass *p, LLVMValueRef v, unsigned bits, int64_t *offset)
{
    LLVMValueRef from = NULL;
    if (!LLVMIsAInstruction(v))
        return NULL;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMAdd:
        if (!LLVMIsAConstantInt(LLVMGetOperand(v, 1)))
            return NULL;
        *offset += LLVMConstIntGetSExtValue(LLVMGetOperand(v, 1));
        return LLVMGetOperand(v, 0);
    case LLVMTrunc:
    case LLVMZExt:
    case LLVMSExt:
        from = LLVMGetOperand(v, 0);
        return LLVMGetTypeKind(LLVMTypeOf(from)) == LLVMIntegerTypeKind &&
                       LLVMGetIntTypeWidth(LLVMTypeOf(from)) >= bits
                   ? from
                   : NULL;
    case LLVMGetElementPtr: {
        int64_t bytes = 0;
        from = strip_offset(p, v, &bytes);
        *offset += bytes;
        return from == v ? NULL : from;
    }
    default:
        return NULL;
    }
}

static bool is_number(LLVMValueRef v, unsigned bits)
{
    LLVMTypeRef type = LLVMTypeOf(v);
    if (LLVMGetTypeKind(type) == LLVMPointerTypeKind)
        return bits == 64;
    return LLVMGetTypeKind(type) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) == bits;
}

/* Does access `by` have the value v, with at least as many bytes as a, and not too far back? */
static bool has_value(const struct stretch_access *by, LLVMValueRef v,
                      const struct stretch_access *a)
{
    uint64_t bytes = by->item->bytes;
    return bytes < 16 && bytes >= a->item->bytes && a->position - by->position <= FROM_BACK &&
           accessed_value(by->item) == v && is_number(v, 8 * (unsigned)bytes);
}

/* The value of a store that is a constant, or a constant more than that of an access before. */
static void find_value(struct pass *p, const struct stretch *s, struct stretch_access *a)
{
    enum { STEPS = 8 };
    unsigned bits = 8 * (unsigned)a->item->bytes;
    LLVMValueRef v = LLVMIsAStoreInst(a->item->inst) ? accessed_value(a->item) : NULL;
    int64_t offset = 0;
    if (!v || bits > 64 || !is_number(v, bits))
        return;
    for (unsigned step = 0; v && step < STEPS; step++) {
        if (offset != (int32_t)offset)
            return;
        int64_t number = LLVMIsAConstantInt(v) ? LLVMConstIntGetSExtValue(v) + offset : offset;
        a->told = LLVMIsAConstantPointerNull(v) || LLVMIsAConstantInt(v);
        if (a->told) {
            a->told = number == (int32_t)number;
            a->value_offset = (int32_t)number;
            return;
        }
        for (unsigned i = s->count; i > 0 && !a->told; i--)
            if (has_value(&s->at[i - 1], v, a)) {
                a->told = true;
                a->value_from = (uint8_t)(a->position - s->at[i - 1].position);
                a->value_offset = (int32_t)offset;
            }
        v = a->told ? NULL : step_back(p, v, bits, &offset);
    }
}

/* ---- addresses ---- */

static bool is_pointer_load(const struct item *item)
{
    return LLVMIsALoadInst(item->inst) && item->bytes == 8 &&
           LLVMGetTypeKind(LLVMTypeOf(item->inst)) == LLVMPointerTypeKind;
}

/* Where the address comes from: rounds of an unrolled loop differ by a constant in the index. */
static void find_root(struct pass *p, struct stretch_access *a)
{
    LLVMValueRef v = strip_offset(p, ITEM_ADDRESS(a->item), &a->offset);
    a->root = v;
    if (!LLVMIsAGetElementPtrInst(v) || LLVMGetNumOperands(v) != 2)
        return;
    LLVMValueRef index = LLVMGetOperand(v, 1);
    LLVMTypeRef type = LLVMTypeOf(index);
    if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(type) != 64)
        return;
    int64_t steps = 0, bytes = 0;
    a->scale = LLVMABISizeOfType(p->layout, LLVMGetGEPSourceElementType(v));
    a->root = strip_offset(p, LLVMGetOperand(v, 0), &bytes);
    while (LLVMIsAInstruction(index) && LLVMGetInstructionOpcode(index) == LLVMAdd &&
           LLVMIsAConstantInt(LLVMGetOperand(index, 1))) {
        steps += LLVMConstIntGetSExtValue(LLVMGetOperand(index, 1));
        index = LLVMGetOperand(index, 0);
    }
    a->index = index;
    a->offset = (int64_t)((uint64_t)a->offset + (uint64_t)bytes + (uint64_t)steps * a->scale);
}

/* Does access `by` tell the address of the next one, `a`? */
static bool is_told_by(const struct stretch_access *by, struct stretch_access *a)
{
    int64_t offset = (int64_t)((uint64_t)a->offset - (uint64_t)by->offset);
    unsigned back = a->position - by->position;
    uint8_t from = (uint8_t)back;
    if (back > FROM_BACK)
        return false;
    if (by->root != a->root || by->index != a->index || by->scale != a->scale) {
        if (a->root != by->item->inst || a->index || !is_pointer_load(by->item))
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
    struct stretch_access a = { .item = item, .position = s->entries };
    if (s->most_events >= STRETCH_ACCESSES_MAX - 1) /* and a branch */
        return false;
    find_root(p, &a);
    for (unsigned i = s->count; i > 0; i--)
        if (is_told_by(&s->at[i - 1], &a))
            break;
    find_value(p, s, &a);
    unsigned bytes = bytes_of_value(&a) + (a.from ? 0 : STRETCH_ADDRESS_BYTES);
    if (s->most_bytes + bytes > most_bytes)
        return false;
    s->most_bytes += bytes;
    s->most_events++;
    s->entries++;
    s->at[s->count++] = a;
    return true;
}

bool path_is_new(const struct path *path)
{
    const struct stretch *s = &path->stretch;
    return s->count > s->written || s->branch || s->exits || path->entry;
}

/* ---- the record ---- */

LLVMValueRef place_in(struct pass *p, LLVMValueRef chunk, LLVMValueRef at)
{
    return LLVMBuildInBoundsGEP2(p->b, p->i8, chunk, &at, 1, "");
}

void store_at(struct pass *p, LLVMValueRef place, unsigned offset, LLVMValueRef value)
{
    LLVMValueRef index = const64(p, offset);
    LLVMValueRef to = LLVMBuildInBoundsGEP2(p->b, p->i8, place, &index, 1, "");
    LLVMSetAlignment(LLVMBuildStore(p->b, value, to), 1);
}

static void number_frame(struct pass *p, unsigned what, struct sites_site *line)
{
    struct sites_site frame = { .kind = SITE_FRAME, .from = (uint8_t)what };
    frame.offset = (int32_t)p->entry_site;
    table_stretch(p->table, &frame);
    line->size++;
}

/* The lines of the site table: the block's accesses, its branch, a stretch for each path. The
 * first of these. */
static uint32_t number_sites(struct pass *p, struct path *path)
{
    struct stretch *s = &path->stretch;
    struct sites_site line = { .kind = SITE_STRETCH };
    line.branches =
        STRETCH_LONG | (s->branch ? STRETCH_BRANCHES : 0) | (path->joins ? STRETCH_JOINS : 0);
    if (path->entry)
        number_frame(p, FRAME_ENTERED, &line);
    for (unsigned i = s->written; i < s->count; i++) {
        const struct stretch_access *a = &s->at[i];
        struct sites_site value = { .kind = SITE_VALUE, .from = a->value_from };
        value.offset = a->value_offset;
        number_site(p, a->item);
        table_set_from(p->table, a->item->site, a->from, a->from_offset);
        if (a->told)
            table_stretch(p->table, &value);
        line.size += 1u + a->told;
    }
    if (s->exits)
        number_frame(p, FRAME_LEFT, &line);
    if (s->branch)
        table_site(p, SITE_BRANCH, s->branch->inst, s->branch->index, 0, "");
    uint32_t first = table_count(p->table);
    for (unsigned i = 0; i < path->paths; i++) {
        line.column = (uint16_t)i;
        line.function_index = path->from[i].stretch;
        line.instruction_index = path->from[i].outcome;
        path->from[i] = (struct path_from){ table_stretch(p->table, &line) + 1, 0 };
    }
    return first;
}

/* As rt_stretch.h lays it out. */
static void write_data(struct pass *p, struct stretch *s, LLVMValueRef place)
{
    unsigned address_at[STRETCH_ACCESSES_MAX], value_at[STRETCH_ACCESSES_MAX];
    unsigned words = stretch_words(&s->room);
    for (unsigned i = s->written; i < s->count; i++)
        address_at[i] = s->at[i].from ? 0 : stretch_place(&s->room, STRETCH_ADDRESS_BYTES);
    for (unsigned i = s->written; i < s->count; i++)
        value_at[i] = stretch_place(&s->room, bytes_of_value(&s->at[i]));
    if (stretch_words(&s->room) > words) /* what is no data is 0 */
        store_at(p, place, 8 * (stretch_words(&s->room) - 1), const64(p, 0));
    for (unsigned i = s->written; i < s->count; i++)
        if (!s->at[i].from)
            store_at(p, place, address_at[i],
                     LLVMBuildPtrToInt(p->b, ITEM_ADDRESS(s->at[i].item), p->i64, ""));
    for (unsigned i = s->written; i < s->count; i++) {
        const struct item *item = s->at[i].item;
        if (bytes_of_value(&s->at[i]))
            store_at(p, place, value_at[i], to_integer(p, accessed_value(item), item->bytes));
    }
}

/* Number, outcome, mark and words. */
static LLVMValueRef write_head(struct pass *p, const struct path *path, uint32_t site,
                               LLVMValueRef outcome)
{
    LLVMValueRef number = LLVMBuildAdd(p->b, site_value(p, site), path->index, "");
    LLVMValueRef head = LLVMBuildZExt(p->b, number, p->i64, "");
    LLVMValueRef words = LLVMBuildShl(p->b, path->base, const64(p, 56 - 3), "");
    uint64_t mark = (uint64_t)(STRETCH_MARK + stretch_words(&path->stretch.room)) << 56;
    words = LLVMBuildAdd(p->b, words, const64(p, mark), "");
    head = LLVMBuildOr(p->b, head, words, "");
    if (outcome) {
        outcome = LLVMBuildZExt(p->b, outcome, p->i64, "");
        head = LLVMBuildOr(p->b, head, LLVMBuildShl(p->b, outcome, const64(p, 32), ""), "");
    }
    if (path->stretch.exits && !path->enters) {
        LLVMValueRef depth = LLVMBuildAnd(p->b, p->depth, const32(p, 0xffff), "");
        depth = LLVMBuildZExt(p->b, depth, p->i64, "");
        depth = LLVMBuildShl(p->b, depth, const64(p, STRETCH_LEFT_SHIFT), "");
        head = LLVMBuildOr(p->b, head, depth, "");
    }
    LLVMValueRef store = LLVMBuildStore(p->b, head, place_in(p, path->chunk, path->at));
    LLVMSetOrdering(store, LLVMAtomicOrderingRelease);
    LLVMSetAlignment(store, 8);
    return store;
}

LLVMValueRef write_stretch(struct pass *p, struct path *path, LLVMValueRef outcome)
{
    struct stretch *s = &path->stretch;
    uint32_t site = number_sites(p, path);
    LLVMValueRef place = place_in(p, path->chunk, LLVMBuildAdd(p->b, path->at, path->base, ""));
    if (path->entry)
        store_at(p, place, STRETCH_FRAME_AT, path->entry);
    write_data(p, s, place);
    LLVMValueRef head = write_head(p, path, site, s->branch ? outcome : NULL);
    if (s->branch) {
        s->entries++;
        s->most_events++;
    }
    path->decides = s->branch;
    path->open = true;
    path->joins = false;
    path->entry = NULL;
    s->written = s->count;
    s->branch = NULL;
    s->exits = false;
    return head;
}

LLVMValueRef path_end(struct pass *p, const struct path *path)
{
    unsigned bytes = path->open ? 8 * stretch_words(&path->stretch.room) : 0;
    LLVMValueRef at = LLVMBuildAdd(p->b, path->at, path->base, "");
    return LLVMBuildAdd(p->b, at, const64(p, bytes), "");
}
