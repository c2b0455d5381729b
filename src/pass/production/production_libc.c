/* production_libc.c - production builds: calls of the C library that access the program's memory
 *
 * Two kinds of calls get a no-op and a site of their own (SITE_LIBC):
 *
 *     modelled functions (abi/rt_libc.h: memcpy, strlen, read, printf ...)
 *         nop ─▶ cold: r' = __heddle_f(args, site); jmp behind
 *         r = f(args)
 *         behind: phi(r, r')
 *     functions that free (free, delete, realloc, munmap)
 *         nop ─▶ cold: __heddle_hit_free(pointer, bytes, site); jmp back
 *
 * Where the no-op is a jump the runtime's twin of the function runs in its place: it knows what the
 * function touches, also where that depends on what is in memory, tells the mode, and calls the
 * function. Unpatched there is nothing but the no-op. Emitted after all else (the links of
 * production_links.c before and behind the call hold for both ways).
 *
 * Left out: calls that must be tail calls, and calls in excluded code.
 */
#include "pass/pass.h"

#include <stdlib.h>
#include <string.h>

#include "abi/rt_libc.h"
#include "abi/rt_sites.h"
#include "abi/abi.h"

struct libc_calls {
    struct libc_call {
        LLVMValueRef call;
        uint32_t index;
        bool frees;
    } *at;
    size_t count, room;
};

/* ---- which ---- */

static const struct libc_function *declared(LLVMValueRef call)
{
    LLVMValueRef callee = called_function(call);
    return callee && LLVMIsDeclaration(callee) ? libc_find(callee_name(call)) : NULL;
}

static bool is_freeing(LLVMValueRef call)
{
    const struct libc_function *f = declared(call);
    return f && libc_letter(f, 0) == 'f' && LLVMGetNumArgOperands(call) &&
           LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(call, 0))) == LLVMPointerTypeKind;
}

static bool must_stay(LLVMValueRef call)
{
    return LLVMIsACallInst(call) && LLVMGetTailCallKind(call) == LLVMTailCallKindMustTail;
}

struct libc_calls *production_libc_list(struct pass *p, const struct items *items)
{
    struct libc_calls *l = zeroed(sizeof *l);
    for (size_t i = 0; i < items->count; i++) {
        const struct item *item = &items->at[i];
        bool call = is_call(item->inst) && !LLVMIsACallBrInst(item->inst);
        bool frees = item->kind != ITEM_LIBC && call && is_freeing(item->inst);
        if (!call || (item->kind != ITEM_LIBC && !frees) || must_stay(item->inst) ||
            is_excluded_inline(p, item->inst))
            continue;
        RESERVE(*l);
        l->at[l->count++] = (struct libc_call){ item->inst, item->index, frees };
    }
    return l;
}

/* ---- the no-op ---- */

/* Before the call; the builder is then in the cold block. That it may write is all that is known:
 * what it does the runtime is told when it does it. */
static struct detour begin_nop(struct pass *p, LLVMValueRef call, uint32_t site)
{
    struct detour d = detour_begin(p, call);
    struct patch_site entry = { site, HIT_WRITE };
    detour_if_patched(p, &d, &entry, 1);
    return d;
}

/* ---- free() ---- */

static void emit_free(struct pass *p, const struct libc_call *c, uint32_t site)
{
    struct libc_extent e;
    bool unmaps =
        libc_extent(declared(c->call), 0, &e) && (unsigned)e.bytes < LLVMGetNumArgOperands(c->call);
    struct detour d = begin_nop(p, c->call, site);
    LLVMValueRef args[] = { LLVMGetOperand(c->call, 0),
                            unmaps ? LLVMGetOperand(c->call, (unsigned)e.bytes) : const64(p, 0),
                            site_value(p, site) };
    call_runtime(p, "__heddle_hit_free", EFFECT_RECORD, p->none, 3, args);
    detour_end(p, &d);
}

/* ---- modelled functions ---- */

