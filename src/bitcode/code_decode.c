/* code_decode.c - one function of bitcode to struct code (code.h)
 *
 * Two rounds over the instructions: the first gives every value its slots, the
 * second writes the instructions. What is not followed becomes I_UNKNOWN, never
 * an error.
 */
#include "bitcode/bitcode_inside.h"
#include "base/alloc.h"
#include "execution/expr.h"

#include <stdlib.h>
#include <string.h>

struct decoder {
    struct bitcode *b;
    LLVMValueRef function;
    struct map slot_of;  /* value -> first slot */
    struct map block_of; /* block -> number */
    struct map const_of; /* value -> operand, of constants with one lane */
    struct {
        uint8_t *at;
        size_t count, cap;
    } widths;
    struct {
        struct inst *at;
        size_t count, cap;
    } insts;
    struct {
        struct code_block *at;
        size_t count, cap;
    } blocks;
    struct {
        struct code_phi *at;
        size_t count, cap;
    } phis;
    struct {
        uint32_t *at;
        size_t count, cap;
    } operands, at_index;
    struct {
        int64_t *at;
        size_t count, cap;
    } extras;
    struct const_list consts;
    struct {
        struct code_call *at;
        size_t count, cap;
    } calls;
    struct lanes scratch;
    uint32_t index; /* of the instruction at hand */
};

#define PUSH(list, ...)                                                                            \
    do {                                                                                           \
        GROW((list).at, (list).cap, (list).count + 1);                                             \
        (list).at[(list).count++] = __VA_ARGS__;                                                   \
    } while (0)

bool is_debug_call(LLVMValueRef inst)
{
    LLVMValueRef f = LLVMIsACallInst(inst) ? LLVMIsAFunction(LLVMGetCalledValue(inst)) : NULL;
    size_t n;

    return f && strncmp(LLVMGetValueName2(f, &n), "llvm.dbg.", 9) == 0;
}

/* ---- slots ---- */

/* The lanes of a type, valid until the next question. */
static const struct lanes *lanes(struct decoder *d, LLVMTypeRef type)
{
    d->scratch.count = 0;
    lanes_of(d->b, type, 0, &d->scratch);
    return &d->scratch;
}

static uint32_t give_slots(struct decoder *d, LLVMValueRef value)
{
    const struct lanes *l = lanes(d, LLVMTypeOf(value));
    uint32_t first = (uint32_t)d->widths.count;

    for (size_t i = 0; i < l->count; i++)
        PUSH(d->widths, (uint8_t)l->at[i].width);
    map_put(&d->slot_of, (uint64_t)(uintptr_t)value, first);
    return first;
}

static uint32_t decode_slot_of(const struct decoder *d, LLVMValueRef value)
{
    const uint32_t *slot = map_get(&d->slot_of, (uint64_t)(uintptr_t)value);

    return slot ? *slot : CODE_NONE;
}

static uint32_t block_of(const struct decoder *d, LLVMBasicBlockRef block)
{
    return *map_get(&d->block_of, (uint64_t)(uintptr_t)block);
}

static uint32_t add_const(struct decoder *d, struct code_const c)
{
    PUSH(d->consts, c);
    return CODE_CONST | (uint32_t)(d->consts.count - 1);
}

/* ---- operands ---- */

/* Appends the operands that are the value's lanes; how many. */
static uint32_t add_operand(struct decoder *d, LLVMValueRef value)
{
    uint32_t slot = decode_slot_of(d, value);
    struct const_list constants = { 0 };
    uint32_t n;

    if (slot != CODE_NONE) {
        n = (uint32_t)lanes(d, LLVMTypeOf(value))->count;
        for (uint32_t i = 0; i < n; i++)
            PUSH(d->operands, slot + i);
        return n;
    }
    if (!LLVMIsConstant(value)) /* a label, metadata, assembly */
        return 0;
    uint32_t *known = map_get(&d->const_of, (uint64_t)(uintptr_t)value);
    if (known) {
        PUSH(d->operands, *known);
        return 1;
    }
    constants_of(d->b, value, LLVMTypeOf(value), &constants);
    n = (uint32_t)constants.count;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t operand = add_const(d, constants.at[i]);

        PUSH(d->operands, operand);
        if (n == 1)
            map_put(&d->const_of, (uint64_t)(uintptr_t)value, operand);
    }
    free(constants.at);
    return n;
}

