/* emit.c - the code of default builds: a question to the filter, and a call where it does not know
 *
 * The question of abi/abi.h: is the block's tag the current one, and were all bytes seen?
 * In loops without calls it stands inline (question.c), with a branch that is hardly ever taken and
 * the call in a cold block. Elsewhere it is asked by a call (stub.c), which is an eighth of
 * the code: some 12 bytes instead of 100. Compilers take their time for code, so that halves the
 * time of compiling.
 */
#include "pass/pass.h"

#include <stdio.h>
#include <stdlib.h>

#include "abi/rt_sites.h"
#include "pass/heat.h"
#include "abi/abi.h"

/* Inline questions of a function, at most: register allocation takes more than linear time. (100
 * leaves a tenth of lbzip2's time in questions by call, 400 next to nothing. So does asking by call
 * where loops are thought to be executed rarely: the compiler guesses badly in zstd's match
 * finders.)
 */
enum { INLINE_MAX = 400 };

LLVMValueRef tls_field(struct pass *p, unsigned offset)
{
    LLVMValueRef index = const64(p, offset);
    return offset ? LLVMConstInBoundsGEP2(p->i8, p->tls, &index, 1) : p->tls;
}

LLVMValueRef site_value(struct pass *p, uint32_t site)
{
    LLVMValueRef at = const64(p, offsetof(struct heddle_module, base));
    LLVMValueRef field = LLVMConstInBoundsGEP2(p->i8, p->record, &at, 1);
    LLVMValueRef base = LLVMBuildLoad2(p->b, p->i32, field, "");
    return LLVMBuildAdd(p->b, base, const32(p, site), "");
}

/* Aligned accesses of 4 bytes and more have a table of their own. */
bool asks_units(const struct item *item)
{
    return item->bytes >= 4 && item->align >= item->bytes;
}

/* ---- prefetches ---- */

/* The block's entry of 2^shift bytes in the table that begins `offset` bytes into the filter. */
static LLVMValueRef table_entry(struct pass *p, LLVMValueRef filter, LLVMValueRef a, size_t offset,
                                size_t mask, unsigned shift)
{
    LLVMValueRef at = LLVMBuildLShr(p->b, a, const64(p, FILTER_BLOCK_SHIFT - shift), "");
    LLVMValueRef now = LLVMBuildLoad2(p->b, p->i32, tls_field(p, (unsigned)mask), "");
    at = LLVMBuildAnd(p->b, LLVMBuildTrunc(p->b, at, p->i32, ""), now, "");
    at = LLVMBuildZExt(p->b, at, p->i64, "");
    LLVMValueRef entry = LLVMBuildInBoundsGEP2(p->b, p->i8, filter, &at, 1, "");
    LLVMValueRef table = const64(p, offset);
    return offset ? LLVMBuildInBoundsGEP2(p->b, p->i8, entry, &table, 1, "") : entry;
}

static LLVMValueRef filter_line(struct pass *p, LLVMValueRef filter, LLVMValueRef a)
{
    return table_entry(p, filter, a, offsetof(struct heddle_filter, lines),
                       offsetof(struct heddle_tls, line_mask), FILTER_LINES_SHIFT);
}

static LLVMValueRef filter_units(struct pass *p, LLVMValueRef filter, LLVMValueRef a)
{
    return table_entry(p, filter, a, offsetof(struct heddle_filter, units),
                       offsetof(struct heddle_tls, unit_mask), FILTER_UNITS_SHIFT);
}

