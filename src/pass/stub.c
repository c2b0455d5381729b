/* stub.c - the filter's question out of line: a function of the module for each kind of access
 *
 * Most accesses are executed rarely: for these the question stands in the code once, not at each of
 * them. They call it with the address and the number of their site, and it calls the runtime only
 * where the filter does not know the access. It is written in assembly, because its convention is
 * preserve_most, and a compiler would keep six registers for what two do. Same question as in
 * question.c; abi/abi.h describes it.
 *
 * A function of the module, not of the runtime: no detour by a table of the linker's in shared
 * libraries, and the module's first site is added only where the runtime is called.
 */
#include "pass/pass.h"

#include "abi/abi.h"

/* r11: the entry of the access's block; jumps to 1 if its tag is another one's. rdi is the address.
 */
static void add_tag(struct text *t, size_t table, size_t mask, unsigned shift)
{
    text_line(t, "pushq %%rax\n.cfi_adjust_cfa_offset 8");
    text_line(t, "pushq %%rcx\n.cfi_adjust_cfa_offset 8");
    text_line(t, "movq __heddle_tls@GOTTPOFF(%%rip), %%rax");
    text_line(t, "movl %%edi, %%r11d\nshrl $$%u, %%r11d", FILTER_BLOCK_SHIFT - shift);
    text_line(t, "andl %%fs:%zu(%%rax), %%r11d", mask);
    text_line(t, "addq %%fs:%zu(%%rax), %%r11", offsetof(struct heddle_tls, filter));
    text_line(t, "movq %%rdi, %%rcx\nshrq $$%d, %%rcx", FILTER_BLOCK_SHIFT);
    text_line(t, "xorq %%fs:%zu(%%rax), %%rcx", offsetof(struct heddle_tls, epoch));
    text_line(t, "cmpq %zu(%%r11), %%rcx\njne 1f", table);
    text_line(t, "movl %%edi, %%ecx");
}

/* Units seen, the access's own the lowest, in eax. */
static void add_units(struct text *t, bool write)
{
    add_tag(t, offsetof(struct heddle_filter, units), offsetof(struct heddle_tls, unit_mask),
            FILTER_UNITS_SHIFT);
    text_line(t, "movl %zu(%%r11), %%eax",
              write ? offsetof(struct heddle_filter_units, written)
                    : offsetof(struct heddle_filter_units, read));
    text_line(t, "shrl $$2, %%ecx");
}

/* The same of bytes. */
static void add_bytes(struct text *t, const struct item *item, bool write)
{
    size_t table = offsetof(struct heddle_filter, lines);
    size_t array = write ? offsetof(struct heddle_filter_line, written)
                         : offsetof(struct heddle_filter_line, read);
    add_tag(t, table, offsetof(struct heddle_tls, line_mask), FILTER_LINES_SHIFT);
    if (item->align < item->bytes) { /* the block's tag says nothing of the next block */
        text_line(t, "andl $$%d, %%ecx", (1 << FILTER_BLOCK_SHIFT) - 1);
        text_line(t, "cmpl $$%d, %%ecx\nja 1f", (1 << FILTER_BLOCK_SHIFT) - (int)item->bytes);
    }
    text_line(t, "shrl $$3, %%ecx\nandl $$%d, %%ecx", FILTER_WORDS - 1);
    text_line(t, "%s %zu(%%r11,%%rcx), %%eax", item->bytes == 16 ? "movl" : "movzwl",
              table + array);
    text_line(t, "movl %%edi, %%ecx\nandl $$7, %%ecx");
}

/* $0 is this module's record. The stack is aligned at the call. */
static void add_call(struct text *t, const char *name)
{
    text_line(t, "1:\npopq %%rcx\n.cfi_adjust_cfa_offset -8");
    text_line(t, "popq %%rax\n.cfi_adjust_cfa_offset -8");
    text_line(t, "pushq %%rsi\n.cfi_adjust_cfa_offset 8");
    text_line(t, "addl ${0:c}+%zu(%%rip), %%esi", offsetof(struct heddle_module, base));
    text_line(t, "callq *%s@GOTPCREL(%%rip)", name);
    text_line(t, "popq %%rsi\n.cfi_adjust_cfa_offset -8\nretq");
}

static void make_text(struct text *t, const struct item *item, const char *name)
{
    bool units = asks_units(item);
    bool write = item->write || item->update;
    if (units)
        add_units(t, write);
    else
        add_bytes(t, item, write);
    uint64_t all = (UINT64_C(1) << (units ? item->bytes / 4 : item->bytes)) - 1;
    text_line(t, "shrl %%cl, %%eax\nnotl %%eax\ntestl $$%u, %%eax\njne 1f", (unsigned)all);
    text_line(t, ".cfi_remember_state");
    text_line(t, "popq %%rcx\n.cfi_adjust_cfa_offset -8");
    text_line(t, "popq %%rax\n.cfi_adjust_cfa_offset -8\nretq");
    text_line(t, ".cfi_restore_state");
    add_call(t, name);
}

static void set_attributes(struct pass *p, LLVMValueRef stub)
{
    static const char *const names[] = { "naked", "noinline", "nounwind" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        LLVMAddAttributeAtIndex(stub, LLVMAttributeFunctionIndex,
                                LLVMCreateEnumAttribute(p->context, attribute_kind(names[i]), 0));
    LLVMAddAttributeAtIndex(stub, LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(p->context, attribute_kind("uwtable"), 2));
}

static void set_code(struct pass *p, LLVMValueRef stub, struct text *t)
{
    static const char operands[] = "i,~{memory},~{dirflag},~{fpsr},~{flags}";
    LLVMTypeRef type = LLVMFunctionType(p->none, &p->ptr, 1, false);
    LLVMValueRef code = LLVMGetInlineAsm(type, t->at, t->count, operands, sizeof operands - 1, true,
                                         false, LLVMInlineAsmDialectATT, false);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
    LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(p->context, stub, ""));
    LLVMBuildCall2(b, type, code, &p->record, 1, "");
    LLVMBuildUnreachable(b);
    LLVMDisposeBuilder(b);
    LLVMSetLinkage(stub, LLVMInternalLinkage);
    LLVMSetFunctionCallConv(stub, CC_PRESERVE_MOST);
    set_attributes(p, stub);
}

void define_access_stub(struct pass *p, LLVMValueRef stub, const struct item *item,
                        const char *name)
{
    struct text t = { .count = 0 };
    make_text(&t, item, name);
    set_code(p, stub, &t);
}

void define_stored_stub(struct pass *p, LLVMValueRef stub, unsigned bytes)
{
    struct text t = { .count = 0 };
    text_line(&t, "movl %%edi, %%r11d\nshrl $$%d, %%r11d", LOGGED_SHIFT);
    text_line(&t, "andl $$%d, %%r11d", LOGGED_BLOCKS - 1);
    text_line(&t, "addq __heddle_logged@GOTPCREL(%%rip), %%r11");
    text_line(&t, "cmpb $$0, (%%r11)\njne 1f\nretq");
    text_line(&t, "1:\npushq %%rsi\n.cfi_adjust_cfa_offset 8");
    text_line(&t, "movl $$%u, %%esi", bytes);
    text_line(&t, "callq *__heddle_stored@GOTPCREL(%%rip)");
    text_line(&t, "popq %%rsi\n.cfi_adjust_cfa_offset -8\nretq");
    set_code(p, stub, &t);
}
