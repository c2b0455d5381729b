/* asm.c - inline assembly (x86)
 *
 * Assembly with a lock prefix or an exchange on memory is an atomic operation on its operand;
 * without a memory operand a locked instruction is the usual full barrier, like mfence. Other
 * assembly reads and writes the memory operands that it names. The text is searched for
 * mnemonics, not parsed: comments that mention them fool it.
 *
 * A move from or to memory that is volatile and forbids the compiler to move accesses past it
 * ("memory") is what libraries write for an atomic load or store (Concurrency Kit): on x86 it
 * acquires or releases. It becomes that before anything else looks at the code.
 *
 * Assembly that jumps (asm goto): the operation is recorded before it, since what follows has
 * several places.
 */
#include "pass/pass.h"

#include <ctype.h>
#include <string.h>

#include "base/rt_sites.h"

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

static const char *asm_text(LLVMValueRef call)
{
    size_t n;
    return LLVMGetInlineAsmAsmString(LLVMGetCalledValue(call), &n);
}

/* ---- moves ---- */

/* "movl $1, $0", and nothing else; *bytes: 0 where the mnemonic does not say. */
static bool is_move(const char *text, uint64_t *bytes)
{
    static const char suffixes[] = "bwlq";
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
    if (!starts_with(text, "$1,"))
        return false;
    text += 3;
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

static void make_atomic(struct pass *p, LLVMValueRef call)
{
    LLVMValueRef assembly = LLVMGetCalledValue(call), made, address = LLVMGetOperand(call, 0);
    uint64_t bytes;
    bool store;
    if (LLVMGetInlineAsmDialect(assembly) != LLVMInlineAsmDialectATT || !is_barrier(assembly) ||
        !is_move(asm_text(call), &bytes))
        return;
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
            struct item *item = add_item(items, ITEM_ACCESS, call);
            item->operand = list[i].argument;
            item->write = write;
            item->bytes = list[i].bytes;
            item->align = 1;
        }
}

void list_asm(struct pass *p, LLVMValueRef call, struct items *items)
{
    struct operand list[OPERANDS_MAX];
    unsigned n = memory_operands(p, call, list), bytes = 4, argument;
    const char *text = asm_text(call);
    if (is_locked(text, &bytes)) {
        if (n == 0 && only_pointer(call, &argument)) {
            list[0] = (struct operand){ argument, bytes, true, true };
            n = 1;
        }
        struct item *item = add_item(items, ITEM_ASM, call);
        item->operand = n == 1 ? list[0].argument : 0;
        item->bytes = n == 1 ? (list[0].bytes ? list[0].bytes : bytes) : 0;
        if (n > 1)
            list_operands(p, call, items, list, n);
    } else if (fence_in(text)) {
        add_item(items, ITEM_ASM, call);
    } else {
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
    call_runtime(p, "__heddle_atomic_begin", EFFECT_ALL, p->none, 1, &pointer);
    if (!LLVMIsATerminatorInst(item->inst))
        at_instruction(p, LLVMGetNextInstruction(item->inst));
    LLVMValueRef args[] = { pointer, const32(p, item->bytes), const32(p, ORDER_SEQ_CST), site };
    call_runtime(p, "__heddle_atomic_end", EFFECT_ALL, p->none, 4, args);
}
