/* production_links.c - production builds: no-ops where pointers spread and objects begin
 *
 * `heddle caper` must know which objects other threads may reach (docs/design/production.md). In
 * that mode, and only then, the runtime turns these no-ops into jumps (most stores need none, their
 * own instructions become jumps: production_mark.c):
 *
 *     before a store that may store a pointer    __heddle_link_store(address, value), or
 *                                                __heddle_link_store_weak: an atomic one that
 *                                                releases nothing
 *     before a copy                              __heddle_link_copy(to, from, bytes)
 *     before memory is written to a file, sent   __heddle_link_send(from, bytes)
 *     before a call of code that may publish     __heddle_link_give(value), each pointer, if
 *                                                __heddle_link_untraced(function)
 *     behind an allocation                       __heddle_link_alloc(p), _realloc(p, old)
 *     where a function begins                    __heddle_link_slot(slot, bytes), each local
 *
 * Locals get a slot if their address goes to any function or is stored; they are aligned to 16
 * bytes then. All no-ops of a module have one site in its table, an entry, and are no accesses.
 *
 * Calls: of functions that turn out to be untraced when they are called (traced ones have a mark
 * before their first instruction), and of library functions that keep what they are given or hand
 * it to others; other functions of the C library publish nothing. Which C++ library functions
 * publish nothing is a list of patterns; all others are taken to. Inline assembly is taken to, if
 * there is any text in it. What is not seen here, a pointer that is stored byte by byte, or
 * computed by other than adding and masking, the static analysis finds (static/static_pairs.c):
 * sites that may access what it leads to count as escaped when they are executed.
 */
#include "pass/pass.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/rt_sites.h"
#include "abi/abi.h"

enum { ELEMENTS_MAX = 16, DEPTH_MAX = 6 };

enum link_kind {
    LINK_STORE,
    LINK_COPY,
    LINK_MOVE,
    LINK_GIVE,
    LINK_ALLOC,
    LINK_REALLOC,
    LINK_SLOT,
    LINK_HOOK,
    LINK_END
};

struct links {
    struct link {
        enum link_kind kind;
        bool weak; /* a store */
        LLVMValueRef inst;
    } *at;
    size_t count, room;
};

static void add_link(struct links *l, enum link_kind kind, LLVMValueRef inst)
{
    RESERVE(*l);
    l->at[l->count++] = (struct link){ kind, false, inst };
}

/* ---- what may be a pointer ---- */

/* What programs do to a pointer as a number: adding and masking. A product or a shift is none. */
static bool keeps_pointers(LLVMOpcode op)
{
    return op == LLVMAdd || op == LLVMSub || op == LLVMAnd || op == LLVMOr;
}

static bool is_wide(LLVMValueRef v)
{
    LLVMTypeRef type = LLVMTypeOf(v);
    return LLVMGetTypeKind(type) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) > 64;
}

/* Arithmetic: of pointers, or of numbers? What is wider than a pointer may have one in it. */
static bool comes_from_pointer(LLVMValueRef v, int depth)
{
    if (LLVMIsAPtrToIntInst(v) || is_wide(v))
        return true;
    if (!LLVMIsABinaryOperator(v) || !keeps_pointers(LLVMGetInstructionOpcode(v)))
        return false;
    return depth == DEPTH_MAX || comes_from_pointer(LLVMGetOperand(v, 0), depth + 1) ||
           comes_from_pointer(LLVMGetOperand(v, 1), depth + 1);
}

static bool is_number(LLVMValueRef v)
{
    if (LLVMIsAZExtInst(v) && LLVMGetIntTypeWidth(LLVMTypeOf(LLVMGetOperand(v, 0))) >= 64)
        return false;
    if (LLVMIsAConstantInt(v) || LLVMIsAZExtInst(v) || LLVMIsASExtInst(v) || LLVMIsAFPToUIInst(v) ||
        LLVMIsAFPToSIInst(v))
        return true;
    if (LLVMIsABitCastInst(v))
        return is_number(LLVMGetOperand(v, 0));
    return LLVMIsABinaryOperator(v) && !comes_from_pointer(v, 0);
}

