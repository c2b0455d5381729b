/* full.c - full builds: every access with its value, branches, calls, entries and exits
 *
 * Accesses are collected over a stretch of a block in which nothing else writes records. Before its
 * first access there is one look at the cursor, and one question whether the chunk is full or the
 * time has moved on; so a stamp is never later than the accesses it is for. At the end one record
 * of the whole stretch is written (abi/rt_stretch.h), with one store of the cursor: the addresses
 * that do not follow from others, the values, the branch's outcome. The function's entry begins a
 * record, and its exit ends one. Where the next block can be
 * reached from such ends only, it makes the same record longer (paths.h): no look, no question.
 * RING_SLACK bytes behind the limit bound a record.
 *
 * The values recorded are those the program loaded or stored, never read again. Accesses by
 * memory intrinsics and assembly have none.
 */
#include "pass/pass.h"

#include <stdlib.h>
#include <string.h>

#include "abi/rt_ring.h"
#include "abi/rt_sites.h"
#include "pass/full/paths.h"
#include "pass/full/stretch_code.h"
#include "abi/abi.h"

enum {
    SELECTS_MAX = 6,
    END_BYTES = 8,                        /* a branch with very many ways */
    RECORD_BYTES = RING_SLACK - END_BYTES /* of a stretch */
};

/* What is written together. */
struct batch {
    struct path path;          /* with the stretch */
    const struct item *branch; /* R_BRANCH */
    bool joined;               /* the block goes on with a record, which is not complete yet */
    struct flow_block *block;
    LLVMValueRef first; /* what the first record is about; NULL: there is nothing */
};

/* ---- writing ---- */

struct cursor {
    LLVMValueRef chunk, at; /* the chunk, and where in it the records begin */
};

static LLVMValueRef chunk_field(struct pass *p, LLVMValueRef chunk, unsigned offset)
{
    LLVMValueRef index = const64(p, offset);
    return LLVMBuildInBoundsGEP2(p->b, p->i8, chunk, &index, 1, "");
}

static void load_cursor(struct pass *p, struct cursor *c)
{
    LLVMValueRef field = tls_field(p, offsetof(struct heddle_tls, chunk));
    c->chunk = LLVMBuildLoad2(p->b, p->ptr, field, "");
    c->at = LLVMBuildLoad2(p->b, p->i64,
                           chunk_field(p, c->chunk, offsetof(struct ring_chunk, cursor)), "");
}

static LLVMValueRef full_choose(struct pass *p, LLVMValueRef a, LLVMBasicBlockRef from_a,
                                LLVMValueRef b, LLVMBasicBlockRef from_b)
{
    LLVMValueRef phi = LLVMBuildPhi(p->b, LLVMTypeOf(a), "");
    LLVMAddIncoming(phi, &a, &from_a, 1);
    LLVMAddIncoming(phi, &b, &from_b, 1);
    return phi;
}

/* Another thread has synchronised since this one last looked at the clock. */
static LLVMValueRef has_time_moved(struct pass *p)
{
    LLVMValueRef newest = global_named(p, p->i64, "__heddle_newest");
    LLVMSetAlignment(newest, 64);
    LLVMValueRef now = LLVMBuildLoad2(p->b, p->i64, newest, "");
    LLVMSetVolatile(now, true);
    LLVMValueRef field = tls_field(p, offsetof(struct heddle_tls, seen_stamp));
    LLVMValueRef seen = LLVMBuildLoad2(p->b, p->i64, field, "");
    return LLVMBuildICmp(p->b, LLVMIntNE, now, seen, "");
}

/* Splits before `before`; afterwards there is room at the cursor. */
static struct cursor full_make_room(struct pass *p, LLVMValueRef before)
{
    struct cursor hot, new, c;
    struct detour d = detour_begin(p, before);
    load_cursor(p, &hot);
    LLVMValueRef limit = LLVMBuildLoad2(
        p->b, p->i64, chunk_field(p, hot.chunk, offsetof(struct ring_chunk, limit)), "");
    LLVMValueRef is_full = LLVMBuildICmp(p->b, LLVMIntUGE, hot.at, limit, "");
    detour_if(p, &d, LLVMBuildOr(p->b, is_full, has_time_moved(p), ""));
    call_preserving(p, "__heddle_full", EFFECT_ALL, 0, NULL);
    load_cursor(p, &new);
    detour_end(p, &d);
    at_instruction(p, before);
    c.chunk = full_choose(p, hot.chunk, d.head, new.chunk, d.cold);
    c.at = full_choose(p, hot.at, d.head, new.at, d.cold);
    return c;
}

