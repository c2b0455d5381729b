/* bitcode.c - modules of bitcode: functions, variables, constants
 *
 * The only part of Heddle's analyser that needs LLVM; it is a shared module
 * (heddle-bitcode.so) behind struct bitcode_api.
 *
 * A module is parsed as a whole; a function is decoded when it is first asked
 * for, an initialiser too.
 */
#include "bitcode/bitcode_inside.h"
#include "base/alloc.h"
#include "execution/expr.h"

#include <llvm-c/BitReader.h>
#include <stdlib.h>
#include <string.h>

void *bitcode_copy(struct bitcode *b, const void *from, size_t count, size_t bytes)
{
    void *to = arena_alloc(&b->memory, count * bytes + 1);

    if (count)
        memcpy(to, from, count * bytes);
    return to;
}

/* ---- types ---- */

static void add_lane(struct bitcode *b, LLVMTypeRef type, uint64_t offset, struct lanes *out)
{
    uint64_t bits = LLVMSizeOfTypeInBits(b->layout, type);
    struct lane l = { .offset = offset, .type = type, .width = (uint16_t)bits };

    if (bits > EXPR_WIDTH_MAX) {
        l.width = EXPR_WIDTH_MAX;
        l.odd = true;
    }
    GROW(out->at, out->cap, out->count + 1);
    out->at[out->count++] = l;
}

static void add_elements(struct bitcode *b, LLVMTypeRef element, uint64_t n, uint64_t bytes,
                         uint64_t offset, struct lanes *out)
{
    for (uint64_t i = 0; i < n && out->count < LANES_MAX; i++)
        lanes_of(b, element, offset + i * bytes, out);
}

static void add_vector(struct bitcode *b, LLVMTypeRef type, uint64_t offset, struct lanes *out)
{
    LLVMTypeRef element = LLVMGetElementType(type);
    uint64_t bits = LLVMSizeOfTypeInBits(b->layout, element);
    size_t first = out->count;

    add_elements(b, element, LLVMGetVectorSize(type), (bits + 7) / 8, offset, out);
    for (size_t i = first; i < out->count; i++)
        out->at[i].odd |= bits % 8 != 0;
}

void lanes_of(struct bitcode *b, LLVMTypeRef type, uint64_t offset, struct lanes *out)
{
    LLVMTypeRef element;

    switch (LLVMGetTypeKind(type)) {
    case LLVMStructTypeKind:
        for (unsigned i = 0; i < LLVMCountStructElementTypes(type); i++)
            lanes_of(b, LLVMStructGetTypeAtIndex(type, i),
                     offset + LLVMOffsetOfElement(b->layout, type, i), out);
        break;
    case LLVMArrayTypeKind:
        element = LLVMGetElementType(type);
        add_elements(b, element, LLVMGetArrayLength2(type), LLVMABISizeOfType(b->layout, element),
                     offset, out);
        break;
    case LLVMVectorTypeKind:
        add_vector(b, type, offset, out);
        break;
    case LLVMIntegerTypeKind:
    case LLVMPointerTypeKind:
    case LLVMHalfTypeKind:
    case LLVMBFloatTypeKind:
    case LLVMFloatTypeKind:
    case LLVMDoubleTypeKind:
    case LLVMX86_FP80TypeKind:
    case LLVMFP128TypeKind:
        add_lane(b, type, offset, out);
        break;
    default: /* void, labels, metadata, tokens, scalable vectors */
        break;
    }
}

/* ---- symbols ---- */

