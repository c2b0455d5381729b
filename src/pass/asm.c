/* asm.c - inline assembly (x86)
 *
 * Assembly with a lock prefix or an exchange on memory is an atomic operation on its operand;
 * without a memory operand a locked instruction is the usual full barrier, like mfence. Other
 * assembly reads and writes the memory operands that it names. The text is searched for
 * mnemonics, not parsed: comments that mention them fool it.
 *
 * A word that such an instruction works on is a lock, or a part of one, made by hand; who unlocks
 * it may do that by a plain move, in assembly or by a volatile store in C. At run time it is known
 * which words these are (runtime/core/hand.c): so accesses in assembly, and volatile ones, ask
 * there. Instructions that loop until they have the lock are recorded when they have it: nothing of
 * ours may be held meanwhile.
 *
 * A move from or to memory that is volatile and forbids the compiler to move accesses past it
 * ("memory") is what libraries write for an atomic load or store (Concurrency Kit): on x86 it
 * acquires or releases. It becomes that before anything else looks at the code.
 *
 * Assembly that jumps (asm goto): the operation is recorded on each way out of it; before it,
 * where a way has values to choose from (PHIs).
 */
#include "pass/pass.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "abi/rt_sites.h"

static const char *asm_text(LLVMValueRef call)
{
    size_t n;
    return LLVMGetInlineAsmAsmString(LLVMGetCalledValue(call), &n);
}

/* ---- text ---- */

static bool has_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (const char *s = strstr(text, word); s; s = strstr(s + 1, word)) {
        bool starts = s == text || !isalnum((unsigned char)s[-1]);
        if (starts && (s[n] == 0 || !isalnum((unsigned char)s[n])))
            return true;
    }
    return false;
}

/* The mnemonic with any of AT&T's suffixes; *bytes gets the suffix's size. */
static bool has_mnemonic(const char *text, const char *mnemonic, unsigned *bytes)
{
    static const char suffixes[] = "bwlq";
    char word[24];
    size_t n = strlen(mnemonic);
    memcpy(word, mnemonic, n + 1);
    if (has_word(text, word))
        return true;
    for (unsigned i = 0; i < 4; i++) {
        word[n] = suffixes[i];
        word[n + 1] = 0;
        if (has_word(text, word)) {
            *bytes = 1u << i;
            return true;
        }
    }
    return false;
}

static bool is_locked(const char *text, unsigned *bytes)
{
    static const char *const under_lock[] = { "add", "sub", "inc",  "dec",    "and", "or",
                                              "xor", "neg", "not",  "bts",    "btr", "btc",
                                              "adc", "sbb", "xadd", "cmpxchg" };
    if (has_mnemonic(text, "xchg", bytes))
        return true;
    if (!has_word(text, "lock") && !strstr(text, "lock;"))
        return false;
    for (size_t i = 0; i < sizeof under_lock / sizeof *under_lock; i++)
        if (has_mnemonic(text, under_lock[i], bytes))
            break;
    return true;
}

/* May it jump, and so try again and again? */
static bool jumps(const char *text)
{
    for (const char *s = text; *s; s++)
        if (*s == 'j' && (s == text || strchr(" \t\n;:", s[-1])) && isalpha((unsigned char)s[1]))
            return true;
    return false;
}

bool has_locked_asm(LLVMModuleRef module)
{
    unsigned bytes;
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
                if ((LLVMIsACallInst(i) || LLVMGetInstructionOpcode(i) == LLVMCallBr) &&
                    LLVMIsAInlineAsm(LLVMGetCalledValue(i)) && is_locked(asm_text(i), &bytes))
                    return true;
    return false;
}

static unsigned fence_in(const char *text)
{
    if (has_word(text, "mfence"))
        return ORDER_SEQ_CST;
    if (has_word(text, "lfence") && has_word(text, "sfence"))
        return ORDER_SEQ_CST;
    if (has_word(text, "lfence"))
        return ORDER_ACQUIRE;
    return has_word(text, "sfence") ? ORDER_RELEASE : 0;
}

