/* question.c - the filter's question, inline, as a statement in assembly
 *
 * abi/abi.h says what is asked: is the block's tag the current one, and were all bytes seen? Both
 * answers are one word that is 0 if so, and the processor's zero flag is what the statement gives:
 * the compiler puts a branch behind it.
 *
 * In assembly, because the compiler would take longer for the question than for the code around it:
 * 25 instructions in three blocks, at each of which it thinks about bits that are known, registers
 * and lines (zstd_opt.c: 1.46 times ThreadSanitizer's time instead of 1.87). As one instruction it
 * is also shorter: 15 in place of 17 for 8 bytes, one branch in place of two. What the compiler
 * keeps in registers as before: the filter's address, the epoch and the address asked about.
 *
 * The statement reads what it is given pointers to, and nothing that the program can see; it counts
 * as writing the runtime's own memory, so that it stays where it is, and is asked each time.
 */
#include "pass/pass.h"

#include <string.h>

#include "abi/abi.h"

enum {
    OPERANDS_MAX = 4,
    READS_ARGUMENTS = 1 | 3 << 2 /* "memory(argmem: read, inaccessiblemem: readwrite)" */
};

static void add_attribute(struct pass *p, LLVMValueRef call, const char *name, uint64_t value)
{
    LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex,
                             LLVMCreateEnumAttribute(p->context, attribute_kind(name), value));
}

/* The statement. Its results are the answer and registers to compute in. */
static LLVMValueRef build_statement(struct pass *p, const struct text *text, const char *operands,
                                    unsigned results, unsigned n, LLVMValueRef *args)
{
    LLVMTypeRef parts[] = { p->i32, p->i64, p->i64 }, params[OPERANDS_MAX];
    for (unsigned i = 0; i < n; i++)
        params[i] = LLVMTypeOf(args[i]);
    LLVMTypeRef type = LLVMFunctionType(LLVMStructTypeInContext(p->context, parts, results, false),
                                        params, n, false);
    LLVMValueRef code = LLVMGetInlineAsm(type, text->at, text->count, operands, strlen(operands),
                                         false, false, LLVMInlineAsmDialectATT, false);
    LLVMValueRef call = LLVMBuildCall2(p->b, type, code, args, n, "");
    add_attribute(p, call, "nounwind", 0);
    add_attribute(p, call, "memory", READS_ARGUMENTS);
    return call;
}

/* True if the zero flag is clear behind the statement. */
static LLVMValueRef answer_of(struct pass *p, LLVMValueRef statement)
{
    LLVMValueRef answer = LLVMBuildExtractValue(p->b, statement, 0, "");
    return LLVMBuildICmp(p->b, LLVMIntNE, answer, const32(p, 0), "");
}

/* ---- the filter ---- */

/* Operands: $0 the answer, $1 and $2 to compute in, $3 the address, $4 the filter, $5 the epoch, $6
 * the mask of the table. */
static const char question_operands[] = "={@ccne},=&r,=&r,r,r,r,*m,"
                                        "~{rcx},~{dirflag},~{fpsr},~{flags}";

/* $1: where the block's entry is in the tables; $2: 0 if the tag is the current one. */
static void add_tag(struct text *t, size_t table, unsigned shift)
{
    text_line(t, "movl ${3:k}, ${1:k}\nshrl $$%u, ${1:k}", FILTER_BLOCK_SHIFT - shift);
    text_line(t, "andl $6, ${1:k}");
    text_line(t, "movq $3, $2\nshrq $$%d, $2\nxorq $5, $2", FILTER_BLOCK_SHIFT);
    text_line(t, "xorq %zu($4,$1), $2", table);
}

/* $1: units seen, the access's own the lowest. */
static void add_units(struct text *t, bool write)
{
    size_t table = offsetof(struct heddle_filter, units);
    add_tag(t, table, FILTER_UNITS_SHIFT);
    text_line(t, "movl %zu($4,$1), ${1:k}",
              table + (write ? offsetof(struct heddle_filter_units, written)
                             : offsetof(struct heddle_filter_units, read)));
    text_line(t, "movl ${3:k}, %%ecx\nshrl $$2, %%ecx\nshrl %%cl, ${1:k}");
}

