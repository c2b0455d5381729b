/* production_build.c - production builds: no-ops that the runtime can turn into jumps
 *
 * For sites that are not patched in the machine code itself (production_mark.c): atomic operations,
 * copies of pointers and some stores of them, large copies, -O0, link-time optimisation. Accesses
 * of a straight stretch of a block share one no-op before the first of them: an `asm goto` whose
 * label is a cold block that reports each access (abi/abi.h, __heddle_hit) and jumps back. The
 * section heddle_patch has an entry for each access (runtime/production/prod.h). Nothing else is
 * added: no frames, no filter, no calls outside cold blocks.
 *
 * An access can be reported at the no-op if its address can be computed there; the computation is
 * copied into the cold block, so that the code itself keeps its addressing modes. Stores and copies
 * of pointers (production_links.c) are reported from the same block, so what they store must be
 * there too. A stretch ends at calls, atomic operations and assembly: from the report to the access
 * the thread neither synchronises nor leaves.
 *
 * Done last in the compiler's pipeline: loops are vectorised and accesses are where they stay.
 * Limits: calls of libatomic are not reported; those of libc functions are production_libc.c's.
 */
#include "pass/pass.h"

#include <stdio.h>
#include <string.h>

#include "abi/rt_sites.h"
#include "abi/abi.h"

enum {
    CC_PRESERVE_ALL = 15,
    GROUP_MAX = 32, /* accesses of one no-op */
    DEPTH_MAX = 4,  /* of an address computation that is copied */
    BYTES_MAX = 0xffff
};

struct place {
    uint32_t block, index; /* in the block */
};

struct group {
    struct item *at[GROUP_MAX];
    unsigned count;
    struct place anchor;
};

struct production {
    struct pass *p;
    struct map places; /* instruction -> block << 32 | index + 1 */
};

/* ---- what is where ---- */

static struct place production_place_of(const struct production *m, LLVMValueRef inst)
{
    uint64_t at = map_get(&m->places, inst);
    return (struct place){ (uint32_t)(at >> 32), (uint32_t)at - 1 };
}

static void number_instructions(struct production *m, LLVMValueRef f)
{
    uint64_t block = 0;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b)) {
        uint64_t index = 0;
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
            map_set(&m->places, i, block << 32 | ++index);
        block++;
    }
}

static bool is_there(const struct production *m, const struct group *g, LLVMValueRef v)
{
    if (!LLVMIsAInstruction(v))
        return true;
    struct place at = production_place_of(m, v);
    return at.block != g->anchor.block || at.index < g->anchor.index;
}

/* Cheap, and the same wherever it is computed. */
static bool is_arithmetic(LLVMValueRef v)
{
    if (!LLVMIsAInstruction(v))
        return false;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMGetElementPtr:
    case LLVMBitCast:
    case LLVMPtrToInt:
    case LLVMIntToPtr:
    case LLVMAdd:
    case LLVMSub:
    case LLVMMul:
    case LLVMShl:
    case LLVMLShr:
    case LLVMAnd:
    case LLVMOr:
    case LLVMXor:
    case LLVMZExt:
    case LLVMSExt:
    case LLVMTrunc:
        return true;
    default:
        return false;
    }
}

static bool can_compute(const struct production *m, const struct group *g, LLVMValueRef v,
                        unsigned depth)
{
    if (is_there(m, g, v))
        return true;
    if (!is_arithmetic(v) || depth == 0)
        return false;
    for (int i = 0; i < LLVMGetNumOperands(v); i++)
        if (!can_compute(m, g, LLVMGetOperand(v, (unsigned)i), depth - 1))
            return false;
    return true;
}

/* The value for the cold block, at the builder. An address is copied even if it is there: a use
 * outside its block would force it into a register. */