unsigned fence_of_intrinsic(const char *name)
{
    return starts_with(name, "llvm.x86.") ? fence_in(name) : 0;
}

/* ---- operands ---- */

struct operand {
    unsigned argument;
    uint64_t bytes; /* 0 unknown */
    bool read, write;
};
enum { OPERANDS_MAX = 16 };

static uint64_t element_bytes(struct pass *p, LLVMValueRef call, unsigned argument)
{
    LLVMAttributeRef a =
        LLVMGetCallSiteEnumAttribute(call, argument + 1, attribute_kind("elementtype"));
    LLVMTypeRef type = a ? LLVMGetTypeAttributeValue(a) : NULL;
    return type && LLVMTypeIsSized(type) ? LLVMStoreSizeOfType(p->layout, type) : 0;
}

static void add_operand(struct operand *list, unsigned *n, LLVMValueRef call, struct operand o)
{
    for (unsigned i = 0; i < *n; i++)
        if (LLVMGetOperand(call, list[i].argument) == LLVMGetOperand(call, o.argument)) {
            list[i].read |= o.read; /* "+m" is an output and an input */
            list[i].write |= o.write;
            return;
        }
    if (*n < OPERANDS_MAX)
        list[(*n)++] = o;
}

/* The memory operands: constraints with '*', each of which has a pointer as its argument. */
static unsigned memory_operands(struct pass *p, LLVMValueRef call, struct operand *list)
{
    size_t length;
    const char *s = LLVMGetInlineAsmConstraintString(LLVMGetCalledValue(call), &length);
    unsigned n = 0, argument = 0;
    while (*s) {
        const char *end = s + strcspn(s, ",");
        const char *star = memchr(s, '*', (size_t)(end - s));
        bool output = *s == '=' || *s == '+', takes_none = *s == '~' || *s == '!';
        if (star && argument < LLVMGetNumArgOperands(call))
            add_operand(list, &n, call,
                        (struct operand){ argument, element_bytes(p, call, argument),
                                          !output || *s == '+', output });
        argument += !takes_none && (star || !output);
        s = *end ? end + 1 : end;
    }
    return n;
}

/* "lock; xaddl %0, (%1)" with the address in a register. */
static bool only_pointer(LLVMValueRef call, unsigned *argument)
{
    unsigned found = 0;
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++)
        if (LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(call, i))) == LLVMPointerTypeKind) {
            *argument = i;
            found++;
        }
    return found == 1;
}

static bool is_one_of(const char *word, size_t length, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(list[i]) == length && strncmp(list[i], word, length) == 0)
            return true;
    return false;
}

/* The address of "movl $$0, ($0)", "movl ($1), $0" or "incl ($0)" in a register: one instruction,
 * whose mnemonic says how many bytes. */
static bool through_register(const char *text, struct operand *o)
{
    static const char *const changing[] = { "inc", "dec", "add", "sub", "and",
                                            "or",  "xor", "not", "neg" };
    static const char suffixes[] = "bwlq";
    text += strspn(text, " \t\n");
    size_t length = strcspn(text, " \t");
    const char *open = strstr(text, "($"), *end = open ? strchr(open, ')') : NULL;
    const char *suffix = length > 1 ? memchr(suffixes, text[length - 1], 4) : NULL;
    if (!end || !suffix || strpbrk(text, ";\n"))
        return false;
    bool is_target = strchr(" \t,", open[-1]) && end[1 + strspn(end + 1, " \t")] == 0;
    bool is_source = text + length + strspn(text + length, " \t") == open && end[1] == ',';
    bool moves = is_one_of(text, length - 1, (const char *const[]){ "mov" }, 1);
    bool changes = is_one_of(text, length - 1, changing, sizeof changing / sizeof *changing);
    o->bytes = UINT64_C(1) << (suffix - suffixes);
    o->write = is_target && (moves || changes);
    o->read = (is_target && changes) || (is_source && moves);
    return o->read || o->write;
}

