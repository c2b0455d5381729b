/* full.c - full builds: every access with its value, branches, calls, entries and exits
 *
 * Records are collected over a stretch of a block in which nothing else writes records. Before its
 * first access there is one look at the cursor, and one question whether the chunk is full or the
 * time has moved on; so a stamp is never later than the accesses it is for. The records are written
 * together at the end, with one store of the cursor. RING_SLACK bytes behind the limit bound a
 * stretch.
 *
 * The values recorded are those the program loaded or stored, never read again. Accesses by
 * memory intrinsics and assembly have none.
 */
#include "pass/pass.h"

#include <stdlib.h>
#include <string.h>

#include "base/rt_ring.h"
#include "base/rt_sites.h"
#include "runtime/abi.h"

enum { CC_PRESERVE_MOST = 14, RECORDS_MAX = RING_SLACK / 8, SELECTS_MAX = 6 };

struct record {
    enum ring_kind kind;
    unsigned bytes;
    const struct item *item;    /* R_ACCESS, R_BRANCH */
    LLVMValueRef address, site; /* R_ENTER: return address, site, as words */
};

struct stretch {
    struct record at[RECORDS_MAX];
    unsigned count, bytes;
    uint32_t block;
    LLVMValueRef first; /* what the first record is about */
    LLVMValueRef end;   /* terminator of the block */
};

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
        return true;
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

static unsigned access_bytes(struct pass *p, const struct item *item)
{
    return item->bytes == 8 && has_word_value(p, item) ? 24 : 16;
}

/* ---- writing ---- */

struct cursor {
    LLVMValueRef chunk, at; /* the chunk, and where in it the stretch begins */
    LLVMValueRef base;      /* sites of the module */
};

static LLVMValueRef chunk_field(struct pass *p, LLVMValueRef chunk, unsigned offset)
{
    LLVMValueRef index = const64(p, offset);
    return LLVMBuildInBoundsGEP2(p->b, p->i8, chunk, &index, 1, "");
}

static void load_cursor(struct pass *p, struct cursor *c)
{
    LLVMValueRef field = tls_field(p, offsetof(struct heddle_tls, chunk));
    c->chunk = LLVMBuildLoad2(p->b, p->ptr, field, "");
    c->at = LLVMBuildLoad2(p->b, p->i64,
                           chunk_field(p, c->chunk, offsetof(struct ring_chunk, cursor)), "");
}

static LLVMValueRef choose(struct pass *p, LLVMValueRef a, LLVMBasicBlockRef from_a, LLVMValueRef b,
                           LLVMBasicBlockRef from_b)
{
    LLVMValueRef phi = LLVMBuildPhi(p->b, LLVMTypeOf(a), "");
    LLVMAddIncoming(phi, &a, &from_a, 1);
    LLVMAddIncoming(phi, &b, &from_b, 1);
    return phi;
}

/* Another thread has synchronised since this one last looked at the clock. */
static LLVMValueRef has_time_moved(struct pass *p)
{
    LLVMValueRef newest = global_named(p, p->i64, "__heddle_newest");
    LLVMSetAlignment(newest, 64);
    LLVMValueRef now = LLVMBuildLoad2(p->b, p->i64, newest, "");
    LLVMSetVolatile(now, true);
    LLVMValueRef field = tls_field(p, offsetof(struct heddle_tls, seen_stamp));
    LLVMValueRef seen = LLVMBuildLoad2(p->b, p->i64, field, "");
    return LLVMBuildICmp(p->b, LLVMIntNE, now, seen, "");
}

