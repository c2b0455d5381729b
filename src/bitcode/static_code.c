/* static_code.c - facts of a function's instructions
 *
 * Part of heddle-bitcode.so. An instruction that is not known takes the pointers of all its
 * operands, at any offset: forgetting a case costs precision, not soundness.
 */
#include "bitcode/static_read.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { POINTER_BITS = 64 };

bool reader_is_debug(LLVMValueRef inst)
{
    LLVMValueRef callee = LLVMIsACallInst(inst) ? LLVMGetCalledValue(inst) : NULL;
    size_t n;

    return callee && LLVMIsAFunction(callee) &&
           strncmp(LLVMGetValueName2(callee, &n), "llvm.dbg.", 9) == 0;
}

/* ---- values ---- */

/* May it hold a pointer, or a part of one? Numbers of any width and kind may: halves of a pointer,
 * its bytes, a union with a double. */
static bool is_followed(LLVMTypeRef type)
{
    switch (LLVMGetTypeKind(type)) {
    case LLVMPointerTypeKind:
    case LLVMHalfTypeKind:
    case LLVMBFloatTypeKind:
    case LLVMFloatTypeKind:
    case LLVMDoubleTypeKind:
    case LLVMX86_FP80TypeKind:
    case LLVMFP128TypeKind:
        return true;
    case LLVMIntegerTypeKind:
        return LLVMGetIntTypeWidth(type) >= 8;
    case LLVMVectorTypeKind:
        return is_followed(LLVMGetElementType(type));
    case LLVMStructTypeKind:
    case LLVMArrayTypeKind:
        return LLVMTypeIsSized(type);
    default:
        return false;
    }
}

static bool is_narrow(LLVMTypeRef type)
{
    LLVMTypeKind kind = LLVMGetTypeKind(type);

    return kind == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(type) < POINTER_BITS
           : kind == LLVMVectorTypeKind
               ? is_narrow(LLVMGetElementType(type))
               : kind != LLVMPointerTypeKind && kind != LLVMStructTypeKind &&
                     kind != LLVMArrayTypeKind;
}

/* No pointer comes out of a product, a comparison or a floating-point operation, nor out of sums of
 * parts. */
static bool makes_number(LLVMValueRef v)
{
    switch (LLVMIsAInstruction(v) ? LLVMGetInstructionOpcode(v) : LLVMLoad) {
    case LLVMMul:
    case LLVMUDiv:
    case LLVMSDiv:
    case LLVMURem:
    case LLVMSRem:
    case LLVMICmp:
    case LLVMFCmp:
    case LLVMFAdd:
    case LLVMFSub:
    case LLVMFMul:
    case LLVMFDiv:
    case LLVMFRem:
    case LLVMFNeg:
    case LLVMFPToUI:
    case LLVMFPToSI:
    case LLVMUIToFP:
    case LLVMSIToFP:
    case LLVMFPTrunc:
    case LLVMFPExt:
        return true;
    case LLVMAdd:
    case LLVMSub:
        return is_narrow(LLVMTypeOf(v));
    default:
        return false;
    }
}

static struct fact *static_code_add(struct reader *r, enum fact_op op, uint32_t to, uint32_t a,
                                    uint32_t b)
{
    GROW(r->facts, r->facts_cap, r->nfacts + 1);
    r->facts[r->nfacts] = (struct fact){
        .op = (uint8_t)op, .to = to, .a = a, .b = b, .index = r->index, .symbol = FACT_NONE
    };
    return &r->facts[r->nfacts++];
}

static uint32_t fresh(struct reader *r)
{
    GROW(r->narrow, r->narrow_cap, r->nvalues + (size_t)1);
    r->narrow[r->nvalues] = false;
    return r->nvalues++;
}

static uint32_t value_of(struct reader *r, LLVMValueRef v);