/* ---- moves ---- */

/* "movl $1, $0" or, with a number, "movl $$5, $0", and nothing else; *bytes: 0 where the mnemonic
 * does not say. */
static bool is_move(const char *text, uint64_t *bytes, bool *constant, long long *number)
{
    static const char suffixes[] = "bwlq";
    char *end;
    text += strspn(text, " \t");
    if (!starts_with(text, "mov"))
        return false;
    text += 3;
    const char *suffix = *text ? strchr(suffixes, *text) : NULL;
    *bytes = suffix ? UINT64_C(1) << (suffix - suffixes) : 0;
    text += suffix != NULL;
    if (*text != ' ' && *text != '\t')
        return false;
    text += strspn(text, " \t");
    *constant = starts_with(text, "$$");
    if (*constant) {
        *number = strtoll(text + 2, &end, 0);
        text = end != text + 2 ? end : "";
    } else {
        text += starts_with(text, "$1") ? 2 : 0;
    }
    if (*text++ != ',')
        return false;
    text += strspn(text, " \t");
    return starts_with(text, "$0") && text[2 + strspn(text + 2, " \t;\n")] == 0;
}

static bool is_barrier(LLVMValueRef assembly)
{
    size_t length;
    return LLVMGetInlineAsmHasSideEffects(assembly) &&
           strstr(LLVMGetInlineAsmConstraintString(assembly, &length), "~{memory}");
}

/* What is moved: into a register (the result) or from one (the second argument); NULL: neither. */
static LLVMTypeRef moved_type(struct pass *p, LLVMValueRef call, bool *store)
{
    struct operand list[OPERANDS_MAX];
    unsigned n = memory_operands(p, call, list), arguments = LLVMGetNumArgOperands(call);
    if (n != 1 || list[0].argument != 0 || list[0].read == list[0].write)
        return NULL;
    *store = list[0].write;
    if (arguments != (*store ? 2 : 1))
        return NULL;
    LLVMTypeRef type = *store ? LLVMTypeOf(LLVMGetOperand(call, 1)) : LLVMTypeOf(call);
    switch (LLVMGetTypeKind(type)) {
    case LLVMIntegerTypeKind:
    case LLVMPointerTypeKind:
    case LLVMDoubleTypeKind:
        return type;
    default:
        return NULL;
    }
}

/* A number is stored to the only operand, which may be an input as well ("+m"). */
static void make_constant_store(struct pass *p, LLVMValueRef call, uint64_t bytes, long long number)
{
    struct operand list[OPERANDS_MAX];
    unsigned n = memory_operands(p, call, list), arguments = LLVMGetNumArgOperands(call);
    if (n != 1 || !list[0].write || arguments != 1u + list[0].read)
        return;
    bytes = bytes ? bytes : list[0].bytes;
    if (bytes != list[0].bytes || !bytes || bytes > 8 || bytes & (bytes - 1))
        return;
    LLVMTypeRef type = LLVMIntTypeInContext(p->context, (unsigned)bytes * 8);
    LLVMPositionBuilderBefore(p->b, call);
    LLVMValueRef made = LLVMBuildStore(p->b, LLVMConstInt(type, (unsigned long long)number, true),
                                       LLVMGetOperand(call, 0));
    LLVMSetOrdering(made, LLVMAtomicOrderingRelease);
    LLVMSetAlignment(made, (unsigned)bytes);
    replace_instruction(call, NULL);
}

