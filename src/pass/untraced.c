/* untraced.c - calls of code that is not traced: a pair of barriers around each
 *
 * Which calls: of functions that this module only declares, of excluded ones, and through
 * pointers, unless the function is known (system.c). Whether a declared function is traced is not
 * known before the program is linked. Each traced function f has a second name, heddle_traced.f;
 * a weak reference to that name is NULL where f is not traced. A function's address is looked up
 * in a small table of those that need nothing, which the runtime fills. So a call of traced code
 * costs a test, and only one of untraced code calls the runtime:
 *
 *     recorded = heddle_traced.f ? 0 : __heddle_call(site, "f", n, words);
 *     f(...);
 *     if (recorded) __heddle_return(site, result);
 *
 * The words: two per argument that is or may be a pointer, what it points to and how many bytes
 * the object has, if this module sees the object; 0 if not.
 *
 * A call that an exception or longjmp leaves has no return; the trace's reader closes it. Not
 * bracketed: musttail calls, which must stay before their return, and asm goto.
 */
#include "pass/pass.h"

#include <string.h>

#include "abi/rt_effects.h"
#include "abi/rt_sites.h"
#include "abi/abi.h"

bool is_untraced(struct pass *p, LLVMValueRef call)
{
    LLVMValueRef callee = direct_callee(call);
    if (p->no_calls || LLVMIsACallBrInst(call))
        return false;
    if (callee && !is_only_declared(callee))
        return map_get(&p->untraced, callee) && (p->full || !cannot_synchronise(call));
    if (callee && is_interposed(callee))
        return false;
    if (p->full) /* results count there, and that memory may change, whatever it does */
        return true;
    return !(callee && is_system(callee_name(call))) && !cannot_synchronise(call);
}

/* ---- what the call can reach ---- */

static bool may_hold_pointers(LLVMTypeRef type)
{
    switch (LLVMGetTypeKind(type)) {
    case LLVMPointerTypeKind:
        return true;
    case LLVMIntegerTypeKind:
        return LLVMGetIntTypeWidth(type) >= 64;
    case LLVMArrayTypeKind:
    case LLVMVectorTypeKind:
        return may_hold_pointers(LLVMGetElementType(type));
    case LLVMStructTypeKind:
        for (unsigned i = 0; i < LLVMCountStructElementTypes(type); i++)
            if (may_hold_pointers(LLVMStructGetTypeAtIndex(type, i)))
                return true;
        return false;
    default:
        return false;
    }
}

/* The size of a type as a word: whether there can be pointers in it is the top bit. */
uint64_t extent_of(struct pass *p, LLVMTypeRef type)
{
    uint64_t bytes = LLVMTypeIsSized(type) ? LLVMABISizeOfType(p->layout, type) : 0;
    return may_hold_pointers(type) || bytes == 0 ? bytes : bytes | EXTENT_PLAIN;
}

struct word {
    LLVMValueRef pointer;
    uint64_t extent; /* 0: not known */
};

static bool has_argument_attribute(LLVMValueRef call, unsigned argument, const char *name)
{
    return LLVMGetCallSiteEnumAttribute(call, argument + 1, attribute_kind(name));
}

/* A constant without pointers in it, a function, NULL: nothing to synchronise by. */
static bool leads_nowhere(LLVMValueRef object)
{
    if (LLVMIsAFunction(object) || LLVMIsAConstantPointerNull(object) || LLVMIsUndef(object))
        return true;
    return LLVMIsAGlobalVariable(object) && LLVMIsGlobalConstant(object) &&
           !may_hold_pointers(LLVMGlobalGetValueType(object));
}

static bool pointer_word(struct pass *p, LLVMValueRef arg, struct word *w)
{
    LLVMValueRef object = underlying_object(arg);
    *w = (struct word){ .pointer = arg };
    if (LLVMGetPointerAddressSpace(LLVMTypeOf(arg)) != 0 || leads_nowhere(object))
        return false;
    if (LLVMIsAAllocaInst(object) && LLVMIsAConstantInt(LLVMGetOperand(object, 0)) &&
        LLVMConstIntGetZExtValue(LLVMGetOperand(object, 0)) == 1)
        *w = (struct word){ object, extent_of(p, LLVMGetAllocatedType(object)) | EXTENT_LOCAL };
    else if (LLVMIsAGlobalVariable(object) && !LLVMIsThreadLocal(object))
        *w = (struct word){ object, extent_of(p, LLVMGlobalGetValueType(object)) };
    return true;
}