/* A constant gets a value where it is first used: facts have no order within a function. */
static uint32_t constant_value(struct reader *r, LLVMValueRef v)
{
    int64_t offset;
    uint32_t symbol, to;
    unsigned n;

    if (LLVMIsNull(v) || LLVMIsUndef(v))
        return 0;
    symbol = reader_constant(r, v, &offset);
    if (symbol != FACT_NONE) {
        struct fact *f;

        to = fresh(r);
        f = static_code_add(r, FACT_ADDRESS, to, 0, 0);
        f->symbol = symbol;
        f->offset = offset;
        return to;
    }
    if (!LLVMIsAConstantStruct(v) && !LLVMIsAConstantArray(v) && !LLVMIsAConstantVector(v))
        return 0;
    to = fresh(r);
    n = (unsigned)LLVMGetNumOperands(v);
    for (unsigned i = 0; i < n; i++)
        static_code_add(r, FACT_COPY, to, value_of(r, LLVMGetOperand(v, i)), 0);
    return to;
}

static uint32_t value_of(struct reader *r, LLVMValueRef v)
{
    uint32_t *known;
    uint32_t number;

    if (!LLVMIsConstant(v) && (!is_followed(LLVMTypeOf(v)) || makes_number(v)))
        return 0;
    known = map_get(&r->value_of, (uint64_t)(uintptr_t)v);
    if (known)
        return *known;
    number = LLVMIsConstant(v)                             ? constant_value(r, v)
             : LLVMIsAArgument(v) || LLVMIsAInstruction(v) ? fresh(r)
                                                           : 0;
    *map_put(&r->value_of, (uint64_t)(uintptr_t)v, 0) = number;
    r->narrow[number] = number && is_narrow(LLVMTypeOf(v));
    return number;
}

static uint32_t bytes_of(struct reader *r, LLVMTypeRef type)
{
    uint64_t n = LLVMTypeIsSized(type) ? LLVMStoreSizeOfType(r->layout, type) : 0;

    return n >= FACT_WHOLE ? FACT_WHOLE : (uint32_t)n;
}

/* Anywhere in what `from` points to. */
static void add_blurred(struct reader *r, uint32_t to, uint32_t from)
{
    if (to && from)
        static_code_add(r, FACT_OFFSET, to, from, 0)->stride = 1;
}

static void copy_operands(struct reader *r, LLVMValueRef inst, unsigned first, bool blurred)
{
    uint32_t to = value_of(r, inst);
    unsigned n = (unsigned)LLVMGetNumOperands(inst);

    for (unsigned i = first; to && i < n; i++) {
        uint32_t from = value_of(r, LLVMGetOperand(inst, i));

        if (from && blurred)
            add_blurred(r, to, from);
        else if (from)
            static_code_add(r, FACT_COPY, to, from, 0);
    }
}

static void read_phi(struct reader *r, LLVMValueRef inst)
{
    uint32_t to = value_of(r, inst);

    for (unsigned i = 0; to && i < LLVMCountIncoming(inst); i++) {
        uint32_t from = value_of(r, LLVMGetIncomingValue(inst, i));

        if (from && from != to)
            static_code_add(r, FACT_COPY, to, from, 0);
    }
}

static void read_gep(struct reader *r, LLVMValueRef inst)
{
    uint32_t from = value_of(r, LLVMGetOperand(inst, 0)), to = value_of(r, inst);
    struct fact f = { 0 };
    struct fact *out;

    f.offset = reader_offset(r, inst, &f.stride, &f.span);
    if (!from || !to)
        return;
    out = static_code_add(r, FACT_OFFSET, to, from, 0);
    out->offset = f.offset;
    out->stride = f.stride;
    out->span = f.span;
}

/* A number that only says where in an array, or is compared, is no pointer. */
static bool is_only_index(LLVMValueRef v, int depth)
{
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        bool index = LLVMIsAGetElementPtrInst(user) && LLVMGetOperand(user, 0) != v;
        bool number = LLVMIsAInstruction(user) && (makes_number(user) || LLVMIsASwitchInst(user));
        bool arithmetic = LLVMIsABinaryOperator(user) || LLVMIsATruncInst(user);

        if (!index && !number && !(arithmetic && depth < 4 && is_only_index(user, depth + 1)))
            return false;
    }
    return true;
}

