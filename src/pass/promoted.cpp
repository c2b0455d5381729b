// promoted.cpp - loads that the optimiser invented
//
// Where a loop changes a variable under a condition, LLVM loads it once before the loop, keeps it
// in a register, and leaves the stores where they are (LICM's promotion of the load alone). A thread
// for which the condition never holds then reads what the program does not read. Such a read is not
// recorded; the writes stand for the reads that were there.
//
// It is told by its shape: its value goes to the head of a loop and nowhere else, the loop stores
// to the same address, and it is of no line.
//
// C++, because LLVM-C does not know loops.
#include "llvm-c/Core.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"

extern "C" {
#include "pass/pass.h"
}

namespace
{
/* The header that all of the value goes to, or none. */
const llvm::BasicBlock *onlyHead(const llvm::LoadInst &load)
{
    const llvm::BasicBlock *head = nullptr;
    for (const llvm::User *u : load.users()) {
        auto *phi = llvm::dyn_cast<llvm::PHINode>(u);
        if (!phi || (head && phi->getParent() != head) || phi->getParent() == load.getParent())
            return nullptr;
        head = phi->getParent();
    }
    return head;
}

bool storesInside(const llvm::Loop &loop, const llvm::Value *address)
{
    for (const llvm::BasicBlock *b : loop.blocks())
        for (const llvm::Instruction &i : *b)
            if (auto *store = llvm::dyn_cast<llvm::StoreInst>(&i);
                store && store->getPointerOperand() == address)
                return true;
    return false;
}

bool isStored(const llvm::Value *address, const llvm::Function *f)
{
    for (const llvm::User *u : address->users())
        if (auto *store = llvm::dyn_cast<llvm::StoreInst>(u);
            store && store->getPointerOperand() == address && store->getFunction() == f)
            return true;
    return false;
}
} // namespace

bool is_invented(LLVMValueRef inst)
{
    auto &load = *llvm::unwrap<llvm::LoadInst>(inst);
    const llvm::BasicBlock *head = load.isSimple() && !load.getDebugLoc() ? onlyHead(load) : nullptr;
    if (!head || !isStored(load.getPointerOperand(), load.getFunction()))
        return false;
    llvm::DominatorTree dominators(*load.getFunction());
    llvm::LoopInfo loops(dominators);
    const llvm::Loop *loop = loops.getLoopFor(head);
    return loop && loop->getHeader() == head && !loop->contains(&load) &&
           storesInside(*loop, load.getPointerOperand());
}