static bool holds_pointer(LLVMValueRef v)
{
    LLVMTypeRef type = LLVMTypeOf(v);
    switch (LLVMGetTypeKind(type)) {
    case LLVMPointerTypeKind: {
        LLVMValueRef object = underlying_object(v);
        return LLVMGetPointerAddressSpace(type) == 0 && !LLVMIsNull(v) && !LLVMIsUndef(v) &&
               !LLVMIsAFunction(object) && !LLVMIsAGlobalVariable(object);
    }
    case LLVMIntegerTypeKind:
        return LLVMGetIntTypeWidth(type) >= 64 && !is_number(v) && !LLVMIsUndef(v);
    case LLVMStructTypeKind:
    case LLVMArrayTypeKind:
        return !LLVMIsConstant(v);
    case LLVMVectorTypeKind: {
        LLVMTypeRef element = LLVMGetElementType(type);
        LLVMTypeKind kind = LLVMGetTypeKind(element);
        return !LLVMIsConstant(v) && !is_number(v) &&
               (kind == LLVMPointerTypeKind ||
                (kind == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(element) >= 64));
    }
    default:
        return false;
    }
}

/* Between the two, in one block, nothing can make an object escape. */
static bool is_quiet_between(LLVMValueRef from, LLVMValueRef to)
{
    for (LLVMValueRef i = LLVMGetNextInstruction(from); i != to; i = LLVMGetNextInstruction(i)) {
        if (!i || (is_call(i) && !intrinsic_name(i)) || LLVMIsAAtomicRMWInst(i) ||
            LLVMIsAAtomicCmpXchgInst(i) ||
            (LLVMIsAStoreInst(i) && holds_pointer(LLVMGetOperand(i, 0))))
            return false;
    }
    return true;
}

/* The pointer that is stored was in the same object before, but for an offset (*p++), or leads into
 * that object itself. What it leads to has escaped if the object has. */
static bool is_step(LLVMValueRef store)
{
    LLVMValueRef value = underlying_object(LLVMGetOperand(store, 0));
    LLVMValueRef object = underlying_object(LLVMGetOperand(store, 1));
    if (value == object)
        return true;
    return LLVMIsALoadInst(value) &&
           LLVMGetInstructionParent(value) == LLVMGetInstructionParent(store) &&
           underlying_object(LLVMGetOperand(value, 0)) == object && is_quiet_between(value, store);
}

bool is_link_store(struct pass *p, LLVMValueRef store)
{
    return holds_pointer(LLVMGetOperand(store, 0)) && !is_private(p, LLVMGetOperand(store, 1)) &&
           !is_step(store);
}

/* ---- calls ---- */

/* Of a new thread's arguments the last is what it gets. */
static bool is_thread_start(LLVMValueRef call)
{
    const char *name = direct_callee(call) ? callee_name(call) : "";
    return strcmp(name, "pthread_create") == 0 || strcmp(name, "thrd_create") == 0;
}

static bool is_argument_given(LLVMValueRef call, unsigned i)
{
    if (is_thread_start(call) && i + 1 < LLVMGetNumArgOperands(call))
        return false;
    LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(call, i)));
    return (kind == LLVMPointerTypeKind || kind == LLVMIntegerTypeKind) &&
           holds_pointer(LLVMGetOperand(call, i)) &&
           !LLVMGetCallSiteEnumAttribute(call, i + 1, attribute_kind("sret"));
}

static bool gives_anything(LLVMValueRef call)
{
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++)
        if (is_argument_given(call, i))
            return true;
    return false;
}

static bool has_text(LLVMValueRef assembly)
{
    size_t n = 0;
    const char *text = LLVMGetInlineAsmAsmString(assembly, &n);
    return text && n > 0;
}

bool is_link_copy(struct pass *p, LLVMValueRef call)
{
    LLVMValueRef length = LLVMIsAConstantInt(LLVMGetOperand(call, 2));
    LLVMValueRef from = underlying_object(LLVMGetOperand(call, 1));
    bool constant = LLVMIsAGlobalVariable(from) && LLVMIsGlobalConstant(from);
    return !constant && !(length && LLVMConstIntGetZExtValue(length) < 8) &&
           !is_private(p, LLVMGetOperand(call, 0));
}