uint32_t symbol_number(struct bitcode *b, LLVMValueRef value)
{
    uint32_t *known = map_put(&b->symbol_of, (uint64_t)(uintptr_t)value, (uint32_t)b->nsymbols);
    uint32_t number = *known, *function;
    LLVMLinkage linkage;
    struct code_symbol s = { .function = CODE_NONE };
    size_t n;

    if (number < b->nsymbols)
        return number;
    s.name = LLVMGetValueName2(value, &n);
    s.name = arena_strndup(&b->memory, s.name, n);
    function = map_get(&b->function_of, (uint64_t)(uintptr_t)value);
    if (function)
        s.function = *function;
    linkage = LLVMGetLinkage(value);
    s.internal = linkage == LLVMInternalLinkage || linkage == LLVMPrivateLinkage;
    s.defined = !LLVMIsDeclaration(value);
    if (LLVMIsAGlobalVariable(value)) {
        s.thread_local_ = LLVMIsThreadLocal(value);
        s.constant = LLVMIsGlobalConstant(value);
        s.own = bitcode_is_own(b, value);
        if (LLVMTypeIsSized(LLVMGlobalGetValueType(value)))
            s.bytes = LLVMABISizeOfType(b->layout, LLVMGlobalGetValueType(value));
    }
    GROW(b->symbols, b->symbols_cap, b->nsymbols + 1);
    b->symbols[number] = arena_alloc(&b->memory, sizeof(**b->symbols));
    *b->symbols[b->nsymbols++] = (struct symbol_entry){ .value = value, .symbol = s };
    return number;
}

/* ---- constants ---- */

uint32_t block_number(LLVMValueRef function, LLVMBasicBlockRef block)
{
    uint32_t n = 0;

    for (LLVMBasicBlockRef at = LLVMGetFirstBasicBlock(function); at && at != block; n++)
        at = LLVMGetNextBasicBlock(at);
    return n;
}

int64_t gep_offset(struct bitcode *b, LLVMValueRef gep,
                   void (*add)(void *arg, LLVMValueRef index, int64_t factor), void *arg)
{
    LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
    unsigned n = (unsigned)LLVMGetNumOperands(gep);
    int64_t sum = 0;

    for (unsigned i = 1; i < n; i++) {
        LLVMValueRef operand = LLVMGetOperand(gep, i), index = LLVMIsAConstantInt(operand);
        int64_t k = index ? LLVMConstIntGetSExtValue(index) : 0, bytes;

        if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
            sum += (int64_t)LLVMOffsetOfElement(b->layout, type, (unsigned)k);
            type = LLVMStructGetTypeAtIndex(type, (unsigned)k);
            continue;
        }
        if (i > 1)
            type = LLVMGetElementType(type);
        bytes = (int64_t)LLVMABISizeOfType(b->layout, type);
        sum = (int64_t)((uint64_t)sum + (uint64_t)k * (uint64_t)bytes);
        if (!index)
            add(arg, operand, bytes);
    }
    return sum;
}

/* Wider than LLVM-C tells as a number: "i128 -5". */
static void wide_number(LLVMValueRef value, struct code_const *c)
{
    char *text = LLVMPrintValueToString(value), *p = strchr(text, ' ');
    bool negative = p && p[1] == '-';
    u128 v = 0;

    for (p = p ? p + 1 + negative : text; *p >= '0' && *p <= '9'; p++)
        v = v * 10 + (unsigned)(*p - '0');
    if (negative)
        v = 0 - v;
    c->low = (uint64_t)v;
    c->high = (uint64_t)(v >> 64);
    LLVMDisposeMessage(text);
}

static void float_bits(LLVMValueRef value, struct code_const *c)
{
    LLVMBool loses;
    double d = LLVMConstRealGetDouble(value, &loses);
    float f = (float)d;
    uint32_t low;

    if (LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMDoubleTypeKind && d == d) {
        memcpy(&c->low, &d, 8);
    } else if (LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMFloatTypeKind && d == d) {
        memcpy(&low, &f, 4);
        c->low = low;
    } else { /* the bits of a NaN may have changed on the way */
        c->kind = CONST_OPAQUE;
    }
}

static void no_index(void *arg, LLVMValueRef index, int64_t factor)
{
    (void)index;
    (void)factor;
    *(bool *)arg = true;
}