static LLVMValueRef compute(const struct production *m, const struct group *g, LLVMValueRef v,
                            unsigned depth)
{
    bool copies = LLVMIsAGetElementPtrInst(v) && depth > 0;
    for (int i = 0; copies && i < LLVMGetNumOperands(v); i++)
        copies = can_compute(m, g, LLVMGetOperand(v, (unsigned)i), depth - 1);
    if (!copies && is_there(m, g, v))
        return v;
    LLVMValueRef copy = LLVMInstructionClone(v);
    for (int i = 0; i < LLVMGetNumOperands(v); i++)
        LLVMSetOperand(copy, (unsigned)i,
                       compute(m, g, LLVMGetOperand(v, (unsigned)i), depth ? depth - 1 : 0));
    LLVMInsertIntoBuilder(m->p->b, copy);
    return copy;
}

/* ---- items ---- */

/* What is stored, if that is a link; else NULL. */
static LLVMValueRef stored_link(const struct item *item)
{
    return item->link && LLVMIsAStoreInst(item->inst) ? LLVMGetOperand(item->inst, 0) : NULL;
}

/* Where the bytes of a copy come from, if they may hold links; else NULL. */
static LLVMValueRef copied_link(const struct item *item)
{
    return item->link && LLVMIsACallInst(item->inst) ? LLVMGetOperand(item->inst, 1) : NULL;
}

static bool is_copy(const struct item *item)
{
    const char *name =
        item->write && LLVMIsACallInst(item->inst) ? intrinsic_name(item->inst) : NULL;
    return name && (starts_with(name, "llvm.memcpy") || starts_with(name, "llvm.memmove"));
}

/* The question looks at what stands in the same block. */
void find_links(struct pass *p, struct items *items)
{
    for (size_t i = 0; i < items->count; i++) {
        struct item *item = &items->at[i];
        if (item->kind != ITEM_ACCESS && item->kind != ITEM_RANGE)
            continue;
        item->link = (LLVMIsAStoreInst(item->inst) && is_link_store(p, item->inst)) ||
                     (is_copy(item) && is_link_copy(p, item->inst));
        if (item->link)
            map_set(&p->linked, item->inst, 1);
    }
}

static LLVMValueRef dynamic_length(const struct item *item)
{
    return item->kind == ITEM_RANGE && item->bytes == 0 ? LLVMGetOperand(item->inst, item->length)
                                                        : NULL;
}

static bool has_address(const struct item *item)
{
    return item->bytes > 0 || item->kind == ITEM_RANGE;
}

static bool is_reported(const struct item *item)
{
    return !item->dropped && (item->kind == ITEM_ACCESS || item->kind == ITEM_RANGE ||
                              item->kind == ITEM_ATOMIC || item->kind == ITEM_ASM);
}

/* A store that another covers, or that a read takes along, is one of its own if it is a link. */
static void keep_links(struct pass *p, struct items *items)
{
    for (size_t i = 0; i < items->count; i++) {
        struct item *item = &items->at[i];
        if (item->update && map_get(&p->linked, item->partner))
            item->update = false;
        if (item->link)
            item->dropped = false;
    }
}

static uint32_t atomic_flags(const struct item *item)
{
    LLVMOpcode op = LLVMGetInstructionOpcode(item->inst);
    unsigned order = ORDER_SEQ_CST;
    uint32_t flags = HIT_ATOMIC;
    if (op == LLVMAtomicCmpXchg)
        order = order_number(LLVMGetCmpXchgSuccessOrdering(item->inst));
    else if (op != LLVMCall && op != LLVMInvoke && op != LLVMCallBr)
        order = order_number(LLVMGetOrdering(item->inst));
    if (item->bytes && op != LLVMStore)
        flags |= HIT_READS;
    if (item->bytes && op != LLVMLoad)
        flags |= HIT_WRITE;
    return flags | order << HIT_ORDER_SHIFT;
}

static uint32_t flags_of(const struct item *item)
{
    uint32_t flags = item->kind == ITEM_ATOMIC || item->kind == ITEM_ASM ? atomic_flags(item) : 0;
    if (item->write)
        flags |= HIT_WRITE;
    if (item->update)
        flags |= HIT_UPDATE;
    return flags;
}

/* ---- groups ---- */

