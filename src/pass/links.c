/* links.c - stores that may put a pointer into memory
 *
 * The runtime logs an object's pointers once, when untraced code can first reach it. A pointer
 * that is stored there later must be noticed: after each store of a pointer, or of an integer
 * that may be one, code looks into a table of bytes, by the address; where the byte is not 0 there
 * are logged objects, and the runtime is called. Also stores that need no record, because another
 * covers them, and in full builds. Atomics and modelled functions are seen by the runtime.
 */
#include "pass/pass.h"

#include <string.h>

#include <stdio.h>

#include "abi/abi.h"

/* Computed by arithmetic: a counter, a length. */
static bool is_computed(LLVMValueRef v)
{
    if (!LLVMIsAInstruction(v))
        return false;
    LLVMOpcode op = LLVMGetInstructionOpcode(v);
    return LLVMIsABinaryOperator(v) || op == LLVMZExt || op == LLVMSExt || op == LLVMFPToUI ||
           op == LLVMFPToSI || op == LLVMICmp;
}

bool may_be_pointer(LLVMValueRef v)
{
    LLVMTypeRef type = LLVMTypeOf(v);
    switch (LLVMGetTypeKind(type)) {
    case LLVMPointerTypeKind:
        return !LLVMIsNull(v) && !LLVMIsUndef(v) && !LLVMIsAFunction(v);
    case LLVMIntegerTypeKind:
        return LLVMGetIntTypeWidth(type) >= 64 && !LLVMIsAConstantInt(v) && !is_computed(v);
    case LLVMStructTypeKind:
    case LLVMArrayTypeKind:
        return !LLVMIsConstant(v);
    case LLVMVectorTypeKind: {
        LLVMTypeKind kind = LLVMGetTypeKind(LLVMGetElementType(type));
        return !LLVMIsNull(v) && (kind == LLVMPointerTypeKind || kind == LLVMIntegerTypeKind);
    }
    default:
        return false;
    }
}

void list_link(struct pass *p, struct items *items, LLVMValueRef store)
{
    LLVMValueRef address = LLVMGetOperand(store, 1);
    if (p->no_calls || !may_be_pointer(LLVMGetOperand(store, 0)) || !is_worth_linking(p, address))
        return;
    struct item *item = add_item(items, ITEM_LINK, store);
    item->operand = 1;
    item->bytes = LLVMStoreSizeOfType(p->layout, LLVMTypeOf(LLVMGetOperand(store, 0)));
}

/* memcpy, memmove: what they copy may be pointers if it is not shorter than one. */
void list_copy_link(struct pass *p, struct items *items, LLVMValueRef call)
{
    LLVMValueRef length = LLVMIsAConstantInt(LLVMGetOperand(call, 2));
    LLVMValueRef from = underlying_object(LLVMGetOperand(call, 1));
    bool constant = LLVMIsAGlobalVariable(from) && LLVMIsGlobalConstant(from);
    if (p->no_calls || constant || (length && LLVMConstIntGetZExtValue(length) < 8) ||
        !is_worth_linking(p, LLVMGetOperand(call, 0)))
        return;
    struct item *item = add_item(items, ITEM_LINK, call);
    item->operand = 0;
    item->bytes = length ? LLVMConstIntGetZExtValue(length) : 0;
    item->length = 2;
}

static void call_stored(struct pass *p, LLVMValueRef address, LLVMValueRef bytes)
{
    LLVMValueRef args[] = { address, bytes };
    call_preserving(p, "__heddle_stored", EFFECT_RECORD, 2, args);
}

/* Asks out of line (stub.c). */
static void call_stored_ask(struct pass *p, LLVMValueRef address, unsigned bytes)
{
    char name[48];
    snprintf(name, sizeof name, "__heddle_stored%u_ask", bytes);
    call_preserving(p, name, EFFECT_RECORD, 1, &address);
    LLVMValueRef f = LLVMGetNamedFunction(p->module, name);
    if (LLVMIsDeclaration(f))
        define_stored_stub(p, f, bytes);
}

void emit_link(struct pass *p, const struct item *item)
{
    LLVMValueRef address = ITEM_ADDRESS(item), next = LLVMGetNextInstruction(item->inst);
    LLVMMetadataRef where = LLVMInstructionGetDebugLoc(item->inst);
    if (item->bytes == 0 || item->bytes > 16) { /* it may reach over several blocks */
        at_instruction(p, next);
        LLVMSetCurrentDebugLocation2(p->b, where);
        LLVMValueRef bytes = item->bytes
                                 ? const64(p, item->bytes)
                                 : LLVMBuildIntCast2(p->b, LLVMGetOperand(item->inst, item->length),
                                                     p->i64, false, "");
        call_stored(p, address, bytes);
        return;
    }
    if (!item->hot) {
        at_instruction(p, next);
        LLVMSetCurrentDebugLocation2(p->b, where);
        call_stored_ask(p, address, (unsigned)item->bytes);
        return;
    }
    struct detour d = detour_begin(p, next);
    LLVMSetCurrentDebugLocation2(p->b, where);
    detour_if(p, &d, ask_logged(p, address));
    call_stored(p, address, const64(p, item->bytes));
    detour_end(p, &d);
}