static void make_atomic(struct pass *p, LLVMValueRef call)
{
    LLVMValueRef assembly = LLVMGetCalledValue(call), made, address = LLVMGetOperand(call, 0);
    uint64_t bytes;
    long long number = 0;
    bool store, constant;
    if (LLVMGetInlineAsmDialect(assembly) != LLVMInlineAsmDialectATT || !is_barrier(assembly) ||
        !is_move(asm_text(call), &bytes, &constant, &number))
        return;
    if (constant) {
        make_constant_store(p, call, bytes, number);
        return;
    }
    LLVMTypeRef type = moved_type(p, call, &store);
    uint64_t size = type ? LLVMStoreSizeOfType(p->layout, type) : 0;
    if (!size || size > 8 || size & (size - 1) ||
        LLVMSizeOfTypeInBits(p->layout, type) != 8 * size || (bytes && bytes != size))
        return;
    LLVMPositionBuilderBefore(p->b, call);
    made = store ? LLVMBuildStore(p->b, LLVMGetOperand(call, 1), address)
                 : LLVMBuildLoad2(p->b, type, address, "");
    LLVMSetOrdering(made, store ? LLVMAtomicOrderingRelease : LLVMAtomicOrderingAcquire);
    LLVMSetAlignment(made, (unsigned)size);
    replace_instruction(call, store ? NULL : made);
}

void make_moves_atomic(struct pass *p)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(p->module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b && !is_excluded(p, f);
             b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i; i = next) {
                next = LLVMGetNextInstruction(i);
                if (LLVMIsACallInst(i) && LLVMIsAInlineAsm(LLVMGetCalledValue(i)))
                    make_atomic(p, i);
            }
}

/* ---- listing ---- */

static void list_operands(struct pass *p, LLVMValueRef call, struct items *items,
                          const struct operand *list, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        for (int write = 0; write < 2; write++) {
            LLVMValueRef address = LLVMGetOperand(call, list[i].argument);
            if (!list[i].bytes || !(write ? list[i].write : list[i].read) ||
                !is_worth_recording(p, address, write))
                continue;
            bool word = list[i].bytes <= 8 && !(list[i].bytes & (list[i].bytes - 1));
            bool hand = word && !p->production;
            struct item *item = add_item(items, hand ? ITEM_HAND : ITEM_ACCESS, call);
            item->operand = list[i].argument;
            item->write = write;
            item->bytes = list[i].bytes;
            item->align = 1;
        }
}

/* Which of the operands the locked instruction works on: the only one, or the only one written.
 * It goes to the front. */
static bool put_word_first(struct operand *list, unsigned n)
{
    unsigned written = 0, which = 0;
    for (unsigned i = 0; i < n; i++)
        if (list[i].write) {
            written++;
            which = i;
        }
    if (n == 0 || (n > 1 && written != 1))
        return false;
    struct operand word = list[which];
    list[which] = list[0];
    list[0] = word;
    return true;
}

void list_asm(struct pass *p, LLVMValueRef call, struct items *items)
{
    struct operand list[OPERANDS_MAX];
    unsigned n = memory_operands(p, call, list), bytes = 4, argument = 0;
    const char *text = asm_text(call);
    if (is_locked(text, &bytes)) {
        if (n == 0 && only_pointer(call, &argument)) {
            list[0] = (struct operand){ argument, bytes, true, true };
            n = 1;
        }
        bool word = put_word_first(list, n);
        if (n > 1)
            list_operands(p, call, items, list + word, n - word);
        struct item *item = add_item(items, ITEM_ASM, call);
        item->operand = word ? list[0].argument : 0;
        item->bytes = word ? (list[0].bytes ? list[0].bytes : bytes) : 0;
    } else if (fence_in(text)) {
        add_item(items, ITEM_ASM, call);
    } else {
        if (n == 0 && only_pointer(call, &argument) && through_register(text, list))
            list[n++].argument = argument;
        list_operands(p, call, items, list, n);
        size_t length; /* a compiler barrier often stands for hand-made synchronisation */
        if (strstr(LLVMGetInlineAsmConstraintString(LLVMGetCalledValue(call), &length),
                   "~{memory}"))
            add_item(items, ITEM_BREAK, call);
    }
}

