/* marks.c - loads whose value does not matter (docs/design/marks.md)
 *
 * For most loads the value decides something: a branch, an address, what is passed to a function or
 * returned. Of a counter, `hits++`, it does not: it only goes into a store. Such a load is *loose*,
 * and so is the store that what it loaded may go into. Whoever predicts lets a loose read see any
 * write (EV_LOOSE).
 *
 * All uses of the value are followed, through arithmetic, choices and local variables that do not
 * escape (without optimisation all values go through these). Whatever is not known to be harmless
 * matters. So does what goes into a store that is not recorded, or might stop the program.
 *
 * What the filter knows of a loose access must cover nothing else (runtime/core/access.c), which
 * costs a call each time. So in a loop that calls nothing they stay what they were; and a load that
 * is not half of an update is loose only where the function synchronises on every way from it.
 */
#include "pass/pass.h"

#include <stdlib.h>
#include <string.h>

enum { USES_MAX = 400, BLOCKS_MAX = 4000 };

struct marks {
    struct pass *p;
    struct items *items;
    struct map item_of; /* load, store, rmw -> item + 1 */
    struct map cyclic;  /* item + 1 -> 1 no, 2 it comes round again without a call */
};

/* The uses of one load. */
struct flow {
    struct marks *m;
    struct {
        LLVMValueRef *at;
        size_t count, room;
    } todo, stores;
    struct map seen;
    unsigned uses;
};

/* ---- ways through the function ---- */

/* Its call ends what the filter knows: nothing is covered any more. */
static bool synchronises(LLVMValueRef inst)
{
    static const char *const names[] = { "pthread_mutex_unlock",
                                         "pthread_mutex_lock",
                                         "pthread_rwlock_unlock",
                                         "pthread_rwlock_rdlock",
                                         "pthread_rwlock_wrlock",
                                         "pthread_spin_unlock",
                                         "pthread_spin_lock",
                                         "pthread_cond_signal",
                                         "pthread_cond_broadcast",
                                         "pthread_cond_wait",
                                         "sem_post",
                                         "mtx_unlock",
                                         "mtx_lock",
                                         "_ZNSt3__15mutex6unlockEv",
                                         "_ZNSt3__15mutex4lockEv" };
    LLVMValueRef callee = is_call(inst) ? called_function(inst) : NULL;
    if (!callee || !LLVMIsDeclaration(callee))
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(callee_name(inst), names[i]) == 0)
            return true;
    return false;
}

static bool is_any_call(LLVMValueRef inst)
{
    return is_call(inst) && !intrinsic_name(inst) && !is_pure(inst) &&
           !LLVMIsAInlineAsm(LLVMGetCalledValue(inst));
}

struct walk {
    struct {
        LLVMBasicBlockRef *at;
        size_t count, room;
    } todo;
    struct map seen;
    bool (*ends)(LLVMValueRef inst);
    bool leaves; /* some way comes to the end of the function */
};

/* From an instruction to the end of its block, or to `back`: does the way go on behind it? */
static bool goes_on(struct walk *w, LLVMValueRef inst, LLVMValueRef back, bool *returns)
{
    for (; inst; inst = LLVMGetNextInstruction(inst)) {
        if (inst == back) {
            *returns = true;
            return false;
        }
        if (w->ends(inst))
            return false;
    }
    return true;
}

static void push_successors(struct walk *w, LLVMBasicBlockRef block)
{
    LLVMValueRef end = LLVMGetBasicBlockTerminator(block);
    unsigned n = LLVMGetNumSuccessors(end);
    w->leaves |= n == 0 && !LLVMIsAUnreachableInst(end);
    for (unsigned i = 0; i < n; i++) {
        LLVMBasicBlockRef to = LLVMGetSuccessor(end, i);
        if (map_get(&w->seen, to))
            continue;
        map_set(&w->seen, to, 1);
        RESERVE(w->todo);
        w->todo.at[w->todo.count++] = to;
    }
}

/* Is there a way from behind the instruction back to it, or out of the function, on which nothing
 * `ends`? */
static bool comes_back(LLVMValueRef inst, bool (*ends)(LLVMValueRef inst), bool *leaves)
{
    struct walk w = { .ends = ends };
    bool back = false;
    unsigned n = 0;
    if (goes_on(&w, LLVMGetNextInstruction(inst), inst, &back))
        push_successors(&w, LLVMGetInstructionParent(inst));
    while (w.todo.count && !back) {
        LLVMBasicBlockRef b = w.todo.at[--w.todo.count];
        if (++n > BLOCKS_MAX)
            back = true;
        else if (goes_on(&w, LLVMGetFirstInstruction(b), inst, &back))
            push_successors(&w, b);
    }
    *leaves = w.leaves;
    free(w.todo.at);
    map_release(&w.seen);
    return back;
}

