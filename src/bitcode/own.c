/* own.c - variables that only the traced code of their module can name
 *
 * Such a variable holds its initialiser until an event of the trace, or a call that is
 * handed its address, changes it. Who else could write before that: another module or
 * library by its name (so it must be internal); a constructor that finds its address in
 * another variable (so no initialiser may have it, but of variables that are such themselves);
 * assembly; functions of the module that are not traced (the pass leaves a mark when there are
 * some).
 *
 * Part of heddle-bitcode.so. Cost: the uses of each variable that is asked about, once.
 */
#include "bitcode/bitcode_inside.h"

#include <llvm-c/Core.h>
#include <string.h>

static const char mark[] = "heddle.untraced"; /* pass/excluded.c writes it */

bool bitcode_is_all_traced(LLVMModuleRef module)
{
    size_t n = 0;

    LLVMGetModuleInlineAsm(module, &n);
    return !n && !LLVMGetNamedMetadata(module, mark, strlen(mark));
}

static bool is_list_of_the_compiler(LLVMValueRef user)
{
    size_t n;

    return strncmp(LLVMGetValueName2(user, &n), "llvm.", 5) == 0; /* llvm.compiler.used */
}

static bool is_assembly(LLVMValueRef user)
{
    return (LLVMIsACallInst(user) || LLVMIsAInvokeInst(user) || LLVMIsACallBrInst(user)) &&
           LLVMIsAInlineAsm(LLVMGetCalledValue(user));
}

enum { OWN_DEPTH = 8 }; /* initialisers that lead to one another; they may be a ring */

static bool is_used_by_code(LLVMValueRef value, unsigned depth);

static bool is_closed(LLVMValueRef variable, unsigned depth)
{
    LLVMLinkage linkage = LLVMGetLinkage(variable);

    return depth && (linkage == LLVMInternalLinkage || linkage == LLVMPrivateLinkage) &&
           !LLVMIsExternallyInitialized(variable) && is_used_by_code(variable, depth - 1);
}

static bool is_code(LLVMValueRef user, unsigned depth)
{
    if (LLVMIsAInstruction(user))
        return !is_assembly(user);
    if (LLVMIsAGlobalVariable(user))
        return is_list_of_the_compiler(user) || is_closed(user, depth);
    /* A constant expression or part of an initialiser; not an alias. */
    return LLVMIsAConstant(user) && !LLVMIsAGlobalValue(user) && is_used_by_code(user, depth);
}

/* Are all uses instructions, if through constants? */
static bool is_used_by_code(LLVMValueRef value, unsigned depth)
{
    for (LLVMUseRef u = LLVMGetFirstUse(value); u; u = LLVMGetNextUse(u))
        if (!is_code(LLVMGetUser(u), depth))
            return false;
    return true;
}

bool bitcode_is_own(struct bitcode *b, LLVMValueRef variable)
{
    return b->all_traced && is_closed(variable, OWN_DEPTH);
}