/* An integer of a pointer's size that was not computed: a handle, a pthread_t. */
static bool may_be_handle(LLVMValueRef v)
{
    LLVMTypeRef type = LLVMTypeOf(v);
    if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(type) != 64 ||
        LLVMIsConstant(v))
        return false;
    return LLVMIsALoadInst(v) || LLVMIsAPHINode(v) || LLVMIsASelectInst(v) || LLVMIsACallInst(v) ||
           LLVMIsAInvokeInst(v) || LLVMIsAArgument(v) || LLVMIsAExtractValueInst(v) ||
           LLVMIsAPtrToIntInst(v) || LLVMIsAFreezeInst(v) || LLVMIsAAtomicRMWInst(v);
}

static bool argument_word(struct pass *p, LLVMValueRef call, unsigned i, struct word *w)
{
    LLVMValueRef arg = LLVMGetOperand(call, i);
    if (LLVMGetTypeKind(LLVMTypeOf(arg)) == LLVMPointerTypeKind)
        return !has_argument_attribute(call, i, "sret") && pointer_word(p, arg, w);
    *w = (struct word){ arg, EXTENT_NUMBER };
    return may_be_handle(arg);
}

static void store_word(struct pass *p, unsigned index, LLVMValueRef value)
{
    LLVMValueRef at = const64(p, 8 * index);
    LLVMBuildStore(p->b, value, LLVMBuildInBoundsGEP2(p->b, p->i8, p->scratch, &at, 1, ""));
}

/* Into the scratch array; returns how many pairs of words there are. */
static unsigned store_words(struct pass *p, LLVMValueRef call)
{
    unsigned n = 0;
    LLVMValueRef callee = direct_callee(call);
    if (cannot_synchronise(call) ||
        (callee && is_only_declared(callee) && is_system(callee_name(call))))
        return 0; /* full builds: it orders nothing */
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call) && n < CALL_POINTERS_MAX; i++) {
        struct word w;
        if (!argument_word(p, call, i, &w))
            continue;
        store_word(p, 2 * n, w.pointer);
        store_word(p, 2 * n + 1, const64(p, w.extent));
        n++;
    }
    return n;
}

void make_scratch(struct pass *p, const struct items *items)
{
    unsigned most = 0;
    for (size_t i = 0; i < items->count; i++)
        if (items->at[i].kind == ITEM_CALL) {
            unsigned n = LLVMGetNumArgOperands(items->at[i].inst);
            most = n > most ? n : most;
        }
    p->scratch = NULL;
    if (most == 0)
        return;
    most = most < CALL_POINTERS_MAX ? most : CALL_POINTERS_MAX;
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(p->function);
    LLVMPositionBuilderBefore(p->b, LLVMGetFirstInstruction(entry));
    LLVMSetCurrentDebugLocation2(p->b, NULL);
    p->scratch = LLVMBuildAlloca(p->b, LLVMArrayType2(p->i64, 2 * (uint64_t)most), "");
}

/* ---- is it traced? ---- */

/* True if f is not traced, as the linker knows. NULL: certainly not. */
static LLVMValueRef lacks_mark(struct pass *p, LLVMValueRef callee)
{
    char name[1024];
    if (!is_only_declared(callee) || !mark_name(callee, name, sizeof name))
        return NULL;
    LLVMValueRef mark = LLVMGetNamedGlobal(p->module, name);
    if (!mark) {
        mark = LLVMAddGlobal(p->module, p->i8, name);
        LLVMSetLinkage(mark, LLVMExternalWeakLinkage);
    }
    return LLVMBuildICmp(p->b, LLVMIntEQ, mark, LLVMConstPointerNull(p->ptr), "");
}