static bool is_cyclic(struct marks *m, size_t item)
{
    bool unused;
    LLVMValueRef inst = m->items->at[item].inst;
    uint64_t known = map_get(&m->cyclic, inst);
    if (!known) {
        known = comes_back(inst, is_any_call, &unused) ? 2 : 1;
        map_set(&m->cyclic, inst, known);
    }
    return known == 2;
}

/* Each time it is executed the thread synchronises before it can be again. */
static bool ends_soon(LLVMValueRef inst)
{
    bool leaves, back = comes_back(inst, synchronises, &leaves);
    return !back && !leaves;
}

/* ---- where a value goes ---- */

static void marks_follow(struct flow *f, LLVMValueRef value)
{
    if (map_get(&f->seen, value))
        return;
    map_set(&f->seen, value, 1);
    RESERVE(f->todo);
    f->todo.at[f->todo.count++] = value;
}

static bool is_plain_memory(LLVMValueRef inst)
{
    return !LLVMGetVolatile(inst) && LLVMGetOrdering(inst) == LLVMAtomicOrderingNotAtomic;
}

/* Of a local variable that only loads and stores use: what is loaded from it anywhere. */
static bool follow_variable(struct flow *f, LLVMValueRef address)
{
    for (LLVMUseRef u = LLVMGetFirstUse(address); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        const char *name = LLVMIsACallInst(user) ? intrinsic_name(user) : NULL;
        if (++f->uses > USES_MAX)
            return false;
        if (LLVMIsALoadInst(user) && is_plain_memory(user))
            marks_follow(f, user);
        else if (LLVMIsAStoreInst(user) && LLVMGetOperand(user, 0) != address &&
                 is_plain_memory(user))
            ;
        else if (LLVMIsAGetElementPtrInst(user) && LLVMGetOperand(user, 0) == address) {
            if (!follow_variable(f, user))
                return false;
        } else if (!name ||
                   !(starts_with(name, "llvm.lifetime.") || starts_with(name, "llvm.dbg.")))
            return false;
    }
    return true;
}

/* errno, of which the C library's own code knows more than ours. */
static bool is_librarys(LLVMValueRef object)
{
    LLVMValueRef callee = is_call(object) ? called_function(object) : NULL;
    size_t n;
    return callee && strcmp(LLVMGetValueName2(callee, &n), "__errno_location") == 0;
}

static bool may_store(struct flow *f, LLVMValueRef store)
{
    uint64_t item = map_get(&f->m->item_of, store);
    LLVMValueRef object = underlying_object(LLVMGetOperand(store, 1));
    if (!is_plain_memory(store))
        return false;
    if (!item)
        return LLVMIsAAllocaInst(object) && is_private(f->m->p, object) &&
               (map_get(&f->seen, object) ||
                (map_set(&f->seen, object, 1), follow_variable(f, object)));
    if (stores_vtable(store) || is_librarys(object) || is_cyclic(f->m, item - 1))
        return false;
    RESERVE(f->stores);
    f->stores.at[f->stores.count++] = store;
    return true;
}

static bool is_safe_divisor(LLVMValueRef v)
{
    LLVMValueRef c = LLVMIsAConstantInt(v);
    return c && LLVMConstIntGetZExtValue(c) != 0 && LLVMConstIntGetSExtValue(c) != -1;
}

static bool only_computes(const char *name)
{
    static const char *const names[] = { "llvm.smax.",    "llvm.smin.",    "llvm.umax.",
                                         "llvm.umin.",    "llvm.uadd.sat", "llvm.usub.sat",
                                         "llvm.sadd.sat", "llvm.ssub.sat", "llvm.fabs.",
                                         "llvm.fmuladd.", "llvm.fma.",     "llvm.minnum.",
                                         "llvm.maxnum.",  "llvm.bswap.",   "llvm.ctpop." };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (starts_with(name, names[i]))
            return true;
    return false;
}

