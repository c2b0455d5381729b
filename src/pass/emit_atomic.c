/* emit_atomic.c - atomic operations: the runtime performs them
 *
 * Operations that the runtime does not have stay, between __heddle_atomic_begin and _end.
 */
#include "pass/pass.h"

#include <stdio.h>
#include <string.h>

#include "abi/rt_sites.h"

unsigned order_number(LLVMAtomicOrdering o)
{
    switch (o) {
    case LLVMAtomicOrderingAcquire:
        return ORDER_ACQUIRE;
    case LLVMAtomicOrderingRelease:
        return ORDER_RELEASE;
    case LLVMAtomicOrderingAcquireRelease:
        return ORDER_ACQ_REL;
    case LLVMAtomicOrderingSequentiallyConsistent:
        return ORDER_SEQ_CST;
    default:
        return ORDER_RELAXED;
    }
}

static LLVMTypeRef integer(struct pass *p, uint64_t bytes)
{
    return LLVMIntTypeInContext(p->context, (unsigned)bytes * 8);
}

LLVMValueRef to_integer(struct pass *p, LLVMValueRef v, uint64_t bytes)
{
    LLVMTypeRef type = LLVMTypeOf(v), to = integer(p, bytes);
    switch (LLVMGetTypeKind(type)) {
    case LLVMPointerTypeKind:
        return LLVMBuildPtrToInt(p->b, v, to, "");
    case LLVMIntegerTypeKind:
        return LLVMBuildIntCast2(p->b, v, to, false, "");
    default:
        return LLVMBuildBitCast(p->b, v, to, "");
    }
}

LLVMValueRef from_integer(struct pass *p, LLVMValueRef v, LLVMTypeRef type)
{
    switch (LLVMGetTypeKind(type)) {
    case LLVMPointerTypeKind:
        return LLVMBuildIntToPtr(p->b, v, type, "");
    case LLVMIntegerTypeKind:
        return LLVMBuildIntCast2(p->b, v, type, false, "");
    default:
        return LLVMBuildBitCast(p->b, v, type, "");
    }
}

void replace_instruction(LLVMValueRef old, LLVMValueRef by)
{
    if (by)
        LLVMReplaceAllUsesWith(old, by);
    LLVMInstructionEraseFromParent(old);
}

static LLVMValueRef call_sized(struct pass *p, const char *verb, uint64_t bytes, LLVMTypeRef result,
                               unsigned n, LLVMValueRef *args)
{
    char name[48];
    snprintf(name, sizeof name, "__heddle_atomic_%s_%u", verb, (unsigned)bytes);
    return call_runtime(p, name, EFFECT_ALL, result, n, args);
}

static void emit_load(struct pass *p, const struct item *item, LLVMValueRef site)
{
    LLVMValueRef args[] = { ITEM_ADDRESS(item),
                            const32(p, order_number(LLVMGetOrdering(item->inst))), site };
    LLVMValueRef v = call_sized(p, "load", item->bytes, integer(p, item->bytes), 3, args);
    replace_instruction(item->inst, from_integer(p, v, LLVMTypeOf(item->inst)));
}

static void emit_store(struct pass *p, const struct item *item, LLVMValueRef site)
{
    LLVMValueRef args[] = { ITEM_ADDRESS(item),
                            to_integer(p, LLVMGetOperand(item->inst, 0), item->bytes),
                            const32(p, order_number(LLVMGetOrdering(item->inst))), site };
    call_sized(p, "store", item->bytes, p->none, 4, args);
    replace_instruction(item->inst, NULL);
}

static const char *rmw_verb(LLVMAtomicRMWBinOp op)
{
    switch (op) {
    case LLVMAtomicRMWBinOpXchg:
        return "exchange";
    case LLVMAtomicRMWBinOpAdd:
        return "add";
    case LLVMAtomicRMWBinOpSub:
        return "sub";
    case LLVMAtomicRMWBinOpAnd:
        return "and";
    case LLVMAtomicRMWBinOpNand:
        return "nand";
    case LLVMAtomicRMWBinOpOr:
        return "or";
    case LLVMAtomicRMWBinOpXor:
        return "xor";
    case LLVMAtomicRMWBinOpMax:
        return "max";
    case LLVMAtomicRMWBinOpMin:
        return "min";
    case LLVMAtomicRMWBinOpUMax:
        return "umax";
    case LLVMAtomicRMWBinOpUMin:
        return "umin";
    default:
        return NULL;
    }
}

static void emit_bracket(struct pass *p, const struct item *item, unsigned order, LLVMValueRef site)
{
    LLVMValueRef pointer = ITEM_ADDRESS(item);
    call_runtime(p, "__heddle_atomic_begin", EFFECT_ALL, p->none, 1, &pointer);
    at_instruction(p, LLVMGetNextInstruction(item->inst));
    LLVMValueRef args[] = { pointer, const32(p, item->bytes), const32(p, order), site };
    call_runtime(p, "__heddle_atomic_end", EFFECT_ALL, p->none, 4, args);
}

