/* escape.c - memory that no other thread can reach
 *
 * Locals whose address never leaves the function, by-value arguments, and thread-local variables
 * of this file whose address is never taken. The analysis walks uses and does not look at the
 * order of things: an address that is given away anywhere counts as given away everywhere.
 *
 * In default builds also blocks of the heap whose address the function keeps for itself until it
 * frees them, and what a parameter points to, if the function is called in this file only, and
 * always with such memory (is_own). Links (links.c) go by locals alone (is_private): the runtime
 * knows that a stack changes, but not that such a block does.
 *
 * Handing an address to a function that does not keep it is no escape, except in full builds: there
 * the engines want to see who wrote what the function reads. LLVM says so (nocapture), but not of
 * inline functions of C++, whose definition in another file may be the one that is linked. That
 * one is the same code, so what it keeps can be seen in this one: find_kept() looks, before
 * anything is instrumented.
 */
#include "pass/pass.h"

#include <stdlib.h>
#include <string.h>

enum {
    PRIVATE = 1,
    ESCAPES = 2,
    USES_MAX = 2000, /* more: not worth the time */
    DEPTH_MAX = 16,  /* of calls that hand a parameter on */
    CHOICES_MAX = 32 /* between addresses */
};

struct work {
    LLVMValueRef *at;
    size_t count, room;
    struct map seen;
    unsigned uses;
    LLVMValueRef object; /* whose uses these are */
};

static void escape_follow(struct work *w, LLVMValueRef value)
{
    if (map_get(&w->seen, value))
        return;
    map_set(&w->seen, value, 1);
    RESERVE(*w);
    w->at[w->count++] = value;
}

static bool is_gep(LLVMValueRef v)
{
    return LLVMIsAGetElementPtrInst(v) ||
           (LLVMIsAConstantExpr(v) && LLVMGetConstOpcode(v) == LLVMGetElementPtr);
}

/* Intrinsics that use memory, or an address, and keep nothing. */
static bool keeps_nothing(const char *name)
{
    static const char *const names[] = { "llvm.mem",    "llvm.lifetime.",  "llvm.invariant.",
                                         "llvm.va_",    "llvm.objectsize", "llvm.is.constant",
                                         "llvm.assume", "llvm.prefetch",   "llvm.masked." };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (starts_with(name, names[i]))
            return true;
    return false;
}

static bool passes_on(const char *name)
{
    return starts_with(name, "llvm.launder.") || starts_with(name, "llvm.strip.") ||
           starts_with(name, "llvm.threadlocal.");
}

/* Does the function keep its parameter, as far as its body shows? */
static bool keeps(struct pass *p, LLVMValueRef callee, unsigned i)
{
    if (!callee || i >= LLVMCountParams(callee))
        return true;
    if (LLVMGetEnumAttributeAtIndex(callee, i + 1, attribute_kind("nocapture")))
        return false;
    LLVMValueRef parameter = LLVMGetParam(callee, i);
    if (p->finding_kept && !map_get(&p->kept, parameter))
        find_kept(p, callee);
    return map_get(&p->kept, parameter) != PRIVATE;
}

static bool call_escapes(struct pass *p, struct work *w, LLVMValueRef call, LLVMValueRef value)
{
    const char *name = intrinsic_name(call);
    if (name && passes_on(name)) {
        escape_follow(w, call);
        return false;
    }
    if (name || is_libatomic(call))
        return name && !keeps_nothing(name);
    unsigned n = LLVMGetNumArgOperands(call), nocapture = attribute_kind("nocapture");
    if (p->full || LLVMGetCalledValue(call) == value || LLVMGetNumOperandBundles(call))
        return true;
    LLVMValueRef callee = called_function(call);
    for (unsigned i = 0; i < n; i++) {
        if (LLVMGetOperand(call, i) != value)
            continue;
        if (callee && i < LLVMCountParams(callee) && LLVMGetParam(callee, i) == w->object)
            continue; /* a function that calls itself: its uses are being looked at */
        if (!LLVMGetCallSiteEnumAttribute(call, i + 1, nocapture) && keeps(p, callee, i))
            return true;
    }
    return false;
}

static bool use_escapes(struct pass *p, struct work *w, LLVMValueRef user, LLVMValueRef value)
{
    if (is_gep(user)) {
        escape_follow(w, user);
        return LLVMGetOperand(user, 0) != value;
    }
    if (!LLVMIsAInstruction(user))
        return true;
    switch (LLVMGetInstructionOpcode(user)) {
    case LLVMLoad:
    case LLVMICmp:
        return false;
    case LLVMStore:
        return LLVMGetOperand(user, 0) == value;
    case LLVMAtomicRMW:
        return LLVMGetOperand(user, 1) == value;
    case LLVMAtomicCmpXchg:
        return LLVMGetOperand(user, 1) == value || LLVMGetOperand(user, 2) == value;
    case LLVMBitCast:
    case LLVMAddrSpaceCast:
    case LLVMPHI:
    case LLVMSelect:
        escape_follow(w, user);
        return false;
    case LLVMCall:
    case LLVMInvoke:
        return call_escapes(p, w, user, value);
    default:
        return true;
    }
}