static struct code_const expression(struct bitcode *b, LLVMValueRef v, unsigned width)
{
    struct code_const c = { .kind = CONST_OPAQUE, .width = (uint8_t)width };
    bool varies = false;
    LLVMValueRef operand = LLVMGetOperand(v, 0), k;

    switch (LLVMGetConstOpcode(v)) {
    case LLVMGetElementPtr:
        c = constant_of(b, operand, width);
        c.low += (uint64_t)gep_offset(b, v, no_index, &varies);
        break;
    case LLVMPtrToInt:
    case LLVMIntToPtr:
    case LLVMBitCast:
    case LLVMAddrSpaceCast:
        if (LLVMSizeOfTypeInBits(b->layout, LLVMTypeOf(operand)) == width)
            c = constant_of(b, operand, width);
        break;
    case LLVMAdd:
    case LLVMSub:
        k = LLVMIsAConstantInt(LLVMGetOperand(v, 1));
        varies = !k || width > 64;
        if (varies)
            break;
        c = constant_of(b, operand, width);
        c.low += LLVMGetConstOpcode(v) == LLVMAdd ? LLVMConstIntGetZExtValue(k)
                                                  : 0 - LLVMConstIntGetZExtValue(k);
        break;
    default:
        break;
    }
    if (varies)
        c.kind = CONST_OPAQUE;
    return c;
}

struct code_const constant_of(struct bitcode *b, LLVMValueRef v, unsigned width)
{
    struct code_const c = { .kind = CONST_INT, .width = (uint8_t)width };

    if (LLVMIsAConstantInt(v) && width <= 64) {
        c.low = LLVMConstIntGetZExtValue(v);
    } else if (LLVMIsAConstantInt(v)) {
        wide_number(v, &c);
    } else if (LLVMIsAConstantFP(v)) {
        float_bits(v, &c);
    } else if (LLVMIsUndef(v)) {
        c.kind = CONST_UNDEF;
    } else if (LLVMIsNull(v)) {
        c.low = 0;
    } else if (LLVMIsAGlobalAlias(v)) {
        return constant_of(b, LLVMAliasGetAliasee(v), width);
    } else if (LLVMIsAFunction(v) || LLVMIsAGlobalVariable(v) || LLVMIsAGlobalIFunc(v)) {
        c.kind = CONST_ADDRESS;
        c.symbol = symbol_number(b, v);
    } else if (LLVMIsABlockAddress(v)) {
        c.kind = CONST_BLOCK;
        c.symbol = symbol_number(b, LLVMGetBlockAddressFunction(v));
        c.low = block_number(LLVMGetBlockAddressFunction(v), LLVMGetBlockAddressBasicBlock(v));
    } else if (LLVMIsAConstantExpr(v)) {
        c = expression(b, v, width);
    } else {
        c.kind = CONST_OPAQUE;
    }
    return c;
}

void constants_of(struct bitcode *b, LLVMValueRef v, LLVMTypeRef type, struct const_list *out)
{
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    uint64_t n = kind == LLVMStructTypeKind   ? LLVMCountStructElementTypes(type)
                 : kind == LLVMArrayTypeKind  ? LLVMGetArrayLength2(type)
                 : kind == LLVMVectorTypeKind ? LLVMGetVectorSize(type)
                                              : 0;
    struct lanes lanes = { 0 };

    if (kind == LLVMStructTypeKind || kind == LLVMArrayTypeKind || kind == LLVMVectorTypeKind) {
        for (uint64_t i = 0; i < n && out->count < LANES_MAX; i++) {
            LLVMTypeRef element = kind == LLVMStructTypeKind
                                      ? LLVMStructGetTypeAtIndex(type, (unsigned)i)
                                      : LLVMGetElementType(type);
            LLVMValueRef e = LLVMGetAggregateElement(v, (unsigned)i);

            constants_of(b, e ? e : v, element, out);
        }
        return;
    }
    lanes_of(b, type, 0, &lanes);
    for (size_t i = 0; i < lanes.count; i++) {
        GROW(out->at, out->cap, out->count + 1);
        out->at[out->count++] = constant_of(b, v, lanes.at[i].width);
    }
    free(lanes.at);
}

