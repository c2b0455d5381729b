/* marks.c - loads whose value does not matter (docs/design/marks.md)
 *
 * For most loads the value decides something: a branch, an address, what is passed to a function or
 * returned. Of a counter, `hits++`, it does not: it only goes into a store. Such a load is *loose*,
 * and so is the store that what it loaded may go into. Whoever predicts lets a loose read see any
 * write (EV_LOOSE).
 *
 * All uses of the value are followed, through arithmetic, choices, memory of the thread's own
 * (without optimisation all values go through local variables), and calls of functions of this
 * module, into them by their arguments and back by what they return. Whatever is not known to be
 * harmless matters. So does what goes into a store that is not recorded, or might stop the program.
 * So the whole module is looked at, before anything in it is instrumented.
 *
 * What the filter knows of a loose access must cover nothing else (runtime/core/access.c), which
 * costs a call each time. So in a loop that calls nothing they stay what they were; and a load that
 * is not half of an update is loose only where the function synchronises on every way from it.
 */
#include "pass/pass.h"

#include <stdlib.h>
#include <string.h>

enum {
    USES_MAX = 400,
    BLOCKS_MAX = 4000,
    CALLERS_MAX = 16, /* of a function: more are not asked whether they synchronise soon */
    CALLERS_DEEP = 3,
    PIECES_MAX = 64 /* bytes of a copy that is recorded in pieces */
};

/* What is known of a read that does not matter: p->loose_reads. */
enum { WORTH_ALONE = 1, WORTH_JOINED };

struct marks {
    struct pass *p;
    struct map writes; /* recorded stores, by key() -> 1 */
    struct map cyclic; /* instruction -> 1 no, 2 it comes round again without a call */
    struct map traced; /* functions that are instrumented -> 1 */
};

/* Where the value of one load goes. */
struct flow {
    struct marks *m;
    struct {
        LLVMValueRef *at;
        size_t count, room;
    } todo;
    struct {
        const void **at; /* keys */
        size_t count, room;
    } stores;
    struct map seen;     /* values, and memory */
    struct map inside;   /* functions: 1 the value was given to them by a call, 2 it is theirs */
    struct map returned; /* functions that return it -> 1 */
    bool anywhere;       /* it is in a thread-local variable of the file */
    unsigned uses;
};

/* An instruction that copies has two accesses. */
static const void *key(LLVMValueRef inst, unsigned operand)
{
    return (const char *)inst + operand;
}

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

static LLVMValueRef function_of(LLVMValueRef inst)
{
    return LLVMGetBasicBlockParent(LLVMGetInstructionParent(inst));
}

/* What is not optimised is slow in any case. */
static bool is_slow(LLVMValueRef inst)
{
    return function_has(function_of(inst), "optnone");
}

static bool is_cyclic(struct marks *m, LLVMValueRef inst)
{
    bool unused;
    uint64_t known = map_get(&m->cyclic, inst);
    if (!known) {
        known = comes_back(inst, is_any_call, &unused) ? 2 : 1;
        map_set(&m->cyclic, inst, known);
    }
    return known == 2 && !is_slow(inst);
}

/* Nobody calls the function but by its name, here, in code that is instrumented. */
static bool is_closed(struct marks *m, LLVMValueRef f)
{
    unsigned uses = 0;
    LLVMLinkage linkage = LLVMGetLinkage(f);
    if (linkage != LLVMInternalLinkage && linkage != LLVMPrivateLinkage)
        return false;
    for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef call = LLVMGetUser(u);
        if (++uses > USES_MAX || !LLVMIsAInstruction(call) || !is_call(call) ||
            called_function(call) != f || !map_get(&m->traced, function_of(call)))
            return false;
        for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++)
            if (LLVMGetOperand(call, i) == f)
                return false;
    }
    return true;
}

/* Each time it is executed the thread synchronises before it can be again; behind the function's
 * end, where all of its callers do. */
static bool ends_soon(struct marks *m, LLVMValueRef inst, unsigned deep)
{
    bool leaves, back = comes_back(inst, synchronises, &leaves);
    LLVMValueRef f = function_of(inst);
    unsigned callers = 0;
    if (back || !leaves)
        return !back;
    if (deep == CALLERS_DEEP || !is_closed(m, f))
        return false;
    for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u))
        if (++callers > CALLERS_MAX || !ends_soon(m, LLVMGetUser(u), deep + 1))
            return false;
    return callers > 0;
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
    return LLVMGetOrdering(inst) == LLVMAtomicOrderingNotAtomic;
}

static bool follow_memory(struct flow *f, LLVMValueRef address);

