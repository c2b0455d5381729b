/* static_read.c - facts of a module: symbols, initial values, address arithmetic
 *
 * Part of heddle-bitcode.so. Instructions are numbered first (that is how sites name them);
 * then variables whose address is not used are turned into values by LLVM's mem2reg: nobody
 * else can see them, they have no sites, and code that was compiled without optimisation
 * becomes as readable as other code.
 */
#include "bitcode/static_read.h"
#include "base/alloc.h"

#include <llvm-c/BitReader.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdlib.h>
#include <string.h>

void *reader_copy(struct reader *r, const void *from, size_t count, size_t bytes)
{
    void *to = arena_alloc(r->memory, count * bytes + 1);

    if (count)
        memcpy(to, from, count * bytes);
    return to;
}

/* ---- address arithmetic ---- */

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* A nest of arrays without a structure between is one array: a[0][i] may leave its row. */
struct nest {
    bool inside;
    int64_t start;
    uint64_t bytes;
};

static void enter_array(struct reader *r, struct nest *nest, LLVMTypeRef type, int64_t at)
{
    if (nest->inside)
        return;
    *nest = (struct nest){ true, at, LLVMABISizeOfType(r->layout, type) };
}

static void add_variable(uint32_t *stride, uint64_t *span, bool *open, uint64_t bytes,
                         uint64_t room)
{
    uint64_t g = gcd(*stride, bytes ? bytes : 1);

    *stride = g > INT32_MAX ? 1 : (uint32_t)g;
    *span += room;
    *open |= room == 0;
}

int64_t reader_offset(struct reader *r, LLVMValueRef gep, uint32_t *stride, uint64_t *span)
{
    LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
    unsigned n = (unsigned)LLVMGetNumOperands(gep);
    struct nest nest = { 0 };
    int64_t sum = 0, start = -1;
    bool open = false;

    *stride = 0;
    *span = 0;
    for (unsigned i = 1; i < n; i++) {
        LLVMValueRef operand = LLVMGetOperand(gep, i), index = LLVMIsAConstantInt(operand);
        int64_t k = index ? LLVMConstIntGetSExtValue(index) : 0;
        LLVMTypeKind kind = LLVMGetTypeKind(type);

        if (i > 1 && kind == LLVMStructTypeKind) {
            sum += (int64_t)LLVMOffsetOfElement(r->layout, type, (unsigned)k);
            type = LLVMStructGetTypeAtIndex(type, (unsigned)k);
            nest.inside = false;
            continue;
        }
        if (i > 1) {
            if (kind == LLVMArrayTypeKind)
                enter_array(r, &nest, type, sum);
            type = LLVMGetElementType(type);
        }
        int64_t bytes = (int64_t)LLVMABISizeOfType(r->layout, type);
        sum = (int64_t)((uint64_t)sum + (uint64_t)k * (uint64_t)bytes);
        if (index || LLVMIsUndef(operand) || LLVMIsNull(operand))
            continue;
        if (i > 1 && nest.inside && nest.bytes && start < 0)
            start = nest.start;
        add_variable(stride, span, &open, (uint64_t)bytes, i > 1 && nest.inside ? nest.bytes : 0);
    }
    if (open)
        *span = 0;
    if (*stride && *span && start >= 0 && sum > start)
        sum = start + (sum - start) % (int64_t)*stride;
    return sum;
}

/* ---- constants ---- */

static uint32_t expression(struct reader *r, LLVMValueRef v, int64_t *offset)
{
    LLVMValueRef first = LLVMGetOperand(v, 0), second, k;
    uint32_t symbol, stride;
    uint64_t span;

    switch (LLVMGetConstOpcode(v)) {
    case LLVMGetElementPtr:
        symbol = reader_constant(r, first, offset);
        *offset += reader_offset(r, v, &stride, &span);
        return symbol;
    case LLVMPtrToInt:
    case LLVMIntToPtr:
    case LLVMBitCast:
    case LLVMAddrSpaceCast:
    case LLVMTrunc:
        return reader_constant(r, first, offset);
    case LLVMAdd:
    case LLVMSub:
    case LLVMXor:
        second = LLVMGetOperand(v, 1);
        symbol = reader_constant(r, first, offset);
        k = LLVMIsAConstantInt(second);
        if (symbol == FACT_NONE && LLVMGetConstOpcode(v) == LLVMAdd)
            return reader_constant(r, second, offset);
        if (k && LLVMGetIntTypeWidth(LLVMTypeOf(k)) <= 64)
            *offset += LLVMGetConstOpcode(v) == LLVMAdd ? LLVMConstIntGetSExtValue(k)
                                                        : -LLVMConstIntGetSExtValue(k);
        return symbol;
    default:
        return FACT_NONE;
    }
}

uint32_t reader_constant(struct reader *r, LLVMValueRef v, int64_t *offset)
{
    *offset = 0;
    if (LLVMIsAGlobalValue(v))
        return reader_symbol(r, v);
    if (LLVMIsAConstantExpr(v))
        return expression(r, v, offset);
    return FACT_NONE;
}