/* True if the address is not in the table of functions that need nothing. */
static LLVMValueRef lacks_target(struct pass *p, LLVMValueRef target)
{
    LLVMValueRef table = global_named(p, p->i64, "__heddle_targets");
    LLVMValueRef a = LLVMBuildPtrToInt(p->b, target, p->i64, "");
    LLVMValueRef at = LLVMBuildLShr(p->b, a, const64(p, TARGET_SHIFT), "");
    at = LLVMBuildAnd(p->b, at, const64(p, TARGETS - 1), "");
    LLVMValueRef slot = LLVMBuildInBoundsGEP2(p->b, p->i64, table, &at, 1, "");
    return LLVMBuildICmp(p->b, LLVMIntNE, LLVMBuildLoad2(p->b, p->i64, slot, ""), a, "");
}

/* ---- code ---- */

/* syscall() with a constant number that orders nothing but by memory. */
static bool is_harmless(LLVMValueRef call)
{
    if (strcmp(callee_name(call), "syscall") != 0 || !LLVMGetNumArgOperands(call))
        return false;
    LLVMValueRef number = LLVMIsAConstantInt(LLVMGetOperand(call, 0));
    return number && effects_is_harmless(LLVMConstIntGetSExtValue(number));
}

static LLVMValueRef callee_text(struct pass *p, LLVMValueRef call, LLVMValueRef callee)
{
    if (!callee)
        return LLVMConstPointerNull(p->ptr);
    size_t n;
    const char *name = LLVMGetValueName2(callee, &n);
    name += name[0] == 1;
    const void *key = callee;
    if (is_harmless(call)) {
        name = EFFECTS_HARMLESS;
        key = EFFECTS_HARMLESS;
    }
    uint64_t known = map_get(&p->texts, key);
    if (known)
        return (LLVMValueRef)(uintptr_t)known;
    LLVMValueRef data = LLVMConstStringInContext2(p->context, name, strlen(name), false);
    LLVMValueRef text = LLVMAddGlobal(p->module, LLVMTypeOf(data), "");
    LLVMSetLinkage(text, LLVMPrivateLinkage);
    LLVMSetInitializer(text, data);
    LLVMSetGlobalConstant(text, true);
    LLVMSetUnnamedAddress(text, LLVMGlobalUnnamedAddr);
    LLVMSetAlignment(text, 1);
    map_set(&p->texts, key, (uint64_t)(uintptr_t)text);
    return text;
}

/* Code for a fixed address asks for no address here: the linker could refuse one of a library's
 * protected function, or make it that of the program's own entry for it. */
static bool may_take_address(struct pass *p, LLVMValueRef callee)
{
    return is_only_declared(callee) && LLVMGetModuleFlag(p->module, "PIC Level", 9);
}

/* At the builder's position; whether a return is to be recorded. */
static LLVMValueRef call_begins(struct pass *p, LLVMValueRef call, uint32_t number)
{
    LLVMValueRef site = const32(p, number);
    LLVMValueRef callee = direct_callee(call);
    LLVMValueRef count = const32(p, store_words(p, call));
    LLVMValueRef words = p->scratch ? p->scratch : LLVMConstPointerNull(p->ptr);
    if (callee) {
        LLVMValueRef args[] = { site, callee_text(p, call, callee), count, words, callee };
        if (may_take_address(p, callee))
            return call_local(p, "__heddle_call_function", EFFECT_ALL, p->i32, 5, args, 0);
        return call_local(p, "__heddle_call", EFFECT_ALL, p->i32, 4, args, 0);
    }
    LLVMValueRef args[] = { site, LLVMGetCalledValue(call), count, words };
    return call_local(p, "__heddle_call_pointer", EFFECT_ALL, p->i32, 4, args, 0);
}