static bool escapes(struct pass *p, LLVMValueRef object)
{
    struct work w = { .object = object };
    bool result = false;
    escape_follow(&w, object);
    while (w.count > 0 && !result) {
        LLVMValueRef value = w.at[--w.count];
        for (LLVMUseRef u = LLVMGetFirstUse(value); u && !result; u = LLVMGetNextUse(u))
            result = ++w.uses > USES_MAX || use_escapes(p, &w, LLVMGetUser(u), value);
    }
    free(w.at);
    map_release(&w.seen);
    return result;
}

bool is_exact(LLVMValueRef f)
{
    switch (LLVMGetLinkage(f)) {
    case LLVMExternalLinkage:
    case LLVMInternalLinkage:
    case LLVMPrivateLinkage:
    case LLVMLinkOnceODRLinkage:
    case LLVMWeakODRLinkage:
        return !LLVMIsDeclaration(f);
    default:
        return false;
    }
}

/* A parameter that is being looked at, of a function that calls itself, counts as kept. */
void find_kept(struct pass *p, LLVMValueRef f)
{
    if (p->full || p->production || !is_exact(f) || p->finding_kept >= DEPTH_MAX)
        return;
    p->finding_kept++;
    for (LLVMValueRef a = LLVMGetFirstParam(f); a; a = LLVMGetNextParam(a)) {
        if (LLVMGetTypeKind(LLVMTypeOf(a)) != LLVMPointerTypeKind || map_get(&p->kept, a))
            continue;
        map_set(&p->kept, a, ESCAPES);
        if (!escapes(p, a))
            map_set(&p->kept, a, PRIVATE);
    }
    p->finding_kept--;
}

LLVMValueRef underlying_object(LLVMValueRef v)
{
    for (int depth = 0; depth < 64; depth++) {
        const char *name;
        if (is_gep(v) || LLVMIsABitCastInst(v) || LLVMIsAAddrSpaceCastInst(v))
            v = LLVMGetOperand(v, 0);
        else if (LLVMIsACallInst(v) && (name = intrinsic_name(v)) && passes_on(name))
            v = LLVMGetOperand(v, 0);
        else
            break;
    }
    return v;
}

static unsigned number_of(LLVMValueRef parameter)
{
    unsigned i = 0;
    LLVMValueRef f = LLVMGetParamParent(parameter);
    for (LLVMValueRef a = LLVMGetFirstParam(f); a != parameter; a = LLVMGetNextParam(a))
        i++;
    return i;
}

static bool may_be_private(LLVMValueRef object)
{
    if (LLVMIsAAllocaInst(object))
        return true;
    if (LLVMIsAArgument(object))
        return LLVMGetEnumAttributeAtIndex(LLVMGetParamParent(object), number_of(object) + 1,
                                           attribute_kind("byval"));
    if (!LLVMIsAGlobalVariable(object) || !LLVMIsThreadLocal(object))
        return false;
    LLVMLinkage linkage = LLVMGetLinkage(object);
    return linkage == LLVMInternalLinkage || linkage == LLVMPrivateLinkage;
}

static bool is_private_object(struct pass *p, LLVMValueRef object)
{
    uint64_t known = map_get(&p->escapes, object);
    if (!known) {
        known = may_be_private(object) && !escapes(p, object) ? PRIVATE : ESCAPES;
        map_set(&p->escapes, object, known);
    }
    return known == PRIVATE;
}

bool is_private(struct pass *p, LLVMValueRef address)
{
    return is_private_object(p, underlying_object(address));
}

/* ---- memory that is one thread's own ---- */