static bool has_odd(struct decoder *d, LLVMTypeRef type)
{
    const struct lanes *l = lanes(d, type);

    for (size_t i = 0; i < l->count; i++)
        if (l->at[i].odd)
            return true;
    return false;
}

/* ---- instructions ---- */

static struct inst *add_inst(struct decoder *d, enum inst_op op, unsigned sub, LLVMValueRef value)
{
    struct inst inst = { .op = (uint8_t)op,
                         .sub = (uint8_t)sub,
                         .index = d->index,
                         .to = decode_slot_of(d, value),
                         .operand = (uint32_t)d->operands.count,
                         .extra = (uint32_t)d->extras.count,
                         .object = CODE_NONE };

    if (inst.to != CODE_NONE)
        inst.lanes = (uint16_t)lanes(d, LLVMTypeOf(value))->count;
    PUSH(d->insts, inst);
    return &d->insts.at[d->insts.count - 1];
}

/* The operands that were appended since the instruction began are its. */
static void end_inst(struct decoder *d)
{
    struct inst *inst = &d->insts.at[d->insts.count - 1];

    inst->noperands = (uint32_t)d->operands.count - inst->operand;
}

static void simple(struct decoder *d, enum inst_op op, unsigned sub, LLVMValueRef inst, unsigned n)
{
    add_inst(d, op, sub, inst);
    for (unsigned i = 0; i < n; i++)
        add_operand(d, LLVMGetOperand(inst, i));
    end_inst(d);
}

static void unknown(struct decoder *d, LLVMValueRef inst)
{
    if (decode_slot_of(d, inst) == CODE_NONE)
        return;
    add_inst(d, I_UNKNOWN, 0, inst);
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(inst) && i < 8; i++)
        if (decode_slot_of(d, LLVMGetOperand(inst, i)) != CODE_NONE)
            add_operand(d, LLVMGetOperand(inst, i));
    end_inst(d);
}

static bool is_plain_float(struct decoder *d, LLVMTypeRef type)
{
    const struct lanes *l = lanes(d, type);

    for (size_t i = 0; i < l->count; i++) {
        LLVMTypeKind kind = LLVMGetTypeKind(l->at[i].type);
        if (kind != LLVMFloatTypeKind && kind != LLVMDoubleTypeKind)
            return false;
    }
    return l->count > 0;
}

/* With fused instructions the backend would use one, and round once. */
static bool has_fma(const struct decoder *d)
{
    LLVMAttributeRef a = LLVMGetStringAttributeAtIndex(d->function, LLVMAttributeFunctionIndex,
                                                       "target-features", 15);
    unsigned n;

    return a && strstr(LLVMGetStringAttributeValue(a, &n), "+fma");
}

/* Rearranged by the backend (fast-math), or of other formats: not followed. */
static void floating(struct decoder *d, LLVMValueRef inst, unsigned sub, unsigned n)
{
    LLVMTypeRef from = LLVMTypeOf(LLVMGetOperand(inst, 0)), to = LLVMTypeOf(inst);
    bool both = sub >= FLOAT_RESIZE || sub < FLOAT_COMPARE;
    bool from_int = sub == FLOAT_FROM_SIGNED || sub == FLOAT_FROM_UNSIGNED;

    if ((LLVMCanValueUseFastMathFlags(inst) && LLVMGetFastMathFlags(inst)) ||
        (!from_int && !is_plain_float(d, from)) || ((both || from_int) && !is_plain_float(d, to)) ||
        (sub == FLOAT_MULADD && has_fma(d)) || has_odd(d, from) || has_odd(d, to))
        unknown(d, inst);
    else
        simple(d, I_FLOAT, sub, inst, n);
}

static void integer(struct decoder *d, LLVMValueRef inst, enum inst_op op, unsigned sub, unsigned n)
{
    if (has_odd(d, LLVMTypeOf(inst)) || has_odd(d, LLVMTypeOf(LLVMGetOperand(inst, 0))))
        unknown(d, inst);
    else
        simple(d, op, sub, inst, n);
}

