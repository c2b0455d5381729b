/* pass.h - what the files of the instrumenter share
 *
 * One struct pass per module. For each function three steps: sites.c lists what there is to
 * record (items, in program order), cover.c strikes out what another item covers, emit.c and its
 * neighbours write the code. Only emitting changes the function.
 *
 * Memory: everything is freed when the module is done; running out of it ends the compiler.
 * Concurrency: none; a module belongs to one thread of the compiler.
 */
#ifndef HEDDLE_PASS_PASS_H
#define HEDDLE_PASS_PASS_H

#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/Target.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pass/util.h"

enum { ORDER_RELAXED = 1, ORDER_ACQUIRE = 3, ORDER_RELEASE, ORDER_ACQ_REL, ORDER_SEQ_CST };

enum item_kind {
    ITEM_ACCESS,    /* a read or write of fixed size */
    ITEM_RANGE,     /* of `length` bytes */
    ITEM_ATOMIC,    /* load, store, rmw, cmpxchg, fence */
    ITEM_LIBATOMIC, /* a call of __atomic_* */
    ITEM_ASM,       /* inline assembly that synchronises */
    ITEM_HAND,      /* an access that may be to a lock made by hand: volatile, or in assembly */
    ITEM_LIBC,      /* a call of a modelled function */
    ITEM_CALL,      /* a call of code that may not be traced */
    ITEM_RESULT,    /* full: a call of a function that the runtime stands for */
    ITEM_LINK,      /* a store that may put a pointer into memory */
    ITEM_BRANCH,    /* full: a decision */
    ITEM_BREAK,     /* full: a call of other kind: records before it are written before it */
    ITEM_RESTORE,   /* a landing pad or a second return: the shadow stack is put right after it */
    ITEM_EXIT       /* the function ends: before a return or a musttail call */
};

struct item {
    enum item_kind kind;
    bool write;
    bool update;       /* a read with the write that follows it */
    bool loose;        /* what is read, or written (marks.c); of an update: what it reads */
    bool writes_loose; /* update: what it writes */
    bool link;         /* production: it may store pointers, and reports that, too */
    bool dropped;      /* covered by another */
    bool hot;          /* default builds: the filter is asked inline */
    bool kills;        /* afterwards nothing is covered any more */
    int8_t low;        /* the address modulo 8, if known, else -1 */
    uint32_t align;
    uint32_t site;
    uint32_t index;       /* of the instruction in its function, debug intrinsics not counted */
    uint32_t write_index; /* of the update's write */
    uint32_t block;       /* number in the function */
    uint64_t bytes;
    LLVMValueRef inst;    /* code goes before it */
    LLVMValueRef place;   /* or before this, outside of a loop (loops.cpp); else NULL */
    LLVMValueRef rows[2]; /* calls that record all that the loop reads, and writes there */
    uint32_t operand;     /* of inst: the address. Not the value itself: emitting replaces values */
    uint32_t length;      /* of inst: ITEM_RANGE's number of bytes */
    LLVMValueRef partner; /* update: the write */
};
#define ITEM_ADDRESS(item) LLVMGetOperand((item)->inst, (item)->operand)

struct items {
    struct item *at;
    size_t count, room;
    uint32_t index, block; /* of what is being listed */
    bool calls;            /* of functions that record, besides those in the list */
};

struct names;

