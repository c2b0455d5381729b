/* sites.c - what there is to record in a function, in program order
 *
 * Left out here: what cannot race (escape.c, constants, invariant loads, other address spaces,
 * counters of profilers), operations that order only a thread with its own signal handlers, and
 * everything in functions that are not to be touched (pass.c).
 */
#include "pass/pass.h"

#include <string.h>

struct item *add_item(struct items *items, enum item_kind kind, LLVMValueRef inst)
{
    RESERVE(*items);
    struct item *item = &items->at[items->count++];
    *item = (struct item){ .kind = kind, .inst = inst, .index = items->index };
    item->block = items->block;
    item->kills = kind != ITEM_ACCESS && kind != ITEM_RANGE && kind != ITEM_BRANCH &&
                  kind != ITEM_EXIT && kind != ITEM_RESTORE && kind != ITEM_LINK;
    return item;
}

/* Globals that a compiler writes for itself. */
static bool is_counter(LLVMValueRef global)
{
    size_t n;
    const char *name = LLVMGetValueName2(global, &n);
    return starts_with(name, "__llvm_") || starts_with(name, "__prof");
}

/* Memory that others may reach and that may change. */
static bool may_be_shared(LLVMValueRef address, bool write)
{
    if (LLVMGetPointerAddressSpace(LLVMTypeOf(address)) != 0)
        return false;
    LLVMValueRef object = underlying_object(address);
    if (LLVMIsAGlobalVariable(object) &&
        (is_counter(object) || (!write && LLVMIsGlobalConstant(object))))
        return false;
    return !LLVMIsAConstantPointerNull(object) && !LLVMIsUndef(object);
}

bool is_worth_recording(struct pass *p, LLVMValueRef address, bool write)
{
    return may_be_shared(address, write) && !is_own(p, address);
}

bool is_worth_linking(struct pass *p, LLVMValueRef address)
{
    return may_be_shared(address, true) && !is_private(p, address);
}

/* A volatile word may be a lock made by hand (asm.c), where there are such locks: looking costs a
 * call each time, and a full build then does not know the value. */
static bool may_be_hand(struct pass *p, LLVMValueRef inst, uint64_t bytes, unsigned align)
{
    bool memory = LLVMIsALoadInst(inst) || LLVMIsAStoreInst(inst);
    return memory && LLVMGetVolatile(inst) && !p->production && p->hand_locks && bytes <= 8 &&
           !(bytes & (bytes - 1)) && align >= bytes;
}

static void sites_add_access(struct pass *p, struct items *items, LLVMValueRef inst,
                             unsigned operand, bool write, uint64_t bytes, unsigned align)
{
    if (bytes == 0 || !is_worth_recording(p, LLVMGetOperand(inst, operand), write))
        return;
    bool hand = may_be_hand(p, inst, bytes, align);
    struct item *item = add_item(items, hand ? ITEM_HAND : ITEM_ACCESS, inst);
    item->operand = operand;
    item->write = write;
    item->bytes = bytes;
    item->align = align;
}

static void list_load(struct pass *p, struct items *items, LLVMValueRef inst)
{
    unsigned invariant = LLVMGetMDKindIDInContext(p->context, "invariant.load", 14);
    LLVMTypeRef type = LLVMTypeOf(inst);
    if (LLVMGetMetadata(inst, invariant) || LLVMGetTypeKind(type) == LLVMScalableVectorTypeKind)
        return;
    sites_add_access(p, items, inst, 0, false, LLVMStoreSizeOfType(p->layout, type),
                     LLVMGetAlignment(inst));
}

static void list_store(struct pass *p, struct items *items, LLVMValueRef inst)
{
    LLVMTypeRef type = LLVMTypeOf(LLVMGetOperand(inst, 0));
    if (LLVMGetTypeKind(type) != LLVMScalableVectorTypeKind)
        sites_add_access(p, items, inst, 1, true, LLVMStoreSizeOfType(p->layout, type),
                         LLVMGetAlignment(inst));
    if (LLVMGetTypeKind(type) != LLVMScalableVectorTypeKind)
        list_link(p, items, inst);
}

