// loops.cpp - accesses of a loop that are recorded before it, once
//
// Where nothing in a loop synchronises, calls, or leaves it by another way than its exits, an
// access that every round makes is made whatever the loop reads: its address, and how often it is
// made, are known before the loop begins. So it may as well be recorded there:
// - always the same address: the question is asked before the loop, not in each round;
// - consecutive elements (an induction variable that steps by the size of the access), and a
//   number of rounds that can be computed: one record of all the bytes.
//
// What that changes in a trace is the order of a thread's own plain accesses between two
// synchronisations, and that is as in records that the runtime makes longer (recording.md): such a
// record stands where its first access was. A loop that never ends because its memory cannot be
// accessed, or because its process is killed, has recorded what it was about to do.
//
// C++, because LLVM-C knows neither loops nor scalar evolution.
#include "llvm-c/Core.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

#include <optional>

extern "C" {
#include "pass/pass.h"
}

namespace
{
constexpr unsigned roundsLeast = 4;     // a row of fewer elements is not worth a call
constexpr unsigned costMost = 16;       // of computing where a row begins and how long it is

class Loops
{
  public:
    Loops(struct pass *p, llvm::Function &f)
        : pass(p)
        , assumptions(f)
        , dominators(f)
        , loops(dominators)
        , library(libraryOf(f))
        , layout(f.getParent()->getDataLayout())
        , function(f)
        , costs(layout)
    {
    }

    void look(struct item &item)
    {
        auto *inst = llvm::unwrap<llvm::Instruction>(item.inst);
        llvm::Loop *loop = loops.getLoopFor(inst->getParent());
        if (!loop || !isQuiet(*loop))
            return;
        llvm::Value *address = inst->getOperand(item.operand);
        if (loop->isLoopInvariant(address))
            leaveLoops(item, address, inst->getParent(), loop);
        else
            makeRow(item, address, inst->getParent(), *loop);
    }

  private:
    static const llvm::TargetLibraryInfoImpl &libraryOf(const llvm::Function &f)
    {
        static const llvm::TargetLibraryInfoImpl all(
            llvm::Triple(f.getParent()->getTargetTriple()));
        return all;
    }

    llvm::ScalarEvolution &scalars()
    {
        if (!evolution)
            evolution.emplace(function, library, assumptions, dominators, loops);
        return *evolution;
    }

    static bool isHarmless(const llvm::CallBase &call)
    {
        if (auto *intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&call))
            return intrinsic->isAssumeLikeIntrinsic() || llvm::isa<llvm::MemIntrinsic>(call) ||
                   call.doesNotAccessMemory();
        return call.doesNotAccessMemory() && call.doesNotThrow() &&
               call.hasFnAttr(llvm::Attribute::WillReturn);
    }

    bool isQuietBlock(const llvm::BasicBlock &b)
    {
        for (const llvm::Instruction &i : b) {
            auto *call = llvm::dyn_cast<llvm::CallBase>(&i);
            if (i.isAtomic() || i.isVolatile() || (call && !isHarmless(*call)))
                return false;
        }
        return true;
    }

    // Nothing that synchronises or calls; and loops inside of it end.
    bool looksQuiet(const llvm::Loop &loop)
    {
        if (!loop.getLoopPreheader() || !loop.getLoopLatch())
            return false;
        for (const llvm::Loop *inner : loop.getSubLoops())
            if (!isQuiet(*inner) || !scalars().hasLoopInvariantBackedgeTakenCount(inner))
                return false;
        for (const llvm::BasicBlock *b : loop.blocks())
            if (loops.getLoopFor(b) == &loop && !isQuietBlock(*b))
                return false;
        return true;
    }

    bool isQuiet(const llvm::Loop &loop)
    {
        auto known = quiet.find(&loop);
        if (known == quiet.end())
            known = quiet.try_emplace(&loop, looksQuiet(loop)).first;
        return known->second;
    }

    // Each round comes by the block, the last one, too.
    bool isOfEachRound(const llvm::BasicBlock *b, const llvm::Loop &loop) const
    {
        llvm::SmallVector<llvm::BasicBlock *, 4> exiting;
        loop.getExitingBlocks(exiting);
        for (const llvm::BasicBlock *e : exiting)
            if (!dominators.dominates(b, e))
                return false;
        return dominators.dominates(b, loop.getLoopLatch());
    }

    // Before the outermost loop in whose first round it is made, and where its address is known.
    void leaveLoops(struct item &item, const llvm::Value *address, const llvm::BasicBlock *b,
                    const llvm::Loop *loop)
    {
        while (loop && isQuiet(*loop) && loop->isLoopInvariant(address) &&
               isOfEachRound(b, *loop)) {
            b = loop->getLoopPreheader();
            item.place = llvm::wrap(b->getTerminator());
            loop = loop->getParentLoop();
        }
    }

