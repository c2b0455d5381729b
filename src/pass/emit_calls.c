/* emit_calls.c - calls: modelled libc functions, libatomic */
#include "pass/pass.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/rt_libc.h"
#include "abi/rt_sites.h"

const char *callee_name(LLVMValueRef call)
{
    LLVMValueRef callee = called_function(call);
    size_t n;
    const char *name = callee ? LLVMGetValueName2(callee, &n) : "";
    return name[0] == 1 ? name + 1 : name; /* asm labels */
}

/* ---- modelled functions ---- */

/* With the table's own name only: sinf() is described by sin(), but has no model of its own. */
static const struct libc_function *find_modelled(const char *name)
{
    const struct libc_function *f = libc_find(name);
    return f && f->modelled >= 0 && strcmp(f->name, name) == 0 ? f : NULL;
}

bool is_modelled(LLVMValueRef call)
{
    LLVMValueRef callee = called_function(call);
    if (!callee || !LLVMIsDeclaration(callee) || LLVMGetNumOperandBundles(call) ||
        LLVMGetInstructionOpcode(call) == LLVMCallBr)
        return false;
    const struct libc_function *m = find_modelled(callee_name(call));
    LLVMTypeRef type = LLVMGlobalGetValueType(callee);
    return m && LLVMCountParamTypes(type) == (unsigned)m->modelled &&
           !!LLVMIsFunctionVarArg(type) == m->variadic && LLVMGetCalledFunctionType(call) == type;
}

/* The type with a site added: in front of a variadic function's arguments, else behind. */
static LLVMTypeRef type_with_site(struct pass *p, LLVMTypeRef type, bool variadic)
{
    LLVMTypeRef params[16];
    unsigned n = LLVMCountParamTypes(type);
    LLVMGetParamTypes(type, params + variadic);
    params[variadic ? 0 : n] = p->i32;
    return LLVMFunctionType(LLVMGetReturnType(type), params, n + 1, variadic);
}

/* Only what the calling convention needs is kept of the old call's attributes. */
static void copy_extensions(LLVMValueRef from, LLVMValueRef to, unsigned shift)
{
    static const char *const kept[] = { "zeroext", "signext" };
    for (unsigned k = 0; k < 2; k++)
        for (unsigned i = 0; i <= LLVMGetNumArgOperands(from); i++) {
            LLVMAttributeRef a = LLVMGetCallSiteEnumAttribute(from, i, attribute_kind(kept[k]));
            if (a)
                LLVMAddCallSiteAttribute(to, i ? i + shift : 0, a);
        }
}

LLVMValueRef build_modelled(struct pass *p, LLVMValueRef call, LLVMValueRef site)
{
    const struct libc_function *m = find_modelled(callee_name(call));
    char name[64];
    snprintf(name, sizeof name, "__heddle_%s", m->name);
    unsigned n = LLVMGetNumArgOperands(call);
    LLVMValueRef *args = zeroed((n + 1) * sizeof *args), new;
    for (unsigned i = 0; i < n; i++)
        args[i + m->variadic] = LLVMGetOperand(call, i);
    args[m->variadic ? 0 : n] = site;
    LLVMTypeRef type = type_with_site(p, LLVMGetCalledFunctionType(call), m->variadic);
    LLVMValueRef f = LLVMGetNamedFunction(p->module, name);
    if (!f)
        f = LLVMAddFunction(p->module, name, type);
    if (LLVMIsAInvokeInst(call))
        new = LLVMBuildInvoke2(p->b, type, f, args, n + 1, LLVMGetNormalDest(call),
                               LLVMGetUnwindDest(call), "");
    else
        new = LLVMBuildCall2(p->b, type, f, args, n + 1, "");
    copy_extensions(call, new, m->variadic);
    free(args);
    return new;
}

void emit_libc(struct pass *p, const struct item *item)
{
    LLVMValueRef call = item->inst;
    uint32_t number = table_site(p, SITE_LIBC, call, item->index, 0, callee_name(call));
    at_instruction(p, call);
    LLVMValueRef site = site_value(p, number), new = build_modelled(p, call, site);
    if (p->full)
        record_result(p, new, site);
    replace_instruction(call, LLVMGetTypeKind(LLVMTypeOf(call)) == LLVMVoidTypeKind ? NULL : new);
}

/* ---- libatomic ---- */