static void list_atomic(struct pass *p, struct items *items, LLVMValueRef inst, unsigned operand,
                        LLVMTypeRef type)
{
    if (LLVMIsAtomicSingleThread(inst))
        return;
    if (type && is_own(p, LLVMGetOperand(inst, operand)))
        return;
    if (type && LLVMGetPointerAddressSpace(LLVMTypeOf(LLVMGetOperand(inst, operand))) != 0)
        return;
    struct item *item = add_item(items, ITEM_ATOMIC, inst);
    item->operand = operand;
    item->bytes = type ? LLVMStoreSizeOfType(p->layout, type) : 0;
    item->align = type ? LLVMGetAlignment(inst) : 0;
}

static unsigned argument_align(LLVMValueRef call, unsigned argument)
{
    LLVMAttributeRef a = LLVMGetCallSiteEnumAttribute(call, argument + 1, attribute_kind("align"));
    return a ? (unsigned)LLVMGetEnumAttributeValue(a) : 1;
}

static bool is_word_size(uint64_t bytes)
{
    return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
}

/* One side of a memory intrinsic: a small copy is an access like any other. */
static void list_range(struct pass *p, struct items *items, LLVMValueRef call, unsigned operand,
                       bool write)
{
    LLVMValueRef length = LLVMIsAConstantInt(LLVMGetOperand(call, 2));
    uint64_t bytes = length ? LLVMConstIntGetZExtValue(length) : UINT64_MAX;
    if (is_word_size(bytes)) {
        sites_add_access(p, items, call, operand, write, bytes, argument_align(call, operand));
        return;
    }
    if (bytes == 0 || !is_worth_recording(p, LLVMGetOperand(call, operand), write))
        return;
    struct item *item = add_item(items, ITEM_RANGE, call);
    item->operand = operand;
    item->length = 2;
    item->write = write;
    item->bytes = length ? bytes : 0;
}

static void list_intrinsic(struct pass *p, struct items *items, LLVMValueRef call, const char *name)
{
    if (starts_with(name, "llvm.memcpy") || starts_with(name, "llvm.memmove")) {
        list_range(p, items, call, 1, false);
        list_range(p, items, call, 0, true);
        list_copy_link(p, items, call);
    } else if (starts_with(name, "llvm.memset")) {
        list_range(p, items, call, 0, true);
    } else if (fence_of_intrinsic(name)) {
        add_item(items, ITEM_ASM, call);
    } else if (starts_with(name, "llvm.eh.sjlj") || starts_with(name, "llvm.coro.")) {
        add_item(items, ITEM_BREAK, call);
    }
}

/* What a call does to memory: LLVM's attribute; NULL: it says nothing. */
static LLVMAttributeRef memory_of(LLVMValueRef call)
{
    unsigned memory = attribute_kind("memory");
    LLVMAttributeRef a = LLVMGetCallSiteEnumAttribute(call, LLVMAttributeFunctionIndex, memory);
    LLVMValueRef callee = called_function(call);
    return a || !callee ? a
                        : LLVMGetEnumAttributeAtIndex(callee, LLVMAttributeFunctionIndex, memory);
}

/* Such a call touches no memory. */
bool is_pure(LLVMValueRef call)
{
    LLVMAttributeRef a = memory_of(call);
    return a && LLVMGetEnumAttributeValue(a) == 0;
}

/* Two bits of "memory" per kind of memory, the upper one says that it is written. */
bool may_write(LLVMValueRef call)
{
    enum { WRITES = 2 | 2 << 2 | 2 << 4 };
    LLVMAttributeRef a = memory_of(call);
    return !a || LLVMGetEnumAttributeValue(a) & WRITES;
}

/* Such a call neither synchronises nor frees memory. */
static bool is_harmless(LLVMValueRef call)
{
    LLVMValueRef callee = called_function(call);
    return is_pure(call) || (callee && !LLVMIsDeclaration(callee) && call_has(call, "nosync") &&
                             call_has(call, "nofree"));
}

