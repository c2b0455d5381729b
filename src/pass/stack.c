/* stack.c - the shadow stack of abi/abi.h
 *
 * The depth at entry is kept in the function (not read again at the exit), so that frames that
 * were left by longjmp or an exception cannot shift what is below.
 */
#include "pass/pass.h"

#include "abi/rt_ring.h"
#include "abi/abi.h"

static LLVMValueRef depth_field(struct pass *p)
{
    return tls_field(p, offsetof(struct heddle_tls, depth));
}

static LLVMValueRef return_address(struct pass *p)
{
    unsigned id = LLVMLookupIntrinsicID("llvm.returnaddress", 18);
    LLVMValueRef f = LLVMGetIntrinsicDeclaration(p->module, id, NULL, 0);
    LLVMValueRef level = const32(p, 0);
    return LLVMBuildCall2(p->b, LLVMGlobalGetValueType(f), f, &level, 1, "");
}

static LLVMValueRef edge_field(struct pass *p)
{
    return tls_field(p, offsetof(struct heddle_tls, edge));
}

/* Where the thread comes from, and goes back to, untraced code, that may matter
 * (runtime/untraced/callback.h): if (depth == tls.edge) __heddle_edge(entered). Only functions that
 * untraced code can know. */
static void tell_edge(struct pass *p, LLVMValueRef before, bool entered)
{
    if (p->no_calls || !is_known_outside(p->function))
        return;
    struct detour d = detour_begin(p, before);
    LLVMValueRef edge = entered ? p->edge : LLVMBuildLoad2(p->b, p->i32, edge_field(p), "");
    detour_if(p, &d, LLVMBuildICmp(p->b, LLVMIntEQ, p->depth, edge, ""));
    LLVMValueRef arg = LLVMConstInt(p->i1, entered, false);
    call_preserving(p, "__heddle_edge", EFFECT_ALL, 1, &arg);
    detour_end(p, &d);
}

LLVMValueRef emit_entry(struct pass *p, uint32_t site, LLVMValueRef first, LLVMValueRef *site_word)
{
    at_instruction(p, first);
    LLVMSetCurrentDebugLocation2(p->b, NULL);
    LLVMValueRef d = p->depth = LLVMBuildLoad2(p->b, p->i32, depth_field(p), "");
    p->edge = LLVMBuildLoad2(p->b, p->i32, edge_field(p), "");
    tell_edge(p, first, true);
    at_instruction(p, first);
    LLVMSetCurrentDebugLocation2(p->b, NULL);
    LLVMValueRef shadow =
        LLVMBuildLoad2(p->b, p->ptr, tls_field(p, offsetof(struct heddle_tls, shadow)), "");
    LLVMValueRef at = LLVMBuildAnd(p->b, d, const32(p, SHADOW_MASK), "");
    at = LLVMBuildZExt(p->b, at, p->i64, "");
    at = LLVMBuildShl(p->b, at, const64(p, 4), "");
    LLVMValueRef frame = LLVMBuildInBoundsGEP2(p->b, p->i8, shadow, &at, 1, "");
    LLVMValueRef back = return_address(p);
    LLVMBuildStore(p->b, back, frame);
    LLVMValueRef eight = const64(p, offsetof(struct heddle_frame, site));
    LLVMValueRef field = LLVMBuildInBoundsGEP2(p->b, p->i8, frame, &eight, 1, "");
    *site_word = LLVMBuildZExt(p->b, site_value(p, site), p->i64, "");
    LLVMBuildStore(p->b, *site_word, field);
    LLVMBuildStore(p->b, LLVMBuildAdd(p->b, d, const32(p, 1), ""), depth_field(p));
    return back;
}

/* tls.depth = d; if (d < tls.low) tls.low = d */
static void set_depth(struct pass *p, LLVMValueRef d)
{
    unsigned id = LLVMLookupIntrinsicID("llvm.umin", 9);
    LLVMValueRef f = LLVMGetIntrinsicDeclaration(p->module, id, &p->i32, 1);
    LLVMValueRef low = tls_field(p, offsetof(struct heddle_tls, low));
    LLVMValueRef args[] = { LLVMBuildLoad2(p->b, p->i32, low, ""), d };
    LLVMBuildStore(p->b, d, depth_field(p));
    LLVMBuildStore(p->b, LLVMBuildCall2(p->b, LLVMGlobalGetValueType(f), f, args, 2, ""), low);
}

void emit_exit(struct pass *p, LLVMValueRef before)
{
    at_instruction(p, before);
    set_depth(p, p->depth);
    tell_edge(p, before, false);
}

LLVMValueRef emit_restore(struct pass *p, LLVMValueRef before)
{
    at_instruction(p, before);
    LLVMValueRef mine = LLVMBuildAdd(p->b, p->depth, const32(p, 1), "");
    LLVMValueRef left = NULL;
    if (p->full) { /* frames that were left */
        LLVMValueRef now = LLVMBuildLoad2(p->b, p->i32, depth_field(p), "");
        left = LLVMBuildSub(p->b, now, mine, "");
    }
    set_depth(p, mine);
    if (!p->no_calls) /* calls that were left */
        LLVMBuildStore(p->b, p->edge, edge_field(p));
    return left;
}