struct pass {
    LLVMModuleRef module;
    bool hand_locks; /* the module has locked instructions in assembly */
    LLVMContextRef context;
    LLVMTargetDataRef layout;
    LLVMBuilderRef b;     /* emits */
    LLVMBuilderRef mover; /* has no debug location, so moved instructions keep theirs */
    bool full;
    bool production;
    struct map linked;   /* production: instructions whose links are reported with their accesses */
    bool no_calls;       /* calls of untraced code are not recorded */
    bool no_elimination; /* accesses that cannot add a race are recorded, but those of locals */
    LLVMTypeRef i1, i8, i32, i64, ptr, none;
    LLVMValueRef tls;      /* __heddle_tls */
    LLVMValueRef record;   /* this module's struct heddle_module */
    LLVMValueRef unlikely; /* branch weights */
    struct table *table;
    struct names *names;
    struct map functions;  /* function -> its number in the bitcode + 1 */
    struct map structures; /* TBAA node -> alignment (align.c) */
    struct map excluded;   /* scope of the debug information -> 1 no, 2 yes */
    struct map escapes;    /* alloca, argument, global -> 1 private, 2 escapes */
    struct map own;        /* heap block, parameter -> 1 the thread's own, 2 perhaps not */
    unsigned finding_own;  /* > 0: own is being filled */
    struct map kept;       /* parameter -> 1 its function does not keep it, 2 it does */
    unsigned finding_kept; /* > 0: kept is being filled */
    struct map untraced;   /* functions defined here that are not traced -> 1 */
    struct map texts;      /* function -> its name as a constant */
    struct map chunks;     /* calls that ask for a chunk of a loop -> 1 (chunks.cpp) */
    struct map loose_reads, loose_writes; /* marks.c */
    /* of the function at hand */
    LLVMValueRef function;
    uint32_t function_index;
    bool has_frame;
    bool vectors;         /* production: report so that xmm registers are kept */
    LLVMValueRef depth;   /* the shadow stack's at entry */
    LLVMValueRef edge;    /* tls.edge at entry */
    uint32_t entry_site;  /* SITE_ENTRY, if there is a frame */
    LLVMValueRef scratch; /* array for pointers of calls */
    /* production builds */
    uint32_t link_site;  /* + 1: of the no-ops of production_links.c; 0: none yet */
    uint32_t unnumbered; /* stores that production_mark.c marked and that are no sites */
};

/* util of LLVM-C (llvm.c) */
unsigned attribute_kind(const char *name);
bool function_has(LLVMValueRef function, const char *attribute);
bool call_has(LLVMValueRef call, const char *attribute); /* at the call or its callee */
LLVMValueRef called_function(LLVMValueRef call);         /* NULL: by pointer, assembly */
LLVMValueRef direct_callee(LLVMValueRef call);           /* through aliases, too */
bool is_only_declared(LLVMValueRef function);            /* another module has its code */
const char *intrinsic_name(LLVMValueRef call);           /* NULL: no intrinsic */
bool is_call(LLVMValueRef inst);                         /* call, invoke, callbr */
bool is_debug(LLVMValueRef inst);                        /* llvm.dbg.* */
bool starts_with(const char *s, const char *prefix);
LLVMValueRef const32(struct pass *p, uint64_t n);
LLVMValueRef const64(struct pass *p, uint64_t n);
LLVMValueRef global_named(struct pass *p, LLVMTypeRef type, const char *name);
/* A function of the runtime; declared on first use. */
struct callee {
    LLVMTypeRef type;
    LLVMValueRef function;
};
struct callee runtime_function(struct pass *p, const char *name, LLVMTypeRef result, unsigned n,
                               LLVMTypeRef *params);
enum runtime_effect { EFFECT_ALL, EFFECT_RECORD /* touches only what is the runtime's own */ };
LLVMValueRef call_runtime(struct pass *p, const char *name, enum runtime_effect effect,
                          LLVMTypeRef result, unsigned n, LLVMValueRef *args);
/* Without result, by clang's preserve_most convention: the caller's registers stay. */
enum { CC_PRESERVE_MOST = 14 };
LLVMValueRef call_preserving(struct pass *p, const char *name, enum runtime_effect effect,
                             unsigned n, LLVMValueRef *args);
/* By way of a function of the module that adds its first site to argument `site` (emit.c). */
LLVMValueRef call_local(struct pass *p, const char *name, enum runtime_effect effect,
                        LLVMTypeRef result, unsigned n, LLVMValueRef *args, unsigned site);
/* What stands before `inst` in its block moves to a new block before it, without terminator. */
LLVMBasicBlockRef split_before(struct pass *p, LLVMValueRef inst);
/* What is hardly ever done, out of line: the condition is built at the end of `head`, where the
 * builder stands after begin, what is to be done in `cold`, where it stands after if; end goes on
 * with the instruction. Code in `cold` has no line: it stands apart from the code around the
 * instruction, and each inlined function that it belonged to would be a list of ranges more. */