/* Splits before `before`; afterwards there is room at the cursor. */
static struct cursor make_room(struct pass *p, LLVMValueRef before)
{
    struct cursor hot, new, c;
    LLVMBasicBlockRef head = split_before(p, before), tail = LLVMGetInstructionParent(before);
    LLVMBasicBlockRef cold = LLVMAppendBasicBlockInContext(p->context, p->function, "");
    LLVMSetCurrentDebugLocation2(p->b, LLVMInstructionGetDebugLoc(before));
    LLVMPositionBuilderAtEnd(p->b, head);
    load_cursor(p, &hot);
    LLVMValueRef limit = LLVMBuildLoad2(
        p->b, p->i64, chunk_field(p, hot.chunk, offsetof(struct ring_chunk, limit)), "");
    LLVMValueRef is_full = LLVMBuildICmp(p->b, LLVMIntUGE, hot.at, limit, "");
    is_full = LLVMBuildOr(p->b, is_full, has_time_moved(p), "");
    LLVMValueRef branch = LLVMBuildCondBr(p->b, is_full, cold, tail);
    LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(p->context, "prof", 4), p->unlikely);
    LLVMPositionBuilderAtEnd(p->b, cold);
    LLVMValueRef call = call_runtime(p, "__heddle_full", EFFECT_ALL, p->none, 0, NULL);
    LLVMSetInstructionCallConv(call, CC_PRESERVE_MOST);
    LLVMSetFunctionCallConv(LLVMGetNamedFunction(p->module, "__heddle_full"), CC_PRESERVE_MOST);
    load_cursor(p, &new);
    LLVMBuildBr(p->b, tail);
    at_instruction(p, before);
    c.chunk = choose(p, hot.chunk, head, new.chunk, cold);
    c.at = choose(p, hot.at, head, new.at, cold);
    return c;
}

static void store_at(struct pass *p, LLVMValueRef place, unsigned offset, LLVMValueRef value)
{
    LLVMBuildStore(p->b, value, chunk_field(p, place, offset));
}

static void set_cursor(struct pass *p, const struct cursor *c, LLVMValueRef bytes)
{
    LLVMValueRef field = chunk_field(p, c->chunk, offsetof(struct ring_chunk, cursor));
    LLVMValueRef store = LLVMBuildStore(p->b, LLVMBuildAdd(p->b, c->at, bytes, ""), field);
    LLVMSetOrdering(store, LLVMAtomicOrderingRelease);
    LLVMSetAlignment(store, 8);
}

static LLVMValueRef word(struct pass *p, enum ring_kind kind, unsigned arg, LLVMValueRef low)
{
    return LLVMBuildOr(p->b, low, const64(p, RING_WORD(kind, arg, 0)), "");
}

static void write_access(struct pass *p, const struct record *r, LLVMValueRef place,
                         LLVMValueRef site)
{
    const struct item *item = r->item;
    bool value = has_word_value(p, item);
    unsigned log = item->bytes == 8 ? 3 : item->bytes == 4 ? 2 : item->bytes == 2 ? 1 : 0;
    unsigned arg = (item->write ? ACCESS_WRITE : 0) | log << ACCESS_SIZE_SHIFT;
    LLVMValueRef address = LLVMBuildPtrToInt(p->b, ITEM_ADDRESS(item), p->i64, "");
    if (value)
        arg |= item->bytes == 8 ? ACCESS_VALUE64 : ACCESS_VALUE32;
    store_at(p, place, 0, word(p, R_ACCESS, arg, address));
    if (!value || item->bytes == 8)
        store_at(p, place, 8, LLVMBuildZExt(p->b, site, p->i64, ""));
    if (!value)
        return;
    LLVMValueRef v = to_integer(p, accessed_value(item), item->bytes);
    if (item->bytes == 8) {
        store_at(p, place, 16, v);
        return;
    }
    store_at(p, place, 8, site);
    store_at(p, place, 12, LLVMBuildIntCast2(p->b, v, p->i32, false, ""));
}

/* The number of the successor taken: 1 and 0 for a branch; a switch's default is 0. */
static LLVMValueRef outcome(struct pass *p, LLVMValueRef inst)
{
    if (LLVMIsABranchInst(inst))
        return LLVMBuildZExt(p->b, LLVMGetCondition(inst), p->i32, "");
    LLVMValueRef condition = LLVMGetOperand(inst, 0);
    LLVMValueRef number = const32(p, 0);
    for (unsigned i = LLVMGetNumSuccessors(inst) - 1; i > 0; i--) {
        LLVMValueRef same =
            LLVMBuildICmp(p->b, LLVMIntEQ, condition, LLVMGetOperand(inst, 2 * i), "");
        number = LLVMBuildSelect(p->b, same, const32(p, i), number, "");
    }
    return number;
}