static bool fits(const struct production *m, const struct group *g, const struct item *item)
{
    LLVMValueRef value = stored_link(item), from = copied_link(item), length = dynamic_length(item);
    if (has_address(item) && !can_compute(m, g, ITEM_ADDRESS(item), DEPTH_MAX))
        return false;
    if (value && !is_there(m, g, value))
        return false;
    if (from && !can_compute(m, g, from, DEPTH_MAX))
        return false;
    return !length || is_there(m, g, length);
}

/* A call that may not come back, or synchronises. */
static bool ends_stretch(LLVMValueRef inst)
{
    if (!is_call(inst))
        return LLVMIsAFenceInst(inst) || LLVMIsAAtomicRMWInst(inst) ||
               LLVMIsAAtomicCmpXchgInst(inst);
    const char *name = intrinsic_name(inst);
    return !name || fence_of_intrinsic(name) || starts_with(name, "llvm.eh.") ||
           starts_with(name, "llvm.coro.") || starts_with(name, "llvm.trap");
}

static bool is_atomic_access(LLVMValueRef inst)
{
    return (LLVMIsALoadInst(inst) || LLVMIsAStoreInst(inst)) &&
           LLVMGetOrdering(inst) != LLVMAtomicOrderingNotAtomic;
}

/* Nothing between the first access of the group and this one ends the stretch. */
static bool is_same_stretch(const struct group *g, const struct item *item)
{
    for (LLVMValueRef i = g->at[g->count - 1]->inst; i != item->inst;) {
        if (ends_stretch(i) || is_atomic_access(i))
            return false;
        i = LLVMGetNextInstruction(i);
        if (!i)
            return false;
    }
    return true;
}

static bool joins(const struct production *m, const struct group *g, const struct item *item)
{
    if (g->count == 0 || g->count == GROUP_MAX || item->kind == ITEM_ATOMIC ||
        item->kind == ITEM_ASM)
        return false;
    if (g->anchor.block != production_place_of(m, item->inst).block)
        return false;
    return is_same_stretch(g, item) && fits(m, g, item);
}

/* ---- emitting ---- */

/* The first two bytes of the no-op stay within 8 bytes: one byte before it if need be. */
void detour_if_patched(struct pass *p, const struct detour *d, const struct patch_site *sites,
                       unsigned n)
{
    static char constraints[] = "i,!i";
    char text[128 + 64 * (GROUP_MAX + 1)];
    LLVMBasicBlockRef cold = d->cold;
    LLVMTypeRef type = LLVMFunctionType(p->none, &p->ptr, 1, false);
    int at = snprintf(text, sizeof text,
                      ".p2align 3,,1\n771:\n.byte 0x0f,0x1f,0x44,0,0\n"
                      ".pushsection heddle_patch,\"aR?\"\n");
    for (unsigned i = 0; i < n; i++)
        at += snprintf(text + at, sizeof text - (size_t)at,
                       ".long 771b-.,${1:l}-.,${0:c}-.,%u,%u\n", sites[i].site, sites[i].what);
    snprintf(text + at, sizeof text - (size_t)at, ".popsection");
    LLVMValueRef nop = LLVMGetInlineAsm(type, text, strlen(text), constraints, strlen(constraints),
                                        true, false, LLVMInlineAsmDialectATT, false);
    LLVMBuildCallBr(p->b, type, nop, d->tail, &cold, 1, &p->record, 1, NULL, 0, "");
    LLVMPositionBuilderAtEnd(p->b, d->cold);
}

static void call_hit(struct pass *p, const struct item *item, LLVMValueRef address,
                     LLVMValueRef length)
{
    uint64_t what = item->site | (uint64_t)flags_of(item) << HIT_FLAGS_SHIFT;
    const char *name = p->vectors ? length ? "__heddle_hit_range_all" : "__heddle_hit_all"
                       : length   ? "__heddle_hit_range"
                                  : "__heddle_hit";
    unsigned convention = p->vectors ? CC_PRESERVE_ALL : CC_PRESERVE_MOST;
    if (!length)
        what |= item->bytes << HIT_BYTES_SHIFT;
    LLVMValueRef args[] = { address, const64(p, what), p->record, length };
    LLVMValueRef call = call_runtime(p, name, EFFECT_RECORD, p->none, length ? 4 : 3, args);
    LLVMValueRef callee = LLVMGetNamedFunction(p->module, name);
    LLVMSetInstructionCallConv(call, convention);
    LLVMSetFunctionCallConv(callee, convention);
    LLVMAddAttributeAtIndex(callee, LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(p->context, attribute_kind("cold"), 0));
}