bool is_libatomic(LLVMValueRef call)
{
    LLVMValueRef callee = called_function(call);
    if (!callee || !LLVMIsDeclaration(callee) || !LLVMIsACallInst(call))
        return false;
    static const char *const names[] = { "__atomic_load",     "__atomic_store",
                                         "__atomic_exchange", "__atomic_compare_exchange",
                                         "__atomic_fetch_",   "__atomic_test_and_set",
                                         "__atomic_clear" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (starts_with(callee_name(call), names[i]))
            return true;
    return false;
}

struct libatomic {
    LLVMValueRef call, site, pointer;
    char verb[24];  /* "load", "fetch_add" */
    unsigned bytes; /* 0: not constant, or of a size that we do not have */
    bool generic;   /* size first, values behind pointers */
    unsigned first; /* argument behind the pointer */
};

static bool is_our_size(uint64_t n)
{
    return n == 1 || n == 2 || n == 4 || n == 8 || n == 16;
}

/* "__atomic_load_16(pointer, order)" or "__atomic_load(16, pointer, result, order)" */
static struct libatomic parse_libatomic(LLVMValueRef call)
{
    struct libatomic a = { .call = call };
    const char *verb = callee_name(call) + strlen("__atomic_"), *last = strrchr(verb, '_');
    unsigned suffix = last ? (unsigned)strtoul(last + 1, NULL, 10) : 0;
    a.generic = !suffix;
    size_t n = suffix ? (size_t)(last - verb) : strlen(verb);
    snprintf(a.verb, sizeof a.verb, "%.*s", (int)n, verb);
    LLVMValueRef size = a.generic ? LLVMIsAConstantInt(LLVMGetOperand(call, 0)) : NULL;
    uint64_t bytes = size ? LLVMConstIntGetZExtValue(size) : suffix;
    a.bytes = is_our_size(bytes) ? (unsigned)bytes : 0;
    a.pointer = LLVMGetOperand(call, a.generic);
    a.first = a.generic + 1u;
    return a;
}

/* C11's numbers, 0 to 5, to ours. */
static LLVMValueRef our_order(struct pass *p, LLVMValueRef c11)
{
    LLVMValueRef n = LLVMBuildIntCast2(p->b, c11, p->i32, false, "");
    return LLVMBuildAdd(p->b, n, const32(p, 1), "");
}

/* The n-th value argument: itself, or what it points to. */
static LLVMValueRef value_argument(struct pass *p, const struct libatomic *a, unsigned n)
{
    LLVMValueRef v = LLVMGetOperand(a->call, a->first + n);
    LLVMTypeRef type = LLVMIntTypeInContext(p->context, 8 * a->bytes);
    if (LLVMGetTypeKind(LLVMTypeOf(v)) != LLVMPointerTypeKind)
        return LLVMBuildIntCast2(p->b, v, type, false, "");
    LLVMValueRef load = LLVMBuildLoad2(p->b, type, v, "");
    LLVMSetAlignment(load, 1);
    return load;
}

static LLVMValueRef perform(struct pass *p, const struct libatomic *a, const char *verb,
                            LLVMValueRef *args, unsigned n)
{
    char name[64];
    bool stores = strcmp(verb, "store") == 0;
    snprintf(name, sizeof name, "__heddle_atomic_%s_%u", verb, a->bytes);
    LLVMTypeRef type = LLVMIntTypeInContext(p->context, 8 * a->bytes);
    args[n] = a->site;
    return call_runtime(p, name, EFFECT_ALL, stores ? p->none : type, n + 1, args);
}

static void store_result(struct pass *p, const struct libatomic *a, unsigned argument,
                         LLVMValueRef value)
{
    LLVMSetAlignment(LLVMBuildStore(p->b, value, LLVMGetOperand(a->call, argument)), 1);
}

/* Writes what was there back to `expected`, which changes nothing if it was as expected. */
static void perform_cas(struct pass *p, const struct libatomic *a)
{
    unsigned at = a->first;
    LLVMValueRef want = value_argument(p, a, 0);
    LLVMValueRef args[] = { a->pointer,
                            want,
                            value_argument(p, a, 1),
                            our_order(p, LLVMGetOperand(a->call, at + 2)),
                            our_order(p, LLVMGetOperand(a->call, at + 3)),
                            NULL };
    LLVMValueRef old = perform(p, a, "cas", args, 5);
    store_result(p, a, at, old);
    LLVMValueRef same = LLVMBuildICmp(p->b, LLVMIntEQ, old, want, "");
    replace_instruction(a->call, LLVMBuildIntCast2(p->b, same, LLVMTypeOf(a->call), false, ""));
}

/* False: an operation that we do not have. */
static bool perform_libatomic(struct pass *p, const struct libatomic *a)
{
    bool load = strcmp(a->verb, "load") == 0, store = strcmp(a->verb, "store") == 0;
    bool exchange = strcmp(a->verb, "exchange") == 0, fetch = starts_with(a->verb, "fetch_");
    if (strcmp(a->verb, "compare_exchange") == 0) {
        perform_cas(p, a);
        return true;
    }
    if (!load && !store && !exchange && !fetch)
        return false;
    unsigned results = a->generic && (load || exchange); /* a pointer for the result */
    LLVMValueRef order = LLVMGetOperand(a->call, a->first + !load + results);
    LLVMValueRef args[4] = { a->pointer };
    if (!load)
        args[1] = value_argument(p, a, 0);
    args[1 + !load] = our_order(p, order);
    LLVMValueRef v = perform(p, a, fetch ? a->verb + strlen("fetch_") : a->verb, args, 2 + !load);
    if (results)
        store_result(p, a, a->first + !load, v);
    replace_instruction(a->call,
                        a->generic || store ? NULL : from_integer(p, v, LLVMTypeOf(a->call)));
    return true;
}

void emit_libatomic(struct pass *p, const struct item *item)
{
    struct libatomic a = parse_libatomic(item->inst);
    if (LLVMGetTypeKind(LLVMTypeOf(a.pointer)) != LLVMPointerTypeKind)
        return;
    uint32_t number = table_site(p, SITE_ATOMIC, a.call, item->index, a.bytes,
                                 variable_name(p, a.call, a.pointer, a.bytes));
    at_instruction(p, a.call);
    a.site = site_value(p, number);
    if (a.bytes && perform_libatomic(p, &a))
        return;
    LLVMValueRef size = const32(p, a.bytes ? a.bytes : 1);
    if (a.generic)
        size = LLVMBuildIntCast2(p->b, LLVMGetOperand(a.call, 0), p->i32, false, "");
    call_runtime(p, "__heddle_atomic_begin", EFFECT_ALL, p->none, 1, &a.pointer);
    at_instruction(p, LLVMGetNextInstruction(a.call));
    LLVMValueRef args[] = { a.pointer, size, const32(p, ORDER_SEQ_CST), a.site };
    call_runtime(p, "__heddle_atomic_end", EFFECT_ALL, p->none, 4, args);
}

/* Of a function that the runtime stands for: walking the program needs its result, too. */
void emit_result(struct pass *p, const struct item *item)
{
    uint32_t number = table_site(p, SITE_LIBC, item->inst, item->index, 0, callee_name(item->inst));
    at_instruction(p, item->inst);
    record_result(p, item->inst, site_value(p, number));
}

/* ---- fork by system call ---- */

enum { CALL_CLONE = 56, CALL_FORK = 57, SIGNAL_CHILD = 17 };

/* The number of a system call that may fork, 0: another call. */
static uint64_t forking_call(LLVMValueRef call)
{
    unsigned n = LLVMIsACallInst(call) ? LLVMGetNumArgOperands(call) : 0;
    if (!n || strcmp(callee_name(call), "syscall") != 0)
        return 0;
    LLVMValueRef constant = LLVMIsAConstantInt(LLVMGetOperand(call, 0));
    uint64_t number = constant ? LLVMConstIntGetZExtValue(constant) : 0;
    return number == CALL_FORK || (number == CALL_CLONE && n >= 3) ? number : 0;
}

/* Done last, as in openmp_calls.c. */
void tell_forks(struct pass *p, LLVMValueRef f)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
            uint64_t number = forking_call(i);
            if (!number || LLVMGetTypeKind(LLVMTypeOf(i)) != LLVMIntegerTypeKind)
                continue;
            at_instruction(p, i);
            LLVMValueRef args[] = { LLVMConstInt(p->i64, SIGNAL_CHILD, false),
                                    LLVMConstInt(p->i64, 0, false) };
            for (unsigned k = 0; k < 2 && number == CALL_CLONE; k++)
                args[k] = to_integer(p, LLVMGetOperand(i, k + 1), 8);
            call_runtime(p, "__heddle_forks", EFFECT_ALL, p->none, 2, args);
            LLVMPositionBuilderBefore(p->b, LLVMGetNextInstruction(i));
            LLVMSetCurrentDebugLocation2(p->b, LLVMInstructionGetDebugLoc(i));
            LLVMValueRef result = to_integer(p, i, 8);
            call_runtime(p, "__heddle_forked", EFFECT_ALL, p->none, 1, &result);
        }
}