static void list_copy(struct pass *p, struct links *l, LLVMValueRef call)
{
    if (!map_get(&p->linked, call) && is_link_copy(p, call))
        add_link(l, LINK_COPY, call);
}

/* strtol(text, &end, 10) */
static void list_end(struct pass *p, struct links *l, LLVMValueRef call)
{
    if (LLVMGetNumArgOperands(call) >= 2 && holds_pointer(LLVMGetOperand(call, 0)) &&
        !LLVMIsNull(LLVMGetOperand(call, 1)) && !is_private(p, LLVMGetOperand(call, 1)))
        add_link(l, LINK_END, call);
}

static void list_call(struct pass *p, struct links *l, LLVMValueRef call)
{
    LLVMValueRef called = LLVMGetCalledValue(call), callee = direct_callee(call);
    enum callee_kind kind = callee_kind(call);
    if (LLVMIsACallBrInst(call) || kind == CALLEE_HARMLESS ||
        (intrinsic_name(call) && kind != CALLEE_COPIES) ||
        (callee && !is_only_declared(callee) && !map_get(&p->untraced, callee)) ||
        (LLVMIsAInlineAsm(called) && !has_text(called)))
        return;
    if (kind == CALLEE_ALLOCATES)
        add_link(l, LINK_ALLOC, call);
    else if (kind == CALLEE_REALLOCATES)
        add_link(l, LINK_REALLOC, call);
    else if (kind == CALLEE_COPIES && LLVMGetNumArgOperands(call) >= 3)
        list_copy(p, l, call);
    else if (kind == CALLEE_MOVES)
        add_link(l, LINK_MOVE, call);
    else if (kind == CALLEE_LINKS)
        add_link(l, LINK_HOOK, call);
    else if (kind == CALLEE_STORES)
        list_end(p, l, call);
    else if (kind == CALLEE_MAKES_THREADS || gives_anything(call))
        add_link(l, LINK_GIVE, call);
}

/* ---- locals ---- */

/* As escape.c has it for full builds: an address that goes to a function leaves. */
static bool leaves(struct pass *p, struct map *known, LLVMValueRef local)
{
    struct map kept = p->escapes;
    bool full = p->full, result;
    p->escapes = *known;
    p->full = true;
    result = !is_private(p, local);
    *known = p->escapes;
    p->escapes = kept;
    p->full = full;
    return result;
}

/* ---- stores that release nothing ---- */

static bool releases(LLVMAtomicOrdering o)
{
    return o == LLVMAtomicOrderingRelease || o == LLVMAtomicOrderingAcquireRelease ||
           o == LLVMAtomicOrderingSequentiallyConsistent;
}

/* Between the two, in one block, nothing else is accessed that others could see. */
static bool follows_release_fence(struct pass *p, LLVMValueRef inst)
{
    for (LLVMValueRef i = LLVMGetPreviousInstruction(inst); i; i = LLVMGetPreviousInstruction(i)) {
        if (LLVMIsAFenceInst(i))
            return releases(LLVMGetOrdering(i));
        bool load = LLVMIsALoadInst(i), store = LLVMIsAStoreInst(i);
        if ((load || store) && is_private(p, LLVMGetOperand(i, store ? 1 : 0)))
            continue;
        if (load || store || LLVMIsAAtomicRMWInst(i) || LLVMIsAAtomicCmpXchgInst(i) ||
            (is_call(i) && !is_debug(i)))
            return false;
    }
    return false;
}

/* An atomic store that is no race with who reads the pointer, and orders nothing: what was done to
 * the object before may race with what the reader does to it. A plain store is a race itself, or
 * ordered by something else. */
static bool is_weak(struct pass *p, LLVMValueRef inst)
{
    LLVMAtomicOrdering o = LLVMIsAAtomicCmpXchgInst(inst) ? LLVMGetCmpXchgSuccessOrdering(inst)
                                                          : LLVMGetOrdering(inst);
    return o != LLVMAtomicOrderingNotAtomic && !releases(o) && !follows_release_fence(p, inst);
}

/* ---- the list ---- */