static void production_report(const struct production *m, const struct group *g,
                              const struct item *item)
{
    struct pass *p = m->p;
    LLVMValueRef value = stored_link(item), from = copied_link(item), length = dynamic_length(item);
    LLVMSetCurrentDebugLocation2(p->b, LLVMInstructionGetDebugLoc(item->inst));
    LLVMValueRef address =
        has_address(item) ? compute(m, g, ITEM_ADDRESS(item), DEPTH_MAX) : LLVMConstNull(p->ptr);
    if (length)
        length = LLVMBuildIntCast2(p->b, length, p->i64, false, "");
    else if (item->bytes > BYTES_MAX)
        length = const64(p, item->bytes);
    call_hit(p, item, address, length);
    if (value)
        tell_link_store(p, address, value);
    if (from)
        tell_link_copy(p, address, compute(m, g, from, DEPTH_MAX),
                       length ? length : const64(p, item->bytes));
}

/* And one more, if it reports links, too. */
static unsigned sites_of(struct pass *p, const struct group *g, struct patch_site *out)
{
    bool links = false;
    for (unsigned i = 0; i < g->count; i++) {
        out[i] = (struct patch_site){ g->at[i]->site, flags_of(g->at[i]) };
        links |= stored_link(g->at[i]) || copied_link(g->at[i]);
    }
    if (links)
        out[g->count] = (struct patch_site){ link_site(p), HIT_ATOMIC };
    return g->count + links;
}

static void emit_group(const struct production *m, struct group *g)
{
    struct pass *p = m->p;
    struct patch_site sites[GROUP_MAX + 1];
    if (g->count == 0)
        return;
    for (unsigned i = 0; i < g->count; i++)
        number_site(p, g->at[i]);
    struct detour d = detour_begin(p, g->at[0]->inst);
    detour_if_patched(p, &d, sites, sites_of(p, g, sites));
    for (unsigned i = 0; i < g->count; i++)
        production_report(m, g, g->at[i]);
    detour_end(p, &d);
}

/* Numbers and vectors are kept in xmm registers, which preserve_most does not keep: around a loop
 * full of them the compiler would save some. preserve_all keeps them at the price of a slower
 * report. It knows nothing of the upper halves that code for AVX uses: there, preserve_most. */
static bool uses_vectors(LLVMValueRef f)
{
    unsigned n = 0;
    LLVMAttributeRef features =
        LLVMGetStringAttributeAtIndex(f, LLVMAttributeFunctionIndex, "target-features", 15);
    const char *text = features ? LLVMGetStringAttributeValue(features, &n) : "";
    if (strstr(text, "+avx"))
        return false;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
            LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(i));
            if (kind == LLVMVectorTypeKind || kind == LLVMFloatTypeKind ||
                kind == LLVMDoubleTypeKind)
                return true;
        }
    return false;
}

void emit_production(struct pass *p, struct items *items)
{
    struct production m = { .p = p };
    struct group g = { 0 };
    if (function_has(p->function, "presplitcoroutine"))
        return;
    p->vectors = uses_vectors(p->function);
    keep_links(p, items);
    number_instructions(&m, p->function);
    for (size_t i = 0; i < items->count; i++) {
        struct item *item = &items->at[i];
        if (!is_reported(item) || mark_access(p, item))
            continue;
        if (!joins(&m, &g, item)) {
            emit_group(&m, &g);
            g.count = 0;
            g.anchor = production_place_of(&m, item->inst);
        }
        g.at[g.count++] = item;
    }
    emit_group(&m, &g);
    map_release(&m.places);
}