/* Code that fetches memory ahead would wait for the filter's instead: fetch that, too. */
void emit_prefetches(struct pass *p, LLVMValueRef f)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
            const char *name = LLVMIsACallInst(i) ? intrinsic_name(i) : NULL;
            if (!name || !starts_with(name, "llvm.prefetch.p0"))
                continue;
            at_instruction(p, i);
            LLVMValueRef a = LLVMBuildPtrToInt(p->b, LLVMGetOperand(i, 0), p->i64, "");
            LLVMValueRef filter =
                LLVMBuildLoad2(p->b, p->ptr, tls_field(p, offsetof(struct heddle_tls, filter)), "");
            LLVMValueRef callee = LLVMGetCalledValue(i);
            LLVMValueRef args[] = { filter_line(p, filter, a), const32(p, 0), LLVMGetOperand(i, 2),
                                    LLVMGetOperand(i, 3) };
            LLVMBuildCall2(p->b, LLVMGlobalGetValueType(callee), callee, args, 4, "");
            args[0] = filter_units(p, filter, a);
            LLVMBuildCall2(p->b, LLVMGlobalGetValueType(callee), callee, args, 4, "");
        }
}

/* ---- the call ---- */

/* Calls of a module go through a function of its own, which adds the number of its first site: at
 * the call there is only a small constant, and mostly nothing for the linker to do. It also keeps
 * the caller's registers if the runtime's does not. (No tail call: LLVM restores what preserve_most
 * keeps, and that is the arguments, before it jumps.) */
static void define_local(struct pass *p, LLVMValueRef local, const char *name, bool preserving,
                         unsigned site)
{
    LLVMBuilderRef own = p->b;
    LLVMValueRef args[8], result;
    unsigned n = LLVMCountParams(local);
    LLVMTypeRef type = LLVMGetReturnType(LLVMGlobalGetValueType(local));
    LLVMSetLinkage(local, LLVMInternalLinkage);
    LLVMSetFunctionCallConv(local, CC_PRESERVE_MOST);
    LLVMAddAttributeAtIndex(local, LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(p->context, attribute_kind("noinline"), 0));
    p->b = LLVMCreateBuilderInContext(p->context);
    LLVMPositionBuilderAtEnd(p->b, LLVMAppendBasicBlockInContext(p->context, local, ""));
    LLVMGetParams(local, args);
    args[site] = LLVMBuildAdd(p->b, site_value(p, 0), args[site], "");
    if (preserving)
        result = call_preserving(p, name, EFFECT_ALL, n, args);
    else
        result = call_runtime(p, name, EFFECT_ALL, type, n, args);
    LLVMSetTailCallKind(result, LLVMTailCallKindNoTail);
    if (type == p->none)
        LLVMBuildRetVoid(p->b);
    else
        LLVMBuildRet(p->b, result);
    LLVMDisposeBuilder(p->b);
    p->b = own;
}

LLVMValueRef call_local(struct pass *p, const char *name, enum runtime_effect effect,
                        LLVMTypeRef result, unsigned n, LLVMValueRef *args, unsigned site)
{
    char local[56];
    snprintf(local, sizeof local, "%s_at", name);
    LLVMValueRef call = call_runtime(p, local, effect, result, n, args);
    LLVMSetInstructionCallConv(call, CC_PRESERVE_MOST);
    LLVMValueRef f = LLVMGetNamedFunction(p->module, local);
    if (LLVMIsDeclaration(f))
        define_local(p, f, name, false, site);
    return call;
}

/* An update that writes something else than what it read does not go by that: it covers the same as
 * any other. */
static bool covers_nothing(const struct item *item)
{
    return item->update ? item->writes_loose : item->loose;
}

static void call_access(struct pass *p, const struct item *item, LLVMValueRef pointer,
                        uint64_t bytes, bool ask)
{
    char name[48], local[56];
    const char *verb = item->update ? "update" : item->write ? "write" : "read";
    snprintf(name, sizeof name, "__heddle_%s%u%s", verb, (unsigned)bytes,
             covers_nothing(item)   ? "_loose"
             : item->align >= bytes ? ""
                                    : "_unaligned");
    snprintf(local, sizeof local, "%s_%s", name, ask ? "ask" : "at");
    LLVMValueRef args[] = { pointer, const32(p, item->site) };
    call_preserving(p, local, EFFECT_RECORD, 2, args);
    LLVMValueRef f = LLVMGetNamedFunction(p->module, local);
    if (!LLVMIsDeclaration(f))
        return;
    if (ask)
        define_access_stub(p, f, item, name);
    else
        define_local(p, f, name, true, 1);
}