static LLVMValueRef set_cursor(struct pass *p, LLVMValueRef chunk, LLVMValueRef at)
{
    LLVMValueRef field = chunk_field(p, chunk, offsetof(struct ring_chunk, cursor));
    LLVMValueRef store = LLVMBuildStore(p->b, at, field);
    LLVMSetOrdering(store, LLVMAtomicOrderingRelease);
    LLVMSetAlignment(store, 8);
    return store;
}

static LLVMValueRef word(struct pass *p, enum ring_kind kind, unsigned arg, LLVMValueRef low)
{
    return LLVMBuildOr(p->b, low, const64(p, RING_WORD(kind, arg, 0)), "");
}

/* The number of the successor taken: 1 and 0 for a branch; a switch's default is 0. */
static LLVMValueRef outcome(struct pass *p, LLVMValueRef inst)
{
    if (LLVMIsABranchInst(inst))
        return LLVMBuildZExt(p->b, LLVMGetCondition(inst), p->i32, "");
    LLVMValueRef condition = LLVMGetOperand(inst, 0);
    LLVMValueRef number = const32(p, 0);
    for (unsigned i = LLVMGetNumSuccessors(inst) - 1; i > 0; i--) {
        LLVMValueRef same =
            LLVMBuildICmp(p->b, LLVMIntEQ, condition, LLVMGetOperand(inst, 2 * i), "");
        number = LLVMBuildSelect(p->b, same, const32(p, i), number, "");
    }
    return number;
}

static void write_branch(struct pass *p, const struct batch *b, LLVMValueRef place,
                         LLVMValueRef number)
{
    uint32_t site = table_site(p, SITE_BRANCH, b->branch->inst, b->branch->index, 0, "");
    store_at(p, place, 0, site_value(p, site));
    number = LLVMBuildAnd(p->b, number, const32(p, 0xffff), "");
    store_at(p, place, 4, LLVMBuildOr(p->b, number, const32(p, (uint32_t)R_BRANCH << 24), ""));
}

/* A switch with many cases: a copy of it that only computes the number, which the compiler turns
 * into a table. */
static LLVMValueRef outcome_of_copy(struct pass *p, LLVMValueRef inst)
{
    LLVMBasicBlockRef head = split_before(p, inst), join = LLVMGetInstructionParent(inst);
    LLVMPositionBuilderBefore(p->b, inst);
    LLVMValueRef phi = LLVMBuildPhi(p->b, p->i32, "");
    unsigned n = LLVMGetNumSuccessors(inst);
    LLVMPositionBuilderAtEnd(p->b, head);
    LLVMValueRef copy = LLVMBuildSwitch(p->b, LLVMGetOperand(inst, 0), join, n - 1);
    LLVMValueRef none = const32(p, 0);
    LLVMAddIncoming(phi, &none, &head, 1);
    for (unsigned i = 1; i < n; i++) {
        LLVMBasicBlockRef one = LLVMInsertBasicBlockInContext(p->context, join, "");
        LLVMPositionBuilderAtEnd(p->b, one);
        LLVMBuildBr(p->b, join);
        LLVMAddCase(copy, LLVMGetOperand(inst, 2 * i), one);
        LLVMValueRef number = const32(p, i);
        LLVMAddIncoming(phi, &number, &one, 1);
    }
    return phi;
}

/* There is no record to go on with: room for one. */
static void open_path(struct pass *p, struct batch *b)
{
    struct cursor c = full_make_room(p, b->first);
    b->path.chunk = c.chunk;
    b->path.at = c.at;
}

/* The record as it is by now. */
static LLVMValueRef complete(struct pass *p, struct batch *b, LLVMValueRef outcome)
{
    if (b->joined)
        b->block->tells = true;
    b->joined = false;
    return write_stretch(p, &b->path, outcome);
}