static void write_branch(struct pass *p, LLVMValueRef place, LLVMValueRef site, LLVMValueRef number)
{
    store_at(p, place, 0, site);
    number = LLVMBuildAnd(p->b, number, const32(p, 0xffff), "");
    store_at(p, place, 4, LLVMBuildOr(p->b, number, const32(p, (uint32_t)R_BRANCH << 24), ""));
}

static void write_record(struct pass *p, const struct record *r, const struct cursor *c,
                         unsigned offset, LLVMValueRef number)
{
    LLVMValueRef at = LLVMBuildAdd(p->b, c->at, const64(p, offset), "");
    LLVMValueRef place = LLVMBuildInBoundsGEP2(p->b, p->i8, c->chunk, &at, 1, "");
    LLVMValueRef site = NULL;
    if (r->item)
        site = LLVMBuildAdd(p->b, c->base, const32(p, r->item->site), "");
    if (r->kind == R_ACCESS) {
        write_access(p, r, place, site);
    } else if (r->kind == R_BRANCH) {
        write_branch(p, place, site, number);
    } else if (r->kind == R_ENTER) {
        LLVMValueRef back = LLVMBuildPtrToInt(p->b, r->address, p->i64, "");
        LLVMValueRef depth = LLVMBuildZExt(p->b, p->depth, p->i64, "");
        store_at(p, place, 0, word(p, R_ENTER, ENTER_DEPTH, back));
        depth = LLVMBuildShl(p->b, depth, const64(p, 32), "");
        store_at(p, place, 8, LLVMBuildOr(p->b, depth, r->site, ""));
    } else {
        LLVMValueRef depth = LLVMBuildZExt(p->b, p->depth, p->i64, "");
        store_at(p, place, 0, word(p, R_EXIT, EXIT_TO, depth));
    }
}

/* A switch with many cases: a copy of it that only computes the number, which the compiler turns
 * into a table. */
static LLVMValueRef outcome_of_copy(struct pass *p, LLVMValueRef inst)
{
    LLVMBasicBlockRef head = split_before(p, inst), join = LLVMGetInstructionParent(inst);
    LLVMPositionBuilderBefore(p->b, inst);
    LLVMValueRef phi = LLVMBuildPhi(p->b, p->i32, "");
    unsigned n = LLVMGetNumSuccessors(inst);
    LLVMPositionBuilderAtEnd(p->b, head);
    LLVMValueRef copy = LLVMBuildSwitch(p->b, LLVMGetOperand(inst, 0), join, n - 1);
    LLVMValueRef none = const32(p, 0);
    LLVMAddIncoming(phi, &none, &head, 1);
    for (unsigned i = 1; i < n; i++) {
        LLVMBasicBlockRef one = LLVMInsertBasicBlockInContext(p->context, join, "");
        LLVMPositionBuilderAtEnd(p->b, one);
        LLVMBuildBr(p->b, join);
        LLVMAddCase(copy, LLVMGetOperand(inst, 2 * i), one);
        LLVMValueRef number = const32(p, i);
        LLVMAddIncoming(phi, &number, &one, 1);
    }
    return phi;
}

static void flush(struct pass *p, struct stretch *s, LLVMValueRef before)
{
    if (s->count == 0)
        return;
    const struct record *last = &s->at[s->count - 1];
    LLVMValueRef number = NULL; /* at most one branch, the last record */
    if (last->kind == R_BRANCH && LLVMGetNumSuccessors(last->item->inst) > SELECTS_MAX)
        number = outcome_of_copy(p, last->item->inst);
    struct cursor c = make_room(p, s->first);
    at_instruction(p, before);
    if (last->kind == R_BRANCH && !number)
        number = outcome(p, last->item->inst);
    c.base = site_value(p, 0);
    unsigned offset = 0;
    for (unsigned i = 0; i < s->count; offset += s->at[i++].bytes)
        write_record(p, &s->at[i], &c, offset, number);
    set_cursor(p, &c, const64(p, offset));
    s->count = s->bytes = 0;
}

