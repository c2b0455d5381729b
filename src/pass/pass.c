/* pass.c - instruments a module
 *
 * Order of things: the bitcode is taken as it is; debug records become instructions, which LLVM-C
 * can see and move; each function is listed, thinned out and rewritten; then the table and the
 * constructor are added, and the debug records are restored.
 */
#include "pass/pass.h"

#include <stdlib.h>
#include <string.h>

#include "abi/rt_sites.h"
#include "abi/abi.h"

static const char done_mark[] = "heddle.instrumented";

int pass_run(LLVMModuleRef module);
int pass_begin(LLVMModuleRef module);
bool pass_is_production(void);

/* ---- which functions ---- */

static bool is_ours_or_a_sanitizers(const char *name)
{
    static const char *const prefixes[] = { "__heddle_", "__tsan_", "tsan.",  "asan.",
                                            "msan.",     "__llvm_", "sancov." };
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (starts_with(name, prefixes[i]))
            return true;
    return false;
}

static bool is_resolver(struct pass *p, LLVMValueRef function)
{
    for (LLVMValueRef i = LLVMGetFirstGlobalIFunc(p->module); i; i = LLVMGetNextGlobalIFunc(i))
        if (LLVMGetGlobalIFuncResolver(i) == function)
            return true;
    return false;
}

static bool is_wanted(struct pass *p, LLVMValueRef f)
{
    size_t n;
    if (LLVMIsDeclaration(f) || LLVMGetLinkage(f) == LLVMAvailableExternallyLinkage)
        return false;
    return !is_ours_or_a_sanitizers(LLVMGetValueName2(f, &n)) && !function_has(f, "naked") &&
           !is_resolver(p, f) && !is_excluded(p, f);
}

/* ---- one function ---- */

/* Before entry code goes in, all allocas of fixed size stand first: behind a split they would
 * become allocations at run time. Returns the first instruction behind them. */
static LLVMValueRef gather_allocas(struct pass *p, LLVMValueRef f)
{
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(f);
    LLVMValueRef first = LLVMGetFirstInstruction(entry);
    while (LLVMIsAAllocaInst(first))
        first = LLVMGetNextInstruction(first);
    for (LLVMValueRef i = first, next; i; i = next) {
        next = LLVMGetNextInstruction(i);
        if (!LLVMIsAAllocaInst(i) || !LLVMIsConstant(LLVMGetOperand(i, 0)))
            continue;
        LLVMInstructionRemoveFromParent(i);
        LLVMPositionBuilderBefore(p->mover, first);
        LLVMSetCurrentDebugLocation2(p->mover, NULL);
        LLVMInsertIntoBuilder(p->mover, i);
    }
    return first;
}

static bool needs_frame(struct pass *p, const struct items *items)
{
    if (function_has(p->function, "presplitcoroutine"))
        return false; /* it comes back on other stacks */
    if (items->calls)
        return true;
    for (size_t i = 0; i < items->count; i++)
        if (items->at[i].kind != ITEM_EXIT && items->at[i].kind != ITEM_RESTORE &&
            items->at[i].kind != ITEM_LINK)
            return true;
    return false;
}

static void instrument(struct pass *p, LLVMValueRef f, struct items *items)
{
    LLVMValueRef back = NULL, site_word = NULL;
    p->function = f;
    p->function_index = (uint32_t)map_get(&p->functions, f) - 1;
    list_items(p, f, items);
    if (p->production) {
        drop_covered(p, f, items);
        gather_allocas(p, f);
        find_links(p, items);
        struct links *spread = production_links_list(p, f);
        struct libc_calls *calls = production_libc_list(p, items);
        emit_production(p, items);
        production_links_emit(p, f, spread);
        production_libc_emit(p, calls);
        return;
    }
    p->has_frame = needs_frame(p, items);
    find_loose(p, items);
    if (!p->full && !p->no_elimination) {
        drop_covered(p, f, items);
        settle_loose(p, items); /* without updates what it costs does not matter */
        join_adjacent(p, items);
        leave_loops(p, f, items);
    }
    if (!p->full)
        find_alignments(p, items);
    find_hot(p, items);
    make_scratch(p, items);
    LLVMValueRef first = gather_allocas(p, f);
    if (p->full && items->count)
        emit_thread_locals(p, f, first), tell_openmp_own(p, f, first);
    if (p->has_frame) {
        p->entry_site = table_site(p, SITE_ENTRY, NULL, 0, 0, "");
        back = emit_entry(p, p->entry_site, first, &site_word);
    }
    if (p->full)
        emit_items_full(p, items, back, site_word);
    else
        emit_items(p, items);
    if (!p->full)
        emit_prefetches(p, f);
}