/* ---- symbols ---- */

struct pointers {
    struct fact_pointer *at;
    size_t count, cap;
};

static void list_pointers(struct reader *r, LLVMValueRef v, LLVMTypeRef type, uint64_t at,
                          struct pointers *out)
{
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    int64_t offset;
    uint32_t symbol;

    if (LLVMIsNull(v) || LLVMIsUndef(v) || LLVMIsAConstantDataSequential(v))
        return;
    if (kind == LLVMStructTypeKind) {
        for (unsigned i = 0; i < LLVMCountStructElementTypes(type); i++)
            list_pointers(r, LLVMGetAggregateElement(v, i), LLVMStructGetTypeAtIndex(type, i),
                          at + LLVMOffsetOfElement(r->layout, type, i), out);
    } else if (kind == LLVMArrayTypeKind || kind == LLVMVectorTypeKind) {
        LLVMTypeRef element = LLVMGetElementType(type);
        uint64_t n =
            kind == LLVMArrayTypeKind ? LLVMGetArrayLength2(type) : LLVMGetVectorSize(type);

        for (uint64_t i = 0; i < n; i++)
            list_pointers(r, LLVMGetAggregateElement(v, (unsigned)i), element,
                          at + i * LLVMABISizeOfType(r->layout, element), out);
    } else if ((symbol = reader_constant(r, v, &offset)) != FACT_NONE) {
        GROW(out->at, out->cap, out->count + 1);
        out->at[out->count++] = (struct fact_pointer){ at, symbol, offset };
    }
}

static void set_pointers(struct reader *r, uint32_t number, struct pointers *found)
{
    r->out->symbols[number].pointers = reader_copy(r, found->at, found->count, sizeof(*found->at));
    r->out->symbols[number].npointers = (uint32_t)found->count;
    free(found->at);
}

static void stands_for(struct reader *r, uint32_t number, LLVMValueRef target)
{
    struct pointers found = { 0 };
    struct fact_pointer p = { 0 };

    p.symbol = reader_constant(r, target, &p.offset);
    if (p.symbol != FACT_NONE) {
        GROW(found.at, found.cap, 1);
        found.at[found.count++] = p;
    }
    set_pointers(r, number, &found);
}

static void describe(struct reader *r, LLVMValueRef v, struct fact_symbol *s)
{
    LLVMLinkage linkage = LLVMGetLinkage(v);
    size_t n;
    const char *name = LLVMGetValueName2(v, &n);

    s->name = arena_strndup(r->memory, name, n);
    s->function = FACT_NONE;
    s->internal = linkage == LLVMInternalLinkage || linkage == LLVMPrivateLinkage;
    s->defined = !LLVMIsDeclaration(v) && linkage != LLVMAvailableExternallyLinkage;
    s->hidden = LLVMGetVisibility(v) != LLVMDefaultVisibility;
    s->weak = linkage == LLVMLinkOnceAnyLinkage || linkage == LLVMLinkOnceODRLinkage ||
              linkage == LLVMWeakAnyLinkage || linkage == LLVMWeakODRLinkage ||
              linkage == LLVMCommonLinkage || linkage == LLVMExternalWeakLinkage;
    if (LLVMIsAFunction(v)) {
        s->kind = SYMBOL_FUNCTION;
    } else if (LLVMIsAGlobalVariable(v)) {
        s->thread_local_ = LLVMIsThreadLocal(v);
        s->constant = LLVMIsGlobalConstant(v);
        if (LLVMTypeIsSized(LLVMGlobalGetValueType(v)))
            s->bytes = LLVMABISizeOfType(r->layout, LLVMGlobalGetValueType(v));
    } else {
        s->kind = LLVMIsAGlobalAlias(v) ? SYMBOL_ALIAS : SYMBOL_IFUNC;
    }
}

uint32_t reader_symbol(struct reader *r, LLVMValueRef v)
{
    uint32_t number = *map_put(&r->symbol_of, (uint64_t)(uintptr_t)v, r->out->nsymbols);
    struct pointers found = { 0 };
    LLVMValueRef init;

    if (number < r->out->nsymbols)
        return number;
    GROW(r->out->symbols, r->symbols_cap, r->out->nsymbols + (size_t)1);
    r->out->nsymbols++;
    describe(r, v, &r->out->symbols[number]);
    if (LLVMIsAGlobalAlias(v)) {
        stands_for(r, number, LLVMAliasGetAliasee(v));
    } else if (LLVMIsAGlobalIFunc(v)) {
        stands_for(r, number, LLVMGetGlobalIFuncResolver(v));
    } else if (LLVMIsAGlobalVariable(v) && (init = LLVMGetInitializer(v))) {
        list_pointers(r, init, LLVMGlobalGetValueType(v), 0, &found);
        set_pointers(r, number, &found);
    }
    return number;
}