static void decode_compare(struct decoder *d, LLVMValueRef inst)
{
    static const uint8_t ops[] = { [LLVMIntEQ - LLVMIntEQ] = EX_EQ,
                                   [LLVMIntNE - LLVMIntEQ] = EX_NE,
                                   [LLVMIntUGT - LLVMIntEQ] = EX_ULT | CODE_SWAP,
                                   [LLVMIntUGE - LLVMIntEQ] = EX_ULE | CODE_SWAP,
                                   [LLVMIntULT - LLVMIntEQ] = EX_ULT,
                                   [LLVMIntULE - LLVMIntEQ] = EX_ULE,
                                   [LLVMIntSGT - LLVMIntEQ] = EX_SLT | CODE_SWAP,
                                   [LLVMIntSGE - LLVMIntEQ] = EX_SLE | CODE_SWAP,
                                   [LLVMIntSLT - LLVMIntEQ] = EX_SLT,
                                   [LLVMIntSLE - LLVMIntEQ] = EX_SLE };
    LLVMTypeRef type = LLVMTypeOf(LLVMGetOperand(inst, 0));
    if (has_odd(d, type) && LLVMGetTypeKind(type) != LLVMVectorTypeKind)
        unknown(d, inst);
    else
        simple(d, I_COMPARE, ops[LLVMGetICmpPredicate(inst) - LLVMIntEQ], inst, 2);
}

static void bits(struct decoder *d, LLVMValueRef inst)
{
    LLVMValueRef from = LLVMGetOperand(inst, 0);
    struct lanes a = { 0 };
    bool same = true;
    const struct lanes *b;

    lanes_of(d->b, LLVMTypeOf(from), 0, &a);
    b = lanes(d, LLVMTypeOf(inst));
    if (a.count == b->count)
        for (size_t i = 0; i < a.count; i++)
            same &= a.at[i].width == b->at[i].width;
    same &= a.count == b->count;
    free(a.at);
    simple(d, same ? I_COPY : I_BITS, 0, inst, 1);
}

/* ---- aggregates ---- */

static uint32_t count_lanes(struct decoder *d, LLVMTypeRef type)
{
    return (uint32_t)lanes(d, type)->count;
}

/* The first lane, and the type, of the element that extractvalue or insertvalue names. */
static uint32_t element_lane(struct decoder *d, LLVMValueRef inst, LLVMTypeRef *type)
{
    const unsigned *path = LLVMGetIndices(inst);
    uint32_t lane = 0;

    for (unsigned i = 0; i < LLVMGetNumIndices(inst); i++) {
        if (LLVMGetTypeKind(*type) == LLVMStructTypeKind) {
            for (unsigned k = 0; k < path[i]; k++)
                lane += count_lanes(d, LLVMStructGetTypeAtIndex(*type, k));
            *type = LLVMStructGetTypeAtIndex(*type, path[i]);
        } else {
            *type = LLVMGetElementType(*type);
            lane += path[i] * count_lanes(d, *type);
        }
    }
    return lane;
}

/* Of the lanes [first, first + n) of the operands appended from `from` on, keep those. */
static void keep_operands(struct decoder *d, size_t from, uint32_t first, uint32_t n)
{
    memmove(&d->operands.at[from], &d->operands.at[from + first], n * sizeof(uint32_t));
    d->operands.count = from + n;
}

static void extract_value(struct decoder *d, LLVMValueRef inst)
{
    LLVMValueRef from = LLVMGetOperand(inst, 0);
    LLVMTypeRef type = LLVMTypeOf(from);
    uint32_t lane = element_lane(d, inst, &type);
    size_t at;

    add_inst(d, I_COPY, 0, inst);
    at = d->operands.count;
    add_operand(d, from);
    keep_operands(d, at, lane, count_lanes(d, type));
    end_inst(d);
}

/* The lanes of operand 0 with those of operand 1 from `lane` on. */
static void insert_lanes(struct decoder *d, LLVMValueRef inst, uint32_t lane)
{
    size_t at;
    uint32_t n;

    add_inst(d, I_COPY, 0, inst);
    at = d->operands.count;
    add_operand(d, LLVMGetOperand(inst, 0));
    n = add_operand(d, LLVMGetOperand(inst, 1));
    d->operands.count -= n;
    memmove(&d->operands.at[at + lane], &d->operands.at[d->operands.count], n * sizeof(uint32_t));
    end_inst(d);
}

static void insert_value(struct decoder *d, LLVMValueRef inst)
{
    LLVMTypeRef type = LLVMTypeOf(inst);

    insert_lanes(d, inst, element_lane(d, inst, &type));
}