struct detour {
    LLVMBasicBlockRef head, cold, tail;
};
struct detour detour_begin(struct pass *p, LLVMValueRef inst);
void detour_if(struct pass *p, const struct detour *d, LLVMValueRef condition);
void detour_end(struct pass *p, const struct detour *d);
/* The first instruction of a block behind PHIs and landing pads. */
LLVMValueRef first_insertion(LLVMBasicBlockRef block);
void at_instruction(struct pass *p, LLVMValueRef inst); /* emit before it */

/* escape.c */
bool is_private(struct pass *p, LLVMValueRef address);
bool is_own(struct pass *p, LLVMValueRef address); /* default builds: knows more memory */
/* Which parameters the function keeps; for all functions before any of them is instrumented. */
void find_kept(struct pass *p, LLVMValueRef function);
/* Which of them point to memory of the caller's own; after that. */
void find_own(struct pass *p, LLVMValueRef function);
/* The function's code here is what a call of it executes, or equal to that. */
bool is_exact(LLVMValueRef function);
LLVMValueRef strip_offset(struct pass *p, LLVMValueRef address, int64_t *offset);
LLVMValueRef underlying_object(LLVMValueRef address);

/* excluded.c: the environment's HEDDLE_EXCLUDE and HEDDLE_EXCLUDE_FILE */
void exclude_init(void);
bool is_excluded(struct pass *p, LLVMValueRef function);
/* Of code that was inlined: is it an excluded function's? Known by its debug location. */
bool is_excluded_inline(struct pass *p, LLVMValueRef inst);
/* Excluded functions stay functions of their own, with all their arguments. */
void keep_excluded(struct pass *p);

/* sites.c */
void list_items(struct pass *p, LLVMValueRef function, struct items *items);
bool is_pure(LLVMValueRef call);   /* it touches no memory */
bool may_write(LLVMValueRef call); /* or nothing is known of it */
struct item *add_item(struct items *items, enum item_kind kind, LLVMValueRef inst);
bool is_worth_recording(struct pass *p, LLVMValueRef address, bool write);
bool is_worth_linking(struct pass *p, LLVMValueRef address); /* pointers stored there (links.c) */

/* align.c: sets `low` of the accesses */
void find_alignments(struct pass *p, struct items *items);
bool is_member(struct pass *p, LLVMValueRef inst); /* accesses a member of a structure */

/* marks.c: of all functions that are instrumented, before any of them is; then, of each, sets
 * `loose`; and, when updates are known, takes it back where it would cost too much */
void find_marks(struct pass *p, LLVMValueRef *functions, size_t count);
void find_loose(struct pass *p, struct items *items);
void settle_loose(struct pass *p, struct items *items);

/* cover.c */
void drop_covered(struct pass *p, LLVMValueRef function, struct items *items);

/* loops.cpp: sets `place` and `rows` */
void leave_loops(struct pass *p, LLVMValueRef function, struct items *items);

/* adjacent.c */
void join_adjacent(struct pass *p, struct items *items);

/* emit.c */
LLVMValueRef site_value(struct pass *p, uint32_t site);
LLVMValueRef tls_field(struct pass *p, unsigned offset);
void find_hot(struct pass *p, struct items *items); /* sets `hot` */
void emit_items(struct pass *p, struct items *items);
void emit_item(struct pass *p, struct item *item);
void number_site(struct pass *p, struct item *item); /* of accesses; emit_* does the others */
void emit_access_call(struct pass *p, const struct item *item, LLVMValueRef before);
bool asks_units(const struct item *item); /* of 4 bytes, not of bytes */
void emit_prefetches(struct pass *p, LLVMValueRef f);
/* At item->place, as item->rows: a call that records `length` bytes; its site comes later. */
void emit_row(struct pass *p, struct item *item, LLVMValueRef low, LLVMValueRef length);
void emit_range(struct pass *p, const struct item *item);

/* question.c: at the builder; true if the runtime is to be called */
LLVMValueRef ask_filter(struct pass *p, const struct item *item, LLVMValueRef address);
LLVMValueRef ask_logged(struct pass *p, LLVMValueRef address);

/* stub.c: give the function its code: it asks, and calls the runtime's `name` or __heddle_stored */
void define_access_stub(struct pass *p, LLVMValueRef stub, const struct item *item,
                        const char *name);
void define_stored_stub(struct pass *p, LLVMValueRef stub, unsigned bytes);

