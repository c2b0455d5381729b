// chunks.cpp - code of OpenMP that any thread of the team may run: chunks of loops, `single`
//
// With `schedule(dynamic)` and the like (guided, auto) a thread asks for chunks of iterations, and
// gets those that nobody has. Two chunks are not ordered, also where one thread got both; so the
// runtime makes each a thread of the trace, as it does with tasks (runtime/openmp/openmp_chunks.c). The
// same is true of what `single` encloses: the thread that comes first runs it.
//
// But a loop's body stands in the function of the region, beside what is the thread's own: its
// number, memory that it allocated before the loop, a cache that it keeps from chunk to chunk. Two
// chunks of one thread use the same, and that is no race. So a loop counts only if its body goes
// by nothing but what all threads have in common: no address, condition or argument in it comes
// from a value that is the thread's own. Those are: results of calls before the loop, parameters,
// other than what a region gets from outside; variables that chunks hand on to later ones; and
// what is computed from these.
//
// Which function is a region's, and which loads see what was stored, is decided without regard to
// the flow; where it is not clear, the thread's chunks stay in its order.
//
// C++, because this goes through uses in both directions, and blocks.
#include "llvm-c/Core.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

extern "C" {
#include "pass/pass.h"
}

namespace
{
using Blocks = llvm::SmallPtrSet<llvm::BasicBlock *, 16>;
using Values = llvm::SmallPtrSet<const llvm::Value *, 32>;

llvm::StringRef calleeName(const llvm::Instruction &i)
{
    auto *call = llvm::dyn_cast<llvm::CallBase>(&i);
    auto *callee = call ? call->getCalledFunction() : nullptr;
    return callee ? callee->getName() : "";
}

bool isNext(const llvm::Instruction &i)
{
    return calleeName(i).starts_with("__kmpc_dispatch_next_") &&
           llvm::cast<llvm::CallBase>(i).arg_size() == 6;
}

bool isInit(const llvm::Instruction &i)
{
    llvm::StringRef name = calleeName(i);
    return name.starts_with("__kmpc_") && name.contains("dispatch_init_") &&
           llvm::cast<llvm::CallBase>(i).arg_size() > 2;
}

bool isNoUse(const llvm::Instruction &i)
{
    return i.isLifetimeStartOrEnd() || i.isDebugOrPseudoInst() || i.isDroppable();
}

/* A region's function gets what is shared, or a copy of what all threads have, behind two words of
 * its thread. */
bool isRegion(const llvm::Function &f)
{
    if (!f.hasLocalLinkage() || f.arg_size() < 2)
        return false;
    for (const llvm::User *u : f.users()) {
        auto *call = llvm::dyn_cast<llvm::CallBase>(u);
        auto *callee = call ? call->getCalledFunction() : nullptr;
        if (callee && callee->getName().starts_with("__kmpc_fork_"))
            return true;
    }
    return false;
}

/* enum sched_type of libomp, without modifiers: chunks of these go to whoever asks. Not `runtime`:
 * the user may have chosen a static one. */
bool isDynamic(const llvm::Value *schedule)
{
    auto *n = llvm::dyn_cast<llvm::ConstantInt>(schedule);
    switch (n ? n->getZExtValue() & 0xffff : 0) {
    case 35: /* dynamic */
    case 36: /* guided */
    case 38: /* auto */
    case 67: /* the same, with `ordered` */
    case 68:
    case 70:
        return true;
    default:
        return false;
    }
}

bool isSingle(const llvm::Instruction &i)
{
    return calleeName(i) == "__kmpc_single";
}

bool endsSingle(const llvm::Instruction &i)
{
    return calleeName(i) == "__kmpc_end_single";
}

class Part
{
  public:
    /* calls: of a loop, those that ask for a chunk; or one that asks whether to run a `single` */
    explicit Part(llvm::ArrayRef<llvm::CallBase *> asking)
        : calls(asking)
        , isOver(isSingle(*asking[0]) ? endsSingle : isNext)
    {
    }

    bool isCommon()
    {
        return findBody() && !hasOwnMemoryOutside() && (findOwn(), bodyIsCommon());
    }

  private:
    llvm::ArrayRef<llvm::CallBase *> calls;
    bool (*isOver)(const llvm::Instruction &);
    Blocks asks, body;
    Values own; // values that are the thread's

