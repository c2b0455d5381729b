/* cover.c - accesses that another one covers
 *
 * An access need not be recorded if on every path to it the same bytes were accessed in the same
 * or a stronger way, with nothing between that may synchronise or free memory: whatever races
 * with it races with the earlier one too. Forward data flow over blocks: which accesses are
 * available on all paths. Two bits per key (base value, offset, size): read, written.
 *
 * A base that is computed in a block is a new value each time the block runs, so its keys are
 * forgotten at the start of that block; within it uses come after the definition.
 *
 * Loose accesses (marks.c) cover nothing, since who comes later may be one whose value matters; and
 * a loose write, wherever it goes, may have changed what was read or written before.
 *
 * Then a read with a write to the same bytes behind it in the block becomes one update. Unlike in
 * ThreadSanitizer the read is not dropped: the predictive engines need to know what it saw.
 */
#include "pass/pass.h"

#include <stdlib.h>
#include <string.h>

enum { KEYS_MAX = 1 << 15, CHAIN_MAX = 64, CELLS_MAX = 1 << 22 /* words of bit sets: 32 MiB */ };

struct key {
    LLVMValueRef base;
    int64_t offset;
    uint64_t bytes;
    uint32_t next; /* key of the same base, number + 1 */
    uint32_t read; /* item + 1: the last read kept, that a write may join */
};

struct cover {
    struct items *items;
    struct key *keys;
    uint32_t *key_of; /* item -> key + 1 */
    uint32_t nkeys, nblocks;
    size_t words;
    uint64_t *in, *out, *define; /* per block: available at start and end; bases defined here */
    uint32_t *pred, *pred_start; /* predecessors of block b: pred[pred_start[b] ...] */
};

typedef uint64_t *bits;

static void set_bit(bits b, size_t i)
{
    b[i / 64] |= UINT64_C(1) << i % 64;
}

static bool has_bit(const uint64_t *b, size_t i)
{
    return b[i / 64] >> i % 64 & 1;
}

/* ---- keys ---- */

static uint32_t find_key(struct pass *p, struct cover *c, struct map *chains,
                         const struct item *item)
{
    int64_t offset;
    LLVMValueRef base = strip_offset(p, ITEM_ADDRESS(item), &offset);
    uint32_t first = (uint32_t)map_get(chains, base), length = 0;
    for (uint32_t k = first; k; k = c->keys[k - 1].next, length++)
        if (c->keys[k - 1].offset == offset && c->keys[k - 1].bytes == item->bytes)
            return k;
    if (c->nkeys == KEYS_MAX || length >= CHAIN_MAX)
        return 0;
    c->keys[c->nkeys++] = (struct key){ base, offset, item->bytes, first, 0 };
    map_set(chains, base, c->nkeys);
    return c->nkeys;
}

static void number_keys(struct pass *p, struct cover *c, struct map *chains)
{
    c->keys = zeroed(c->items->count * sizeof *c->keys);
    c->key_of = zeroed(c->items->count * sizeof *c->key_of);
    for (size_t i = 0; i < c->items->count; i++)
        if (c->items->at[i].kind == ITEM_ACCESS)
            c->key_of[i] = find_key(p, c, chains, &c->items->at[i]);
}

static bool forgets(const struct item *item)
{
    return item->kills || (item->write && item->loose);
}

/* Marks every key within the bytes of access i. */
static void generate(struct cover *c, struct map *chains, size_t i, bits set)
{
    if (!c->key_of[i] || c->items->at[i].loose)
        return;
    const struct key *mine = &c->keys[c->key_of[i] - 1];
    int64_t end = mine->offset + (int64_t)mine->bytes;
    for (uint32_t k = (uint32_t)map_get(chains, mine->base); k; k = c->keys[k - 1].next) {
        const struct key *key = &c->keys[k - 1];
        if (key->offset < mine->offset || key->offset + (int64_t)key->bytes > end)
            continue;
        set_bit(set, 2 * (k - 1));
        if (c->items->at[i].write)
            set_bit(set, 2 * (k - 1) + 1);
    }
}

/* ---- blocks ---- */

static void number_blocks(LLVMValueRef function, struct map *numbers)
{
    uint64_t n = 0;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b))
        map_set(numbers, b, ++n);
}

static void find_predecessors(struct cover *c, LLVMValueRef function, struct map *numbers)
{
    c->pred_start = zeroed((c->nblocks + 2) * sizeof *c->pred_start);
    for (int pass = 0; pass < 2; pass++) { /* count, then fill */
        uint32_t n = 0;
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b;
             b = LLVMGetNextBasicBlock(b), n++) {
            LLVMValueRef end = LLVMGetBasicBlockTerminator(b);
            for (unsigned s = 0; s < LLVMGetNumSuccessors(end); s++) {
                uint32_t to = (uint32_t)map_get(numbers, LLVMGetSuccessor(end, s)) - 1;
                if (pass == 0)
                    c->pred_start[to + 2]++;
                else
                    c->pred[c->pred_start[to + 1]++] = n;
            }
        }
        for (uint32_t b = 0; pass == 0 && b < c->nblocks; b++)
            c->pred_start[b + 2] += c->pred_start[b + 1];
        if (pass == 0)
            c->pred = zeroed((c->pred_start[c->nblocks + 1] + 1) * sizeof *c->pred);
    }
}

static void mark_definitions(struct cover *c, struct map *numbers)
{
    for (uint32_t k = 0; k < c->nkeys; k++) {
        LLVMValueRef inst = LLVMIsAInstruction(c->keys[k].base);
        if (!inst)
            continue;
        uint64_t b = map_get(numbers, LLVMGetInstructionParent(inst)) - 1;
        set_bit(c->define + b * c->words, 2 * k);
        set_bit(c->define + b * c->words, 2 * k + 1);
    }
}