/* emit_atomic.c, asm.c, emit_calls.c */
unsigned order_number(LLVMAtomicOrdering o); /* enum memory_order */
void emit_atomic(struct pass *p, const struct item *item);
void emit_asm(struct pass *p, const struct item *item);
void emit_hand(struct pass *p, const struct item *item);
bool has_locked_asm(LLVMModuleRef module);
void order_unlocks(LLVMModuleRef module); /* before anything is inlined */
void make_moves_atomic(struct pass *p);   /* of the whole module, before its bitcode is taken */
void list_asm(struct pass *p, LLVMValueRef call, struct items *items);
unsigned fence_of_intrinsic(const char *name); /* its order, 0: no fence */
void emit_libatomic(struct pass *p, const struct item *item);
bool is_libatomic(LLVMValueRef call);
bool is_modelled(LLVMValueRef call);
const char *callee_name(LLVMValueRef call); /* "" for a pointer */
void emit_libc(struct pass *p, const struct item *item);
/* At the builder: the runtime's twin of the modelled function is called, or invoked. */
LLVMValueRef build_modelled(struct pass *p, LLVMValueRef call, LLVMValueRef site);
void emit_result(struct pass *p, const struct item *item);
LLVMValueRef to_integer(struct pass *p, LLVMValueRef value, uint64_t bytes);
LLVMValueRef from_integer(struct pass *p, LLVMValueRef value, LLVMTypeRef type);
void replace_instruction(LLVMValueRef old, LLVMValueRef by);

/* system.c */
bool is_interposed(LLVMValueRef function); /* the runtime sees its calls anyway */
bool is_copied(const char *name);          /* of libstdc++, compiled into the program */
bool is_system(const char *name);          /* of the C or C++ library, and makes no order itself */
bool cannot_synchronise(LLVMValueRef call);

/* untraced.c */
bool is_untraced(struct pass *p, LLVMValueRef call); /* or may be */
void make_scratch(struct pass *p, const struct items *items);
void emit_call(struct pass *p, const struct item *item);
/* Full builds: what a call of known code returned. */
void record_result(struct pass *p, LLVMValueRef call, LLVMValueRef site);
uint64_t extent_of(struct pass *p, LLVMTypeRef type);

/* links.c */
bool may_be_pointer(LLVMValueRef v);
void list_link(struct pass *p, struct items *items, LLVMValueRef store);
void list_copy_link(struct pass *p, struct items *items, LLVMValueRef call);
void emit_link(struct pass *p, const struct item *item);

/* lists.c */
bool mark_name(LLVMValueRef function, char *out, size_t room); /* false: too long */
bool is_known_outside(LLVMValueRef f); /* code that is not in this file may call it */
void emit_lists(struct pass *p, LLVMValueRef *traced, size_t count);

/* openmp_calls.c */
void tell_forks(struct pass *p, LLVMValueRef function); /* emit_calls.c */
void tell_openmp_own(struct pass *p, LLVMValueRef f, LLVMValueRef first);
void tell_openmp(struct pass *p, LLVMValueRef f); /* of a function that is instrumented */

/* chunks.cpp: notes the calls that ask for a chunk of a loop whose chunks any thread may run */
void find_chunks(struct pass *p, LLVMValueRef f);

/* stack.c */
/* Before `first`. Gives the return address and the site, as words, to full.c. */
LLVMValueRef emit_entry(struct pass *p, uint32_t site, LLVMValueRef first, LLVMValueRef *site_word);
void emit_exit(struct pass *p, LLVMValueRef before);
/* Full builds: the number of frames that were left. */
LLVMValueRef emit_restore(struct pass *p, LLVMValueRef before);

/* vtable.c */
bool stores_vtable(LLVMValueRef inst);
LLVMValueRef store_changes(struct pass *p, LLVMValueRef store); /* would it, now? */
void guard_vtables(struct pass *p); /* full builds: stores that change nothing are not made */

/* full.c, unroll.c */
void unroll_loops(struct pass *p);
void emit_thread_locals(struct pass *p, LLVMValueRef f, LLVMValueRef first);
/* The return address and site word of emit_entry(), NULL if there is no frame. */
void emit_items_full(struct pass *p, struct items *items, LLVMValueRef return_address,
                     LLVMValueRef site_word);

