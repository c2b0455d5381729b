/* paths.c - the blocks of a function in the order of their records, and where paths meet
 *
 * Where several paths meet, code must know how long the record is by now, and which path it was:
 * two PHIs of constants, which cost a move each. All is bounded: a block is left out of a path when
 * more than PATHS_MAX would lead to it, or the record could become too long; it then begins a
 * record of its own. So do loop headers, and whatever comes behind a call.
 */
#include "pass/full/paths.h"

#include <stdlib.h>

/* ---- the graph ---- */

static uint32_t block_number(const struct map *numbers, LLVMBasicBlockRef block)
{
    return (uint32_t)map_get(numbers, block) - 1;
}

static void list_blocks(struct flow *f, struct pass *p, struct map *numbers)
{
    f->count = LLVMCountBasicBlocks(p->function);
    f->at = zeroed((f->count + 1) * sizeof *f->at);
    f->order = zeroed((f->count + 1) * sizeof *f->order);
    uint32_t n = 0;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(p->function); b;
         b = LLVMGetNextBasicBlock(b)) {
        f->at[n++].block = b;
        map_set(numbers, b, n);
    }
}

static void list_edges(struct flow *f, const struct map *numbers)
{
    size_t total = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < f->count; i++) {
            LLVMValueRef end = LLVMGetBasicBlockTerminator(f->at[i].block);
            unsigned n = LLVMGetNumSuccessors(end);
            for (unsigned k = 0; k < n; k++) {
                uint32_t to = block_number(numbers, LLVMGetSuccessor(end, k));
                if (pass)
                    f->from[f->at[to].edges + f->at[to].nedges] = i;
                f->at[to].nedges++;
            }
        }
        if (pass)
            return;
        for (uint32_t i = 0; i < f->count; i++) {
            f->at[i].edges = total;
            total += f->at[i].nedges;
            f->at[i].nedges = 0;
        }
        f->from = zeroed((total + 1) * sizeof *f->from);
    }
}

/* Reverse postorder from block `root`, into order[] from the end; without recursion, since
 * functions may have very many blocks. The new beginning of what is filled. */
static uint32_t walk_from(struct flow *f, const struct map *numbers, uint32_t root, uint32_t end)
{
    struct {
        struct step {
            uint32_t block;
            unsigned next;
        } *at;
        size_t count, room;
    } todo = { 0 };
    RESERVE(todo);
    todo.at[todo.count++] = (struct step){ root, 0 };
    f->at[root].seen = true;
    while (todo.count) {
        struct step *s = &todo.at[todo.count - 1];
        LLVMValueRef terminator = LLVMGetBasicBlockTerminator(f->at[s->block].block);
        if (s->next == LLVMGetNumSuccessors(terminator)) {
            f->order[--end] = s->block;
            todo.count--;
            continue;
        }
        uint32_t to = block_number(numbers, LLVMGetSuccessor(terminator, s->next++));
        if (f->at[to].seen)
            continue;
        f->at[to].seen = true;
        RESERVE(todo);
        todo.at[todo.count++] = (struct step){ to, 0 };
    }
    free(todo.at);
    return end;
}

void flow_init(struct flow *f, struct pass *p, const struct items *items)
{
    struct map numbers = { 0 };
    *f = (struct flow){ .may_join = !function_has(p->function, "presplitcoroutine") };
    list_blocks(f, p, &numbers);
    list_edges(f, &numbers);
    uint32_t end = f->count;
    /* The entry first; blocks that nothing leads to may stand anywhere. */
    end = walk_from(f, &numbers, 0, end);
    for (uint32_t i = 0; i < f->count; i++)
        if (!f->at[i].seen)
            end = walk_from(f, &numbers, i, end);
    for (size_t i = 0; i < items->count; i++) {
        LLVMBasicBlockRef block = LLVMGetInstructionParent(items->at[i].inst);
        struct flow_block *b = &f->at[block_number(&numbers, block)];
        if (!b->end)
            b->first = i;
        b->end = i + 1;
    }
    map_release(&numbers);
}

void flow_release(struct flow *f)
{
    for (uint32_t i = 0; i < f->count; i++)
        free(f->at[i].path);
    free(f->at);
    free(f->order);
    free(f->from);
}

void flow_leave(struct flow *f, uint32_t block, const struct path *path)
{
    f->at[block].done = true;
    if (!path->open || !f->may_join)
        return;
    f->at[block].path = zeroed(sizeof *path);
    *f->at[block].path = *path;
}

/* The ends of the blocks before `b` must leave a complete record. */
static void need_before(const struct flow *f, const struct flow_block *b, bool *needed)
{
    for (size_t k = 0; k < b->nedges; k++)
        needed[f->from[b->edges + k]] = true;
}