static void enter_block(const struct cover *c, uint32_t b, bits set)
{
    bool entry = b == 0;
    memset(set, entry ? 0 : 0xff, c->words * sizeof *set);
    for (uint32_t i = c->pred_start[b]; !entry && i < c->pred_start[b + 1]; i++)
        for (size_t w = 0; w < c->words; w++)
            set[w] &= c->out[c->pred[i] * c->words + w];
    for (size_t w = 0; w < c->words; w++)
        set[w] &= ~c->define[b * c->words + w];
}

/* What a block adds: made[] if it kills, else to what came in. */
struct transfer {
    bool kills;
    bits made;
};

static void summarise(struct cover *c, struct map *chains, struct transfer *t)
{
    for (size_t i = 0; i < c->items->count; i++) {
        const struct item *item = &c->items->at[i];
        struct transfer *mine = &t[item->block];
        if (forgets(item)) {
            mine->kills = true;
            memset(mine->made, 0, c->words * sizeof *mine->made);
        } else if (item->kind == ITEM_ACCESS) {
            generate(c, chains, i, mine->made);
        }
    }
}

static bool step(struct cover *c, const struct transfer *t, uint32_t b)
{
    bits in = c->in + b * c->words, out = c->out + b * c->words;
    bool changed = false;
    enter_block(c, b, in);
    for (size_t w = 0; w < c->words; w++) {
        uint64_t now = t[b].made[w] | (t[b].kills ? 0 : in[w]);
        changed |= now != out[w];
        out[w] = now;
    }
    return changed;
}

static void flow(struct cover *c, struct map *chains)
{
    uint64_t *made = zeroed(c->nblocks * c->words * sizeof *made);
    struct transfer *t = zeroed(c->nblocks * sizeof *t);
    for (uint32_t b = 0; b < c->nblocks; b++)
        t[b].made = made + b * c->words;
    summarise(c, chains, t);
    memset(c->out, 0xff, c->nblocks * c->words * sizeof *c->out);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = 0; b < c->nblocks; b++)
            changed |= step(c, t, b);
    }
    free(made);
    free(t);
}

/* ---- dropping ---- */

/* The update's write will cover them, though they come before it. */
static bool reads_between(const struct cover *c, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if ((c->items->at[i].kind == ITEM_ACCESS || c->items->at[i].kind == ITEM_RANGE) &&
            !c->items->at[i].write && !c->items->at[i].dropped && !c->items->at[i].loose)
            return true;
    return false;
}

/* A write joins the read of the same bytes before it, if there is one since `since`. */
static bool join_read(struct cover *c, size_t since, size_t i)
{
    struct key *key = &c->keys[c->key_of[i] - 1];
    struct item *write = &c->items->at[i];
    bool has_update = key->bytes <= 16 && (key->bytes & (key->bytes - 1)) == 0;
    if (!has_update || key->read <= since)
        return false;
    struct item *read = &c->items->at[key->read - 1];
    if (!read->loose && write->loose)
        return false; /* the read may have to see what the thread wrote before */
    if (read->loose && !write->loose && reads_between(c, key->read, i))
        return false;
    read->update = true;
    read->writes_loose = write->loose;
    read->partner = write->inst;
    read->write_index = write->index;
    if (read->align < write->align)
        read->align = write->align;
    key->read = 0;
    return true;
}

static void drop_in_block(struct cover *c, struct map *chains, size_t start, size_t end, bits set)
{
    size_t since = start; /* items up to here are before the last kill */
    for (size_t i = start; i < end; i++) {
        struct item *item = &c->items->at[i];
        if (item->kills) {
            since = i + 1;
            memset(set, 0, c->words * sizeof *set);
        }
        if (item->kind != ITEM_ACCESS || !c->key_of[i])
            continue;
        uint32_t k = c->key_of[i] - 1;
        item->dropped = has_bit(set, 2 * k + item->write) && !(item->loose && item->write);
        if (item->dropped)
            continue;
        if (forgets(item))
            memset(set, 0, c->words * sizeof *set);
        generate(c, chains, i, set);
        if (item->write)
            item->dropped = join_read(c, since, i);
        else
            c->keys[k].read = (uint32_t)i + 1;
    }
}

static void drop_all(struct cover *c, struct map *chains)
{
    size_t count = c->items->count;
    for (size_t start = 0, end; start < count; start = end) {
        uint32_t b = c->items->at[start].block;
        for (end = start; end < count && c->items->at[end].block == b;)
            end++;
        drop_in_block(c, chains, start, end, c->in + b * c->words);
    }
}

void drop_covered(struct pass *p, LLVMValueRef function, struct items *items)
{
    struct cover c = { .items = items, .nblocks = LLVMCountBasicBlocks(function) };
    struct map chains = { 0 }, numbers = { 0 };
    number_keys(p, &c, &chains);
    c.words = (2 * (size_t)c.nkeys + 63) / 64;
    size_t cells = c.words * c.nblocks;
    if (c.nkeys && cells <= CELLS_MAX) {
        number_blocks(function, &numbers);
        c.in = zeroed(3 * cells * sizeof *c.in);
        c.out = c.in + cells;
        c.define = c.out + cells;
        find_predecessors(&c, function, &numbers);
        mark_definitions(&c, &numbers);
        flow(&c, &chains);
        drop_all(&c, &chains);
    }
    free(c.in);
    free(c.pred);
    free(c.pred_start);
    free(c.keys);
    free(c.key_of);
    map_release(&chains);
    map_release(&numbers);
}