/* ---- emitting ---- */

static void emit_fence_after(struct pass *p, const struct item *item, unsigned order,
                             LLVMValueRef site)
{
    if (!LLVMIsATerminatorInst(item->inst))
        at_instruction(p, LLVMGetNextInstruction(item->inst));
    LLVMValueRef args[] = { const32(p, order), site };
    call_runtime(p, "__heddle_fence", EFFECT_ALL, p->none, 2, args);
}

static void emit_whole(struct pass *p, LLVMValueRef *args)
{
    call_runtime(p, "__heddle_atomic_begin", EFFECT_ALL, p->none, 1, args);
    call_runtime(p, "__heddle_asm_end", EFFECT_ALL, p->none, 4, args);
}

/* A block of its own on each way out of an asm goto. */
static void emit_on_ways_out(struct pass *p, const struct item *item, LLVMValueRef *args)
{
    LLVMValueRef inst = item->inst;
    unsigned n = LLVMGetNumSuccessors(inst);
    for (unsigned i = 0; i < n; i++)
        if (LLVMIsAPHINode(LLVMGetFirstInstruction(LLVMGetSuccessor(inst, i)))) {
            emit_whole(p, args);
            return;
        }
    for (unsigned i = 0; i < n; i++) {
        LLVMBasicBlockRef to = LLVMGetSuccessor(inst, i);
        LLVMBasicBlockRef way = LLVMInsertBasicBlockInContext(p->context, to, "");
        LLVMMetadataRef where = LLVMInstructionGetDebugLoc(inst);
        LLVMPositionBuilderAtEnd(p->b, way);
        LLVMSetCurrentDebugLocation2(p->b, where);
        emit_whole(p, args);
        LLVMBuildBr(p->b, to);
        LLVMSetSuccessor(inst, i, way);
    }
}

void emit_asm(struct pass *p, const struct item *item)
{
    const char *name = intrinsic_name(item->inst);
    uint32_t number = table_site(
        p, SITE_ATOMIC, item->inst, item->index, item->bytes,
        item->bytes ? variable_name(p, item->inst, ITEM_ADDRESS(item), item->bytes) : "");
    at_instruction(p, item->inst);
    LLVMValueRef site = site_value(p, number);
    if (item->bytes == 0) {
        unsigned order = name ? fence_of_intrinsic(name) : fence_in(asm_text(item->inst));
        emit_fence_after(p, item, order ? order : ORDER_SEQ_CST, site);
        return;
    }
    LLVMValueRef pointer = ITEM_ADDRESS(item);
    LLVMValueRef args[] = { pointer, const32(p, item->bytes), const32(p, ORDER_SEQ_CST), site };
    if (LLVMIsATerminatorInst(item->inst)) {
        emit_on_ways_out(p, item, args);
        return;
    }
    if (!jumps(asm_text(item->inst)))
        call_runtime(p, "__heddle_atomic_begin", EFFECT_ALL, p->none, 1, &pointer);
    at_instruction(p, LLVMGetNextInstruction(item->inst));
    if (jumps(asm_text(item->inst)))
        call_runtime(p, "__heddle_atomic_begin", EFFECT_ALL, p->none, 1, &pointer);
    call_runtime(p, "__heddle_asm_end", EFFECT_ALL, p->none, 4, args);
}

/* A read is recorded after it, since it may be what finds the lock free; a write before it. */
void emit_hand(struct pass *p, const struct item *item)
{
    bool before = item->write || LLVMIsATerminatorInst(item->inst);
    at_instruction(p, before ? item->inst : LLVMGetNextInstruction(item->inst));
    LLVMValueRef args[] = { ITEM_ADDRESS(item), const32(p, item->bytes),
                            site_value(p, item->site) };
    call_runtime(p, item->write ? "__heddle_hand_write" : "__heddle_hand_read", EFFECT_ALL, p->none,
                 3, args);
}
