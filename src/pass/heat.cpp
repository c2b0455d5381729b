// heat.cpp - which blocks are executed often, as far as the compiler can guess
//
// C++, because LLVM-C knows neither loops nor frequencies.
#include "llvm-c/Core.h"
#include "llvm/Analysis/BlockFrequencyInfo.h"
#include "llvm/Analysis/BranchProbabilityInfo.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IntrinsicInst.h"

extern "C" {
#include "pass/heat.h"
}

namespace
{
using Frequencies = llvm::BlockFrequencyInfo;

unsigned callsOf(const llvm::BasicBlock &b)
{
    unsigned calls = 0;
    for (const llvm::Instruction &i : b)
        if (auto *call = llvm::dyn_cast<llvm::CallBase>(&i))
            calls += !llvm::isa<llvm::IntrinsicInst>(i) && !call->isInlineAsm();
    return calls;
}

// A round of the loop, without those of the loops in it, calls functions at least every second time.
bool makesCalls(const llvm::Loop &loop, const llvm::LoopInfo &loops, const Frequencies &frequencies)
{
    uint64_t rounds = frequencies.getBlockFreq(loop.getHeader()).getFrequency(), calls = 0;
    for (const llvm::BasicBlock *b : loop.blocks())
        if (loops.getLoopFor(b) == &loop)
            if (unsigned n = callsOf(*b))
                calls += n * frequencies.getBlockFreq(b).getFrequency();
    return calls >= rounds / 2;
}
} // namespace

extern "C" void find_heat(LLVMValueRef function, struct map *heat)
{
    const llvm::Function &f = *llvm::unwrap<llvm::Function>(function);
    llvm::DominatorTree dominators(const_cast<llvm::Function &>(f));
    llvm::LoopInfo loops(dominators);
    if (loops.empty())
        return;
    llvm::BranchProbabilityInfo branches(f, loops);
    llvm::BlockFrequencyInfo frequencies(f, branches, loops);
    uint64_t once = frequencies.getEntryFreq().getFrequency();
    for (const llvm::Loop *loop : loops.getLoopsInPreorder())
        if (!makesCalls(*loop, loops, frequencies))
            for (const llvm::BasicBlock *b : loop->blocks())
                if (loops.getLoopFor(b) == loop)
                    map_set(heat, llvm::wrap(b),
                            1 + frequencies.getBlockFreq(b).getFrequency() / (once / 16 + 1));
}