/* What was collected is written; at the end of a block the path may go on. */
static void full_flush(struct pass *p, struct batch *b, LLVMValueRef before, bool goes_on)
{
    struct path *path = &b->path;
    const struct item *branch = b->branch ? b->branch : path->stretch.branch;
    LLVMValueRef number = NULL;
    if (b->first) {
        if (branch && LLVMGetNumSuccessors(branch->inst) > SELECTS_MAX)
            number = outcome_of_copy(p, branch->inst);
        if (!path->open)
            open_path(p, b);
        at_instruction(p, before);
        if (branch && !number)
            number = outcome(p, branch->inst);
        LLVMValueRef head = NULL;
        if (path_is_new(path))
            head = complete(p, b, number);
        LLVMValueRef end = path_end(p, path);
        if (b->branch) {
            write_branch(p, b, place_in(p, path->chunk, end), number);
            end = LLVMBuildAdd(p->b, end, const64(p, END_BYTES), "");
        }
        LLVMValueRef cursor = set_cursor(p, path->chunk, end);
        if (goes_on && !b->branch && head) {
            b->block->head = head;
            b->block->cursor = cursor;
        }
    }
    if (!goes_on || b->branch || !path->open) {
        path_begin(p, path);
        b->joined = false;
    }
    b->first = NULL;
    b->branch = NULL;
}

/* After a landing pad or second return: R_EXIT down to this function's frame, if any was left. */
static void write_left(struct pass *p, LLVMValueRef left, LLVMValueRef before)
{
    struct cursor c = full_make_room(p, before);
    LLVMValueRef place = place_in(p, c.chunk, c.at);
    LLVMValueRef mine = LLVMBuildAdd(p->b, p->depth, const32(p, 1), "");
    store_at(p, place, 0, word(p, R_EXIT, EXIT_TO, LLVMBuildZExt(p->b, mine, p->i64, "")));
    LLVMValueRef some = LLVMBuildICmp(p->b, LLVMIntNE, left, const32(p, 0), "");
    LLVMValueRef bytes = LLVMBuildSelect(p->b, some, const64(p, 8), const64(p, 0), "");
    set_cursor(p, c.chunk, LLVMBuildAdd(p->b, c.at, bytes, ""));
}

/* ---- items ---- */

static void full_begin(struct batch *b, LLVMValueRef inst)
{
    if (!b->first)
        b->first = inst;
}

static void append_access(struct pass *p, struct batch *b, struct item *item)
{
    if (stretch_may_have(p, item)) {
        if (!stretch_add(p, &b->path.stretch, item, RECORD_BYTES)) {
            full_flush(p, b, item->inst, false);
            stretch_add(p, &b->path.stretch, item, RECORD_BYTES);
        }
        full_begin(b, item->inst);
        return;
    }
    full_flush(p, b, item->inst, false);
    number_site(p, item);
    if (item->kind == ITEM_ACCESS && item->bytes <= 16 && (item->bytes & (item->bytes - 1)) == 0)
        emit_access_call(p, item, item->inst);
    else
        emit_range(p, item);
}

static void append_branch(struct pass *p, struct batch *b, struct item *item)
{
    full_begin(b, item->inst);
    if (LLVMGetNumSuccessors(item->inst) <= STRETCH_OUTCOMES)
        b->path.stretch.branch = item;
    else
        b->branch = item;
    full_flush(p, b, item->inst, true);
}

static void append_exit(struct pass *p, struct batch *b, struct item *item)
{
    if (p->has_frame) {
        full_begin(b, item->inst);
        b->path.stretch.exits = true;
    }
    full_flush(p, b, item->inst, false);
    if (p->has_frame)
        emit_exit(p, item->inst);
}

static void append_item(struct pass *p, struct batch *b, struct item *item)
{
    switch (item->kind) {
    case ITEM_ACCESS:
    case ITEM_RANGE:
        append_access(p, b, item);
        break;
    case ITEM_BRANCH:
        append_branch(p, b, item);
        break;
    case ITEM_EXIT:
        append_exit(p, b, item);
        break;
    case ITEM_RESTORE:
        full_flush(p, b, item->inst, false);
        if (p->has_frame)
            write_left(p, emit_restore(p, item->inst), item->inst);
        break;
    case ITEM_LINK: /* writes no record */
        emit_link(p, item);
        break;
    default: /* the runtime, or traced code, writes records */
        full_flush(p, b, item->inst, false);
        emit_item(p, item);
        break;
    }
}