/* Does a number that is added to a pointer, or masks it, leave those bits alone by which a run
 * knows it: all but the lowest, where tags are, and the highest? */
static bool leaves_pointer(LLVMOpcode op, LLVMValueRef other)
{
    const uint64_t bits = (UINT64_C(1) << 47) - 16;
    LLVMValueRef k = LLVMIsAConstantInt(other);
    uint64_t value =
        k && LLVMGetIntTypeWidth(LLVMTypeOf(k)) <= 64 ? LLVMConstIntGetZExtValue(k) : 0;

    if (op == LLVMAnd)
        return k && (value & bits) == bits;
    if (op == LLVMOr)
        return k && value < 16;
    return (op == LLVMAdd || op == LLVMSub) &&
           !(LLVMIsAInstruction(other) && LLVMGetInstructionOpcode(other) == LLVMShl);
}

/* Integers: a pointer stays one through what tagging and aligning do. Of a difference only the
 * first operand counts: the distance of two pointers is no pointer. */
static void read_arithmetic(struct reader *r, LLVMValueRef inst, LLVMOpcode op)
{
    uint32_t to = value_of(r, inst), a, b;
    LLVMValueRef k = LLVMIsAConstantInt(LLVMGetOperand(inst, 1));
    int64_t sign = op == LLVMSub ? -1 : 1;

    if (!to)
        return;
    a = value_of(r, LLVMGetOperand(inst, 0));
    b = value_of(r, LLVMGetOperand(inst, 1));
    if (k && a && (op == LLVMAdd || op == LLVMSub) &&
        LLVMGetIntTypeWidth(LLVMTypeOf(inst)) == POINTER_BITS) {
        static_code_add(r, FACT_OFFSET, to, a, 0)->offset = sign * LLVMConstIntGetSExtValue(k);
        return;
    }
    add_blurred(r, to, a);
    if (op == LLVMAdd || op == LLVMAnd || op == LLVMOr || op == LLVMXor)
        add_blurred(r, to, b);
}

/* ---- memory ---- */

static uint8_t atomic_flag(LLVMValueRef inst)
{
    return LLVMGetOrdering(inst) != LLVMAtomicOrderingNotAtomic ? FACT_ATOMIC : 0;
}

static void read_memory(struct reader *r, LLVMValueRef inst, LLVMOpcode op)
{
    LLVMValueRef stored = op == LLVMStore ? LLVMGetOperand(inst, 0) : NULL;
    uint32_t a = value_of(r, LLVMGetOperand(inst, stored ? 1 : 0));
    uint32_t b = stored ? value_of(r, stored) : 0, to = stored ? 0 : value_of(r, inst);
    struct fact *f = static_code_add(r, stored ? FACT_STORE : FACT_LOAD, to, a, b);

    f->size = bytes_of(r, stored ? LLVMTypeOf(stored) : LLVMTypeOf(inst));
    f->flags = atomic_flag(inst);
}

static void read_update(struct reader *r, LLVMValueRef inst, LLVMOpcode op)
{
    LLVMValueRef stored = LLVMGetOperand(inst, op == LLVMAtomicCmpXchg ? 2 : 1);
    uint32_t to = value_of(r, inst), a = value_of(r, LLVMGetOperand(inst, 0));
    uint32_t b = value_of(r, stored);
    struct fact *f = static_code_add(r, FACT_UPDATE, to, a, b);

    f->size = bytes_of(r, LLVMTypeOf(stored));
    f->flags = FACT_ATOMIC;
    if (op == LLVMAtomicRMW && b && LLVMGetAtomicRMWBinOp(inst) != LLVMAtomicRMWBinOpXchg) {
        uint32_t blurred = fresh(r), old = to ? to : fresh(r);
        size_t at = r->nfacts - 1;

        add_blurred(r, blurred, b);
        add_blurred(r, blurred, old);
        static_code_add(r, FACT_DECODED, 0, b, 0);
        r->facts[at].b = blurred;
        r->facts[at].to = old;
    }
}