/* What was true of the function is not true of its instrumented code. */
static void drop_attributes(LLVMValueRef f)
{
    static const char *const names[] = { "memory", "nosync", "nofree", "speculatable",
                                         "nocallback" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        LLVMRemoveEnumAttributeAtIndex(f, LLVMAttributeFunctionIndex, attribute_kind(names[i]));
}

static void instrument_all(struct pass *p)
{
    struct items items = { 0 };
    struct {
        LLVMValueRef *at;
        size_t count, room;
    } todo = { 0 };
    uint64_t n = 0;
    for (LLVMValueRef f = LLVMGetFirstFunction(p->module); f; f = LLVMGetNextFunction(f)) {
        map_set(&p->functions, f, ++n);
        if (!is_wanted(p, f)) {
            if (!LLVMIsDeclaration(f) && is_excluded(p, f))
                map_set(&p->untraced, f, 1);
            continue;
        }
        RESERVE(todo);
        todo.at[todo.count++] = f;
    }
    for (size_t i = 0; i < todo.count; i++)
        find_kept(p, todo.at[i]);
    for (size_t i = 0; i < todo.count; i++)
        find_own(p, todo.at[i]);
    for (size_t i = 0; i < todo.count && !p->full && !p->production; i++)
        find_chunks(p, todo.at[i]);
    find_marks(p, todo.at, todo.count);
    for (size_t i = 0; i < todo.count; i++) {
        instrument(p, todo.at[i], &items);
        tell_openmp(p, todo.at[i]);
        tell_forks(p, todo.at[i]);
    }
    for (size_t i = 0; i < todo.count && !p->production; i++)
        drop_attributes(todo.at[i]);
    if (!p->production)
        emit_lists(p, todo.at, todo.count);
    free(todo.at);
    free(items.at);
}

/* ---- the module ---- */

static void init_types(struct pass *p)
{
    LLVMContextRef c = p->context;
    p->i1 = LLVMInt1TypeInContext(c);
    p->i8 = LLVMInt8TypeInContext(c);
    p->i32 = LLVMInt32TypeInContext(c);
    p->i64 = LLVMInt64TypeInContext(c);
    p->ptr = LLVMPointerTypeInContext(c, 0);
    p->none = LLVMVoidTypeInContext(c);
    LLVMValueRef weights[] = { LLVMMDStringInContext(c, "branch_weights", 14), const32(p, 1),
                               const32(p, 1 << 20) };
    p->unlikely = LLVMMDNodeInContext(c, weights, 3);
}

static void add_globals(struct pass *p)
{
    if (!p->production) {
        p->tls = global_named(p, p->i64, "__heddle_tls");
        LLVMSetThreadLocalMode(p->tls, LLVMInitialExecTLSModel);
        LLVMSetAlignment(p->tls, 8);
    }
    LLVMTypeRef record = LLVMArrayType2(p->i8, sizeof(struct heddle_module));
    p->record = LLVMAddGlobal(p->module, record, "__heddle_module");
    LLVMSetLinkage(p->record, LLVMInternalLinkage);
    LLVMSetInitializer(p->record, LLVMConstNull(record));
}

static bool is_done(LLVMModuleRef module)
{
    if (LLVMGetNamedMetadata(module, done_mark, strlen(done_mark)))
        return true;
    LLVMGetOrInsertNamedMetadata(module, done_mark, strlen(done_mark));
    return false;
}

/* The optimiser makes loads that the program does not make: `if (c) x = shared;` becomes a load and
 * a choice. Recorded, that would be a false alarm. It refrains from it, and from nothing else of
 * weight, in functions that ThreadSanitizer is to instrument; so they say so until we have done it.
 */
static void forbid_speculation(LLVMModuleRef module, bool forbid)
{
    unsigned kind = attribute_kind("sanitize_thread");
    LLVMAttributeRef a = LLVMCreateEnumAttribute(LLVMGetModuleContext(module), kind, 0);
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        if (LLVMIsDeclaration(f))
            continue;
        if (forbid)
            LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, a);
        else
            LLVMRemoveEnumAttributeAtIndex(f, LLVMAttributeFunctionIndex, kind);
    }
}