/* After a landing pad or second return: R_EXIT down to this function's frame, if any was left. */
static void write_left(struct pass *p, LLVMValueRef left, LLVMValueRef before)
{
    struct cursor c = make_room(p, before);
    LLVMValueRef place = LLVMBuildInBoundsGEP2(p->b, p->i8, c.chunk, &c.at, 1, "");
    LLVMValueRef mine = LLVMBuildAdd(p->b, p->depth, const32(p, 1), "");
    store_at(p, place, 0, word(p, R_EXIT, EXIT_TO, LLVMBuildZExt(p->b, mine, p->i64, "")));
    LLVMValueRef some = LLVMBuildICmp(p->b, LLVMIntNE, left, const32(p, 0), "");
    set_cursor(p, &c, LLVMBuildSelect(p->b, some, const64(p, 8), const64(p, 0), ""));
}

/* ---- stretches ---- */

static void append(struct pass *p, struct stretch *s, struct record r, LLVMValueRef inst)
{
    if (s->bytes + r.bytes > RING_SLACK || s->count == RECORDS_MAX)
        flush(p, s, inst);
    if (s->count == 0)
        s->first = inst;
    s->at[s->count++] = r;
    s->bytes += r.bytes;
    s->end = LLVMGetBasicBlockTerminator(LLVMGetInstructionParent(inst));
}

static void append_access(struct pass *p, struct stretch *s, struct item *item)
{
    number_site(p, item);
    if (item->kind == ITEM_ACCESS && item->bytes <= 8 && (item->bytes & (item->bytes - 1)) == 0) {
        append(p, s, (struct record){ R_ACCESS, access_bytes(p, item), item, NULL, NULL },
               item->inst);
        return;
    }
    flush(p, s, item->inst);
    if (item->kind == ITEM_ACCESS && item->bytes == 16)
        emit_access_call(p, item, item->inst);
    else
        emit_range(p, item);
}

static void append_item(struct pass *p, struct stretch *s, struct item *item)
{
    switch (item->kind) {
    case ITEM_ACCESS:
    case ITEM_RANGE:
        append_access(p, s, item);
        break;
    case ITEM_BRANCH:
        item->site = table_site(p, SITE_BRANCH, item->inst, item->index, 0, "");
        append(p, s, (struct record){ R_BRANCH, 8, item, NULL, NULL }, item->inst);
        flush(p, s, item->inst);
        break;
    case ITEM_EXIT:
        if (p->has_frame)
            append(p, s, (struct record){ R_EXIT, 8, NULL, NULL, NULL }, item->inst);
        flush(p, s, item->inst);
        if (p->has_frame)
            emit_exit(p, item->inst);
        break;
    case ITEM_RESTORE:
        flush(p, s, item->inst);
        if (p->has_frame)
            write_left(p, emit_restore(p, item->inst), item->inst);
        break;
    case ITEM_CALL:
        flush(p, s, item->inst);
        emit_call(p, item);
        break;
    default: /* the runtime, or traced code, writes records */
        flush(p, s, item->inst);
        emit_item(p, item);
        break;
    }
}

/* An array in the entry block for the pointers that calls pass. */
static void make_scratch(struct pass *p, const struct items *items)
{
    unsigned most = 0;
    for (size_t i = 0; i < items->count; i++)
        if (items->at[i].kind == ITEM_CALL) {
            unsigned n = LLVMGetNumArgOperands(items->at[i].inst);
            most = n > most ? n : most;
        }
    if (most == 0)
        return;
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(p->function);
    LLVMPositionBuilderBefore(p->b, LLVMGetFirstInstruction(entry));
    LLVMSetCurrentDebugLocation2(p->b, NULL);
    p->scratch = LLVMBuildAlloca(p->b, LLVMArrayType2(p->ptr, most), "");
}

void emit_items_full(struct pass *p, struct items *items, LLVMValueRef return_address,
                     LLVMValueRef site_word)
{
    struct stretch *s = zeroed(sizeof *s);
    make_scratch(p, items);
    if (return_address)
        append(p, s, (struct record){ R_ENTER, 16, NULL, return_address, site_word }, site_word);
    for (size_t i = 0; i < items->count; i++) {
        if (s->count && items->at[i].block != s->block)
            flush(p, s, s->end);
        s->block = items->at[i].block;
        append_item(p, s, &items->at[i]);
    }
    flush(p, s, s->end);
    free(s);
}