/* Who initialises or destroys a lock or the like writes to it, as who frees its memory does; who
 * uses it reads it. An unlock stands for its lock; all reads are made before the operation, so that
 * what it orders comes after them: unlocking and then destroying is right, and so is a thread that
 * leaves a barrier and destroys it. None of them has a value. */
static const struct use {
    const char *name;
    bool write;
} uses[] = {
    { "pthread_mutex_unlock", false },
    { "pthread_mutex_init", true },
    { "pthread_mutex_destroy", true },
    { "pthread_rwlock_unlock", false },
    { "pthread_rwlock_init", true },
    { "pthread_rwlock_destroy", true },
    { "pthread_spin_unlock", false },
    { "pthread_spin_init", true },
    { "pthread_spin_destroy", true },
    { "pthread_cond_wait", false },
    { "pthread_cond_timedwait", false },
    { "pthread_cond_clockwait", false },
    { "pthread_cond_signal", false },
    { "pthread_cond_broadcast", false },
    { "pthread_cond_init", true },
    { "pthread_cond_destroy", true },
    { "pthread_barrier_wait", false },
    { "pthread_barrier_init", true },
    { "pthread_barrier_destroy", true },
    { "sem_post", false },
    { "sem_init", true },
    { "sem_destroy", true },
    { "mtx_unlock", false },
    { "mtx_init", true },
    { "mtx_destroy", true },
    { "cnd_wait", false },
    { "cnd_timedwait", false },
    { "cnd_signal", false },
    { "cnd_broadcast", false },
    { "cnd_init", true },
    { "cnd_destroy", true },
    { "_ZNSt18condition_variable10notify_oneEv", false },
    { "_ZNSt18condition_variable10notify_allEv", false },
    { "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE", false },
    { "_ZNSt18condition_variableC1Ev", true },
    { "_ZNSt18condition_variableD1Ev", true },
    { "_ZNSt3__118condition_variable10notify_oneEv", false },
    { "_ZNSt3__118condition_variable10notify_allEv", false },
    { "_ZNSt3__118condition_variable4waitERNS_11unique_lockINS_5mutexEEE", false },
    { "_ZNSt3__118condition_variableD1Ev", true },
    { "_ZNSt3__15mutex6unlockEv", false },
    { "_ZNSt3__15mutexD1Ev", true },
};

static void list_use(struct pass *p, struct items *items, LLVMValueRef call)
{
    LLVMValueRef callee = called_function(call);
    const char *name = callee && LLVMIsDeclaration(callee) ? callee_name(call) : "";
    if (p->production || !LLVMGetNumArgOperands(call) ||
        LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(call, 0))) != LLVMPointerTypeKind)
        return;
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        if (strcmp(name, uses[i].name) == 0)
            sites_add_access(p, items, call, 0, uses[i].write, 4, 4);
}

static void list_call(struct pass *p, struct items *items, LLVMValueRef call)
{
    LLVMValueRef callee = called_function(call);
    const char *name = intrinsic_name(call);
    list_use(p, items, call);
    if (LLVMIsAInlineAsm(LLVMGetCalledValue(call))) {
        list_asm(p, call, items);
    } else if (name) {
        list_intrinsic(p, items, call, name);
    } else if (is_libatomic(call)) {
        add_item(items, ITEM_LIBATOMIC, call);
    } else if (is_modelled(call)) {
        add_item(items, ITEM_LIBC, call);
    } else if (is_untraced(p, call)) {
        add_item(items, ITEM_CALL, call);
    } else if (p->full && callee && LLVMIsDeclaration(callee) && !call_has(call, "returns_twice") &&
               LLVMGetInstructionOpcode(call) != LLVMCallBr &&
               LLVMGetTypeKind(LLVMTypeOf(call)) != LLVMVoidTypeKind) {
        add_item(items, ITEM_RESULT, call);
    } else if (!is_harmless(call)) {
        add_item(items, ITEM_BREAK, call);
    } else if (p->full && !LLVMIsDeclaration(callee)) {
        add_item(items, ITEM_BREAK, call); /* traced: its records come after ours */
    } else if (!p->production && may_write(call)) {
        add_item(items, ITEM_BREAK, call); /* what it writes may be loose (marks.c) */
        items->calls = true;
    } else if (!is_pure(call)) {
        items->calls = true; /* what it records has this function on its stack */
    }
    if (LLVMGetInstructionOpcode(call) == LLVMCall && call_has(call, "returns_twice"))
        add_item(items, ITEM_RESTORE, LLVMGetNextInstruction(call));
}