void flow_finish(struct flow *f)
{
    bool *needed = zeroed((f->count + 1) * sizeof *needed);
    for (uint32_t i = 0; i < f->count; i++) {
        const struct flow_block *b = &f->at[i];
        LLVMValueRef end = LLVMGetBasicBlockTerminator(b->block);
        needed[i] |= !b->path || LLVMGetNumSuccessors(end) == 0;
        if (!b->joins)
            need_before(f, b, needed);
    }
    for (uint32_t i = f->count; i-- > 0;) { /* a block that joins comes behind those before it */
        uint32_t at = f->order[i];
        struct flow_block *b = &f->at[at];
        b->tells |= !b->head && !needed[at]; /* those behind it do */
        if (!b->tells)
            need_before(f, b, needed);
        if (b->head && !needed[at]) {
            LLVMInstructionEraseFromParent(b->head);
            LLVMInstructionEraseFromParent(b->cursor);
        }
    }
    free(needed);
}

/* ---- meeting ---- */

/* How the branch at the end of `from` goes to `to`, as full.c numbers it. */
static unsigned outcome_to(LLVMBasicBlockRef from, LLVMBasicBlockRef to)
{
    LLVMValueRef end = LLVMGetBasicBlockTerminator(from);
    if (LLVMIsABranchInst(end))
        return LLVMGetSuccessor(end, 0) == to;
    for (unsigned i = 0; i < LLVMGetNumSuccessors(end); i++)
        if (LLVMGetSuccessor(end, i) == to)
            return i;
    return 0;
}

/* Is there one record for all ways into the block, and may it become longer? */
static bool can_join(const struct flow *f, const struct flow_block *b, unsigned most_bytes)
{
    const struct path *first = NULL;
    unsigned paths = 0;
    for (size_t i = 0; i < b->nedges; i++) {
        const struct flow_block *from = &f->at[f->from[b->edges + i]];
        const struct path *path = from->path;
        if (!path || (first && (path->at != first->at || path->chunk != first->chunk)) ||
            path->stretch.most_events >= STRETCH_ACCESSES_MAX - 1 ||
            path->stretch.most_bytes + 8 > most_bytes)
            return false;
        for (size_t k = 0; k < i; k++)
            if (f->from[b->edges + k] == f->from[b->edges + i])
                return false; /* the block does not tell how the branch went */
        first = path;
        paths += path->paths;
    }
    return first && paths <= PATHS_MAX;
}

static LLVMValueRef add_at_end(struct pass *p, LLVMBasicBlockRef block, LLVMValueRef a,
                               LLVMValueRef b)
{
    at_instruction(p, LLVMGetBasicBlockTerminator(block));
    return LLVMBuildAdd(p->b, a, b, "");
}

/* Of one value for each way in, the one for the block. */
static LLVMValueRef paths_meet(const struct flow *f, struct pass *p, const struct flow_block *b,
                               LLVMValueRef *values)
{
    bool same = true;
    for (size_t i = 1; i < b->nedges; i++)
        same = same && values[i] == values[0];
    if (same && LLVMIsConstant(values[0]))
        return values[0];
    at_instruction(p, LLVMGetFirstInstruction(b->block));
    LLVMValueRef phi = LLVMBuildPhi(p->b, LLVMTypeOf(values[0]), "");
    for (size_t i = 0; i < b->nedges; i++) {
        LLVMBasicBlockRef from = f->at[f->from[b->edges + i]].block;
        LLVMAddIncoming(phi, &values[i], &from, 1);
    }
    return phi;
}

/* A new segment begins. */
static void join_several(const struct flow *f, struct pass *p, const struct flow_block *b,
                         struct path *path)
{
    LLVMValueRef bases[PATHS_MAX], indices[PATHS_MAX];
    struct stretch *s = &path->stretch;
    path_begin(p, path);
    path->paths = 0;
    for (size_t i = 0; i < b->nedges; i++) {
        const struct flow_block *from = &f->at[f->from[b->edges + i]];
        const struct path *x = from->path;
        struct path_from *to = path->from + path->paths;
        unsigned bytes = (x->stretch.most_bytes + 7) & ~7u;
        path->chunk = x->chunk;
        path->at = x->at;
        path->enters = x->enters;
        bases[i] =
            add_at_end(p, from->block, x->base, const64(p, 8 * stretch_words(&x->stretch.room)));
        indices[i] = add_at_end(p, from->block, x->index, const32(p, path->paths));
        for (unsigned k = 0; k < x->paths; k++) {
            to[k] = x->from[k];
            if (x->decides)
                to[k].outcome = outcome_to(from->block, b->block) + 1;
        }
        path->paths += x->paths;
        s->most_bytes = bytes > s->most_bytes ? bytes : s->most_bytes;
        if (x->stretch.most_events > s->most_events)
            s->most_events = x->stretch.most_events;
    }
    path->base = paths_meet(f, p, b, bases);
    path->index = paths_meet(f, p, b, indices);
    path->open = path->joins = true;
    s->room.next = 0;
}

bool flow_join(struct flow *f, struct pass *p, uint32_t block, unsigned most_bytes,
               struct path *path)
{
    const struct flow_block *b = &f->at[block];
    if (!can_join(f, b, most_bytes))
        return false;
    if (b->nedges > 1) {
        join_several(f, p, b, path);
        return true;
    }
    const struct flow_block *from = &f->at[f->from[b->edges]];
    *path = *from->path;
    path_decide(path, outcome_to(from->block, b->block));
    return true;
}