static void add_store(struct pass *p, struct links *l, LLVMValueRef inst)
{
    add_link(l, LINK_STORE, inst);
    l->at[l->count - 1].weak = is_weak(p, inst);
}

static void list_instruction(struct pass *p, struct links *l, struct map *known, LLVMValueRef i)
{
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMStore:
        if (!map_get(&p->linked, i) && is_link_store(p, i))
            add_store(p, l, i);
        break;
    case LLVMAtomicRMW:
        if (LLVMGetAtomicRMWBinOp(i) == LLVMAtomicRMWBinOpXchg &&
            holds_pointer(LLVMGetOperand(i, 1)))
            add_store(p, l, i);
        break;
    case LLVMAtomicCmpXchg:
        if (holds_pointer(LLVMGetOperand(i, 2)))
            add_store(p, l, i);
        break;
    case LLVMAlloca:
        if (leaves(p, known, i))
            add_link(l, LINK_SLOT, i);
        break;
    case LLVMCall:
    case LLVMInvoke:
        list_call(p, l, i);
        break;
    default:
        break;
    }
}

static void list_links(struct pass *p, LLVMValueRef f, struct links *l)
{
    struct map known = { 0 };
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
            if (!is_debug(i))
                list_instruction(p, l, &known, i);
    map_release(&known);
}

/* ---- code ---- */

/* The callee's address is loaded by volatile assembly: else the compiler loads it before the loop
 * around, and keeps a register busy where the no-op is one. */
static LLVMValueRef production_links_ask(struct pass *p, const char *name, LLVMTypeRef result,
                                         unsigned n, LLVMValueRef *args)
{
    char text[128];
    LLVMTypeRef params[4], load = LLVMFunctionType(p->ptr, NULL, 0, false);
    for (unsigned i = 0; i < n; i++)
        params[i] = LLVMTypeOf(args[i]);
    snprintf(text, sizeof text, "movq %s@GOTPCREL(%%rip), $0", name);
    LLVMValueRef assembly = LLVMGetInlineAsm(load, text, strlen(text), (char *)"=r", 2, true, false,
                                             LLVMInlineAsmDialectATT, false);
    LLVMValueRef callee = LLVMBuildCall2(p->b, load, assembly, NULL, 0, "");
    LLVMValueRef call =
        LLVMBuildCall2(p->b, LLVMFunctionType(result, params, n, false), callee, args, n, "");
    LLVMSetInstructionCallConv(call, CC_PRESERVE_MOST);
    for (unsigned i = 0; i < 2; i++)
        LLVMAddCallSiteAttribute(
            call, LLVMAttributeFunctionIndex,
            LLVMCreateEnumAttribute(p->context, attribute_kind(i ? "cold" : "nounwind"), 0));
    return call;
}

static void production_links_tell(struct pass *p, const char *name, unsigned n, LLVMValueRef *args)
{
    production_links_ask(p, name, p->none, n, args);
}

static LLVMValueRef word(struct pass *p, LLVMValueRef v)
{
    return LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMPointerTypeKind
               ? LLVMBuildPtrToInt(p->b, v, p->i64, "")
               : v;
}

/* Each word of a value that may hold several, to the function of that name. */
static void tell_stored(struct pass *p, const char *name, LLVMValueRef address, LLVMValueRef value)
{
    LLVMTypeRef type = LLVMTypeOf(value);
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    uint64_t bytes = LLVMStoreSizeOfType(p->layout, type);
    if (kind == LLVMStructTypeKind || kind == LLVMArrayTypeKind) {
        uint64_t n = kind == LLVMArrayTypeKind ? LLVMGetArrayLength2(type)
                                               : LLVMCountStructElementTypes(type);
        for (unsigned i = 0; i < n && i < ELEMENTS_MAX; i++) {
            LLVMValueRef part = LLVMBuildExtractValue(p->b, value, i, "");
            if (holds_pointer(part))
                tell_stored(p, name, address, part);
        }
        return;
    }
    if (kind == LLVMPointerTypeKind || bytes == 8) {
        if (kind == LLVMVectorTypeKind)
            value = LLVMBuildBitCast(p->b, value, p->i64, "");
        LLVMValueRef args[] = { address, word(p, value) };
        production_links_tell(p, name, 2, args);
        return;
    }
    if (kind == LLVMVectorTypeKind &&
        LLVMGetTypeKind(LLVMGetElementType(type)) == LLVMPointerTypeKind)
        value = LLVMBuildPtrToInt(p->b, value, LLVMVectorType(p->i64, LLVMGetVectorSize(type)), "");
    unsigned n = (unsigned)(bytes / 8);
    if (n == 0 || bytes % 8)
        return; /* numbers of odd width */
    value = LLVMBuildBitCast(p->b, value, LLVMVectorType(p->i64, n), "");
    for (unsigned i = 0; i < n; i++) {
        LLVMValueRef args[] = { address, LLVMBuildExtractElement(p->b, value, const32(p, i), "") };
        production_links_tell(p, name, 2, args);
    }
}