/* A new block of memory, which nobody else knows. */
static bool allocates(LLVMValueRef v)
{
    static const char *const names[] = {
        "malloc", "calloc", "aligned_alloc",       "memalign",
        "_Znwm",  "_Znam",  "_ZnwmRKSt9nothrow_t", "_ZnamRKSt9nothrow_t"
    };
    LLVMValueRef callee = is_call(v) ? called_function(v) : NULL;
    size_t n;
    const char *name = callee && LLVMIsDeclaration(callee) ? LLVMGetValueName2(callee, &n) : "";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static bool is_own_object(struct pass *p, LLVMValueRef object);

/* What the call gives as the parameter, or something of which it is known anyway. */
static bool gives_own(struct pass *p, LLVMValueRef call, LLVMValueRef parameter, unsigned i)
{
    LLVMValueRef f = LLVMGetParamParent(parameter);
    if (!LLVMIsAInstruction(call) || !is_call(call) || called_function(call) != f ||
        LLVMGetCalledFunctionType(call) != LLVMGlobalGetValueType(f) ||
        LLVMGetNumOperandBundles(call))
        return false;
    for (unsigned k = 0; k < LLVMGetNumArgOperands(call); k++)
        if (LLVMGetOperand(call, k) == f) /* handed on, not only called */
            return false;
    LLVMValueRef given = underlying_object(LLVMGetOperand(call, i));
    return given == parameter || LLVMIsAConstantPointerNull(given) || is_own_object(p, given);
}

/* Are all calls of the parameter's function here, and do all give memory of their own? */
static bool is_given_own(struct pass *p, LLVMValueRef parameter)
{
    LLVMValueRef f = LLVMGetParamParent(parameter);
    LLVMLinkage linkage = LLVMGetLinkage(f);
    unsigned i = number_of(parameter), uses = 0;
    if ((linkage != LLVMInternalLinkage && linkage != LLVMPrivateLinkage) || !LLVMGetFirstUse(f))
        return false;
    for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u))
        if (++uses > USES_MAX || !gives_own(p, LLVMGetUser(u), parameter, i))
            return false;
    return true;
}

/* An object that is being looked at counts as not own: so parameters of functions that call each
 * other in a circle. */
static bool is_own_object(struct pass *p, LLVMValueRef object)
{
    if (is_private_object(p, object))
        return true;
    uint64_t known = map_get(&p->own, object);
    if (!known && p->finding_own < DEPTH_MAX) {
        map_set(&p->own, object, ESCAPES);
        p->finding_own++;
        bool own = allocates(object)         ? !escapes(p, object)
                   : LLVMIsAArgument(object) ? is_given_own(p, object)
                                             : false;
        p->finding_own--;
        known = own ? PRIVATE : ESCAPES;
        map_set(&p->own, object, known);
    }
    return known == PRIVATE;
}

/* Callers change when they are instrumented, and what they give can be seen no more. */
void find_own(struct pass *p, LLVMValueRef f)
{
    for (LLVMValueRef a = LLVMGetFirstParam(f); a && !p->full && !p->production;
         a = LLVMGetNextParam(a))
        if (LLVMGetTypeKind(LLVMTypeOf(a)) == LLVMPointerTypeKind)
            is_own_object(p, a);
}

/* The objects that an address may be of, through choices and rounds of loops. */
bool is_own(struct pass *p, LLVMValueRef address)
{
    struct work w = { 0 };
    bool own = true, plain = p->full || p->production || p->no_elimination;
    if (plain)
        return is_private(p, address);
    escape_follow(&w, underlying_object(address));
    while (w.count > 0 && own) {
        LLVMValueRef v = w.at[--w.count];
        bool phi = LLVMIsAPHINode(v), choice = LLVMIsASelectInst(v);
        unsigned n = phi ? LLVMCountIncoming(v) : choice ? 2 : 0;
        own = n                                                 ? ++w.uses < CHOICES_MAX
              : LLVMIsAConstantPointerNull(v) || LLVMIsUndef(v) ? true
                                                                : is_own_object(p, v);
        for (unsigned i = 0; i < n; i++)
            escape_follow(
                &w, underlying_object(phi ? LLVMGetIncomingValue(v, i) : LLVMGetOperand(v, i + 1)));
    }
    free(w.at);
    map_release(&w.seen);
    return own;
}

/* Adds what constant indices of a GEP amount to; false if one is not constant. */
static bool add_gep(struct pass *p, LLVMValueRef gep, int64_t *offset)
{
    LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
    int n = LLVMGetNumOperands(gep);
    int64_t sum = 0;
    for (int i = 1; i < n; i++) {
        LLVMValueRef index = LLVMIsAConstantInt(LLVMGetOperand(gep, (unsigned)i));
        if (!index)
            return false;
        int64_t k = LLVMConstIntGetSExtValue(index);
        LLVMTypeKind kind = LLVMGetTypeKind(type);
        if (i > 1 && kind == LLVMStructTypeKind) {
            sum += (int64_t)LLVMOffsetOfElement(p->layout, type, (unsigned)k);
            type = LLVMStructGetTypeAtIndex(type, (unsigned)k);
            continue;
        }
        if (i > 1)
            type = LLVMGetElementType(type);
        if (LLVMGetTypeKind(type) == LLVMScalableVectorTypeKind)
            return false;
        sum += k * (int64_t)LLVMABISizeOfType(p->layout, type);
    }
    *offset += sum;
    return true;
}

LLVMValueRef strip_offset(struct pass *p, LLVMValueRef v, int64_t *offset)
{
    *offset = 0;
    for (int depth = 0; depth < 64; depth++) {
        if (LLVMIsABitCastInst(v) || (is_gep(v) && add_gep(p, v, offset)))
            v = LLVMGetOperand(v, 0);
        else
            break;
    }
    return v;
}