    const llvm::SCEV *roundsOf(const llvm::Loop &loop)
    {
        llvm::Type *word = llvm::Type::getInt64Ty(function.getContext());
        const llvm::SCEV *back = scalars().getBackedgeTakenCount(&loop);
        if (llvm::isa<llvm::SCEVCouldNotCompute>(back) ||
            scalars().getTypeSizeInBits(back->getType()) > 64)
            return nullptr;
        return scalars().getTripCountFromExitCount(back, word, &loop);
    }

    // Does an earlier round write what a later one reads? Then the read is no news of other threads,
    // and would look so before the loop. A distance that is not known counts as none.
    bool seesOwnWrites(const llvm::SCEVAddRecExpr &read, const llvm::Loop &loop)
    {
        bool forward = scalars().isKnownPositive(read.getStepRecurrence(scalars()));
        for (const llvm::BasicBlock *b : loop.blocks())
            for (const llvm::Instruction &i : *b) {
                auto *store = llvm::dyn_cast<llvm::StoreInst>(&i);
                if (!store)
                    continue;
                const llvm::SCEV *to =
                    scalars().getSCEV(const_cast<llvm::Value *>(store->getPointerOperand()));
                auto *ahead = llvm::dyn_cast<llvm::SCEVConstant>(scalars().getMinusSCEV(to, &read));
                if (ahead && !ahead->isZero() && ahead->getAPInt().isNegative() != forward)
                    return true;
            }
        return false;
    }

    void makeRow(struct item &item, llvm::Value *address, const llvm::BasicBlock *b,
                 llvm::Loop &loop)
    {
        auto *all = llvm::dyn_cast<llvm::SCEVAddRecExpr>(scalars().getSCEV(address));
        if (!all || all->getLoop() != &loop || !all->isAffine())
            return;
        auto *step = llvm::dyn_cast<llvm::SCEVConstant>(all->getStepRecurrence(scalars()));
        const llvm::SCEV *count = step && isOfEachRound(b, loop) ? roundsOf(loop) : nullptr;
        int64_t by = step ? step->getAPInt().getSExtValue() : 0, bytes = (int64_t)item.bytes;
        if (!count || (by != bytes && by != -bytes))
            return;
        if (!item.write && !item.update && seesOwnWrites(*all, loop))
            return;
        auto *fixed = llvm::dyn_cast<llvm::SCEVConstant>(count);
        if (fixed && fixed->getAPInt().ult(roundsLeast))
            return;
        llvm::Type *word = count->getType();
        const llvm::SCEV *length =
            scalars().getMulExpr(count, scalars().getConstant(word, item.bytes));
        const llvm::SCEV *low = all->getStart();
        if (by < 0)
            low = scalars().getAddExpr(
                low, scalars().getMinusSCEV(scalars().getConstant(word, item.bytes), length));
        expand(item, low, length, loop);
    }

    void expand(struct item &item, const llvm::SCEV *low, const llvm::SCEV *length,
                llvm::Loop &loop)
    {
        llvm::Instruction *at = loop.getLoopPreheader()->getTerminator();
        if (!expander)
            expander.emplace(scalars(), layout, "");
        if (!expander->isSafeToExpandAt(low, at) || !expander->isSafeToExpandAt(length, at) ||
            expander->isHighCostExpansion({ low, length }, &loop, costMost, &costs, at))
            return;
        llvm::Type *pointer = llvm::PointerType::get(function.getContext(), 0);
        llvm::Value *first = expander->expandCodeFor(low, pointer, at);
        llvm::Value *bytes = expander->expandCodeFor(length, length->getType(), at);
        item.place = llvm::wrap(at);
        emit_row(pass, &item, llvm::wrap(first), llvm::wrap(bytes));
    }

    struct pass *pass;
    llvm::AssumptionCache assumptions;
    llvm::DominatorTree dominators;
    llvm::LoopInfo loops;
    llvm::TargetLibraryInfo library;
    const llvm::DataLayout &layout;
    llvm::Function &function;
    llvm::TargetTransformInfo costs;
    std::optional<llvm::ScalarEvolution> evolution;
    std::optional<llvm::SCEVExpander> expander;
    llvm::DenseMap<const llvm::Loop *, bool> quiet;
};
} // namespace

static bool hasSize(const struct item &item)
{
    return item.bytes <= 16 && !(item.bytes & (item.bytes - 1));
}

extern "C" void leave_loops(struct pass *p, LLVMValueRef function, struct items *items)
{
    std::optional<Loops> loops;
    for (struct item *i = items->at; i < items->at + items->count; i++) {
        if (i->kind != ITEM_ACCESS || i->dropped || !hasSize(*i) || stores_vtable(i->inst) ||
            (i->update ? i->writes_loose : i->loose)) // is recorded each time (marks.c)
            continue;
        if (!loops)
            loops.emplace(p, *llvm::unwrap<llvm::Function>(function));
        loops->look(*i);
    }
}