void tell_link_store(struct pass *p, LLVMValueRef address, LLVMValueRef value)
{
    tell_stored(p, "__heddle_link_store", address, value);
}

static void emit_store(struct pass *p, LLVMValueRef inst, bool weak)
{
    bool store = LLVMIsAStoreInst(inst);
    unsigned value = store ? 0 : LLVMIsAAtomicCmpXchgInst(inst) ? 2 : 1;
    tell_stored(p, weak ? "__heddle_link_store_weak" : "__heddle_link_store",
                LLVMGetOperand(inst, store ? 1 : 0), LLVMGetOperand(inst, value));
}

void tell_link_copy(struct pass *p, LLVMValueRef to, LLVMValueRef from, LLVMValueRef bytes)
{
    LLVMValueRef args[] = { to, from, bytes };
    production_links_tell(p, "__heddle_link_copy", 3, args);
}

static void emit_copy(struct pass *p, LLVMValueRef call)
{
    LLVMValueRef bytes = LLVMBuildIntCast2(p->b, LLVMGetOperand(call, 2), p->i64, false, "");
    tell_link_copy(p, LLVMGetOperand(call, 0), LLVMGetOperand(call, 1), bytes);
}

static void emit_move(struct pass *p, LLVMValueRef call)
{
    struct callee_move move, *m = &move;
    unsigned n = LLVMGetNumArgOperands(call);
    if (!callee_move(call, m) || (unsigned)m->from >= n || (unsigned)m->bytes >= n ||
        (m->times >= (int)n) || m->to >= (int)n)
        return;
    LLVMValueRef bytes =
        LLVMBuildIntCast2(p->b, LLVMGetOperand(call, (unsigned)m->bytes), p->i64, false, "");
    if (m->times >= 0)
        bytes = LLVMBuildMul(p->b, bytes, LLVMGetOperand(call, (unsigned)m->times), "");
    bytes = LLVMBuildMul(p->b, bytes, const64(p, (uint64_t)m->unit), "");
    bytes = LLVMBuildAdd(p->b, bytes, const64(p, (uint64_t)m->more), "");
    LLVMValueRef from = LLVMGetOperand(call, (unsigned)m->from), sent[] = { from, bytes };
    if (m->to < 0)
        production_links_tell(p, "__heddle_link_send", 2, sent);
    else
        tell_link_copy(p, LLVMGetOperand(call, (unsigned)m->to), from, bytes);
}

/* Goes on at `tail` if the function turns out to be traced when it is called: see mark_function().
 */
static void return_if_traced(struct pass *p, LLVMValueRef function, LLVMBasicBlockRef tail)
{
    LLVMBasicBlockRef untraced = LLVMAppendBasicBlockInContext(p->context, p->function, "");
    LLVMValueRef answer = production_links_ask(p, "__heddle_link_untraced", p->i32, 1, &function);
    LLVMValueRef is = LLVMBuildICmp(p->b, LLVMIntNE, answer, const32(p, 0), "");
    LLVMBuildCondBr(p->b, is, untraced, tail);
    LLVMPositionBuilderAtEnd(p->b, untraced);
}