/* ---- rows ---- */

static LLVMValueRef call_row(struct pass *p, const struct item *item, bool write, LLVMValueRef low,
                             LLVMValueRef length)
{
    char name[48], local[56];
    snprintf(name, sizeof name, "__heddle_%s_%s", write ? "write" : "read",
             asks_units(item) ? "units" : "bytes");
    snprintf(local, sizeof local, "%s_at", name);
    LLVMValueRef args[] = { low, length, const32(p, 0) };
    LLVMValueRef call = call_preserving(p, local, EFFECT_RECORD, 3, args);
    LLVMValueRef f = LLVMGetNamedFunction(p->module, local);
    if (LLVMIsDeclaration(f))
        define_local(p, f, name, true, 2);
    return call;
}

void emit_row(struct pass *p, struct item *item, LLVMValueRef low, LLVMValueRef length)
{
    at_instruction(p, item->place);
    if (!item->write || item->update)
        item->rows[0] = call_row(p, item, false, low, length);
    if (item->write || item->update)
        item->rows[1] = call_row(p, item, true, low, length);
}

static void finish_rows(struct pass *p, const struct item *item)
{
    for (int i = 0; i < 2; i++)
        if (item->rows[i])
            LLVMSetOperand(item->rows[i], 2, const32(p, item->site + (i == 1 && item->update)));
}

static LLVMValueRef emit_place_of(const struct item *item)
{
    return item->place ? item->place : item->inst;
}

void emit_access_call(struct pass *p, const struct item *item, LLVMValueRef before)
{
    at_instruction(p, before);
    call_access(p, item, ITEM_ADDRESS(item), item->bytes, !p->full);
}

static void emit_filtered(struct pass *p, const struct item *item)
{
    struct detour d = detour_begin(p, emit_place_of(item));
    LLVMValueRef pointer = ITEM_ADDRESS(item);
    LLVMValueRef wanted = ask_filter(p, item, pointer);
    if (!item->update && stores_vtable(item->inst))
        wanted = LLVMBuildAnd(p->b, wanted, store_changes(p, item->inst), "");
    detour_if(p, &d, wanted);
    call_access(p, item, pointer, item->bytes, false);
    detour_end(p, &d);
}

static void call_range(struct pass *p, const struct item *item, LLVMValueRef length,
                       LLVMValueRef before)
{
    at_instruction(p, before);
    const char *name = item->write ? "__heddle_write_range" : "__heddle_read_range";
    LLVMValueRef args[] = { ITEM_ADDRESS(item), length, const32(p, item->site) };
    call_local(p, name, EFFECT_RECORD, p->none, 3, args, 2);
}

void emit_range(struct pass *p, const struct item *item)
{
    LLVMValueRef length = const64(p, item->bytes);
    if (item->kind == ITEM_RANGE && item->bytes == 0) {
        at_instruction(p, item->inst);
        length =
            LLVMBuildIntCast2(p->b, LLVMGetOperand(item->inst, item->length), p->i64, false, "");
    }
    call_range(p, item, length, item->inst);
}

/* What is no word in pieces that are. */
static void emit_loose_call(struct pass *p, const struct item *item)
{
    uint64_t piece = 16;
    at_instruction(p, item->inst);
    for (uint64_t at = 0; at < item->bytes; at += piece) {
        while (piece > item->bytes - at)
            piece /= 2;
        LLVMValueRef offset = const64(p, at), address = ITEM_ADDRESS(item);
        if (at)
            address = LLVMBuildGEP2(p->b, p->i8, address, &offset, 1, "");
        call_access(p, item, address, piece, false);
    }
}