/* One object, that is: no choice between some. */
static bool is_object(LLVMValueRef v)
{
    if (LLVMIsAInstruction(v))
        return LLVMIsAAllocaInst(v) || is_call(v);
    return LLVMIsAArgument(v) || LLVMIsAGlobalVariable(v);
}

/* The value is in the function, whoever calls it. */
static bool enter_as_own(struct flow *f, LLVMValueRef function)
{
    if (map_get(&f->inside, function) == 2)
        return true;
    map_set(&f->inside, function, 2);
    return !map_get(&f->returned, function) || is_closed(f->m, function);
}

static void enter_as_given(struct flow *f, LLVMValueRef function)
{
    if (!map_get(&f->inside, function))
        map_set(&f->inside, function, 1);
}

static bool is_copy_of_many(LLVMValueRef function)
{
    LLVMLinkage linkage = LLVMGetLinkage(function);
    return linkage == LLVMLinkOnceODRLinkage || linkage == LLVMWeakODRLinkage;
}

/* An inline function that is given the value. It computes the same in each file that has it, but
 * only here are its stores marked, and the linker may take another one. */
static bool is_given_to_copy(struct flow *f, LLVMValueRef function)
{
    return is_copy_of_many(function) && map_get(&f->inside, function) != 2;
}

/* Memory of the thread's own, which is not recorded: local variables, what parameters point to,
 * blocks of the heap. */
static bool follow_object(struct flow *f, LLVMValueRef object)
{
    if (map_get(&f->seen, object))
        return true;
    if (LLVMIsAGlobalVariable(object))
        f->anywhere = true;
    if (!LLVMIsAArgument(object))
        return follow_memory(f, object);
    if (!is_closed(f->m, LLVMGetParamParent(object)))
        return false;
    map_set(&f->seen, object, 1);
    LLVMValueRef function = LLVMGetParamParent(object);
    unsigned i = 0;
    for (LLVMValueRef a = LLVMGetFirstParam(function); a != object; a = LLVMGetNextParam(a))
        i++;
    for (LLVMUseRef u = LLVMGetFirstUse(function); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef given = underlying_object(LLVMGetOperand(LLVMGetUser(u), i));
        if (++f->uses > USES_MAX || !is_object(given) ||
            !enter_as_own(f, function_of(LLVMGetUser(u))) || !follow_object(f, given))
            return false;
    }
    return true;
}

/* A write of what is followed, by operand `to` of the instruction. */
static bool may_write_to(struct flow *f, LLVMValueRef inst, unsigned to)
{
    LLVMValueRef address = LLVMGetOperand(inst, to), object = underlying_object(address);
    if (!map_get(&f->m->writes, key(inst, to)))
        return is_own(f->m->p, address) && is_object(object) && follow_object(f, object);
    if (is_cyclic(f->m, inst) || is_given_to_copy(f, function_of(inst)))
        return false;
    RESERVE(f->stores);
    f->stores.at[f->stores.count++] = key(inst, to);
    return true;
}

/* errno, of which the C library's own code knows more than ours. */
static bool is_librarys(LLVMValueRef object)
{
    LLVMValueRef callee =
        LLVMIsAInstruction(object) && is_call(object) ? called_function(object) : NULL;
    size_t n;
    return callee && strcmp(LLVMGetValueName2(callee, &n), "__errno_location") == 0;
}

static bool may_store(struct flow *f, LLVMValueRef store)
{
    return is_plain_memory(store) && !stores_vtable(store) &&
           !is_librarys(underlying_object(LLVMGetOperand(store, 1))) && may_write_to(f, store, 1);
}

static bool is_copy(const char *name)
{
    return starts_with(name, "llvm.memcpy.") || starts_with(name, "llvm.memmove.");
}

/* The function whose code is executed by the call, if that is at hand and instrumented. */
static LLVMValueRef body_of(struct marks *m, LLVMValueRef call)
{
    LLVMValueRef callee = called_function(call);
    if (!callee || !map_get(&m->traced, callee) || !is_exact(callee) ||
        LLVMGetNumOperandBundles(call) || function_has(callee, "presplitcoroutine") ||
        LLVMGetCalledFunctionType(call) != LLVMGlobalGetValueType(callee))
        return NULL;
    return callee;
}

/* The callee of such an inline function may be another one, too. */
static bool may_hand_on(struct flow *f, LLVMValueRef call, LLVMValueRef callee)
{
    return is_copy_of_many(callee) || !is_given_to_copy(f, function_of(call));
}

static bool frees(LLVMValueRef call)
{
    const char *name = callee_name(call);
    return strcmp(name, "free") == 0 || starts_with(name, "_ZdlPv") || starts_with(name, "_ZdaPv");
}