static void emit_give(struct pass *p, LLVMValueRef call, LLVMBasicBlockRef tail)
{
    LLVMValueRef callee = direct_callee(call), called = LLVMGetCalledValue(call);
    enum callee_kind kind = callee_kind(call);
    if (kind == CALLEE_MAKES_THREADS)
        production_links_tell(p, "__heddle_link_threads", 0, NULL);
    else if (kind != CALLEE_PUBLISHES && !LLVMIsAInlineAsm(called) &&
             !(callee && !is_only_declared(callee)))
        return_if_traced(p, called, tail);
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++) {
        LLVMValueRef arg = LLVMGetOperand(call, i);
        if (!is_argument_given(call, i))
            continue;
        if (is_wide(arg)) { /* its other half */
            LLVMTypeRef type = LLVMTypeOf(arg);
            LLVMValueRef half = LLVMBuildLShr(p->b, arg, LLVMConstInt(type, 64, false), "");
            half = LLVMBuildTrunc(p->b, half, p->i64, "");
            production_links_tell(p, "__heddle_link_give", 1, &half);
        }
        if (LLVMGetTypeKind(LLVMTypeOf(arg)) == LLVMIntegerTypeKind)
            arg = LLVMBuildIntCast2(p->b, arg, p->i64, false, "");
        arg = word(p, arg);
        production_links_tell(p, "__heddle_link_give", 1, &arg);
    }
}

/* hook(node, position); insert(left, node, parent, header) */
static void emit_hook(struct pass *p, LLVMValueRef call)
{
    bool tree = LLVMGetNumArgOperands(call) == 4;
    LLVMValueRef node = LLVMGetOperand(call, tree ? 1 : 0);
    LLVMValueRef into[] = { LLVMGetOperand(call, tree ? 2 : 1),
                            LLVMGetOperand(call, tree ? 3 : 1) };
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef there[] = { into[i], word(p, node) }, back[] = { node, word(p, into[i]) };
        production_links_tell(p, "__heddle_link_store", 2, there);
        production_links_tell(p, "__heddle_link_store", 2, back);
    }
}

static void emit_end(struct pass *p, LLVMValueRef call)
{
    LLVMValueRef at = LLVMGetOperand(call, 1), text = word(p, LLVMGetOperand(call, 0));
    LLVMValueRef wanted = LLVMBuildIsNotNull(p->b, at, "");
    LLVMValueRef args[] = { at, LLVMBuildSelect(p->b, wanted, text, const64(p, 0), "") };
    production_links_tell(p, "__heddle_link_store", 2, args);
}

static void emit_alloc(struct pass *p, const struct link *l)
{
    LLVMValueRef args[] = { l->inst, LLVMGetOperand(l->inst, 0) };
    if (l->kind == LINK_REALLOC)
        production_links_tell(p, "__heddle_link_realloc", 2, args);
    else
        production_links_tell(p, "__heddle_link_alloc", 1, args);
}

static void emit_slot(struct pass *p, LLVMValueRef local)
{
    uint64_t each = LLVMABISizeOfType(p->layout, LLVMGetAllocatedType(local));
    LLVMValueRef n = LLVMBuildIntCast2(p->b, LLVMGetOperand(local, 0), p->i64, false, "");
    LLVMValueRef args[] = { local, LLVMBuildMul(p->b, n, const64(p, each), "") };
    production_links_tell(p, "__heddle_link_slot", 2, args);
}

/* ---- where ---- */

static bool is_single_predecessor(LLVMBasicBlockRef block, LLVMValueRef invoke)
{
    for (LLVMUseRef u = LLVMGetFirstUse(LLVMBasicBlockAsValue(block)); u; u = LLVMGetNextUse(u))
        if (LLVMGetUser(u) != invoke)
            return false;
    return true;
}

/* The first instruction that runs with the result; NULL: there is no such place, and then the
 * object counts as escaped. */
static LLVMValueRef behind(LLVMValueRef call)
{
    if (!LLVMIsATerminatorInst(call))
        return LLVMGetTailCallKind(call) == LLVMTailCallKindMustTail ? NULL
                                                                     : LLVMGetNextInstruction(call);
    LLVMBasicBlockRef to = LLVMGetNormalDest(call);
    LLVMValueRef first = first_insertion(to);
    return is_single_predecessor(to, call) && !LLVMIsAPHINode(LLVMGetFirstInstruction(to)) ? first
                                                                                           : NULL;
}