/* Return address, and the depth above it. */
static LLVMValueRef entry_word(struct pass *p, LLVMValueRef return_address, LLVMValueRef behind)
{
    at_instruction(p, LLVMGetNextInstruction(behind));
    LLVMValueRef back = LLVMBuildPtrToInt(p->b, return_address, p->i64, "");
    LLVMValueRef depth = LLVMBuildZExt(p->b, p->depth, p->i64, "");
    depth = LLVMBuildShl(p->b, depth, const64(p, STRETCH_DEPTH_SHIFT), "");
    return LLVMBuildOr(p->b, back, depth, "");
}

/* `entry`: the word of the function's entry, which comes first; or NULL. */
static void emit_block(struct pass *p, struct batch *b, struct flow *f, uint32_t block,
                       struct items *items, LLVMValueRef entry)
{
    struct flow_block *here = &f->at[block];
    b->block = here;
    b->joined = here->joins = flow_join(f, p, block, RECORD_BYTES, &b->path);
    if (!here->joins)
        path_begin(p, &b->path);
    if (entry) {
        path_enter(&b->path, entry);
        full_begin(b, entry);
    }
    for (size_t i = here->first; i < here->end; i++)
        append_item(p, b, &items->at[i]);
    if (b->first)
        full_flush(p, b, LLVMGetBasicBlockTerminator(here->block), true);
    flow_leave(f, block, &b->path);
}

/* ---- thread-local variables of shared libraries ----
 *
 * The address of one may need a call of the dynamic linker, which the compiler puts in where it
 * likes, also in the middle of a record. At first it allocates memory, which writes a record of its
 * own. So that this is over, the function begins with it. */

enum { LOCALS_MAX = 16 };

/* May addresses need the call? Not in programs. */
static bool is_for_libraries(struct pass *p)
{
    return LLVMGetModuleFlag(p->module, "PIC Level", 9) &&
           !LLVMGetModuleFlag(p->module, "PIE Level", 9);
}

static void compute(struct pass *p, LLVMValueRef intrinsic, LLVMValueRef variable,
                    LLVMValueRef before)
{
    LLVMTypeRef type = LLVMFunctionType(p->none, &p->ptr, 1, false);
    LLVMValueRef use =
        LLVMGetInlineAsm(type, "", 0, "r", 1, true, false, LLVMInlineAsmDialectATT, false);
    at_instruction(p, before);
    LLVMSetCurrentDebugLocation2(p->b, NULL);
    LLVMValueRef address =
        LLVMBuildCall2(p->b, LLVMGlobalGetValueType(intrinsic), intrinsic, &variable, 1, "");
    LLVMBuildCall2(p->b, type, use, &address, 1, "");
}

void emit_thread_locals(struct pass *p, LLVMValueRef f, LLVMValueRef first)
{
    LLVMValueRef done[LOCALS_MAX];
    unsigned n = 0, k;
    if (!is_for_libraries(p))
        return;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
            const char *name = LLVMIsACallInst(i) ? intrinsic_name(i) : NULL;
            if (!name || !starts_with(name, "llvm.threadlocal.address"))
                continue;
            LLVMValueRef variable = LLVMGetOperand(i, 0);
            for (k = 0; k < n && done[k] != variable; k++)
                ;
            if (k < n || n == LOCALS_MAX)
                continue;
            done[n++] = variable;
            compute(p, LLVMGetCalledValue(i), variable, first);
        }
}

void emit_items_full(struct pass *p, struct items *items, LLVMValueRef return_address,
                     LLVMValueRef site_word)
{
    struct batch *b = zeroed(sizeof *b);
    struct flow f;
    flow_init(&f, p, items);
    LLVMBasicBlockRef first = return_address ? LLVMGetInstructionParent(site_word) : NULL;
    LLVMValueRef entry = return_address ? entry_word(p, return_address, site_word) : NULL;
    for (uint32_t i = 0; i < f.count; i++) {
        bool here = f.at[f.order[i]].block == first;
        emit_block(p, b, &f, f.order[i], items, here ? entry : NULL);
    }
    flow_finish(&f);
    flow_release(&f);
    free(b);
}
