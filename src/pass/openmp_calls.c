/* openmp_calls.c - calls of OpenMP's functions that order threads
 *
 * What regions, barriers and tasks order the runtime hears from the library itself. Locks and the
 * like it is told here: a call before or after the function's own (runtime/openmp/openmp_locks.c).
 * Done last, so that what is recorded of code before a release stands before it.
 */
#include "pass/pass.h"

#include <string.h>

enum { RESULT = -1, NONE = -2, ARGUMENTS = 3 };

static const struct rule {
    const char *name, *runtime;
    bool after;
    int arguments[ARGUMENTS]; /* of the function, handed on; RESULT */
} rules[] = {
    { "__kmpc_critical", "__heddle_openmp_acquired", true, { 2, NONE } },
    { "__kmpc_critical_with_hint", "__heddle_openmp_acquired", true, { 2, NONE } },
    { "__kmpc_end_critical", "__heddle_openmp_releases", false, { 2, NONE } },
    { "omp_set_lock", "__heddle_openmp_acquired", true, { 0, NONE } },
    { "omp_unset_lock", "__heddle_openmp_releases", false, { 0, NONE } },
    { "omp_test_lock", "__heddle_openmp_tested", true, { 0, RESULT, NONE } },
    { "omp_set_nest_lock", "__heddle_openmp_acquired", true, { 0, NONE } },
    { "omp_unset_nest_lock", "__heddle_openmp_releases", false, { 0, NONE } },
    { "omp_test_nest_lock", "__heddle_openmp_tested", true, { 0, RESULT, NONE } },
    { "__kmpc_ordered", "__heddle_openmp_turn", true, { NONE } },
    { "__kmpc_end_ordered", "__heddle_openmp_turn_ends", false, { NONE } },
    { "__kmpc_doacross_wait", "__heddle_openmp_turn", true, { NONE } },
    { "__kmpc_doacross_post", "__heddle_openmp_turn_ends", false, { NONE } },
    { "__kmpc_end_single", "__heddle_openmp_single_ends", false, { NONE } },
    { "__kmpc_flush", "__heddle_openmp_flush", false, { NONE } },
    { "__kmpc_reduce", "__heddle_openmp_reduces", false, { NONE } },
    { "__kmpc_reduce", "__heddle_openmp_reduced", true, { 6, RESULT, NONE } },
    { "__kmpc_reduce_nowait", "__heddle_openmp_reduces", false, { NONE } },
    { "__kmpc_reduce_nowait", "__heddle_openmp_reduced", true, { 6, RESULT, NONE } },
    { "__kmpc_end_reduce", "__heddle_openmp_releases", false, { 2, NONE } },
    { "__kmpc_end_reduce_nowait", "__heddle_openmp_releases", false, { 2, NONE } },
    { "__kmpc_taskred_modifier_init", "__heddle_openmp_shares", false, { NONE } },
    { "__kmpc_taskred_modifier_init", "__heddle_openmp_shared", true, { NONE } },
    { "__kmpc_task_reduction_modifier_init", "__heddle_openmp_shares", false, { NONE } },
    { "__kmpc_task_reduction_modifier_init", "__heddle_openmp_shared", true, { NONE } },
    { "__kmpc_task_reduction_modifier_fini", "__heddle_openmp_sums", false, { NONE } },
    { "__kmpc_omp_task_alloc", "__heddle_openmp_task", true, { RESULT, 3, 4 } },
    { "__kmpc_taskloop", "__heddle_openmp_taskloop", false, { NONE } },
    { "__kmpc_taskloop_5", "__heddle_openmp_taskloop", false, { NONE } },
    { "omp_get_thread_num", "__heddle_openmp_own", true, { NONE } },
    { "omp_get_ancestor_thread_num", "__heddle_openmp_own", true, { NONE } },
    { "__kmpc_threadprivate_cached", "__heddle_openmp_own", true, { NONE } },
    { "__kmpc_task_reduction_get_th_data", "__heddle_openmp_own", true, { NONE } },
    { "pthread_self", "__heddle_openmp_own", true, { NONE } },
    { "gettid", "__heddle_openmp_own", true, { NONE } },
    { "pthread_getspecific", "__heddle_openmp_own", true, { NONE } },
};

/* The place behind a call; NULL where it is reached otherwise, too. */
static LLVMValueRef behind(LLVMValueRef call)
{
    if (LLVMGetInstructionOpcode(call) == LLVMCall)
        return LLVMGetNextInstruction(call);
    if (LLVMGetInstructionOpcode(call) != LLVMInvoke)
        return NULL;
    LLVMBasicBlockRef next = LLVMGetNormalDest(call);
    LLVMUseRef u = LLVMGetFirstUse(LLVMBasicBlockAsValue(next));
    return u && !LLVMGetNextUse(u) ? first_insertion(next) : NULL;
}

static void apply(struct pass *p, const struct rule *r, LLVMValueRef call)
{
    LLVMValueRef at = r->after ? behind(call) : call, args[ARGUMENTS];
    unsigned n = 0;
    if (!at)
        return;
    for (; n < ARGUMENTS && r->arguments[n] != NONE; n++) {
        int which = r->arguments[n];
        if (which >= (int)LLVMGetNumArgOperands(call))
            return; /* another function of that name */
        args[n] = which == RESULT ? call : LLVMGetOperand(call, (unsigned)which);
    }
    LLVMPositionBuilderBefore(p->b, at);
    LLVMSetCurrentDebugLocation2(p->b, LLVMInstructionGetDebugLoc(call));
    call_runtime(p, r->runtime, EFFECT_ALL, p->none, n, args);
}

/* What lies below the return address is of the function that has the loop, and of those it calls.
 */
static void tell_chunk(struct pass *p, LLVMValueRef asked, const char *runtime)
{
    unsigned id = LLVMLookupIntrinsicID("llvm.addressofreturnaddress", 27);
    LLVMValueRef f = LLVMGetIntrinsicDeclaration(p->module, id, &p->ptr, 1), args[2] = { asked };

    LLVMPositionBuilderBefore(p->b, LLVMGetNextInstruction(asked));
    LLVMSetCurrentDebugLocation2(p->b, LLVMInstructionGetDebugLoc(asked));
    args[1] = LLVMBuildCall2(p->b, LLVMGlobalGetValueType(f), f, NULL, 0, "");
    call_runtime(p, runtime, EFFECT_ALL, p->none, 2, args);
}

void tell_openmp(struct pass *p, LLVMValueRef f)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
            const char *name = is_call(i) ? callee_name(i) : "";
            if (!*name)
                continue;
            for (size_t k = 0; k < sizeof rules / sizeof *rules; k++)
                if (strcmp(name, rules[k].name) == 0)
                    apply(p, &rules[k], i);
            if (map_get(&p->chunks, i))
                tell_chunk(p, i,
                           strcmp(name, "__kmpc_single") == 0 ? "__heddle_openmp_single"
                                                              : "__heddle_openmp_chunk");
        }
}

/* Full builds append what they do without asking the runtime, which else sees the address: there
 * the function is told of, as it begins. */
void tell_openmp_own(struct pass *p, LLVMValueRef f, LLVMValueRef first)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
            const char *name = LLVMIsACallInst(i) ? intrinsic_name(i) : NULL;
            if (!name || !starts_with(name, "llvm.threadlocal.address"))
                continue;
            at_instruction(p, first);
            LLVMSetCurrentDebugLocation2(p->b, LLVMInstructionGetDebugLoc(i));
            call_runtime(p, "__heddle_openmp_own", EFFECT_ALL, p->none, 0, NULL);
            return;
        }
}