/* A call that is handed the address of memory with the value. */
static bool follow_lent(struct flow *f, LLVMValueRef call, LLVMValueRef address)
{
    const char *name = intrinsic_name(call);
    if (name && is_copy(name))
        return LLVMGetOperand(call, 1) != address || may_write_to(f, call, 0);
    if (name)
        return (starts_with(name, "llvm.threadlocal.") && follow_memory(f, call)) ||
               starts_with(name, "llvm.lifetime.") || starts_with(name, "llvm.dbg.") ||
               starts_with(name, "llvm.memset.");
    if (frees(call))
        return true;
    LLVMValueRef callee = body_of(f->m, call);
    if (!callee || LLVMGetCalledValue(call) == address || !may_hand_on(f, call, callee))
        return false;
    enter_as_given(f, callee);
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++)
        if (LLVMGetOperand(call, i) == address &&
            (i >= LLVMCountParams(callee) || !follow_memory(f, LLVMGetParam(callee, i))))
            return false;
    return true;
}

static bool follow_address(struct flow *f, LLVMValueRef user, LLVMValueRef address)
{
    if (!LLVMIsAInstruction(user))
        return false;
    switch (LLVMGetInstructionOpcode(user)) {
    case LLVMLoad:
        if (!is_plain_memory(user) || ((f->anywhere || !map_get(&f->inside, function_of(user))) &&
                                       !enter_as_own(f, function_of(user))))
            return false;
        marks_follow(f, user);
        return true;
    case LLVMStore:
        return LLVMGetOperand(user, 0) != address && is_plain_memory(user);
    case LLVMGetElementPtr:
    case LLVMBitCast:
        return LLVMGetOperand(user, 0) == address && follow_memory(f, user);
    case LLVMPHI:
        return follow_memory(f, user);
    case LLVMSelect:
        return LLVMGetOperand(user, 0) != address && follow_memory(f, user);
    case LLVMICmp:
        return true;
    case LLVMCall:
    case LLVMInvoke:
        return follow_lent(f, user, address);
    default:
        return false;
    }
}

/* What is loaded anywhere from the memory at the address. */
static bool follow_memory(struct flow *f, LLVMValueRef address)
{
    if (map_get(&f->seen, address))
        return true;
    map_set(&f->seen, address, 1);
    for (LLVMUseRef u = LLVMGetFirstUse(address); u; u = LLVMGetNextUse(u))
        if (++f->uses > USES_MAX || !follow_address(f, LLVMGetUser(u), address))
            return false;
    return true;
}

/* ---- calls ---- */

static bool follow_arguments(struct flow *f, LLVMValueRef call, LLVMValueRef value)
{
    LLVMValueRef callee = body_of(f->m, call);
    if (!callee || LLVMGetCalledValue(call) == value || !may_hand_on(f, call, callee))
        return false;
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++) {
        if (LLVMGetOperand(call, i) != value)
            continue;
        if (i >= LLVMCountParams(callee) ||
            LLVMGetCallSiteEnumAttribute(call, i + 1, attribute_kind("byval")))
            return false;
        marks_follow(f, LLVMGetParam(callee, i));
    }
    enter_as_given(f, callee);
    return true;
}

/* What the function returns, in all code of this module that calls it: only that can have given it
 * the value, if it was given. */
static bool follow_results(struct flow *f, LLVMValueRef function)
{
    if (map_get(&f->returned, function))
        return true;
    map_set(&f->returned, function, 1);
    if (map_get(&f->inside, function) != 1 && !is_closed(f->m, function))
        return false;
    for (LLVMUseRef u = LLVMGetFirstUse(function); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef call = LLVMGetUser(u);
        if (!LLVMIsAInstruction(call) || !is_call(call) || called_function(call) != function)
            continue;
        if (++f->uses > USES_MAX || !map_get(&f->m->traced, function_of(call)) ||
            is_excluded_inline(f->m->p, call) || !enter_as_own(f, function_of(call)))
            return false;
        marks_follow(f, call);
    }
    return true;
}