static void extract_element(struct decoder *d, LLVMValueRef inst)
{
    LLVMValueRef index = LLVMIsAConstantInt(LLVMGetOperand(inst, 1)),
                 from = LLVMGetOperand(inst, 0);
    uint64_t k = index ? LLVMConstIntGetZExtValue(index) : UINT64_MAX;
    size_t at;

    if (k >= LLVMGetVectorSize(LLVMTypeOf(from))) {
        unknown(d, inst);
        return;
    }
    add_inst(d, I_COPY, 0, inst);
    at = d->operands.count;
    add_operand(d, from);
    keep_operands(d, at, (uint32_t)k, 1);
    end_inst(d);
}

static void insert_element(struct decoder *d, LLVMValueRef inst)
{
    LLVMValueRef index = LLVMIsAConstantInt(LLVMGetOperand(inst, 2));
    uint64_t k = index ? LLVMConstIntGetZExtValue(index) : UINT64_MAX;

    if (k >= LLVMGetVectorSize(LLVMTypeOf(inst)))
        unknown(d, inst);
    else
        insert_lanes(d, inst, (uint32_t)k);
}

static void shuffle(struct decoder *d, LLVMValueRef inst)
{
    unsigned n = LLVMGetNumMaskElements(inst);
    unsigned width = lanes(d, LLVMTypeOf(inst))->at[0].width;
    struct code_const none = { .kind = CONST_UNDEF, .width = (uint8_t)width };
    size_t at;

    add_inst(d, I_COPY, 0, inst);
    at = d->operands.count;
    add_operand(d, LLVMGetOperand(inst, 0));
    add_operand(d, LLVMGetOperand(inst, 1));
    size_t all = d->operands.count - at;
    for (unsigned i = 0; i < n; i++) {
        int k = LLVMGetMaskValue(inst, i);
        uint32_t operand =
            k >= 0 && (size_t)k < all ? d->operands.at[at + (size_t)k] : add_const(d, none);
        PUSH(d->operands, operand);
    }
    keep_operands(d, at, (uint32_t)all, n);
    end_inst(d);
}

/* ---- memory ---- */