/* production_mark.c */
/* An access that is found again in the machine code (production_code.cpp), where it is patched in
 * place; false: it is not of that kind. */
bool mark_access(struct pass *p, struct item *item);
/* The same for a store of a pointer that is no site. */
bool mark_link(struct pass *p, LLVMValueRef store);
/* production_build.c */
struct patch_site {
    uint32_t site, what; /* number in the table, HIT_* of abi.h */
};
/* As detour_if(): the condition is that the runtime has patched the no-op, which has these sites.
 */
void detour_if_patched(struct pass *p, const struct detour *d, const struct patch_site *sites,
                       unsigned n);
void find_links(struct pass *p, struct items *items); /* before anything is changed */
void emit_production(struct pass *p, struct items *items);
/* production_callee.c: what the function that is called does with pointers; by pointer, assembly,
 * defined here: unknown. */
enum callee_kind {
    CALLEE_UNKNOWN,
    CALLEE_HARMLESS, /* publishes nothing */
    CALLEE_ALLOCATES,
    CALLEE_REALLOCATES,
    CALLEE_COPIES,
    CALLEE_MOVES,  /* memory, in another way: callee_move() says how */
    CALLEE_STORES, /* a place in argument 0 to *argument 1: strtol() */
    CALLEE_LINKS,  /* a node into a container */
    CALLEE_PUBLISHES,
    CALLEE_MAKES_THREADS /* and publishes */
};
enum callee_kind callee_kind(LLVMValueRef call);
/* Which arguments say where to (-1: to who knows where), from where, how much; the product of two,
 * and of `unit`; and `more` bytes. */
struct callee_move {
    int to, from, bytes, times, unit, more;
};
bool callee_move(LLVMValueRef call, struct callee_move *m); /* false: it moves none */
/* production_links.c, for links that are reported together with the access */
bool is_link_store(struct pass *p, LLVMValueRef store);
bool is_link_copy(struct pass *p, LLVMValueRef call);
uint32_t link_site(struct pass *p);
void tell_link_store(struct pass *p, LLVMValueRef address, LLVMValueRef value);
void tell_link_copy(struct pass *p, LLVMValueRef to, LLVMValueRef from, LLVMValueRef bytes);
/* production_links.c: listed before that splits blocks, emitted (and freed) after it */
struct links *production_links_list(struct pass *p, LLVMValueRef f);
void production_links_emit(struct pass *p, LLVMValueRef f, struct links *l);

/* production_libc.c: listed before that, emitted (and freed) last */
struct libc_calls *production_libc_list(struct pass *p, const struct items *items);
void production_libc_emit(struct pass *p, struct libc_calls *l);

/* table.c */
/* The function a scope of the debug information belongs to, NULL if none. */
LLVMMetadataRef subprogram_of(struct pass *p, LLVMMetadataRef scope);
struct table *table_new(LLVMModuleRef module);
void table_free(struct table *t);
/* A new site. `inst` gives the position; NULL: the function's entry. */
uint32_t table_site(struct pass *p, int kind, LLVMValueRef inst, uint32_t index, uint64_t bytes,
                    const char *variable);
uint32_t table_count(const struct table *t);
void table_set_loose(struct table *t, uint32_t site);
/* Full builds: where an access's address comes from; a stretch, as rt_sites.h says. */
void table_set_from(struct table *t, uint32_t site, uint8_t from, int32_t offset);
struct sites_site;
uint32_t table_stretch(struct table *t, const struct sites_site *stretch);
/* The blob of abi/rt_sites.h and this module's record, as globals of the module. */
void table_emit(struct pass *p);
/* Adds to one of LLVM's lists of globals (llvm.used ...). */
void add_to_list(struct pass *p, const char *list, const char *section, LLVMValueRef value);

/* names.c */
struct names *names_new(struct pass *p);
void names_free(struct names *n);
/* The name of what is accessed, "" if not known; valid until the next call. */
const char *variable_name(struct pass *p, LLVMValueRef inst, LLVMValueRef address, uint64_t bytes);
/* Operand of a metadata node, NULL if it has none there. */
LLVMMetadataRef node_operand(struct pass *p, LLVMMetadataRef node, unsigned index);
const char *node_string(struct pass *p, LLVMMetadataRef node, unsigned index);

#endif
