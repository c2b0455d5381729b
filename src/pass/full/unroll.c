/* unroll.c - full builds: small loops are unrolled before they are instrumented
 *
 * A record ends where a loop begins its next round (paths.c), so a loop of few accesses writes
 * little but beginnings of records. Four rounds in a row are one path: one record, one question
 * whether there is room, and addresses that are a constant apart from each other's.
 *
 * LLVM's own pass does it; loops are marked as by `#pragma unroll 4`. All is as if the program's
 * author had written that: sites and bitcode are of the loop as it is then. Only loops that the
 * compiler was given by the front end are looked at (llvm.loop), never those of functions that are
 * not optimised. Where LLVM can compute how many rounds there will be, it tests once for four.
 */
#include "pass/pass.h"

#include <llvm-c/Transforms/PassBuilder.h>

#include <stdlib.h>

enum {
    ROUNDS = 4,     /* with more, code grows, and many loops end sooner */
    BLOCKS_MAX = 6, /* more have too many paths */
    INSTRUCTIONS = 64
};

/* Blocks of a loop, as far as they were found: the latch and those that lead to it. */
struct loop {
    LLVMBasicBlockRef header, at[BLOCKS_MAX];
    unsigned count;
};

static bool loop_has(const struct loop *l, LLVMBasicBlockRef b)
{
    for (unsigned i = 0; i < l->count; i++)
        if (l->at[i] == b)
            return true;
    return false;
}

/* Adds the blocks that lead to block b, unless it is the header. False: these are too many. */
static bool add_before(struct loop *l, LLVMBasicBlockRef b)
{
    if (b == l->header)
        return true;
    unsigned n = 0;
    for (LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(b)); use;
         use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        if (!LLVMIsATerminatorInst(user))
            return false; /* its address was taken */
        LLVMBasicBlockRef from = LLVMGetInstructionParent(user);
        n++;
        if (loop_has(l, from))
            continue;
        if (l->count == BLOCKS_MAX)
            return false;
        l->at[l->count++] = from;
    }
    return n > 0; /* else the function's entry: `header` is none */
}

static bool find_loop(struct loop *l, LLVMBasicBlockRef header, LLVMBasicBlockRef latch)
{
    *l = (struct loop){ .header = header, .at = { latch }, .count = 1 };
    for (unsigned i = 0; i < l->count; i++)
        if (!add_before(l, l->at[i]))
            return false;
    return loop_has(l, header);
}

/* Is the block short and without calls? Counts its instructions, and the accesses. */
static bool unroll_is_small(LLVMBasicBlockRef b, unsigned *instructions, unsigned *accesses)
{
    for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
        if (LLVMIsACallInst(i) ? !LLVMIsAIntrinsicInst(i)
                               : LLVMIsAInvokeInst(i) || LLVMIsACallBrInst(i) ||
                                     LLVMIsASwitchInst(i) || LLVMIsAIndirectBrInst(i))
            return false;
        *accesses += LLVMIsALoadInst(i) || LLVMIsAStoreInst(i);
        if (++*instructions > INSTRUCTIONS)
            return false;
    }
    return true;
}

static bool is_worth_it(const struct loop *l)
{
    unsigned instructions = 0, accesses = 0;
    for (unsigned i = 0; i < l->count; i++)
        if (!unroll_is_small(l->at[i], &instructions, &accesses))
            return false;
    return accesses > 0;
}

/* !llvm.loop = { itself, { "llvm.loop.unroll.count", 4 } } */
static LLVMValueRef make_mark(struct pass *p)
{
    static const char name[] = "llvm.loop.unroll.count";
    LLVMMetadataRef count[] = { LLVMMDStringInContext2(p->context, name, sizeof name - 1),
                                LLVMValueAsMetadata(const32(p, ROUNDS)) };
    LLVMMetadataRef self = LLVMTemporaryMDNode(p->context, NULL, 0);
    LLVMMetadataRef both[] = { self, LLVMMDNodeInContext2(p->context, count, 2) };
    LLVMMetadataRef mark = LLVMMDNodeInContext2(p->context, both, 2);
    LLVMMetadataReplaceAllUsesWith(self, mark);
    return LLVMMetadataAsValue(p->context, mark);
}

static bool mark_loop(struct pass *p, LLVMBasicBlockRef latch, unsigned kind)
{
    LLVMValueRef end = LLVMGetBasicBlockTerminator(latch);
    struct loop l;
    if (!end || !LLVMIsABranchInst(end) || !LLVMGetMetadata(end, kind))
        return false;
    for (unsigned i = 0; i < LLVMGetNumSuccessors(end); i++)
        if (find_loop(&l, LLVMGetSuccessor(end, i), latch) && is_worth_it(&l)) {
            LLVMSetMetadata(end, kind, make_mark(p));
            return true;
        }
    return false;
}

void unroll_loops(struct pass *p)
{
    static const char passes[] = "function(loop-unroll<O2;no-partial;no-runtime;no-peeling;"
                                 "no-profile-peeling;no-upperbound;full-unroll-max=1>)";
    unsigned kind = LLVMGetMDKindIDInContext(p->context, "llvm.loop", 9);
    bool some = false;
    for (LLVMValueRef f = LLVMGetFirstFunction(p->module); f; f = LLVMGetNextFunction(f)) {
        if (function_has(f, "optnone") || function_has(f, "optsize") || function_has(f, "minsize"))
            continue;
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            some |= mark_loop(p, b, kind);
    }
    if (!some)
        return;
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(p->module, passes, NULL, options);
    if (error) /* of another LLVM: then not */
        LLVMConsumeError(error);
    LLVMDisposePassBuilderOptions(options);
}