static void emit_access(struct pass *p, const struct item *item)
{
    bool small = item->bytes == 1 || item->bytes == 2 || item->bytes == 4 || item->bytes == 8;
    if (item->rows[0] || item->rows[1])
        finish_rows(p, item);
    else if (covers_nothing(item))
        emit_loose_call(p, item);
    else if ((small || item->bytes == 16) && (item->hot || stores_vtable(item->inst)))
        emit_filtered(p, item);
    else if (small || item->bytes == 16)
        emit_access_call(p, item, emit_place_of(item));
    else
        emit_range(p, item);
}

/* ---- items ---- */

void number_site(struct pass *p, struct item *item)
{
    bool access = item->kind == ITEM_ACCESS || item->kind == ITEM_RANGE || item->kind == ITEM_HAND;
    if (!access) {
        item->site = table_site(p, SITE_ATOMIC, item->inst, item->index, item->bytes, "");
        return;
    }
    const char *variable = variable_name(p, item->inst, ITEM_ADDRESS(item), item->bytes);
    item->site = table_site(p, item->write ? SITE_WRITE : SITE_READ, item->inst, item->index,
                            item->bytes, variable);
    if (item->loose)
        table_set_loose(p->table, item->site);
    if (!item->update)
        return;
    uint32_t write =
        table_site(p, SITE_WRITE, item->partner, item->write_index, item->bytes, variable);
    if (item->writes_loose)
        table_set_loose(p->table, write);
}

void emit_item(struct pass *p, struct item *item)
{
    switch (item->kind) {
    case ITEM_ACCESS:
        number_site(p, item);
        emit_access(p, item);
        break;
    case ITEM_RANGE:
        number_site(p, item);
        if (item->loose)
            emit_loose_call(p, item);
        else
            emit_range(p, item);
        break;
    case ITEM_ATOMIC:
        emit_atomic(p, item);
        break;
    case ITEM_LIBATOMIC:
        emit_libatomic(p, item);
        break;
    case ITEM_ASM:
        emit_asm(p, item);
        break;
    case ITEM_HAND:
        number_site(p, item);
        emit_hand(p, item);
        break;
    case ITEM_LIBC:
        emit_libc(p, item);
        break;
    case ITEM_RESTORE:
        if (p->has_frame)
            emit_restore(p, item->inst);
        break;
    case ITEM_EXIT:
        if (p->has_frame)
            emit_exit(p, item->inst);
        break;
    case ITEM_RESULT:
        emit_result(p, item);
        break;
    case ITEM_CALL:
        emit_call(p, item);
        break;
    case ITEM_LINK:
        emit_link(p, item);
        break;
    case ITEM_BRANCH:
    case ITEM_BREAK:
        break;
    }
}

static int hotter(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

static uint64_t heat_of(const struct map *heat, const struct item *item)
{
    bool access = (item->kind == ITEM_ACCESS || item->kind == ITEM_LINK) && !item->dropped;
    bool row = item->rows[0] || item->rows[1];
    return access && !row ? map_get(heat, LLVMGetInstructionParent(emit_place_of(item))) : 0;
}

/* The hottest accesses in loops. */
void find_hot(struct pass *p, struct items *items)
{
    struct map heat = { 0 };
    uint64_t *all = zeroed((items->count + 1) * sizeof *all), least = 1;
    size_t n = 0;
    if (items->count)
        find_heat(p->function, &heat);
    for (size_t i = 0; i < items->count; i++)
        if ((all[n] = heat_of(&heat, &items->at[i])))
            n++;
    qsort(all, n, sizeof *all, hotter);
    if (n > INLINE_MAX)
        least = all[INLINE_MAX] + 1;
    for (size_t i = 0; i < items->count; i++)
        items->at[i].hot = heat_of(&heat, &items->at[i]) >= least;
    free(all);
    map_release(&heat);
}

void emit_items(struct pass *p, struct items *items)
{
    for (size_t i = 0; i < items->count; i++)
        if (!items->at[i].dropped)
            emit_item(p, &items->at[i]);
}