    /* The result decides, at once, whether there is a chunk: the successor for it. */
    static llvm::BasicBlock *chunkOf(llvm::CallBase *call)
    {
        auto *branch = llvm::dyn_cast<llvm::BranchInst>(call->getParent()->getTerminator());
        if (!branch || !branch->isConditional() || !call->hasOneUse())
            return nullptr;
        auto *test = llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition());
        if (!test || test->getOperand(0) != call || !test->isEquality() || !test->hasOneUse())
            return nullptr;
        auto *zero = llvm::dyn_cast<llvm::ConstantInt>(test->getOperand(1));
        if (!zero || !zero->isZero())
            return nullptr;
        return branch->getSuccessor(test->getPredicate() == llvm::ICmpInst::ICMP_EQ ? 1 : 0);
    }

    bool findBody()
    {
        llvm::SmallVector<llvm::BasicBlock *, 16> todo;
        for (auto *call : calls) {
            asks.insert(call->getParent());
            todo.push_back(chunkOf(call));
            if (!todo.back())
                return false;
        }
        while (!todo.empty()) {
            llvm::BasicBlock *b = todo.pop_back_val();
            if (!body.insert(b).second || llvm::any_of(*b, isOver))
                continue;
            if (llvm::isa<llvm::ReturnInst, llvm::ResumeInst>(b->getTerminator()))
                return false;
            todo.append(llvm::succ_begin(b), llvm::succ_end(b));
        }
        return true;
    }

    bool isInside(const llvm::Instruction *i) const
    {
        return body.count(const_cast<llvm::BasicBlock *>(i->getParent()));
    }

    bool isBound(const llvm::Value *v) const
    {
        for (auto *call : calls)
            for (unsigned k = 2; k < call->arg_size(); k++)
                if (call->getArgOperand(k) == v)
                    return true;
        return false;
    }

    /* What goes on in other threads with the function's frame: it is made anew for each chunk. */
    bool hasOwnMemoryOutside() const
    {
        for (auto &i : llvm::instructions(*calls[0]->getFunction())) {
            llvm::StringRef name = calleeName(i);
            if (name.starts_with("__kmpc_omp_task_alloc") || name.starts_with("__kmpc_fork_") ||
                name.starts_with("__kmpc_cancel") || name.starts_with("__kmpc_copyprivate") || name.starts_with("__kmpc_omp_target"))
                return true;
        }
        return false;
    }

    /* ---- the thread's own values ---- */

    struct Uses {
        bool stores_inside = false, stores_outside = false, inside = false, outside = false;
        bool plain = true; // nothing but loads and stores
    };

    Uses usesOf(const llvm::AllocaInst *a, llvm::SmallVectorImpl<const llvm::Value *> &stored) const
    {
        Uses uses;
        llvm::SmallVector<const llvm::Value *, 8> todo = { a };
        llvm::SmallPtrSet<const llvm::Value *, 8> seen;
        while (!todo.empty()) {
            const llvm::Value *v = todo.pop_back_val();
            for (const llvm::User *u : v->users()) {
                auto *i = llvm::cast<llvm::Instruction>(u);
                if (isNoUse(*i))
                    continue;
                (isInside(i) ? uses.inside : uses.outside) = true;
                if (auto *s = llvm::dyn_cast<llvm::StoreInst>(i); s && s->getValueOperand() != v) {
                    (isInside(i) ? uses.stores_inside : uses.stores_outside) = true;
                    stored.push_back(s->getValueOperand());
                } else if (llvm::isa<llvm::GetElementPtrInst, llvm::CastInst>(i)) {
                    if (seen.insert(i).second)
                        todo.push_back(i);
                } else if (!llvm::isa<llvm::LoadInst>(i)) {
                    uses.plain = false;
                }
            }
        }
        return uses;
    }

    /* Whether a load of it may give what is the thread's own. */
    bool holdsOwn(const llvm::AllocaInst *a) const
    {
        llvm::SmallVector<const llvm::Value *, 8> stored;
        if (isBound(a))
            return false;
        Uses uses = usesOf(a, stored);
        if (!uses.plain)
            return uses.outside;
        if (uses.stores_inside && uses.stores_outside)
            return true; // chunks may hand it on
        for (const llvm::Value *v : stored)
            if (own.count(v))
                return true;
        return false;
    }

    /* In a block that every chunk passes: what comes in is of the chunk before. */
    bool isHandedOn(const llvm::PHINode &phi) const
    {
        if (asks.count(const_cast<llvm::BasicBlock *>(phi.getParent())))
            return true;
        for (const llvm::BasicBlock *from : phi.blocks())
            if (asks.count(const_cast<llvm::BasicBlock *>(from)))
                return true;
        return false;
    }