static void read_alloca(struct reader *r, LLVMValueRef inst)
{
    LLVMValueRef n = LLVMIsAConstantInt(LLVMGetOperand(inst, 0));
    LLVMTypeRef type = LLVMGetAllocatedType(inst);
    uint64_t bytes = LLVMTypeIsSized(type) ? LLVMABISizeOfType(r->layout, type) : 0;
    uint32_t to = value_of(r, inst);

    bytes = n ? bytes * LLVMConstIntGetZExtValue(n) : 0;
    static_code_add(r, FACT_ALLOCA, to, 0, 0)->size = bytes < FACT_WHOLE ? (uint32_t)bytes : 0;
}

static uint32_t length_of(LLVMValueRef v)
{
    LLVMValueRef k = LLVMIsAConstantInt(v);

    return k && LLVMConstIntGetZExtValue(k) < FACT_WHOLE ? (uint32_t)LLVMConstIntGetZExtValue(k)
                                                         : FACT_WHOLE;
}

/* ---- calls ---- */

static bool begins(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

static void read_intrinsic(struct reader *r, LLVMValueRef call, const char *name)
{
    uint32_t first = LLVMGetNumArgOperands(call) ? value_of(r, LLVMGetOperand(call, 0)) : 0;

    if (begins(name, "memcpy") || begins(name, "memmove")) {
        uint32_t from = value_of(r, LLVMGetOperand(call, 1));

        static_code_add(r, FACT_MOVE, 0, first, from)->size = length_of(LLVMGetOperand(call, 2));
    } else if (begins(name, "memset")) {
        static_code_add(r, FACT_FILL, 0, first, 0)->size = length_of(LLVMGetOperand(call, 2));
    } else if (begins(name, "va_start")) {
        static_code_add(r, FACT_VARARGS, 0, first, 0);
    } else if (begins(name, "va_copy")) {
        uint32_t from = value_of(r, LLVMGetOperand(call, 1));

        static_code_add(r, FACT_MOVE, 0, first, from)->size = 24;
    } else if (begins(name, "masked.load") || begins(name, "masked.gather") ||
               begins(name, "masked.expandload")) {
        static_code_add(r, FACT_LOAD, value_of(r, call), first, 0)->size =
            bytes_of(r, LLVMTypeOf(call));
    } else if (begins(name, "masked.store") || begins(name, "masked.scatter") ||
               begins(name, "masked.compressstore")) {
        uint32_t to = value_of(r, LLVMGetOperand(call, 1));

        static_code_add(r, FACT_STORE, 0, to, first)->size =
            bytes_of(r, LLVMTypeOf(LLVMGetOperand(call, 0)));
        static_code_add(r, FACT_DECODED, 0, first, 0);
    } else if (begins(name, "threadlocal") || begins(name, "launder") || begins(name, "strip") ||
               begins(name, "expect") || begins(name, "ssa.copy")) {
        if (first && value_of(r, call))
            static_code_add(r, FACT_COPY, value_of(r, call), first, 0);
    } else if (value_of(r, call)) {
        for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++)
            add_blurred(r, value_of(r, call), value_of(r, LLVMGetOperand(call, i)));
    }
}

static bool call_is(LLVMValueRef call, LLVMValueRef callee, const char *attribute)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(attribute, strlen(attribute));

    return LLVMGetCallSiteEnumAttribute(call, LLVMAttributeFunctionIndex, kind) ||
           (callee && LLVMGetEnumAttributeAtIndex(callee, LLVMAttributeFunctionIndex, kind));
}

/* "%n" is the one conversion that writes. */
static bool has_percent_n(const char *s, size_t n)
{
    for (size_t i = 0; i + 1 < n; i++) {
        if (s[i] != '%')
            continue;
        for (i++; i < n && strchr("0123456789.*#+- 'hlLqjztIwf$", s[i]) && s[i]; i++)
            ;
        if (i < n && s[i] == 'n')
            return true;
    }
    return false;
}