/* A musttail call must stay right before its return: the frame is left before both. */
static void list_return(struct items *items, LLVMValueRef inst)
{
    LLVMValueRef call = LLVMGetPreviousInstruction(inst);
    while (call && (is_debug(call) || LLVMIsABitCastInst(call)))
        call = LLVMGetPreviousInstruction(call);
    if (call && LLVMIsACallInst(call) && LLVMGetTailCallKind(call) == LLVMTailCallKindMustTail) {
        struct item *last = items->count ? &items->at[items->count - 1] : NULL;
        if (last && last->inst == call) /* neither rewritten nor bracketed */
            last->kind = ITEM_BREAK;
        inst = call;
    }
    add_item(items, ITEM_EXIT, inst);
}

static bool decides(LLVMValueRef inst)
{
    if (LLVMIsASwitchInst(inst))
        return !LLVMIsConstant(LLVMGetOperand(inst, 0));
    return LLVMIsConditional(inst) && !LLVMIsConstant(LLVMGetCondition(inst));
}

/* Of an excluded function's code only what others must know of is listed. */
static void list_excluded(struct items *items, LLVMValueRef inst)
{
    const char *name = is_call(inst) ? intrinsic_name(inst) : NULL;
    if (is_call(inst) && !name && !is_harmless(inst))
        add_item(items, ITEM_BREAK, inst);
}

static void list_instruction(struct pass *p, struct items *items, LLVMValueRef inst)
{
    if (is_excluded_inline(p, inst) && !LLVMIsATerminatorInst(inst) &&
        !LLVMIsALandingPadInst(inst)) {
        list_excluded(items, inst);
        return;
    }
    switch (LLVMGetInstructionOpcode(inst)) {
    case LLVMLoad:
        if (LLVMGetOrdering(inst) == LLVMAtomicOrderingNotAtomic)
            list_load(p, items, inst);
        else
            list_atomic(p, items, inst, 0, LLVMTypeOf(inst));
        break;
    case LLVMStore:
        if (LLVMGetOrdering(inst) == LLVMAtomicOrderingNotAtomic)
            list_store(p, items, inst);
        else
            list_atomic(p, items, inst, 1, LLVMTypeOf(LLVMGetOperand(inst, 0)));
        break;
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
        list_atomic(p, items, inst, 0, LLVMTypeOf(LLVMGetOperand(inst, 1)));
        break;
    case LLVMFence:
        list_atomic(p, items, inst, 0, NULL);
        break;
    case LLVMCall:
    case LLVMInvoke:
    case LLVMCallBr:
        list_call(p, items, inst);
        break;
    case LLVMLandingPad:
        add_item(items, ITEM_RESTORE, first_insertion(LLVMGetInstructionParent(inst)));
        break;
    case LLVMRet:
        list_return(items, inst);
        break;
    case LLVMBr:
    case LLVMSwitch:
        if (p->full && decides(inst))
            add_item(items, ITEM_BRANCH, inst);
        break;
    default:
        break;
    }
}

void list_items(struct pass *p, LLVMValueRef function, struct items *items)
{
    items->count = items->index = items->block = 0;
    items->calls = false;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b)) {
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
            if (!is_debug(i)) {
                list_instruction(p, items, i);
                items->index++;
            }
        items->block++;
    }
}
