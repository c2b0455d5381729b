/* llvm.c - small things on top of LLVM-C that several files need */
#include "pass/pass.h"

#include <string.h>

unsigned attribute_kind(const char *name)
{
    return LLVMGetEnumAttributeKindForName(name, strlen(name));
}

bool function_has(LLVMValueRef function, const char *attribute)
{
    return LLVMGetEnumAttributeAtIndex(function, LLVMAttributeFunctionIndex,
                                       attribute_kind(attribute));
}

bool is_call(LLVMValueRef inst)
{
    LLVMOpcode op = LLVMGetInstructionOpcode(inst);
    return op == LLVMCall || op == LLVMInvoke || op == LLVMCallBr;
}

LLVMValueRef called_function(LLVMValueRef call)
{
    return LLVMIsAFunction(LLVMGetCalledValue(call));
}

LLVMValueRef direct_callee(LLVMValueRef call)
{
    LLVMValueRef v = LLVMGetCalledValue(call);
    while (v && LLVMIsAGlobalAlias(v))
        v = LLVMAliasGetAliasee(v);
    return v ? LLVMIsAFunction(v) : NULL;
}

bool is_only_declared(LLVMValueRef function)
{
    return LLVMIsDeclaration(function) ||
           LLVMGetLinkage(function) == LLVMAvailableExternallyLinkage;
}

bool call_has(LLVMValueRef call, const char *attribute)
{
    unsigned kind = attribute_kind(attribute);
    if (LLVMGetCallSiteEnumAttribute(call, LLVMAttributeFunctionIndex, kind))
        return true;
    LLVMValueRef callee = called_function(call);
    return callee && LLVMGetEnumAttributeAtIndex(callee, LLVMAttributeFunctionIndex, kind);
}

const char *intrinsic_name(LLVMValueRef call)
{
    LLVMValueRef callee = called_function(call);
    if (!callee)
        return NULL;
    size_t n;
    const char *name = LLVMGetValueName2(callee, &n);
    return starts_with(name, "llvm.") ? name : NULL;
}

bool is_debug(LLVMValueRef inst)
{
    if (LLVMGetInstructionOpcode(inst) != LLVMCall)
        return false;
    const char *name = intrinsic_name(inst);
    return name && starts_with(name, "llvm.dbg.");
}