/* Such a call computes, and ends. */
static bool is_computation(LLVMValueRef call)
{
    return LLVMIsACallInst(call) && called_function(call) && is_pure(call) &&
           call_has(call, "nounwind") && call_has(call, "willreturn");
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
    case LLVMInvoke:
        name = intrinsic_name(user);
        if (!name && !is_computation(user))
            return follow_arguments(f, user, value);
        if (name && !only_computes(name))
            return false;
        break;
    case LLVMRet:
        return follow_results(f, function_of(user));
    default: /* branches, addresses, atomics ... */
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

/* ---- the module ---- */

static bool is_word(uint64_t bytes)
{
    return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
}

static bool marks_is_copy(const struct item *item)
{
    const char *name = LLVMIsACallInst(item->inst) ? intrinsic_name(item->inst) : NULL;
    return name && is_copy(name);
}

static bool is_candidate(const struct item *item)
{
    bool memory = LLVMIsALoadInst(item->inst) || LLVMIsAStoreInst(item->inst);
    if (item->kind == ITEM_ATOMIC)
        return LLVMIsAAtomicRMWInst(item->inst);
    if (item->kind == ITEM_RANGE)
        return marks_is_copy(item) && item->bytes && item->bytes <= PIECES_MAX;
    if (item->kind != ITEM_ACCESS || !(is_word(item->bytes) || item->bytes <= PIECES_MAX))
        return false;
    return memory ? is_plain_memory(item->inst) : marks_is_copy(item);
}

/* A read that is in all likelihood the first half of an update (cover.c). */
static bool may_be_joined(struct pass *p, const struct items *items, size_t i)
{
    const struct item *read = &items->at[i];
    int64_t offset, at;
    LLVMValueRef base = strip_offset(p, ITEM_ADDRESS(read), &offset);
    for (size_t k = i + 1; k < items->count && is_word(read->bytes); k++) {
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
static int worth_of(struct marks *m, const struct items *items, size_t i)
{
    const struct item *item = &items->at[i];
    if (item->kind == ITEM_ATOMIC || is_slow(item->inst) || ends_soon(m, item->inst, 0))
        return WORTH_ALONE;
    return item->kind == ITEM_ACCESS && may_be_joined(m->p, items, i) ? WORTH_JOINED : 0;
}

static bool matters(struct flow *f, const struct item *item)
{
    bool starts = enter_as_own(f, function_of(item->inst));
    if (marks_is_copy(item))
        starts &= may_write_to(f, item->inst, 0);
    else
        marks_follow(f, item->inst);
    return !starts || !follow_all(f);
}

/* Follows what the item loads; if that does not matter, it and the stores are loose. But what a
 * loose access costs a lone read must be worth, and so must the stores behind it. */
static void marks_look_at(struct marks *m, const struct items *items, size_t i)
{
    struct flow f = { .m = m };
    const struct item *item = &items->at[i];
    int worth = matters(&f, item) ? 0 : worth_of(m, items, i);
    if (worth) {
        map_set(&m->p->loose_reads, key(item->inst, item->operand), (uint64_t)worth);
        for (size_t k = 0; k < f.stores.count; k++)
            map_set(&m->p->loose_writes, f.stores.at[k], 1);
    }
    free(f.todo.at);
    free(f.stores.at);
    map_release(&f.seen);
    map_release(&f.inside);
    map_release(&f.returned);
}

void find_marks(struct pass *p, LLVMValueRef *functions, size_t count)
{
    struct marks m = { .p = p };
    struct items *items = zeroed(count * sizeof *items);
    if (p->full || p->production || p->no_calls)
        count = 0;
    for (size_t i = 0; i < count; i++)
        map_set(&m.traced, functions[i], 1);
    for (size_t i = 0; i < count; i++) {
        p->function = functions[i];
        list_items(p, functions[i], &items[i]);
        for (size_t k = 0; k < items[i].count; k++)
            if (is_candidate(&items[i].at[k]) && items[i].at[k].write)
                map_set(&m.writes, key(items[i].at[k].inst, items[i].at[k].operand), 1);
    }
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < items[i].count; k++)
            if (is_candidate(&items[i].at[k]) && !items[i].at[k].write)
                marks_look_at(&m, &items[i], k);
    for (size_t i = 0; i < count; i++)
        free(items[i].at);
    free(items);
    map_release(&m.writes);
    map_release(&m.cyclic);
    map_release(&m.traced);
}

/* ---- the function ---- */

static bool is_lone_read(const struct item *item)
{
    return item->loose && item->kind == ITEM_ACCESS && !item->write && !item->update &&
           !item->dropped;
}

void find_loose(struct pass *p, struct items *items)
{
    for (size_t i = 0; i < items->count; i++) {
        struct item *item = &items->at[i];
        if (is_candidate(item))
            item->loose = map_get(item->write ? &p->loose_writes : &p->loose_reads,
                                  key(item->inst, item->operand)) != 0;
    }
}

/* A read that was not joined with its write. */
void settle_loose(struct pass *p, struct items *items)
{
    for (size_t i = 0; i < items->count; i++)
        if (is_lone_read(&items->at[i]))
            items->at[i].loose = map_get(&p->loose_reads, key(items->at[i].inst,
                                                              items->at[i].operand)) == WORTH_ALONE;
}
