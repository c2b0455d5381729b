/* intrinsics.c - what LLVM's intrinsics are to the walk
 *
 * Not listed: the result is unknown and depends on the operands.
 */
#include "bitcode/bitcode_inside.h"
#include "execution/expr.h"

#include <string.h>

struct entry {
    const char *name; /* the beginning, behind "llvm." */
    struct intrinsic is;
};

static const struct entry entries[] = {
    /* nothing that we could see */
    { "lifetime.", { .nothing = true } },
    { "assume", { .nothing = true } },
    { "prefetch", { .nothing = true } },
    { "donothing", { .nothing = true } },
    { "sideeffect", { .nothing = true } },
    { "var.annotation", { .nothing = true } },
    { "experimental.noalias", { .nothing = true } },
    { "invariant.end", { .nothing = true } },
    { "stackrestore", { .nothing = true } },
    { "va_end", { .nothing = true } },
    { "pseudoprobe", { .nothing = true } },
    { "trap", { .nothing = true } },
    { "ubsantrap", { .nothing = true } },
    { "debugtrap", { .nothing = true } },
    /* the first operand as it is */
    { "expect", { .op = I_COPY } },
    { "launder.", { .op = I_COPY } },
    { "strip.", { .op = I_COPY } },
    { "ssa.copy", { .op = I_COPY } },
    { "threadlocal.address", { .op = I_COPY } },
    { "annotation", { .op = I_COPY } },
    { "ptr.annotation", { .op = I_COPY } },
    /* memory */
    { "memcpy.", { .op = I_COPY_MEMORY } },
    { "memmove.", { .op = I_COPY_MEMORY } },
    { "memset.", { .op = I_FILL_MEMORY } },
    { "va_start", { .op = I_FORGET } },
    { "va_copy", { .op = I_FORGET } },
    /* integers */
    { "umin.", { .op = I_INTEGER, .sub = INT_UMIN } },
    { "umax.", { .op = I_INTEGER, .sub = INT_UMAX } },
    { "smin.", { .op = I_INTEGER, .sub = INT_SMIN } },
    { "smax.", { .op = I_INTEGER, .sub = INT_SMAX } },
    { "abs.", { .op = I_INTEGER, .sub = INT_ABS } },
    { "ctpop.", { .op = I_INTEGER, .sub = INT_CTPOP } },
    { "ctlz.", { .op = I_INTEGER, .sub = INT_CTLZ } },
    { "cttz.", { .op = I_INTEGER, .sub = INT_CTTZ } },
    { "bswap.", { .op = I_INTEGER, .sub = INT_BSWAP } },
    { "bitreverse.", { .op = I_INTEGER, .sub = INT_BITREVERSE } },
    { "fshl.", { .op = I_INTEGER, .sub = INT_FSHL } },
    { "fshr.", { .op = I_INTEGER, .sub = INT_FSHR } },
    { "uadd.sat.", { .op = I_INTEGER, .sub = INT_UADD_SAT } },
    { "usub.sat.", { .op = I_INTEGER, .sub = INT_USUB_SAT } },
    { "sadd.sat.", { .op = I_INTEGER, .sub = INT_SADD_SAT } },
    { "ssub.sat.", { .op = I_INTEGER, .sub = INT_SSUB_SAT } },
    { "uadd.with.overflow.", { .op = I_INTEGER, .sub = INT_UADD_OVERFLOW } },
    { "sadd.with.overflow.", { .op = I_INTEGER, .sub = INT_SADD_OVERFLOW } },
    { "usub.with.overflow.", { .op = I_INTEGER, .sub = INT_USUB_OVERFLOW } },
    { "ssub.with.overflow.", { .op = I_INTEGER, .sub = INT_SSUB_OVERFLOW } },
    { "umul.with.overflow.", { .op = I_INTEGER, .sub = INT_UMUL_OVERFLOW } },
    { "smul.with.overflow.", { .op = I_INTEGER, .sub = INT_SMUL_OVERFLOW } },
    { "ptrmask.", { .op = I_BINARY, .sub = EX_AND } },
    /* floating point */
    { "fabs.", { .op = I_FLOAT, .sub = FLOAT_ABS } },
    { "fmuladd.", { .op = I_FLOAT, .sub = FLOAT_MULADD } },
    { "sqrt.", { .op = I_FLOAT, .sub = FLOAT_SQRT } },
};

struct intrinsic intrinsic_of(LLVMValueRef call)
{
    LLVMValueRef f = LLVMIsAFunction(LLVMGetCalledValue(call));
    size_t n;
    const char *name = f ? LLVMGetValueName2(f, &n) : "";

    if (strncmp(name, "llvm.", 5) != 0)
        return (struct intrinsic){ .op = I_CALL };
    for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++)
        if (strncmp(name + 5, entries[i].name, strlen(entries[i].name)) == 0)
            return entries[i].is;
    return (struct intrinsic){ .op = I_UNKNOWN };
}