/* llvm.global_ctors: { priority, function, data } */
static uint32_t *list_functions(struct reader *r, const char *name, uint32_t *count)
{
    LLVMValueRef list = LLVMGetNamedGlobal(r->module, name);
    LLVMValueRef init = list ? LLVMGetInitializer(list) : NULL;
    uint64_t n = init && LLVMGetTypeKind(LLVMTypeOf(init)) == LLVMArrayTypeKind
                     ? LLVMGetArrayLength2(LLVMTypeOf(init))
                     : 0;
    uint32_t *out = arena_alloc(r->memory, n * sizeof(*out) + 1);

    *count = 0;
    for (uint64_t i = 0; i < n; i++) {
        LLVMValueRef entry = LLVMGetAggregateElement(init, (unsigned)i);
        LLVMValueRef f = entry ? LLVMGetAggregateElement(entry, 1) : NULL;

        if (f && LLVMIsAFunction(f))
            out[(*count)++] = reader_symbol(r, f);
    }
    return out;
}

/* ---- modules ---- */

static void number_instructions(struct reader *r)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(r->module); f; f = LLVMGetNextFunction(f)) {
        uint32_t n = 0;

        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
                if (!reader_is_debug(i))
                    *map_put(&r->index_of, (uint64_t)(uintptr_t)i, 0) = n++;
    }
}

static void promote(struct reader *r)
{
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    unsigned optnone = LLVMGetEnumAttributeKindForName("optnone", 7);
    LLVMErrorRef error;

    for (LLVMValueRef f = LLVMGetFirstFunction(r->module); f; f = LLVMGetNextFunction(f))
        LLVMRemoveEnumAttributeAtIndex(f, LLVMAttributeFunctionIndex, optnone);
    error = LLVMRunPasses(r->module, "function(mem2reg)", NULL, options);
    if (error)
        LLVMConsumeError(error); /* less precise, not wrong */
    LLVMDisposePassBuilderOptions(options);
}

static void read_functions(struct reader *r)
{
    size_t cap = 0;
    uint32_t number = 0;

    for (LLVMValueRef f = LLVMGetFirstFunction(r->module); f;
         f = LLVMGetNextFunction(f), number++) {
        uint32_t symbol = reader_symbol(r, f);
        struct fact_function *out;

        if (LLVMIsDeclaration(f) || LLVMGetLinkage(f) == LLVMAvailableExternallyLinkage)
            continue;
        GROW(r->out->functions, cap, r->out->nfunctions + (size_t)1);
        out = &r->out->functions[r->out->nfunctions];
        r->out->symbols[symbol].function = r->out->nfunctions++;
        *out = (struct fact_function){ .symbol = symbol, .index = number };
        reader_function(r, f, out);
    }
}

static void read_module(struct reader *r)
{
    r->layout = LLVMGetModuleDataLayout(r->module);
    number_instructions(r);
    promote(r);
    for (LLVMValueRef g = LLVMGetFirstGlobal(r->module); g; g = LLVMGetNextGlobal(g))
        reader_symbol(r, g);
    for (LLVMValueRef g = LLVMGetFirstGlobalAlias(r->module); g; g = LLVMGetNextGlobalAlias(g))
        reader_symbol(r, g);
    read_functions(r);
    r->out->constructors = list_functions(r, "llvm.global_ctors", &r->out->nconstructors);
    r->out->destructors = list_functions(r, "llvm.global_dtors", &r->out->ndestructors);
}

static void facts_free(struct facts *f)
{
    if (!f)
        return;
    arena_release(f->memory);
    free(f->memory);
    free(f->symbols);
    free(f->functions);
    free(f);
}

static void ignore_diagnostic(LLVMDiagnosticInfoRef info, void *arg)
{
    (void)info;
    (void)arg;
}

static struct facts *facts_read(const void *bytes, size_t n, struct error *err)
{
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(bytes, n, "bitcode");
    struct reader r = { .context = LLVMContextCreate() };
    bool bad;

    r.out = xcalloc(1, sizeof(*r.out));
    r.out->memory = r.memory = xcalloc(1, sizeof(*r.memory));
    LLVMContextSetDiagnosticHandler(r.context, ignore_diagnostic, NULL);
    bad = LLVMParseBitcodeInContext2(r.context, buffer, &r.module);
    LLVMDisposeMemoryBuffer(buffer);
    if (bad) {
        error_set(err, "the bitcode cannot be read");
        facts_free(r.out);
        r.out = NULL;
    } else {
        read_module(&r);
        LLVMDisposeModule(r.module);
    }
    LLVMContextDispose(r.context);
    map_release(&r.symbol_of);
    map_release(&r.index_of);
    map_release(&r.value_of);
    free(r.facts);
    free(r.args);
    free(r.narrow);
    return r.out;
}

__attribute__((visibility("default")))
const struct facts_api heddle_facts = { facts_read, facts_free };
