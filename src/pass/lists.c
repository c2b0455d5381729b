/* lists.c - what the module tells the runtime of itself: traced functions and variables
 *
 * Marks: heddle_traced.f, a second name of each traced function f that others can call by name
 * (untraced.c). Not of functions that every module compiles for itself (inline functions of C++),
 * and not of weak ones, which an untraced function may replace.
 * Functions: the addresses of traced functions, for calls through pointers.
 * Variables: address, bytes and name of each, so that a pointer into one leads to its bytes.
 * Functions and variables that nobody outside can reach, and whose address nobody takes, are left
 * out: being listed would keep the compiler from knowing that.
 */
#include "pass/pass.h"

#include <llvm-c/Comdat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/abi.h"

static bool is_local(LLVMValueRef g)
{
    LLVMLinkage l = LLVMGetLinkage(g);
    return l == LLVMInternalLinkage || l == LLVMPrivateLinkage;
}

/* ---- marks ---- */

bool mark_name(LLVMValueRef function, char *out, size_t room)
{
    size_t n;
    const char *name = LLVMGetValueName2(function, &n);
    name += name[0] == 1;
    int length = snprintf(out, room, "heddle_traced.%s", name);
    return length > 0 && (size_t)length < room;
}

static bool has_mark(LLVMValueRef f)
{
    LLVMLinkage l = LLVMGetLinkage(f);
    return l == LLVMExternalLinkage || l == LLVMWeakODRLinkage;
}

static void emit_mark(struct pass *p, LLVMValueRef f)
{
    char name[1024];
    if (!has_mark(f) || !mark_name(f, name, sizeof name) || LLVMGetNamedGlobal(p->module, name))
        return;
    LLVMValueRef alias = LLVMAddAlias2(p->module, LLVMGlobalGetValueType(f), 0, f, name);
    LLVMSetLinkage(alias, LLVMGetLinkage(f));
    LLVMSetVisibility(alias, LLVMGetVisibility(f));
}

/* ---- whose address is taken ---- */

static bool is_call_of(LLVMValueRef user, LLVMValueRef f)
{
    if (!LLVMIsAInstruction(user) || !is_call(user) || LLVMGetCalledValue(user) != f)
        return false;
    for (unsigned i = 0; i < LLVMGetNumArgOperands(user); i++)
        if (LLVMGetOperand(user, i) == f)
            return false;
    return true;
}

static bool is_address_taken(LLVMValueRef f)
{
    for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u))
        if (!is_call_of(LLVMGetUser(u), f) && !LLVMIsAGlobalAlias(LLVMGetUser(u)))
            return true;
    return false;
}

/* Loads and stores of the variable, or of a constant place in it, and nothing else. */
static bool is_only_accessed(LLVMValueRef v, int depth)
{
    if (depth > 4)
        return false;
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        bool gep = LLVMIsAGetElementPtrInst(user) ||
                   (LLVMIsAConstantExpr(user) && LLVMGetConstOpcode(user) == LLVMGetElementPtr);
        if (gep ? !is_only_accessed(user, depth + 1)
                : !LLVMIsALoadInst(user) &&
                      !(LLVMIsAStoreInst(user) && LLVMGetOperand(user, 0) != v))
            return false;
    }
    return true;
}

/* ---- lists ---- */

struct list {
    LLVMValueRef *at;
    size_t count, room;
};

static void lists_add(struct list *l, LLVMValueRef v)
{
    RESERVE(*l);
    l->at[l->count++] = v;
}

static void emit_list(struct pass *p, struct list *l, LLVMTypeRef type, const char *name,
                      const char *section)
{
    LLVMValueRef data = LLVMConstArray2(type, l->at, l->count);
    LLVMValueRef global = LLVMAddGlobal(p->module, LLVMTypeOf(data), name);
    LLVMSetLinkage(global, LLVMInternalLinkage);
    LLVMSetInitializer(global, data);
    LLVMSetSection(global, section);
    LLVMSetAlignment(global, 8);
    add_to_list(p, "llvm.used", "llvm.metadata", global);
    free(l->at);
}