bool starts_with(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

LLVMValueRef const32(struct pass *p, uint64_t n)
{
    return LLVMConstInt(p->i32, n, false);
}

LLVMValueRef const64(struct pass *p, uint64_t n)
{
    return LLVMConstInt(p->i64, n, false);
}

LLVMValueRef global_named(struct pass *p, LLVMTypeRef type, const char *name)
{
    LLVMValueRef g = LLVMGetNamedGlobal(p->module, name);
    return g ? g : LLVMAddGlobal(p->module, type, name);
}

struct callee runtime_function(struct pass *p, const char *name, LLVMTypeRef result, unsigned n,
                               LLVMTypeRef *params)
{
    struct callee c = { LLVMFunctionType(result, params, n, false),
                        LLVMGetNamedFunction(p->module, name) };
    if (c.function)
        return c;
    c.function = LLVMAddFunction(p->module, name, c.type);
    LLVMAddAttributeAtIndex(c.function, LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(p->context, attribute_kind("nounwind"), 0));
    /* From a shared library the first call would go through the dynamic linker, which does not
     * keep all the registers that preserve_most promises (r10). */
    LLVMAddAttributeAtIndex(c.function, LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(p->context, attribute_kind("nonlazybind"), 0));
    return c;
}

/* "memory(read, inaccessiblemem: readwrite)": the runtime looks at the shadow stack and writes
 * only what is its own, so the compiler may keep values over the call, but stores before it stay.
 * Two bits per kind of memory: arguments, inaccessible, other; 1 reads, 2 writes. */
static void only_records(struct pass *p, LLVMValueRef call)
{
    uint64_t effects = 1 | 3 << 2 | 1 << 4;
    LLVMAddCallSiteAttribute(
        call, LLVMAttributeFunctionIndex,
        LLVMCreateEnumAttribute(p->context, attribute_kind("memory"), effects));
}

/* A C function expects its narrow arguments widened by the caller. */
static void widen_arguments(struct pass *p, LLVMValueRef call, unsigned n, LLVMTypeRef *params)
{
    LLVMAttributeRef zeroext = LLVMCreateEnumAttribute(p->context, attribute_kind("zeroext"), 0);
    for (unsigned i = 0; i < n; i++)
        if (LLVMGetTypeKind(params[i]) == LLVMIntegerTypeKind &&
            LLVMGetIntTypeWidth(params[i]) < 32)
            LLVMAddCallSiteAttribute(call, i + 1, zeroext);
}

LLVMValueRef call_runtime(struct pass *p, const char *name, enum runtime_effect effect,
                          LLVMTypeRef result, unsigned n, LLVMValueRef *args)
{
    LLVMTypeRef params[8];
    for (unsigned i = 0; i < n; i++)
        params[i] = LLVMTypeOf(args[i]);
    struct callee c = runtime_function(p, name, result, n, params);
    LLVMValueRef call = LLVMBuildCall2(p->b, c.type, c.function, args, n, "");
    widen_arguments(p, call, n, params);
    if (effect == EFFECT_RECORD)
        only_records(p, call);
    return call;
}

LLVMValueRef call_preserving(struct pass *p, const char *name, enum runtime_effect effect,
                             unsigned n, LLVMValueRef *args)
{
    LLVMValueRef call = call_runtime(p, name, effect, p->none, n, args);
    LLVMSetInstructionCallConv(call, CC_PRESERVE_MOST);
    LLVMSetFunctionCallConv(LLVMGetNamedFunction(p->module, name), CC_PRESERVE_MOST);
    return call;
}

static void move_to(struct pass *p, LLVMBasicBlockRef block, LLVMValueRef inst)
{
    size_t n;
    const char *name = LLVMGetValueName2(inst, &n);
    char kept[64] = "";
    if (n < sizeof kept)
        memcpy(kept, name, n);
    LLVMInstructionRemoveFromParent(inst);
    LLVMPositionBuilderAtEnd(p->mover, block);
    LLVMInsertIntoBuilderWithName(p->mover, inst, kept);
}

/* LLVM-C cannot split blocks. The old block stays the tail, so that its successors' PHIs stay
 * right; the new head takes over its predecessors. Replacing the uses of a block also changes
 * the PHIs of its successors, unless it has no terminator: so that is away meanwhile. Done for
 * the points of a block from the first to the last, every instruction moves once. */
LLVMBasicBlockRef split_before(struct pass *p, LLVMValueRef inst)
{
    LLVMBasicBlockRef tail = LLVMGetInstructionParent(inst);
    LLVMBasicBlockRef head = LLVMInsertBasicBlockInContext(p->context, tail, "");
    LLVMValueRef end = LLVMGetBasicBlockTerminator(tail);
    LLVMInstructionRemoveFromParent(end);
    LLVMReplaceAllUsesWith(LLVMBasicBlockAsValue(tail), LLVMBasicBlockAsValue(head));
    LLVMPositionBuilderAtEnd(p->mover, tail);
    LLVMInsertIntoBuilder(p->mover, end);
    for (LLVMValueRef i = LLVMGetFirstInstruction(tail), next; i != inst; i = next) {
        next = LLVMGetNextInstruction(i);
        move_to(p, head, i);
    }
    return head;
}

struct detour detour_begin(struct pass *p, LLVMValueRef inst)
{
    struct detour d = { .head = split_before(p, inst), .tail = LLVMGetInstructionParent(inst) };
    d.cold = LLVMAppendBasicBlockInContext(p->context, p->function, "");
    LLVMSetCurrentDebugLocation2(p->b, LLVMInstructionGetDebugLoc(inst));
    LLVMPositionBuilderAtEnd(p->b, d.head);
    return d;
}

void detour_if(struct pass *p, const struct detour *d, LLVMValueRef condition)
{
    LLVMValueRef branch = LLVMBuildCondBr(p->b, condition, d->cold, d->tail);
    LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(p->context, "prof", 4), p->unlikely);
    LLVMPositionBuilderAtEnd(p->b, d->cold);
    LLVMSetCurrentDebugLocation2(p->b, NULL);
}

void detour_end(struct pass *p, const struct detour *d)
{
    LLVMBuildBr(p->b, d->tail);
}

LLVMValueRef first_insertion(LLVMBasicBlockRef block)
{
    LLVMValueRef i = LLVMGetFirstInstruction(block);
    while (LLVMIsAPHINode(i) || LLVMIsALandingPadInst(i) || is_debug(i))
        i = LLVMGetNextInstruction(i);
    return i;
}

void at_instruction(struct pass *p, LLVMValueRef inst)
{
    LLVMPositionBuilderBefore(p->b, inst); /* takes its debug location, too */
}