/* A format that is not a constant may be any. */
static bool may_write_by_format(LLVMValueRef call, LLVMValueRef callee)
{
    size_t n;
    const char *name = callee ? LLVMGetValueName2(callee, &n) : "";
    bool known = false;

    if (!strstr(name, "printf") && !strstr(name, "syslog"))
        return false;
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++) {
        LLVMValueRef arg = LLVMGetOperand(call, i);
        LLVMValueRef init = LLVMIsAGlobalVariable(arg) && LLVMIsGlobalConstant(arg)
                                ? LLVMGetInitializer(arg)
                                : NULL;

        if (!init || !LLVMIsAConstantDataSequential(init) || !LLVMIsConstantString(init))
            continue;
        known = true;
        const char *text = LLVMGetAsString(init, &n);
        if (has_percent_n(text, n))
            return true;
    }
    return !known;
}

static uint8_t call_flags(LLVMValueRef call, LLVMValueRef callee)
{
    unsigned byval = LLVMGetEnumAttributeKindForName("byval", 5);
    uint8_t flags = call_is(call, callee, "noreturn") ? FACT_NORETURN : 0;

    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++)
        if (LLVMGetCallSiteEnumAttribute(call, i + 1, byval))
            flags |= FACT_BYVAL;
    if (call_is(call, callee, "returns_twice"))
        flags |= FACT_TWICE;
    if (may_write_by_format(call, callee))
        flags |= FACT_FORMAT;
    return flags;
}

static uint32_t add_args(struct reader *r, LLVMValueRef call, unsigned n)
{
    uint32_t *values = xcalloc(n + (size_t)1, sizeof(*values)), at;

    for (unsigned i = 0; i < n; i++)
        values[i] = value_of(r, LLVMGetOperand(call, i));
    at = (uint32_t)r->nargs;
    GROW(r->args, r->args_cap, r->nargs + n + 1);
    memcpy(r->args + r->nargs, values, n * sizeof(*values));
    r->nargs += n;
    free(values);
    return at;
}

/* An intrinsic that is a library function in disguise is not among them: it has no name of ours. */
static void read_call(struct reader *r, LLVMValueRef call)
{
    LLVMValueRef target = LLVMGetCalledValue(call);
    LLVMValueRef callee = LLVMIsAFunction(target) ? target : NULL;
    unsigned n = LLVMGetNumArgOperands(call);
    uint32_t to, args, pointer = 0, symbol = FACT_NONE;
    int64_t offset;
    struct fact *f;
    size_t length;

    if (callee && begins(LLVMGetValueName2(callee, &length), "llvm.")) {
        read_intrinsic(r, call, LLVMGetValueName2(callee, &length) + 5);
        return;
    }
    to = value_of(r, call);
    args = add_args(r, call, n);
    if (!LLVMIsAInlineAsm(target)) {
        symbol = LLVMIsConstant(target) ? reader_constant(r, target, &offset) : FACT_NONE;
        pointer = symbol == FACT_NONE ? value_of(r, target) : 0;
    }
    f = static_code_add(r, LLVMIsAInlineAsm(target) ? FACT_ASM : FACT_CALL, to, pointer, 0);
    f->symbol = symbol;
    f->args = args;
    f->nargs = (uint16_t)(n > UINT16_MAX ? UINT16_MAX : n);
    f->flags = call_flags(call, callee);
    f->stride = n > 3 ? length_of(LLVMGetOperand(call, 3)) : FACT_WHOLE;
    if (n > 0 && LLVMIsAConstantInt(LLVMGetOperand(call, 0)))
        f->size = length_of(LLVMGetOperand(call, 0)); /* malloc(24), new ... */
    if (n > 1 && LLVMIsAConstantInt(LLVMGetOperand(call, 0)) &&
        LLVMIsAConstantInt(LLVMGetOperand(call, 1)))
        f->span = (uint64_t)f->size * length_of(LLVMGetOperand(call, 1)); /* calloc(2, 24) */
    if (n > 2)
        f->offset = (int64_t)length_of(LLVMGetOperand(call, 2)); /* memcpy(a, b, 24) */
}

/* ---- instructions ---- */

