/* vtable.c - stores of the virtual table's address that change nothing are no writes
 *
 * A destructor writes the pointer to the virtual table, and if the object is of that very class, it
 * is there already. That counts as no write (as in ThreadSanitizer): else whoever joins, in a
 * destructor, a thread that calls virtual functions had a race. Default builds ask what is there
 * only where they would record (emit.c). In full builds the trace must say what the bitcode does,
 * so the program itself stores only what changes.
 */
#include "pass/pass.h"

bool stores_vtable(LLVMValueRef inst)
{
    if (!LLVMIsAStoreInst(inst))
        return false;
    LLVMValueRef value = LLVMGetOperand(inst, 0);
    if (LLVMIsAConstantExpr(value) && LLVMGetConstOpcode(value) == LLVMGetElementPtr)
        value = LLVMGetOperand(value, 0);
    size_t n;
    return LLVMIsAGlobalVariable(value) && starts_with(LLVMGetValueName2(value, &n), "_ZTV");
}

/* The load is volatile, since in a constructor it finds anything. */
LLVMValueRef store_changes(struct pass *p, LLVMValueRef store)
{
    LLVMValueRef value = LLVMGetOperand(store, 0);
    LLVMValueRef was = LLVMBuildLoad2(p->b, LLVMTypeOf(value), LLVMGetOperand(store, 1), "");
    LLVMSetVolatile(was, true);
    return LLVMBuildICmp(p->b, LLVMIntNE, was, value, "");
}

static void store_if_it_changes(struct pass *p, LLVMValueRef store)
{
    struct detour d = detour_begin(p, LLVMGetNextInstruction(store));
    LLVMMetadataRef where = LLVMInstructionGetDebugLoc(store);
    LLVMInstructionRemoveFromParent(store);
    LLVMSetCurrentDebugLocation2(p->b, where);
    detour_if(p, &d, store_changes(p, store));
    LLVMInsertIntoBuilder(p->b, store);
    detour_end(p, &d);
}

static void guard_function(struct pass *p, LLVMValueRef f)
{
    LLVMBasicBlockRef last = LLVMGetLastBasicBlock(f), b = LLVMGetFirstBasicBlock(f), behind;
    p->function = f;
    for (; b; b = behind) {
        for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i; i = next) {
            next = LLVMGetNextInstruction(i);
            if (stores_vtable(i))
                store_if_it_changes(p, i);
        }
        behind = b == last ? NULL : LLVMGetNextBasicBlock(b); /* then come those put aside */
    }
}

void guard_vtables(struct pass *p)
{
    LLVMBool records = LLVMIsNewDbgInfoFormat(p->module);
    LLVMSetIsNewDbgInfoFormat(p->module, false);
    for (LLVMValueRef f = LLVMGetFirstFunction(p->module); f; f = LLVMGetNextFunction(f))
        guard_function(p, f);
    LLVMSetIsNewDbgInfoFormat(p->module, records);
}