/* ---- initialisers ---- */

struct image {
    struct bitcode *b;
    uint8_t *bytes;
    uint64_t count;
    struct const_list addresses;
    uint64_t *places;
    size_t places_cap;
};

static void set_scalar(struct image *m, LLVMValueRef v, LLVMTypeRef type, uint64_t at)
{
    uint64_t bytes = LLVMStoreSizeOfType(m->b->layout, type);
    unsigned bits = (unsigned)LLVMSizeOfTypeInBits(m->b->layout, type);
    struct code_const c;

    if (at + bytes > m->count || LLVMIsNull(v))
        return;
    c = constant_of(m->b, v, bits > EXPR_WIDTH_MAX ? EXPR_WIDTH_MAX : bits);
    if (bits > EXPR_WIDTH_MAX)
        c.kind = CONST_OPAQUE;
    if (c.kind == CONST_INT) {
        uint64_t both[2] = { c.low, c.high };
        memcpy(m->bytes + at, both, bytes < 16 ? bytes : 16);
        return;
    }
    GROW(m->addresses.at, m->addresses.cap, m->addresses.count + 1);
    GROW(m->places, m->places_cap, m->addresses.count + 1);
    m->addresses.at[m->addresses.count] = c;
    m->places[m->addresses.count++] = at;
}

static void set_value(struct image *m, LLVMValueRef v, LLVMTypeRef type, uint64_t at)
{
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    LLVMTypeRef element;
    uint64_t n;
    size_t length;

    if (LLVMIsAConstantAggregateZero(v))
        return;
    if (kind == LLVMStructTypeKind) {
        for (unsigned i = 0; i < LLVMCountStructElementTypes(type); i++)
            set_value(m, LLVMGetAggregateElement(v, i), LLVMStructGetTypeAtIndex(type, i),
                      at + LLVMOffsetOfElement(m->b->layout, type, i));
        return;
    }
    if (kind != LLVMArrayTypeKind && kind != LLVMVectorTypeKind) {
        set_scalar(m, v, type, at);
        return;
    }
    element = LLVMGetElementType(type);
    n = kind == LLVMArrayTypeKind ? LLVMGetArrayLength2(type) : LLVMGetVectorSize(type);
    if (LLVMIsAConstantDataSequential(v) && LLVMIsConstantString(v)) {
        const char *s = LLVMGetAsString(v, &length);
        if (at + length <= m->count)
            memcpy(m->bytes + at, s, length);
        return;
    }
    for (uint64_t i = 0; i < n; i++)
        set_value(m, LLVMGetAggregateElement(v, (unsigned)i), element,
                  at + i * LLVMABISizeOfType(m->b->layout, element));
}

static const struct code_data *bitcode_data(struct bitcode *b, uint32_t symbol)
{
    LLVMValueRef v = b->symbols[symbol]->value, init;
    struct image m = { .b = b, .count = b->symbols[symbol]->symbol.bytes };
    struct code_data *d;

    if (b->symbols[symbol]->data)
        return b->symbols[symbol]->data;
    init = LLVMIsAGlobalVariable(v) ? LLVMGetInitializer(v) : NULL;
    if (!init)
        return NULL;
    m.bytes = xcalloc(1, m.count + 1);
    set_value(&m, init, LLVMGlobalGetValueType(v), 0);
    d = arena_alloc(&b->memory, sizeof(*d));
    *d = (struct code_data){ .count = m.count, .naddresses = (uint32_t)m.addresses.count };
    d->bytes = bitcode_copy(b, m.bytes, m.count, 1);
    d->addresses = bitcode_copy(b, m.addresses.at, m.addresses.count, sizeof(*d->addresses));
    d->places = bitcode_copy(b, m.places, m.addresses.count, sizeof(*d->places));
    free(m.bytes);
    free(m.addresses.at);
    free(m.places);
    b->symbols[symbol]->data = d;
    return d;
}