/* May the number be a pointer that was in disguise until here? */
static bool is_decoded(LLVMValueRef v, int depth)
{
    if (LLVMIsABinaryOperator(v)) {
        LLVMOpcode op = LLVMGetInstructionOpcode(v);
        LLVMValueRef a = LLVMGetOperand(v, 0), b = LLVMGetOperand(v, 1);

        return (op != LLVMAnd && !leaves_pointer(op, b)) || depth > 4 || is_decoded(a, depth + 1) ||
               is_decoded(b, depth + 1);
    }
    if (LLVMIsAPHINode(v)) {
        for (unsigned i = 0; depth < 4 && i < LLVMCountIncoming(v); i++)
            if (is_decoded(LLVMGetIncomingValue(v, i), depth + 1))
                return true;
        return false;
    }
    if (LLVMIsASelectInst(v))
        return depth > 4 || is_decoded(LLVMGetOperand(v, 1), depth + 1) ||
               is_decoded(LLVMGetOperand(v, 2), depth + 1);
    return LLVMIsACallInst(v) || LLVMIsAArgument(v) ||
           (LLVMIsACastInst(v) && !LLVMIsAPtrToIntInst(v));
}

static void read_cast(struct reader *r, LLVMValueRef inst, LLVMOpcode op)
{
    bool widens = is_narrow(LLVMTypeOf(LLVMGetOperand(inst, 0))) && !is_narrow(LLVMTypeOf(inst));

    copy_operands(r, inst, 0, false);
    if (op == LLVMIntToPtr && is_decoded(LLVMGetOperand(inst, 0), 0))
        static_code_add(r, FACT_DECODED, 0, value_of(r, inst), 0);
    if (widens && value_of(r, inst) && !is_only_index(inst, 0))
        static_code_add(r, FACT_REBUILT, 0, value_of(r, inst), 0);
}

/* The list leads to where the arguments are. */
static void read_va_arg(struct reader *r, LLVMValueRef inst)
{
    uint32_t arguments = fresh(r);

    static_code_add(r, FACT_LOAD, arguments, value_of(r, LLVMGetOperand(inst, 0)), 0)->size =
        FACT_WHOLE;
    static_code_add(r, FACT_LOAD, value_of(r, inst), arguments, 0)->size = FACT_WHOLE;
}

static void read_instruction(struct reader *r, LLVMValueRef inst)
{
    LLVMOpcode op = LLVMGetInstructionOpcode(inst);

    switch (op) {
    case LLVMAlloca:
        read_alloca(r, inst);
        break;
    case LLVMLoad:
    case LLVMStore:
        read_memory(r, inst, op);
        break;
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
        read_update(r, inst, op);
        break;
    case LLVMGetElementPtr:
        read_gep(r, inst);
        break;
    case LLVMPHI:
        read_phi(r, inst);
        break;
    case LLVMSelect:
        copy_operands(r, inst, 1, false);
        break;
    case LLVMPtrToInt:
    case LLVMIntToPtr:
    case LLVMBitCast:
    case LLVMAddrSpaceCast:
    case LLVMZExt:
    case LLVMSExt:
    case LLVMTrunc:
        read_cast(r, inst, op);
        break;
    case LLVMFreeze:
    case LLVMExtractValue:
    case LLVMInsertValue:
    case LLVMExtractElement:
    case LLVMInsertElement:
    case LLVMShuffleVector:
        copy_operands(r, inst, 0, false);
        break;
    case LLVMCall:
    case LLVMInvoke:
    case LLVMCallBr:
        read_call(r, inst);
        break;
    case LLVMRet:
        if (LLVMGetNumOperands(inst))
            static_code_add(r, FACT_RETURN, 0, value_of(r, LLVMGetOperand(inst, 0)), 0);
        break;
    case LLVMLandingPad:
        static_code_add(r, FACT_CAUGHT, value_of(r, inst), 0, 0);
        break;
    case LLVMResume:
        static_code_add(r, FACT_THROWN, 0, value_of(r, LLVMGetOperand(inst, 0)), 0);
        break;
    case LLVMVAArg:
        read_va_arg(r, inst);
        break;
    case LLVMMul:
    case LLVMUDiv:
    case LLVMSDiv:
    case LLVMURem:
    case LLVMSRem:
    case LLVMICmp:
    case LLVMFCmp:
    case LLVMFence:
        break; /* no pointer comes out of them */
    case LLVMAdd:
    case LLVMSub:
    case LLVMAnd:
    case LLVMOr:
    case LLVMXor:
    case LLVMShl:
    case LLVMLShr:
    case LLVMAShr:
        read_arithmetic(r, inst, op);
        break;
    default:
        copy_operands(r, inst, 0, true);
        break;
    }
}

