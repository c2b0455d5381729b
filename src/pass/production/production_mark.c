/* production_mark.c - production builds: accesses that are patched in the machine code itself
 *
 * A mark is an alias scope "heddle:SITE:FLAGS:BYTES:LINK" in a domain of its own, which nothing is
 * declared not to alias: it changes nothing of what the compiler does, and the compiler carries it
 * along with the access until machine code is printed (production_code.cpp). Marked are plain loads
 * and stores, and copies and fills that become some moves. LINK is not 0 where a pointer may be
 * stored: the site of the module's links + 1. A store that is no site has a number from
 * MARK_NO_SITE on.
 *
 * Not marked, and given no-ops of their own by production_build.c: copies that may hold pointers,
 * atomic operations, code of -O0, and what goes into link-time optimisation, where our plugin does
 * not see machine code.
 */
#include "pass/pass.h"
#include "pass/production/production_mark.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/abi.h"

enum { MOVES_BYTES_MAX = 64, MOVES_BYTES_SMALL = 32 }; /* inlined by LLVM; with -Os */

static bool goes_into_lto(LLVMModuleRef module)
{
    static const char *const flags[] = { "EnableSplitLTOUnit", "ThinLTO" };
    for (unsigned i = 0; i < 2; i++)
        if (LLVMGetModuleFlag(module, flags[i], strlen(flags[i])))
            return true;
    return false;
}

static bool is_plain(LLVMValueRef inst)
{
    return (LLVMIsALoadInst(inst) || LLVMIsAStoreInst(inst)) &&
           LLVMGetOrdering(inst) == LLVMAtomicOrderingNotAtomic;
}

/* A copy or fill of few bytes. */
static bool becomes_moves(struct pass *p, const struct item *item)
{
    bool small = function_has(p->function, "optsize") || function_has(p->function, "minsize");
    const char *name = LLVMIsACallInst(item->inst) ? intrinsic_name(item->inst) : NULL;
    return name && strncmp(name, "llvm.mem", 8) == 0 && item->bytes > 0 &&
           item->bytes <= (small ? MOVES_BYTES_SMALL : MOVES_BYTES_MAX);
}

static void add_scope(struct pass *p, LLVMValueRef inst, uint32_t site, unsigned flags,
                      uint64_t bytes, uint32_t link)
{
    char text[80];
    unsigned kind = LLVMGetMDKindIDInContext(p->context, "alias.scope", 11), n = 0;
    LLVMValueRef old = LLVMGetMetadata(inst, kind), *was = NULL;
    snprintf(text, sizeof text, "heddle:%u:%u:%u:%u", site, flags, (unsigned)bytes, link);
    LLVMMetadataRef domain = LLVMMDStringInContext2(p->context, "heddle", 6);
    domain = LLVMMDNodeInContext2(p->context, &domain, 1);
    LLVMMetadataRef scope[] = { LLVMMDStringInContext2(p->context, text, strlen(text)), domain };
    if (old) {
        n = LLVMGetMDNodeNumOperands(old);
        was = calloc(n + 1, sizeof(LLVMValueRef));
        if (!was)
            abort();
        LLVMGetMDNodeOperands(old, was);
    }
    LLVMMetadataRef *all = calloc(n + 1, sizeof *all);
    if (!all)
        abort();
    for (unsigned i = 0; i < n; i++)
        all[i] = LLVMValueAsMetadata(was[i]);
    all[n] = LLVMMDNodeInContext2(p->context, scope, 2);
    LLVMSetMetadata(inst, kind,
                    LLVMMetadataAsValue(p->context, LLVMMDNodeInContext2(p->context, all, n + 1)));
    free(was);
    free(all);
}

static bool is_thread_local(LLVMValueRef address)
{
    LLVMValueRef object = underlying_object(address);
    const char *name = LLVMIsACallInst(object) ? intrinsic_name(object) : NULL;
    return (LLVMIsAGlobalVariable(object) && LLVMIsThreadLocal(object)) ||
           (name && strncmp(name, "llvm.threadlocal.address", 24) == 0);
}

static bool is_marked(struct pass *p)
{
    return !function_has(p->function, "optnone") && !goes_into_lto(p->module);
}

/* Will the pointer be in a register when it is stored? Arithmetic may be done in memory; and
 * thread-local memory is accessed by a segment register, so that it has no place. */
static bool stores_register(LLVMValueRef store)
{
    LLVMValueRef value = LLVMGetOperand(store, 0);
    LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(value));
    return kind != LLVMStructTypeKind && kind != LLVMArrayTypeKind &&
           !LLVMIsABinaryOperator(value) && !is_thread_local(LLVMGetOperand(store, 1));
}

bool mark_link(struct pass *p, LLVMValueRef store)
{
    if (!is_marked(p) || !is_plain(store) || !stores_register(store))
        return false;
    add_scope(p, store, MARK_NO_SITE + p->unnumbered++, HIT_WRITE,
              LLVMStoreSizeOfType(p->layout, LLVMTypeOf(LLVMGetOperand(store, 0))),
              link_site(p) + 1);
    return true;
}

bool mark_access(struct pass *p, struct item *item)
{
    bool plain = item->kind == ITEM_ACCESS && is_plain(item->inst);
    bool range = item->kind == ITEM_RANGE && becomes_moves(p, item);
    if ((!plain && !range) || !is_marked(p))
        return false;
    if (item->link && (range || !stores_register(item->inst)))
        return false;
    if (item->update && !is_plain(item->partner))
        return false;
    number_site(p, item);
    add_scope(p, item->inst, item->site, item->write ? HIT_WRITE : 0, item->bytes,
              item->link ? link_site(p) + 1 : 0);
    if (item->update)
        add_scope(p, item->partner, item->site + 1, HIT_WRITE, item->bytes, 0);
    return true;
}