static LLVMValueRef text(struct pass *p, const char *s)
{
    LLVMValueRef data = LLVMConstStringInContext2(p->context, s, strlen(s), false);
    LLVMValueRef g = LLVMAddGlobal(p->module, LLVMTypeOf(data), "");
    LLVMSetLinkage(g, LLVMPrivateLinkage);
    LLVMSetInitializer(g, data);
    LLVMSetGlobalConstant(g, true);
    LLVMSetUnnamedAddress(g, LLVMGlobalUnnamedAddr);
    LLVMSetAlignment(g, 1);
    return g;
}

static LLVMTypeRef variable_type(struct pass *p)
{
    LLVMTypeRef fields[] = { p->ptr, p->i64, p->ptr, p->i64 };
    return LLVMStructTypeInContext(p->context, fields, 4, false);
}

static LLVMValueRef variable_entry(struct pass *p, LLVMValueRef g)
{
    size_t n;
    LLVMValueRef none = LLVMConstPointerNull(p->ptr);
    uint64_t extent = g ? extent_of(p, LLVMGlobalGetValueType(g)) : 0;
    LLVMValueRef fields[] = { g ? g : none, const64(p, extent),
                              g ? text(p, LLVMGetValueName2(g, &n)) : none, const64(p, 0) };
    return LLVMConstStructInContext(p->context, fields, 4, false);
}

static bool is_listed_variable(LLVMValueRef g)
{
    size_t n;
    const char *name = LLVMGetValueName2(g, &n);
    LLVMLinkage linkage = LLVMGetLinkage(g);
    if (LLVMIsDeclaration(g) || LLVMIsGlobalConstant(g) || LLVMIsThreadLocal(g) || n == 0 ||
        linkage == LLVMAvailableExternallyLinkage || linkage == LLVMAppendingLinkage)
        return false;
    if (starts_with(name, "llvm.") || starts_with(name, "__heddle_") ||
        starts_with(name, "__llvm_"))
        return false;
    return !(is_local(g) && (LLVMGetComdat(g) || is_only_accessed(g, 0)));
}

/* Of functions that every module compiles for itself those that this one takes the address of. */
bool is_known_outside(LLVMValueRef f)
{
    LLVMLinkage l = LLVMGetLinkage(f);
    return is_address_taken(f) ||
           !(is_local(f) || l == LLVMLinkOnceAnyLinkage || l == LLVMLinkOnceODRLinkage);
}

static bool is_listed_function(LLVMValueRef f)
{
    return !(is_local(f) && LLVMGetComdat(f)) && is_known_outside(f);
}

static void emit_variables(struct pass *p)
{
    struct list all = { 0 }, entries = { 0 };
    for (LLVMValueRef g = LLVMGetFirstGlobal(p->module); g; g = LLVMGetNextGlobal(g))
        if (!p->no_calls && is_listed_variable(g))
            lists_add(&all, g);
    lists_add(&entries, variable_entry(p, NULL)); /* so that the section exists */
    for (size_t i = 0; i < all.count; i++)
        lists_add(&entries, variable_entry(p, all.at[i]));
    free(all.at);
    emit_list(p, &entries, variable_type(p), "__heddle_variables", VARIABLES_SECTION);
}

void emit_lists(struct pass *p, LLVMValueRef *traced, size_t count)
{
    struct list entries = { 0 };
    lists_add(&entries, LLVMConstPointerNull(p->ptr)); /* so that the section exists */
    for (size_t i = 0; i < count; i++)
        if (!p->no_calls && is_listed_function(traced[i]))
            lists_add(&entries, traced[i]);
    emit_list(p, &entries, p->ptr, "__heddle_functions", FUNCTIONS_SECTION);
    emit_variables(p);
    for (size_t i = 0; i < count; i++)
        emit_mark(p, traced[i]);
}