/* False: it matters. */
static bool follow_use(struct flow *f, LLVMValueRef user, LLVMValueRef value)
{
    const char *name;
    if (!LLVMIsAInstruction(user))
        return false;
    switch (LLVMGetInstructionOpcode(user)) {
    case LLVMStore:
        return LLVMGetOperand(user, 1) != value && may_store(f, user);
    case LLVMUDiv:
    case LLVMSDiv:
    case LLVMURem:
    case LLVMSRem:
        if (!is_safe_divisor(LLVMGetOperand(user, 1)))
            return false;
        break;
    case LLVMShl:
    case LLVMLShr:
    case LLVMAShr:
    case LLVMExtractElement:
        if (LLVMGetOperand(user, 1) == value)
            return false;
        break;
    case LLVMInsertElement:
        if (LLVMGetOperand(user, 2) == value)
            return false;
        break;
    case LLVMAdd:
    case LLVMSub:
    case LLVMMul:
    case LLVMAnd:
    case LLVMOr:
    case LLVMXor:
    case LLVMFAdd:
    case LLVMFSub:
    case LLVMFMul:
    case LLVMFDiv:
    case LLVMFNeg:
    case LLVMTrunc:
    case LLVMZExt:
    case LLVMSExt:
    case LLVMFPTrunc:
    case LLVMFPExt:
    case LLVMSIToFP:
    case LLVMUIToFP:
    case LLVMBitCast:
    case LLVMPtrToInt:
    case LLVMIntToPtr:
    case LLVMFreeze:
    case LLVMPHI:
    case LLVMSelect:
    case LLVMICmp:
    case LLVMFCmp:
    case LLVMGetElementPtr:
    case LLVMInsertValue:
    case LLVMExtractValue:
    case LLVMShuffleVector:
        break;
    case LLVMCall:
        name = intrinsic_name(user);
        if (!name || !only_computes(name))
            return false;
        break;
    default: /* branches, addresses, calls, returns, atomics, assembly ... */
        return false;
    }
    marks_follow(f, user);
    return true;
}

static bool follow_all(struct flow *f)
{
    while (f->todo.count) {
        LLVMValueRef value = f->todo.at[--f->todo.count];
        for (LLVMUseRef u = LLVMGetFirstUse(value); u; u = LLVMGetNextUse(u))
            if (++f->uses > USES_MAX || !follow_use(f, LLVMGetUser(u), value))
                return false;
    }
    return true;
}

/* ---- the function ---- */

static bool is_word(uint64_t bytes)
{
    return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
}

static bool is_candidate(const struct item *item)
{
    if (item->kind == ITEM_ATOMIC)
        return LLVMIsAAtomicRMWInst(item->inst);
    return item->kind == ITEM_ACCESS && is_word(item->bytes) &&
           (LLVMIsALoadInst(item->inst) || LLVMIsAStoreInst(item->inst)) &&
           is_plain_memory(item->inst);
}

/* A read that is in all likelihood the first half of an update (cover.c). */
static bool may_be_joined(struct pass *p, const struct items *items, size_t i)
{
    const struct item *read = &items->at[i];
    int64_t offset, at;
    LLVMValueRef base = strip_offset(p, ITEM_ADDRESS(read), &offset);
    for (size_t k = i + 1; k < items->count; k++) {
        const struct item *item = &items->at[k];
        if (item->block != read->block || item->kills)
            return false;
        if (item->kind == ITEM_ACCESS && item->write && item->bytes == read->bytes &&
            strip_offset(p, ITEM_ADDRESS(item), &at) == base && at == offset)
            return true;
    }
    return false;
}

/* It costs little, or is not executed often without the thread synchronising. */
static bool is_worth_marking(struct marks *m, const struct item *item)
{
    return item->kind != ITEM_ACCESS ||
           may_be_joined(m->p, m->items, (size_t)(item - m->items->at)) || ends_soon(item->inst);
}

/* Follows what the item loads; if that does not matter, it and the stores are loose. But what a
 * loose access costs a lone read must be worth, and so must the stores behind it. */
static void marks_look_at(struct marks *m, struct item *item)
{
    struct flow f = { .m = m };
    marks_follow(&f, item->inst);
    if (follow_all(&f) && is_worth_marking(m, item)) {
        item->loose = true;
        for (size_t i = 0; i < f.stores.count; i++)
            m->items->at[map_get(&m->item_of, f.stores.at[i]) - 1].loose = true;
    }
    free(f.todo.at);
    free(f.stores.at);
    map_release(&f.seen);
}

static bool is_lone_read(const struct item *item)
{
    return item->loose && item->kind == ITEM_ACCESS && !item->write && !item->update &&
           !item->dropped;
}

void find_loose(struct pass *p, struct items *items)
{
    struct marks m = { .p = p, .items = items };
    if (p->full || p->production || p->no_calls)
        return;
    for (size_t i = 0; i < items->count; i++)
        if (is_candidate(&items->at[i]))
            map_set(&m.item_of, items->at[i].inst, i + 1);
    for (size_t i = 0; i < items->count; i++)
        if (is_candidate(&items->at[i]) && !items->at[i].write)
            marks_look_at(&m, &items->at[i]);
    map_release(&m.item_of);
    map_release(&m.cyclic);
}

/* A read that was not joined with its write. */
void settle_loose(struct items *items)
{
    for (size_t i = 0; i < items->count; i++)
        if (is_lone_read(&items->at[i]))
            items->at[i].loose = ends_soon(items->at[i].inst);
}