static bool passes_on(LLVMValueRef call)
{
    static const char *const names[] = { "llvm.launder.", "llvm.strip.", "llvm.threadlocal." };
    LLVMValueRef f = LLVMIsACallInst(call) ? LLVMIsAFunction(LLVMGetCalledValue(call)) : NULL;
    size_t n;

    for (size_t i = 0; f && i < sizeof(names) / sizeof(*names); i++)
        if (strncmp(LLVMGetValueName2(f, &n), names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* As the pass's underlying_object(): whose memory it is decides whether accesses are recorded. */
static uint32_t decode_object_of(struct decoder *d, LLVMValueRef v)
{
    for (int depth = 0; depth < 64; depth++) {
        bool gep = LLVMIsAGetElementPtrInst(v) ||
                   (LLVMIsAConstantExpr(v) && LLVMGetConstOpcode(v) == LLVMGetElementPtr);

        if (!gep && !LLVMIsABitCastInst(v) && !LLVMIsAAddrSpaceCastInst(v) && !passes_on(v))
            break;
        v = LLVMGetOperand(v, 0);
    }
    if (LLVMIsAAllocaInst(v) || LLVMIsAArgument(v))
        return decode_slot_of(d, v);
    if (!LLVMIsAGlobalVariable(v))
        return CODE_NONE;
    add_operand(d, v);
    return d->operands.at[--d->operands.count];
}

static void add_offsets(struct decoder *d, LLVMTypeRef type)
{
    const struct lanes *l = lanes(d, type);

    for (size_t i = 0; i < l->count; i++)
        PUSH(d->extras, l->at[i].odd ? INT64_MIN : (int64_t)l->at[i].offset);
}

static void decode_load(struct decoder *d, LLVMValueRef inst)
{
    uint32_t object = decode_object_of(d, LLVMGetOperand(inst, 0));

    add_inst(d, I_LOAD, (unsigned)LLVMGetOrdering(inst), inst)->object = object;
    add_offsets(d, LLVMTypeOf(inst));
    add_operand(d, LLVMGetOperand(inst, 0));
    end_inst(d);
}

static void store(struct decoder *d, LLVMValueRef inst)
{
    uint32_t object = decode_object_of(d, LLVMGetOperand(inst, 1));

    add_inst(d, I_STORE, (unsigned)LLVMGetOrdering(inst), inst)->object = object;
    add_offsets(d, LLVMTypeOf(LLVMGetOperand(inst, 0)));
    add_operand(d, LLVMGetOperand(inst, 1));
    add_operand(d, LLVMGetOperand(inst, 0));
    end_inst(d);
}

struct gep_indices {
    LLVMValueRef at[64];
    int64_t factors[64];
    unsigned count;
};

static void add_index(void *arg, LLVMValueRef index, int64_t factor)
{
    struct gep_indices *g = arg;

    if (g->count < 64) {
        g->at[g->count] = index;
        g->factors[g->count++] = factor;
    }
}

static void gep(struct decoder *d, LLVMValueRef inst)
{
    struct gep_indices g = { .count = 0 };
    int64_t offset;

    if (LLVMGetTypeKind(LLVMTypeOf(inst)) != LLVMPointerTypeKind) {
        unknown(d, inst);
        return;
    }
    offset = gep_offset(d->b, inst, add_index, &g);
    add_inst(d, I_GEP, 0, inst);
    PUSH(d->extras, offset);
    add_operand(d, LLVMGetOperand(inst, 0));
    for (unsigned i = 0; i < g.count; i++) {
        PUSH(d->extras, g.factors[i]);
        add_operand(d, g.at[i]);
    }
    end_inst(d);
}

static void alloca_(struct decoder *d, LLVMValueRef inst)
{
    LLVMTypeRef type = LLVMGetAllocatedType(inst);

    add_inst(d, I_ALLOCA, 0, inst);
    PUSH(d->extras, LLVMTypeIsSized(type) ? (int64_t)LLVMABISizeOfType(d->b->layout, type) : 1);
    PUSH(d->extras, LLVMGetAlignment(inst));
    add_operand(d, LLVMGetOperand(inst, 0));
    end_inst(d);
}

_Static_assert((int)RMW_XCHG == (int)LLVMAtomicRMWBinOpXchg &&
                   (int)RMW_NAND == (int)LLVMAtomicRMWBinOpNand &&
                   (int)RMW_MAX == (int)LLVMAtomicRMWBinOpMax &&
                   (int)RMW_UMIN == (int)LLVMAtomicRMWBinOpUMin,
               "LLVM's numbers");

static void atomic(struct decoder *d, LLVMValueRef inst, enum inst_op op, unsigned operands)
{
    uint32_t object = decode_object_of(d, LLVMGetOperand(inst, 0));
    unsigned sub = op == I_RMW ? (unsigned)LLVMGetAtomicRMWBinOp(inst) : 0;

    add_inst(d, op, sub, inst)->object = object;
    PUSH(d->extras, op == I_RMW ? LLVMGetOrdering(inst) : LLVMGetCmpXchgSuccessOrdering(inst));
    for (unsigned i = 0; i < operands; i++)
        add_operand(d, LLVMGetOperand(inst, i));
    end_inst(d);
}

/* ---- calls ---- */

static void plain_call(struct decoder *d, LLVMValueRef inst)
{
    LLVMValueRef callee = LLVMGetCalledValue(inst), alias = LLVMIsAGlobalAlias(callee);
    struct code_call c = { .symbol = CODE_NONE, .normal = CODE_NONE, .unwind = CODE_NONE };
    bool returns = LLVMGetInstructionOpcode(inst) != LLVMInvoke;
    unsigned kind = LLVMGetEnumAttributeKindForName("returns_twice", 13);

    if (alias)
        callee = LLVMAliasGetAliasee(callee);
    c.is_asm = LLVMIsAInlineAsm(callee);
    c.returns_twice = LLVMGetCallSiteEnumAttribute(inst, LLVMAttributeFunctionIndex, kind) ||
                      (LLVMIsAFunction(callee) &&
                       LLVMGetEnumAttributeAtIndex(callee, LLVMAttributeFunctionIndex, kind));
    if (LLVMIsAFunction(callee) || LLVMIsAGlobalIFunc(callee))
        c.symbol = symbol_number(d->b, callee);
    if (!returns) {
        c.normal = block_of(d, LLVMGetNormalDest(inst));
        c.unwind = block_of(d, LLVMGetUnwindDest(inst));
    }
    LLVMTypeKind result = LLVMGetTypeKind(LLVMTypeOf(inst));
    add_inst(d, I_CALL, result == LLVMIntegerTypeKind || result == LLVMPointerTypeKind, inst);
    if (c.symbol == CODE_NONE && add_operand(d, callee))
        c.callee = d->operands.at[--d->operands.count];
    PUSH(d->extras, (int64_t)d->calls.count);
    PUSH(d->calls, c);
    for (unsigned i = 0; i < LLVMGetNumArgOperands(inst); i++)
        add_operand(d, LLVMGetOperand(inst, i));
    end_inst(d);
}

static void memory_intrinsic(struct decoder *d, LLVMValueRef inst, enum inst_op op)
{
    uint32_t object = decode_object_of(d, LLVMGetOperand(inst, 0));

    add_inst(d, op, 0, inst)->object = object;
    PUSH(d->extras, op == I_COPY_MEMORY ? decode_object_of(d, LLVMGetOperand(inst, 1)) : CODE_NONE);
    for (unsigned i = 0; i < 3; i++)
        add_operand(d, LLVMGetOperand(inst, i));
    end_inst(d);
}

static void call(struct decoder *d, LLVMValueRef inst)
{
    struct intrinsic in = intrinsic_of(inst);

    if (in.nothing)
        return;
    switch (in.op) {
    case I_CALL:
        plain_call(d, inst);
        break;
    case I_COPY:
        simple(d, I_COPY, 0, inst, 1);
        break;
    case I_COPY_MEMORY:
    case I_FILL_MEMORY:
        memory_intrinsic(d, inst, in.op);
        break;
    case I_FLOAT:
        floating(d, inst, in.sub, LLVMGetNumArgOperands(inst));
        break;
    case I_BINARY:
    case I_INTEGER:
        integer(d, inst, in.op, in.sub, LLVMGetNumArgOperands(inst));
        break;
    case I_FORGET:
        simple(d, I_FORGET, 0, inst, 1);
        break;
    default:
        unknown(d, inst);
    }
}

/* ---- ends of blocks ---- */

static void branch(struct decoder *d, LLVMValueRef inst)
{
    add_inst(d, LLVMIsConditional(inst) ? I_BRANCH : I_JUMP, 0, inst);
    for (unsigned i = 0; i < LLVMGetNumSuccessors(inst); i++)
        PUSH(d->extras, block_of(d, LLVMGetSuccessor(inst, i)));
    if (LLVMIsConditional(inst))
        add_operand(d, LLVMGetCondition(inst));
    end_inst(d);
}

static void switch_(struct decoder *d, LLVMValueRef inst)
{
    add_inst(d, I_SWITCH, 0, inst);
    add_operand(d, LLVMGetOperand(inst, 0));
    for (unsigned i = 0; i < LLVMGetNumSuccessors(inst); i++) {
        PUSH(d->extras, block_of(d, LLVMGetSuccessor(inst, i)));
        if (i)
            add_operand(d, LLVMGetOperand(inst, 2 * i));
    }
    end_inst(d);
}

/* ---- which is which ---- */

static void binary(struct decoder *d, LLVMValueRef inst, enum expr_op op)
{
    integer(d, inst, I_BINARY, op, 2);
}

static bool decode_number(struct decoder *d, LLVMValueRef i, LLVMOpcode op)
{
    static const uint8_t plain[] = {
        [LLVMAdd] = EX_ADD,   [LLVMSub] = EX_SUB,   [LLVMMul] = EX_MUL,   [LLVMUDiv] = EX_UDIV,
        [LLVMSDiv] = EX_SDIV, [LLVMURem] = EX_UREM, [LLVMSRem] = EX_SREM, [LLVMShl] = EX_SHL,
        [LLVMLShr] = EX_LSHR, [LLVMAShr] = EX_ASHR, [LLVMAnd] = EX_AND,   [LLVMOr] = EX_OR,
        [LLVMXor] = EX_XOR,
    };

    if (op < sizeof(plain) && plain[op]) {
        binary(d, i, (enum expr_op)plain[op]);
        return true;
    }
    switch (op) {
    case LLVMFAdd:
    case LLVMFSub:
    case LLVMFMul:
    case LLVMFDiv:
    case LLVMFRem:
        floating(d, i,
                 op == LLVMFAdd   ? FLOAT_ADD
                 : op == LLVMFSub ? FLOAT_SUB
                 : op == LLVMFMul ? FLOAT_MUL
                 : op == LLVMFDiv ? FLOAT_DIV
                                  : FLOAT_REM,
                 2);
        return true;
    case LLVMFNeg:
        floating(d, i, FLOAT_NEG, 1);
        return true;
    case LLVMICmp:
        decode_compare(d, i);
        return true;
    case LLVMFCmp:
        floating(d, i, FLOAT_COMPARE + LLVMGetFCmpPredicate(i), 2);
        return true;
    case LLVMTrunc:
    case LLVMPtrToInt:
    case LLVMIntToPtr:
        integer(d, i, I_TRUNCATE, 0, 1);
        return true;
    case LLVMZExt:
    case LLVMSExt:
        integer(d, i, I_EXTEND, op == LLVMZExt ? EX_ZEXT : EX_SEXT, 1);
        return true;
    case LLVMFPToUI:
    case LLVMFPToSI:
        floating(d, i, op == LLVMFPToUI ? FLOAT_TO_UNSIGNED : FLOAT_TO_SIGNED, 1);
        return true;
    case LLVMUIToFP:
    case LLVMSIToFP:
        floating(d, i, op == LLVMUIToFP ? FLOAT_FROM_UNSIGNED : FLOAT_FROM_SIGNED, 1);
        return true;
    case LLVMFPTrunc:
    case LLVMFPExt:
        floating(d, i, FLOAT_RESIZE, 1);
        return true;
    case LLVMBitCast:
        bits(d, i);
        return true;
    default:
        return false;
    }
}

static void decode_instruction(struct decoder *d, LLVMValueRef i)
{
    LLVMOpcode op = LLVMGetInstructionOpcode(i);

    if (decode_number(d, i, op))
        return;
    switch (op) {
    case LLVMFreeze:
    case LLVMAddrSpaceCast:
        simple(d, I_COPY, 0, i, 1);
        break;
    case LLVMSelect:
        simple(d, I_SELECT, 0, i, 3);
        break;
    case LLVMExtractValue:
        extract_value(d, i);
        break;
    case LLVMInsertValue:
        insert_value(d, i);
        break;
    case LLVMExtractElement:
        extract_element(d, i);
        break;
    case LLVMInsertElement:
        insert_element(d, i);
        break;
    case LLVMShuffleVector:
        shuffle(d, i);
        break;
    case LLVMGetElementPtr:
        gep(d, i);
        break;
    case LLVMLoad:
        decode_load(d, i);
        break;
    case LLVMStore:
        store(d, i);
        break;
    case LLVMAlloca:
        alloca_(d, i);
        break;
    case LLVMAtomicRMW:
        atomic(d, i, I_RMW, 2);
        break;
    case LLVMAtomicCmpXchg:
        atomic(d, i, I_CAS, 3);
        break;
    case LLVMFence:
        simple(d, I_FENCE, (unsigned)LLVMGetOrdering(i), i, 0);
        break;
    case LLVMCall:
    case LLVMInvoke:
        call(d, i);
        break;
    case LLVMBr:
        branch(d, i);
        break;
    case LLVMSwitch:
        switch_(d, i);
        break;
    case LLVMIndirectBr:
        simple(d, I_GOTO, 0, i, 1);
        break;
    case LLVMRet:
        simple(d, I_RETURN, 0, i, LLVMGetNumOperands(i) ? 1 : 0);
        break;
    case LLVMResume:
        simple(d, I_RESUME, 0, i, 0);
        break;
    case LLVMUnreachable:
    case LLVMCallBr: /* where it goes is not recorded */
        simple(d, I_UNREACHABLE, 0, i, 0);
        break;
    default: /* landingpad, va_arg ... */
        unknown(d, i);
    }
}

/* ---- blocks ---- */

/* The PHIs of a block, all with their operands in the order of the first one's predecessors. */
static void decode_phis(struct decoder *d, struct code_block *block, LLVMValueRef *inst)
{
    LLVMValueRef first = *inst;
    unsigned n = LLVMIsAPHINode(first) ? LLVMCountIncoming(first) : 0;

    block->phis = (uint32_t)d->phis.count;
    block->preds = (uint32_t)d->extras.count;
    block->npreds = n;
    for (unsigned i = 0; i < n; i++)
        PUSH(d->extras, block_of(d, LLVMGetIncomingBlock(first, i)));
    for (; *inst && LLVMIsAPHINode(*inst); *inst = LLVMGetNextInstruction(*inst)) {
        struct code_phi phi = { .to = decode_slot_of(d, *inst),
                                .operand = (uint32_t)d->operands.count };

        PUSH(d->at_index, (uint32_t)d->insts.count);
        d->index++;
        for (unsigned i = 0; i < n; i++)
            for (unsigned k = 0; k < n; k++) {
                unsigned at = (i + k) % n; /* mostly in the same order */

                if (LLVMGetIncomingBlock(*inst, at) != LLVMGetIncomingBlock(first, i))
                    continue;
                phi.lanes = add_operand(d, LLVMGetIncomingValue(*inst, at));
                break;
            }
        PUSH(d->phis, phi);
        block->nphis++;
    }
}

static void decode_block(struct decoder *d, LLVMBasicBlockRef b)
{
    struct code_block block = { 0 };
    LLVMValueRef inst = LLVMGetFirstInstruction(b);

    decode_phis(d, &block, &inst);
    block.first = (uint32_t)d->insts.count;
    for (; inst; inst = LLVMGetNextInstruction(inst)) {
        if (is_debug_call(inst))
            continue;
        PUSH(d->at_index, (uint32_t)d->insts.count);
        decode_instruction(d, inst);
        d->index++;
    }
    PUSH(d->blocks, block);
}

static void number_values(struct decoder *d)
{
    uint32_t n = 0;

    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(d->function); b;
         b = LLVMGetNextBasicBlock(b)) {
        map_put(&d->block_of, (uint64_t)(uintptr_t)b, n++);
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
            if (lanes(d, LLVMTypeOf(i))->count && !is_debug_call(i))
                give_slots(d, i);
    }
}

static const struct code_param *decode_params(struct decoder *d, uint32_t *count)
{
    unsigned n = LLVMCountParams(d->function);
    unsigned byval = LLVMGetEnumAttributeKindForName("byval", 5);
    struct code_param *all = arena_alloc(&d->b->memory, n * sizeof(*all) + 1);

    for (unsigned i = 0; i < n; i++) {
        LLVMValueRef param = LLVMGetParam(d->function, i);
        LLVMAttributeRef a = LLVMGetEnumAttributeAtIndex(d->function, i + 1, byval);

        all[i] = (struct code_param){ .slot = give_slots(d, param) };
        all[i].lanes = (uint32_t)d->widths.count - all[i].slot;
        if (a)
            all[i].byval = LLVMABISizeOfType(d->b->layout, LLVMGetTypeAttributeValue(a));
    }
    *count = n;
    return all;
}

static struct code *decode_finish(struct decoder *d, struct code c)
{
    struct bitcode *b = d->b;
    struct code *code = arena_alloc(&b->memory, sizeof(*code));

#define KEEP(list) bitcode_copy(b, (list).at, (list).count, sizeof(*(list).at))
    c.widths = KEEP(d->widths);
    c.insts = KEEP(d->insts);
    c.blocks = KEEP(d->blocks);
    c.phis = KEEP(d->phis);
    c.operands = KEEP(d->operands);
    c.extras = KEEP(d->extras);
    c.consts = KEEP(d->consts);
    c.calls = KEEP(d->calls);
    c.at_index = KEEP(d->at_index);
    c.nslots = (uint32_t)d->widths.count;
    c.ninsts = (uint32_t)d->insts.count;
    c.nblocks = (uint32_t)d->blocks.count;
    c.nconsts = (uint32_t)d->consts.count;
    c.nindices = (uint32_t)d->at_index.count;
    *code = c;
    free(d->widths.at);
    free(d->insts.at);
    free(d->blocks.at);
    free(d->phis.at);
    free(d->operands.at);
    free(d->extras.at);
    free(d->consts.at);
    free(d->calls.at);
    free(d->at_index.at);
    free(d->scratch.at);
    map_release(&d->slot_of);
    map_release(&d->block_of);
    map_release(&d->const_of);
    return code;
}

struct code *decode_function(struct bitcode *b, uint32_t number)
{
    struct decoder d = { .b = b, .function = b->functions[number] };
    struct code c = { .index = number };
    size_t n;
    const char *name = LLVMGetValueName2(d.function, &n);

    c.name = arena_strndup(&b->memory, name, n);
    c.variadic = LLVMIsFunctionVarArg(LLVMGlobalGetValueType(d.function));
    c.params = decode_params(&d, &c.nparams);
    number_values(&d);
    for (LLVMBasicBlockRef at = LLVMGetFirstBasicBlock(d.function); at;
         at = LLVMGetNextBasicBlock(at))
        decode_block(&d, at);
    return decode_finish(&d, c);
}