/* ---- functions ---- */

static void read_params(struct reader *r, LLVMValueRef f, struct fact_function *out)
{
    unsigned kind = LLVMGetEnumAttributeKindForName("byval", 5);

    out->nparams = LLVMCountParams(f);
    out->params = arena_alloc(r->memory, (out->nparams + (size_t)1) * sizeof(*out->params));
    for (unsigned i = 0; i < out->nparams; i++) {
        LLVMAttributeRef a = LLVMGetEnumAttributeAtIndex(f, i + 1, kind);
        struct fact_param p = { .value = value_of(r, LLVMGetParam(f, i)) };

        if (a)
            p.byval = bytes_of(r, LLVMGetTypeAttributeValue(a));
        out->params[i] = p;
    }
}

static bool has_landing_pad(LLVMBasicBlockRef b)
{
    LLVMValueRef i = LLVMGetFirstInstruction(b);

    while (i && LLVMIsAPHINode(i))
        i = LLVMGetNextInstruction(i);
    return i && LLVMIsALandingPadInst(i);
}

/* Facts for constants stand where they are first used: the first block that uses them. */
static void read_blocks(struct reader *r, LLVMValueRef f, struct fact_function *out)
{
    struct map numbers = { 0 };
    uint32_t n = 0, *next = NULL;
    size_t nnext = 0, cap = 0;

    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
        *map_put(&numbers, (uint64_t)(uintptr_t)b, 0) = n++;
    out->nblocks = n;
    out->blocks = arena_alloc(r->memory, (n + (size_t)1) * sizeof(*out->blocks));
    n = 0;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b)) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(b);
        unsigned k = end ? LLVMGetNumSuccessors(end) : 0;

        out->blocks[n++] = (struct fact_block){ .first = (uint32_t)r->nfacts,
                                                .next = (uint32_t)nnext,
                                                .nnext = k,
                                                .returns = end && LLVMIsAReturnInst(end),
                                                .lands = has_landing_pad(b) };
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
            uint32_t *index = map_get(&r->index_of, (uint64_t)(uintptr_t)i);

            r->index = index ? *index : FACT_NONE;
            if (!reader_is_debug(i))
                read_instruction(r, i);
        }
        GROW(next, cap, nnext + k + 1);
        for (unsigned i = 0; i < k; i++)
            next[nnext++] = *map_get(&numbers, (uint64_t)(uintptr_t)LLVMGetSuccessor(end, i));
    }
    out->blocks[n] = (struct fact_block){ .first = (uint32_t)r->nfacts, .next = (uint32_t)nnext };
    out->next = reader_copy(r, next, nnext, sizeof(*next));
    free(next);
    map_release(&numbers);
}

void reader_function(struct reader *r, LLVMValueRef f, struct fact_function *out)
{
    map_clear(&r->value_of);
    r->nvalues = 0;
    fresh(r); /* 0: nothing */
    r->nfacts = r->nargs = 0;
    out->varargs = LLVMIsFunctionVarArg(LLVMGlobalGetValueType(f));
    read_params(r, f, out);
    read_blocks(r, f, out);
    out->nvalues = r->nvalues;
    out->narrow = reader_copy(r, r->narrow, r->nvalues, sizeof(*r->narrow));
    out->nfacts = (uint32_t)r->nfacts;
    out->facts = reader_copy(r, r->facts, r->nfacts, sizeof(*r->facts));
    out->args = reader_copy(r, r->args, r->nargs, sizeof(*r->args));
}