/* Before the call: the question and the cold block; returns whether the call was recorded. */
static LLVMValueRef emit_before(struct pass *p, LLVMValueRef call, uint32_t number)
{
    LLVMValueRef callee = direct_callee(call);
    at_instruction(p, call);
    LLVMValueRef question =
        callee ? lacks_mark(p, callee) : lacks_target(p, LLVMGetCalledValue(call));
    if (!question)
        return call_begins(p, call, number);
    struct detour d = detour_begin(p, call);
    detour_if(p, &d, question);
    LLVMValueRef recorded = call_begins(p, call, number), none = const32(p, 0);
    detour_end(p, &d);
    at_instruction(p, call);
    LLVMValueRef phi = LLVMBuildPhi(p->b, p->i32, "");
    LLVMAddIncoming(phi, &none, &d.head, 1);
    LLVMAddIncoming(phi, &recorded, &d.cold, 1);
    return phi;
}

static LLVMValueRef result_word(struct pass *p, LLVMValueRef call)
{
    LLVMTypeRef type = LLVMTypeOf(call);
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    if (kind == LLVMPointerTypeKind)
        return LLVMBuildPtrToInt(p->b, call, p->i64, "");
    if (kind == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) <= 64)
        return LLVMBuildIntCast2(p->b, call, p->i64, false, "");
    return const64(p, 0);
}

/* LLVM-C cannot change a PHI's block: a new PHI. */
static void move_phis(struct pass *p, LLVMBasicBlockRef to, LLVMBasicBlockRef from,
                      LLVMBasicBlockRef between)
{
    for (LLVMValueRef phi = LLVMGetFirstInstruction(to); phi && LLVMIsAPHINode(phi);) {
        LLVMValueRef next = LLVMGetNextInstruction(phi);
        LLVMPositionBuilderBefore(p->b, phi);
        LLVMValueRef new = LLVMBuildPhi(p->b, LLVMTypeOf(phi), "");
        for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
            LLVMValueRef v = LLVMGetIncomingValue(phi, i);
            LLVMBasicBlockRef b = LLVMGetIncomingBlock(phi, i);
            b = b == from ? between : b;
            LLVMAddIncoming(new, &v, &b, 1);
        }
        replace_instruction(phi, new);
        phi = next;
    }
}

/* The first instruction that runs after the call returns; an invoke gets a block for it. */
static LLVMValueRef after_call(struct pass *p, LLVMValueRef call)
{
    if (!LLVMIsATerminatorInst(call))
        return LLVMGetNextInstruction(call);
    LLVMBasicBlockRef to = LLVMGetNormalDest(call), from = LLVMGetInstructionParent(call);
    LLVMBasicBlockRef between = LLVMInsertBasicBlockInContext(p->context, to, "");
    LLVMPositionBuilderAtEnd(p->b, between);
    LLVMSetNormalDest(call, between);
    LLVMValueRef branch = LLVMBuildBr(p->b, to);
    move_phis(p, to, from, between);
    return branch;
}

void record_result(struct pass *p, LLVMValueRef call, LLVMValueRef site)
{
    LLVMValueRef next = after_call(p, call);
    if (LLVMIsAUnreachableInst(next))
        return;
    at_instruction(p, next);
    LLVMValueRef after[] = { site, result_word(p, call) };
    call_runtime(p, "__heddle_result", EFFECT_ALL, p->none, 2, after);
}

void emit_call(struct pass *p, const struct item *item)
{
    LLVMValueRef call = item->inst;
    uint32_t number = table_site(p, SITE_CALL, call, item->index, 0, callee_name(call));
    LLVMValueRef recorded = emit_before(p, call, number);
    LLVMMetadataRef at = LLVMInstructionGetDebugLoc(call);
    LLVMValueRef next = after_call(p, call);
    if (LLVMIsAUnreachableInst(next))
        return;
    struct detour d = detour_begin(p, next);
    LLVMSetCurrentDebugLocation2(p->b, at);
    detour_if(p, &d, LLVMBuildICmp(p->b, LLVMIntNE, recorded, const32(p, 0), ""));
    LLVMValueRef after[] = { const32(p, number), result_word(p, call) };
    call_local(p, "__heddle_return", EFFECT_ALL, p->none, 2, after, 0);
    detour_end(p, &d);
}
