// heat.cpp - which blocks are executed often, as far as the compiler can guess
//
// C++, because LLVM-C knows neither loops nor frequencies.
#include "llvm-c/Core.h"
#include "llvm/Analysis/BlockFrequencyInfo.h"
#include "llvm/Analysis/BranchProbabilityInfo.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Function.h"

extern "C" {
#include "pass/heat.h"
}

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
    for (const llvm::BasicBlock &b : f)
        if (loops.getLoopFor(&b))
            map_set(heat, llvm::wrap(&b),
                    1 + frequencies.getBlockFreq(&b).getFrequency() / (once / 16 + 1));
}