    bool isOwn(const llvm::Instruction &i) const
    {
        if (auto *phi = llvm::dyn_cast<llvm::PHINode>(&i); phi && isHandedOn(*phi))
            return true;
        if (auto *call = llvm::dyn_cast<llvm::CallBase>(&i)) {
            auto *intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(call);
            if (intrinsic ? intrinsic->getIntrinsicID() == llvm::Intrinsic::threadlocal_address
                          : !isInside(&i) || calleeName(i).starts_with("omp_get_") ||
                                calleeName(i).starts_with("__kmpc_") ||
                                calleeName(i).starts_with("pthread_"))
                return true;
        }
        if (auto *load = llvm::dyn_cast<llvm::LoadInst>(&i)) {
            auto *a = llvm::dyn_cast<llvm::AllocaInst>(
                llvm::getUnderlyingObject(load->getPointerOperand()));
            if (a && holdsOwn(a))
                return true;
        }
        for (const llvm::Value *v : i.operands())
            if (own.count(v))
                return true;
        return false;
    }

    void findOwn()
    {
        const llvm::Function &f = *calls[0]->getFunction();
        bool region = isRegion(f), more = true;
        for (const llvm::Argument &a : f.args())
            if (!region || a.getArgNo() < 2)
                own.insert(&a);
        while (more) {
            more = false;
            for (const llvm::Instruction &i : llvm::instructions(f))
                if (!i.getType()->isVoidTy() && !own.count(&i) && isOwn(i))
                    own.insert(&i), more = true;
        }
    }

    /* ---- what the body goes by ---- */

    /* What another function may leave in it, or find there, is of this chunk. */
    bool isCommonArgument(const llvm::Value *v) const
    {
        if (own.count(v))
            return false;
        if (!v->getType()->isPointerTy())
            return true;
        llvm::SmallVector<const llvm::Value *, 4> objects;
        llvm::getUnderlyingObjects(v, objects, nullptr, 0);
        for (const llvm::Value *object : objects)
            if (auto *a = llvm::dyn_cast<llvm::AllocaInst>(object)) {
                llvm::SmallVector<const llvm::Value *, 8> stored;
                if (usesOf(a, stored).outside)
                    return false;
            }
        return true;
    }

    bool isCommonCall(const llvm::CallBase &call) const
    {
        llvm::StringRef name = calleeName(call);
        if (isNoUse(call) || name.starts_with("__kmpc_dispatch") ||
            name.starts_with("__kmpc_critical") || name.starts_with("__kmpc_end_critical") ||
            name.starts_with("__kmpc_ordered") || name.starts_with("__kmpc_end_ordered") ||
            name.starts_with("__kmpc_flush"))
            return true;
        if (call.isInlineAsm() || name.starts_with("__kmpc_") ||
            own.count(call.getCalledOperand()))
            return false;
        for (const llvm::Value *v : call.args())
            if (!isCommonArgument(v))
                return false;
        return true;
    }

    bool isCommonInstruction(const llvm::Instruction &i) const
    {
        if (auto *call = llvm::dyn_cast<llvm::CallBase>(&i))
            return isCommonCall(*call);
        if (auto *b = llvm::dyn_cast<llvm::BranchInst>(&i))
            return b->isUnconditional() || !own.count(b->getCondition());
        if (auto *s = llvm::dyn_cast<llvm::SwitchInst>(&i))
            return !own.count(s->getCondition());
        if (auto *s = llvm::dyn_cast<llvm::StoreInst>(&i))
            return !own.count(s->getPointerOperand());
        if (i.mayReadOrWriteMemory() && !llvm::isa<llvm::LandingPadInst>(i))
            return i.getNumOperands() && !own.count(i.getOperand(0));
        return true;
    }

    bool bodyIsCommon() const
    {
        for (const llvm::BasicBlock *b : body)
            for (const llvm::Instruction &i : *b) {
                if (isOver(i))
                    break;
                if (!isCommonInstruction(i))
                    return false;
            }
        return true;
    }
};
} // namespace

void find_chunks(struct pass *p, LLVMValueRef function)
{
    auto &f = *llvm::unwrap<llvm::Function>(function);
    llvm::SmallVector<llvm::CallBase *, 4> all;
    bool dynamic = true;
    for (llvm::Instruction &i : llvm::instructions(f)) {
        if (isNext(i) || isSingle(i))
            all.push_back(llvm::cast<llvm::CallBase>(&i));
        else if (isInit(i))
            dynamic &= isDynamic(llvm::cast<llvm::CallBase>(i).getArgOperand(2));
    }
    for (auto *call : all) {
        llvm::SmallVector<llvm::CallBase *, 4> same; // of its loop: they have the same bounds
        for (auto *other : all)
            if (other == call || (!isSingle(*call) && !isSingle(*other) &&
                                  other->getArgOperand(3) == call->getArgOperand(3)))
                same.push_back(other);
        if ((isSingle(*call) || dynamic) && Part(same).isCommon())
            map_set(&p->chunks, llvm::wrap(call), 1);
    }
}