/* $2 is not 0 if the access leaves the block: its tag says nothing of the next one. */
static void add_end(struct text *t, const struct item *item)
{
    text_line(t, "movl ${3:k}, %%ecx\nandl $$%d, %%ecx", (1 << FILTER_BLOCK_SHIFT) - 1);
    text_line(t, "addl $$%d, %%ecx\nshrl $$%d, %%ecx", (int)item->bytes - 1, FILTER_BLOCK_SHIFT);
    text_line(t, "orq %%rcx, $2");
}

static bool has_known_place(const struct item *item)
{
    return item->align >= item->bytes && item->low >= 0 && item->bytes <= 8;
}

/* $1: bytes seen of the word, or words, of the access: its own are the lowest, or where align.c
 * found them. An access that is not aligned may reach into the next word. */
static void add_bytes(struct text *t, const struct item *item, bool write)
{
    size_t table = offsetof(struct heddle_filter, lines);
    size_t array = table + (write ? offsetof(struct heddle_filter_line, written)
                                  : offsetof(struct heddle_filter_line, read));
    bool placed = has_known_place(item);
    add_tag(t, table, FILTER_LINES_SHIFT);
    if (item->align < item->bytes)
        add_end(t, item);
    text_line(t, "movl ${3:k}, %%ecx\nshrl $$3, %%ecx\nandl $$%d, %%ecx", FILTER_WORDS - 1);
    text_line(t, "addq $4, %%rcx");
    text_line(t, "%s %zu(%%rcx,$1), ${1:k}",
              item->bytes == 16 ? "movl"
              : placed          ? "movzbl"
                                : "movzwl",
              array);
    if (!placed)
        text_line(t, "movl ${3:k}, %%ecx\nandl $$7, %%ecx\nshrl %%cl, ${1:k}");
}

static void make_question(struct text *t, const struct item *item, bool units)
{
    bool write = item->write || item->update;
    uint64_t all = (UINT64_C(1) << (units ? item->bytes / 4 : item->bytes)) - 1;
    if (units)
        add_units(t, write);
    else
        add_bytes(t, item, write);
    if (!units && has_known_place(item))
        all <<= item->low;
    text_line(t, "notl ${1:k}\nandl $$%u, ${1:k}\norq $1, $2", (unsigned)all);
}

static LLVMValueRef load_tls(struct pass *p, LLVMTypeRef type, unsigned offset)
{
    return LLVMBuildLoad2(p->b, type, tls_field(p, offset), "");
}

LLVMValueRef ask_filter(struct pass *p, const struct item *item, LLVMValueRef address)
{
    struct text t = { .count = 0 };
    bool units = asks_units(item);
    make_question(&t, item, units);
    LLVMValueRef args[] = { address, load_tls(p, p->ptr, offsetof(struct heddle_tls, filter)),
                            load_tls(p, p->i64, offsetof(struct heddle_tls, epoch)),
                            tls_field(p, units ? offsetof(struct heddle_tls, unit_mask)
                                               : offsetof(struct heddle_tls, line_mask)) };
    LLVMValueRef statement = build_statement(p, &t, question_operands, 3, 4, args);
    LLVMAddCallSiteAttribute(
        statement, 4, /* read each time: a long loop is to see that the table has grown */
        LLVMCreateTypeAttribute(p->context, attribute_kind("elementtype"), p->i32));
    return answer_of(p, statement);
}

/* ---- logged objects ---- */

LLVMValueRef ask_logged(struct pass *p, LLVMValueRef address)
{
    static const char operands[] = "={@ccne},=&r,r,r,~{dirflag},~{fpsr},~{flags}";
    struct text t = { .count = 0 };
    text_line(&t, "movl ${2:k}, ${1:k}\nshrl $$%d, ${1:k}", LOGGED_SHIFT);
    text_line(&t, "andl $$%d, ${1:k}\ncmpb $$0, ($3,$1)", LOGGED_BLOCKS - 1);
    LLVMValueRef args[] = { address, global_named(p, p->i8, "__heddle_logged") };
    return answer_of(p, build_statement(p, &t, operands, 2, 2, args));
}