static void emit_rmw(struct pass *p, const struct item *item, LLVMValueRef site)
{
    unsigned order = order_number(LLVMGetOrdering(item->inst));
    const char *verb = rmw_verb(LLVMGetAtomicRMWBinOp(item->inst));
    if (!verb) {
        emit_bracket(p, item, order, site);
        return;
    }
    LLVMTypeRef type = LLVMTypeOf(item->inst);
    LLVMValueRef args[] = { ITEM_ADDRESS(item),
                            to_integer(p, LLVMGetOperand(item->inst, 1), item->bytes),
                            const32(p, order), site };
    LLVMValueRef v = call_sized(p, verb, item->bytes, integer(p, item->bytes), 4, args);
    replace_instruction(item->inst, from_integer(p, v, type));
}

static void emit_cas(struct pass *p, const struct item *item, LLVMValueRef site)
{
    LLVMValueRef inst = item->inst, expected = LLVMGetOperand(inst, 1);
    LLVMTypeRef type = LLVMTypeOf(expected);
    LLVMValueRef want = to_integer(p, expected, item->bytes);
    LLVMValueRef args[] = { ITEM_ADDRESS(item),
                            want,
                            to_integer(p, LLVMGetOperand(inst, 2), item->bytes),
                            const32(p, order_number(LLVMGetCmpXchgSuccessOrdering(inst))),
                            const32(p, order_number(LLVMGetCmpXchgFailureOrdering(inst))),
                            site };
    LLVMValueRef old = call_sized(p, "cas", item->bytes, LLVMTypeOf(want), 6, args);
    LLVMValueRef same = LLVMBuildICmp(p->b, LLVMIntEQ, old, want, "");
    LLVMValueRef both = LLVMGetPoison(LLVMTypeOf(inst));
    both = LLVMBuildInsertValue(p->b, both, from_integer(p, old, type), 0, "");
    replace_instruction(inst, LLVMBuildInsertValue(p->b, both, same, 1, ""));
}

static void emit_fence(struct pass *p, const struct item *item, LLVMValueRef site)
{
    LLVMValueRef args[] = { const32(p, order_number(LLVMGetOrdering(item->inst))), site };
    call_runtime(p, "__heddle_fence", EFFECT_ALL, p->none, 2, args);
    replace_instruction(item->inst, NULL);
}

void emit_atomic(struct pass *p, const struct item *item)
{
    LLVMOpcode op = LLVMGetInstructionOpcode(item->inst);
    const char *variable = "";
    if (op != LLVMFence)
        variable = variable_name(p, item->inst, ITEM_ADDRESS(item), item->bytes);
    uint32_t number = table_site(p, SITE_ATOMIC, item->inst, item->index, item->bytes, variable);
    if (item->loose)
        table_set_loose(p->table, number);
    at_instruction(p, item->inst);
    LLVMValueRef site = site_value(p, number);
    if (op == LLVMFence)
        emit_fence(p, item, site);
    else if (item->bytes > 16 || item->align < item->bytes)
        emit_bracket(p, item, ORDER_SEQ_CST, site);
    else if (op == LLVMLoad)
        emit_load(p, item, site);
    else if (op == LLVMStore)
        emit_store(p, item, site);
    else if (op == LLVMAtomicRMW)
        emit_rmw(p, item, site);
    else
        emit_cas(p, item, site);
}

/* ---- std::atomic<std::shared_ptr> ----
 *
 * libstdc++'s is a pointer under a lock of one bit. load() gives the lock back by a relaxed update,
 * so that by the standard's rules its read of the pointer races with the next store. The program's
 * operations are atomic ([util.smartptr.atomic]): each unlock is made to release. */

static bool is_unlock(const char *name)
{
    return starts_with(name, "_ZNSt10_Sp_atomicI") || starts_with(name, "_ZNKSt10_Sp_atomicI")
               ? strstr(name, "E13_Atomic_count6unlockESt12memory_order") != NULL
               : false;
}

static void order_unlock(LLVMBuilderRef b, LLVMValueRef call)
{
    LLVMValueRef order = LLVMGetOperand(call, LLVMGetNumArgOperands(call) - 1);
    LLVMTypeRef type = LLVMTypeOf(order);

    LLVMPositionBuilderBefore(b, call);
    LLVMValueRef weak =
        LLVMBuildICmp(b, LLVMIntULT, order, LLVMConstInt(type, ORDER_RELEASE, false), "");
    LLVMValueRef with =
        LLVMBuildSelect(b, weak, LLVMConstInt(type, ORDER_ACQ_REL, false), order, "");
    LLVMSetOperand(call, LLVMGetNumArgOperands(call) - 1, with);
}

void order_unlocks(LLVMModuleRef module)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    size_t n;

    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        if (!is_unlock(LLVMGetValueName2(f, &n)))
            continue;
        for (LLVMUseRef use = LLVMGetFirstUse(f); use; use = LLVMGetNextUse(use)) {
            LLVMValueRef call = LLVMGetUser(use);
            if ((LLVMIsACallInst(call) || LLVMIsAInvokeInst(call)) && LLVMGetCalledValue(call) == f)
                order_unlock(b, call);
        }
    }
    LLVMDisposeBuilder(b);
}