/* The block has another predecessor, `from`, with what it gets from `like`. */
static void add_predecessor(LLVMBasicBlockRef block, LLVMBasicBlockRef like, LLVMBasicBlockRef from,
                            LLVMValueRef old, LLVMValueRef new)
{
    for (LLVMValueRef phi = LLVMGetFirstInstruction(block); LLVMIsAPHINode(phi);
         phi = LLVMGetNextInstruction(phi))
        for (unsigned i = LLVMCountIncoming(phi); i-- > 0;)
            if (LLVMGetIncomingBlock(phi, i) == like) {
                LLVMValueRef value = LLVMGetIncomingValue(phi, i);
                value = value == old ? new : value;
                LLVMAddIncoming(phi, &value, &from, 1);
                break;
            }
}

/* All uses of `old` but those in PHIs of the block get a PHI there. */
static void merge_results(struct pass *p, LLVMBasicBlockRef block, LLVMValueRef old,
                          LLVMBasicBlockRef old_from, LLVMValueRef new, LLVMBasicBlockRef new_from)
{
    LLVMValueRef values[] = { old, new };
    LLVMBasicBlockRef blocks[] = { old_from, new_from };
    struct {
        LLVMValueRef *at;
        size_t count, room;
    } users = { 0 };
    for (LLVMUseRef u = LLVMGetFirstUse(old); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (LLVMIsAPHINode(user) && LLVMGetInstructionParent(user) == block)
            continue;
        RESERVE(users);
        users.at[users.count++] = user;
    }
    if (users.count) {
        LLVMPositionBuilderBefore(p->mover, LLVMGetFirstInstruction(block));
        LLVMSetCurrentDebugLocation2(p->mover, NULL);
        LLVMValueRef merged = LLVMBuildPhi(p->mover, LLVMTypeOf(old), "");
        for (size_t k = 0; k < users.count; k++)
            for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(users.at[k]); i++)
                if (LLVMGetOperand(users.at[k], i) == old)
                    LLVMSetOperand(users.at[k], i, merged);
        LLVMAddIncoming(merged, values, blocks, 2);
    }
    free(users.at);
}

static bool has_one_predecessor(LLVMBasicBlockRef block)
{
    LLVMUseRef u = LLVMGetFirstUse(LLVMBasicBlockAsValue(block));
    return u && !LLVMGetNextUse(u);
}

static void emit_invoke(struct pass *p, const struct libc_call *c, uint32_t site)
{
    LLVMValueRef call = c->call;
    LLVMBasicBlockRef normal = LLVMGetNormalDest(call), unwind = LLVMGetUnwindDest(call);
    bool single = has_one_predecessor(normal);
    struct detour d = begin_nop(p, call, site);
    LLVMValueRef new = build_modelled(p, call, site_value(p, site));
    add_predecessor(normal, d.tail, d.cold, call, new);
    add_predecessor(unwind, d.tail, d.cold, call, new);
    if (single)
        merge_results(p, normal, call, d.tail, new, d.cold);
}

static void emit_modelled(struct pass *p, const struct libc_call *c, uint32_t site)
{
    if (LLVMIsAInvokeInst(c->call)) {
        emit_invoke(p, c, site);
        return;
    }
    LLVMValueRef next = LLVMGetNextInstruction(c->call);
    LLVMBasicBlockRef own = split_before(p, next), behind = LLVMGetInstructionParent(next);
    LLVMSetCurrentDebugLocation2(p->b, LLVMInstructionGetDebugLoc(c->call));
    LLVMPositionBuilderAtEnd(p->b, own);
    LLVMBuildBr(p->b, behind);
    struct detour d = begin_nop(p, c->call, site);
    LLVMValueRef new = build_modelled(p, c->call, site_value(p, site));
    LLVMBuildBr(p->b, behind);
    merge_results(p, behind, c->call, own, new, d.cold);
}

void production_libc_emit(struct pass *p, struct libc_calls *l)
{
    for (size_t i = 0; i < l->count; i++) {
        const struct libc_call *c = &l->at[i];
        uint32_t site = table_site(p, SITE_LIBC, c->call, c->index, 0, callee_name(c->call));
        if (c->frees)
            emit_free(p, c, site);
        else
            emit_modelled(p, c, site);
    }
    free(l->at);
    free(l);
}