static bool is_static(LLVMValueRef local)
{
    return LLVMIsConstant(LLVMGetOperand(local, 0)) &&
           LLVMGetInstructionParent(local) ==
               LLVMGetEntryBasicBlock(LLVMGetBasicBlockParent(LLVMGetInstructionParent(local)));
}

uint32_t link_site(struct pass *p)
{
    if (!p->link_site)
        p->link_site = table_site(p, SITE_ENTRY, NULL, 0, 0, "") + 1;
    return p->link_site - 1;
}

/* A no-op before `at`; the builder is then in the block that it can be made to jump to. */
static struct detour begin_nop(struct pass *p, LLVMValueRef at)
{
    struct detour d = detour_begin(p, at);
    struct patch_site site = { link_site(p), HIT_ATOMIC };
    detour_if_patched(p, &d, &site, 1);
    return d;
}

static void emit_one(struct pass *p, const struct link *l)
{
    bool after = l->kind == LINK_ALLOC || l->kind == LINK_REALLOC || l->kind == LINK_SLOT;
    LLVMValueRef at = after ? behind(l->inst) : l->inst;
    if (!at)
        return;
    struct detour d = begin_nop(p, at);
    switch (l->kind) {
    case LINK_STORE:
        emit_store(p, l->inst, l->weak);
        break;
    case LINK_COPY:
        emit_copy(p, l->inst);
        break;
    case LINK_MOVE:
        emit_move(p, l->inst);
        break;
    case LINK_GIVE:
        emit_give(p, l->inst, d.tail);
        break;
    case LINK_HOOK:
        emit_hook(p, l->inst);
        break;
    case LINK_END:
        emit_end(p, l->inst);
        break;
    case LINK_SLOT:
        emit_slot(p, l->inst);
        break;
    default:
        emit_alloc(p, l);
        break;
    }
    detour_end(p, &d);
}

/* Those of the entry block share one no-op; allocas stay first in the block. */
static void emit_static_slots(struct pass *p, LLVMValueRef f, struct links *l)
{
    LLVMValueRef at = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(f));
    LLVMValueRef last = NULL;
    for (size_t i = 0; i < l->count; i++)
        if (l->at[i].kind == LINK_SLOT && is_static(l->at[i].inst)) {
            last = l->at[i].inst;
            if (LLVMGetAlignment(last) < 16)
                LLVMSetAlignment(last, 16);
        }
    if (!last)
        return;
    while (LLVMIsAAllocaInst(at))
        at = LLVMGetNextInstruction(at);
    for (LLVMValueRef i = at; i; i = LLVMGetNextInstruction(i))
        if (LLVMIsAAllocaInst(i) && is_static(i))
            at = LLVMGetNextInstruction(i);
    struct detour d = begin_nop(p, at);
    for (size_t i = 0; i < l->count; i++)
        if (l->at[i].kind == LINK_SLOT && is_static(l->at[i].inst))
            emit_slot(p, l->at[i].inst);
    detour_end(p, &d);
}

/* Two words before the function's first instruction say that it is traced. */
static void mark_function(struct pass *p, LLVMValueRef f)
{
    LLVMValueRef words[] = { const64(p, TRACED_MARK), const64(p, ~TRACED_MARK) };
    if (!LLVMHasPrefixData(f))
        LLVMSetPrefixData(f, LLVMConstArray2(p->i64, words, 2));
}

struct links *production_links_list(struct pass *p, LLVMValueRef f)
{
    struct links *l = zeroed(sizeof *l);
    list_links(p, f, l);
    return l;
}

void production_links_emit(struct pass *p, LLVMValueRef f, struct links *l)
{
    mark_function(p, f);
    for (size_t i = 0; i < l->count; i++) {
        const struct link *link = &l->at[i];
        bool together = link->kind == LINK_SLOT && is_static(link->inst);
        bool marked = link->kind == LINK_STORE && mark_link(p, link->inst);
        if (!together && !marked)
            emit_one(p, link);
    }
    emit_static_slots(p, f, l);
    free(l->at);
    free(l);
}