/* The program's own copies of what libstdc++.so has (include/libstdc++) are not for others: a
 * library that is not traced may guard its own data in ways that nobody sees. */
static void hide_copies(LLVMModuleRef module)
{
    size_t n;
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        if (LLVMGetLinkage(f) == LLVMLinkOnceODRLinkage && is_copied(LLVMGetValueName2(f, &n)))
            LLVMSetVisibility(f, LLVMHiddenVisibility);
}

bool pass_is_production(void)
{
    const char *production = getenv("HEDDLE_PRODUCTION");
    return production && strcmp(production, "1") == 0;
}

/* Before the compiler optimises. */
int pass_begin(LLVMModuleRef module)
{
    if (!starts_with(LLVMGetTarget(module), "x86_64"))
        return 0;
    exclude_init();
    struct pass p = { .module = module, .context = LLVMGetModuleContext(module) };
    keep_excluded(&p);
    map_release(&p.excluded);
    if (!pass_is_production()) {
        hide_copies(module);
        forbid_speculation(module, true);
        order_unlocks(module);
    }
    return 1;
}

int pass_run(LLVMModuleRef module)
{
    const char *full = getenv("HEDDLE_FULL"), *calls = getenv("HEDDLE_CALLS");
    const char *elimination = getenv("HEDDLE_ELIMINATION");
    if (!starts_with(LLVMGetTarget(module), "x86_64") || is_done(module))
        return 0;
    exclude_init();
    struct pass p = { .module = module, .context = LLVMGetModuleContext(module) };
    p.layout = LLVMGetModuleDataLayout(module);
    p.b = LLVMCreateBuilderInContext(p.context);
    p.mover = LLVMCreateBuilderInContext(p.context);
    p.production = pass_is_production();
    p.full = full && strcmp(full, "1") == 0 && !p.production;
    p.no_calls = (calls && strcmp(calls, "0") == 0) || p.production;
    p.no_elimination = elimination && strcmp(elimination, "0") == 0;
    init_types(&p);
    forbid_speculation(module, false);
    p.hand_locks = has_locked_asm(p.module);
    make_moves_atomic(&p);
    if (p.full) {
        guard_vtables(&p);
        unroll_loops(&p);
    }
    p.table = table_new(module); /* takes the bitcode */
    LLVMBool records = LLVMIsNewDbgInfoFormat(module);
    LLVMSetIsNewDbgInfoFormat(module, false);
    p.names = names_new(&p);
    add_globals(&p);
    instrument_all(&p);
    table_emit(&p);
    LLVMSetIsNewDbgInfoFormat(module, records);
    names_free(p.names);
    table_free(p.table);
    map_release(&p.functions);
    map_release(&p.structures);
    map_release(&p.excluded);
    map_release(&p.escapes);
    map_release(&p.kept);
    map_release(&p.own);
    map_release(&p.untraced);
    map_release(&p.texts);
    map_release(&p.chunks);
    map_release(&p.loose_reads);
    map_release(&p.loose_writes);
    map_release(&p.linked);
    LLVMDisposeBuilder(p.b);
    LLVMDisposeBuilder(p.mover);
    return 1;
}