/* ---- modules ---- */

static void bitcode_close(struct bitcode *b)
{
    if (!b)
        return;
    if (b->module)
        LLVMDisposeModule(b->module);
    LLVMContextDispose(b->context);
    arena_release(&b->memory);
    map_release(&b->function_of);
    map_release(&b->symbol_of);
    free(b->functions);
    free(b->codes);
    free(b->symbols);
    free(b);
}

static void ignore_diagnostic(LLVMDiagnosticInfoRef info, void *arg)
{
    (void)info;
    (void)arg;
}

static struct bitcode *bitcode_open(const void *bytes, size_t n, struct error *err)
{
    struct bitcode *b = xcalloc(1, sizeof(*b));
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(bytes, n, "bitcode");

    b->context = LLVMContextCreate();
    LLVMContextSetDiagnosticHandler(b->context, ignore_diagnostic, NULL);
    if (LLVMParseBitcodeInContext2(b->context, buffer, &b->module)) {
        b->module = NULL;
        error_set(err, "the bitcode cannot be read");
    }
    LLVMDisposeMemoryBuffer(buffer);
    if (!b->module) {
        bitcode_close(b);
        return NULL;
    }
    b->layout = LLVMGetModuleDataLayout(b->module);
    b->all_traced = bitcode_is_all_traced(b->module);
    for (LLVMValueRef f = LLVMGetFirstFunction(b->module); f; f = LLVMGetNextFunction(f)) {
        GROW(b->functions, b->functions_cap, b->nfunctions + 1);
        map_put(&b->function_of, (uint64_t)(uintptr_t)f, (uint32_t)b->nfunctions);
        b->functions[b->nfunctions++] = f;
    }
    b->codes = xcalloc(b->nfunctions + 1, sizeof(*b->codes));
    return b;
}

static uint32_t bitcode_functions(struct bitcode *b)
{
    return (uint32_t)b->nfunctions;
}

static const struct code *bitcode_code(struct bitcode *b, uint32_t function)
{
    if (function >= b->nfunctions || LLVMIsDeclaration(b->functions[function]))
        return NULL;
    if (!b->codes[function])
        b->codes[function] = decode_function(b, function);
    return b->codes[function];
}

static const char *bitcode_external(struct bitcode *b, uint32_t function)
{
    LLVMValueRef f = b->functions[function];
    LLVMLinkage linkage = LLVMGetLinkage(f);
    size_t n;

    if (LLVMIsDeclaration(f) || linkage == LLVMInternalLinkage || linkage == LLVMPrivateLinkage ||
        linkage == LLVMAvailableExternallyLinkage)
        return NULL;
    return LLVMGetValueName2(f, &n);
}

static uint32_t bitcode_find(struct bitcode *b, const char *name)
{
    LLVMValueRef v = LLVMGetNamedGlobal(b->module, name);

    if (!v)
        v = LLVMGetNamedFunction(b->module, name);
    return v && !LLVMIsDeclaration(v) ? symbol_number(b, v) : CODE_NONE;
}

static const struct code_symbol *bitcode_symbol(struct bitcode *b, uint32_t symbol)
{
    return &b->symbols[symbol]->symbol;
}

__attribute__((visibility("default")))
const struct bitcode_api heddle_bitcode = { .open = bitcode_open,
                                            .close = bitcode_close,
                                            .functions = bitcode_functions,
                                            .code = bitcode_code,
                                            .external = bitcode_external,
                                            .symbol = bitcode_symbol,
                                            .find = bitcode_find,
                                            .data = bitcode_data };
