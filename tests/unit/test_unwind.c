/* test_unwind.c - the way to the caller (runtime/production/unwind.h), compared with elfutils and
 * with glibc
 *
 * Every rule of every image of this process is compared with what libdw makes of the same tables;
 * whole stacks, walked here with nothing but the rules, with backtrace(). All of it twice: as the C
 * library says which image an address lies in, and by our own table (as in static programs).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/production/unwind.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <execinfo.h>
#include <fcntl.h>
#include <gelf.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

enum { RBP = 6, RSP = 7 };

/* ---- rules ---- */

struct tally {
    unsigned images, callers, ends, signals;
};

/* One operation, register plus constant. */
static bool is_plain(const Dwarf_Op *ops, size_t n, unsigned *reg, int64_t *offset)
{
    if (n != 1)
        return false;
    *offset = (int64_t)ops[0].number;
    if (ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31)
        *reg = ops[0].atom - DW_OP_breg0;
    else if (ops[0].atom == DW_OP_bregx) {
        *reg = (unsigned)ops[0].number;
        *offset = (int64_t)ops[0].number2;
    } else
        return false;
    return true;
}

/* Where a register was saved, below the CFA; 0: it is the same; -1: something else. */
static int64_t saved_at(Dwarf_Frame *f, int reg)
{
    Dwarf_Op mem[3], *ops;
    size_t n;

    assert_int_equal(dwarf_frame_register(f, reg, mem, &ops, &n), 0);
    if (n == 0)
        return ops ? -1 : 0; /* undefined; the same */
    if (n == 1 && ops[0].atom == DW_OP_call_frame_cfa)
        return -1;
    if (n == 2 && ops[0].atom == DW_OP_call_frame_cfa && ops[1].atom == DW_OP_plus_uconst)
        return -(int64_t)ops[1].number;
    return -1;
}

static void compare(Dwarf_CFI *cfi, uint64_t base, uintptr_t pc, struct tally *t)
{
    struct unwind_rule r = unwind_rule(pc);
    Dwarf_Frame *f = NULL;
    Dwarf_Op *ops;
    size_t n;
    unsigned reg = 0;
    int64_t offset = 0, rbp, rip;
    bool signal = false, plain;

    if (dwarf_cfi_addrframe(cfi, pc - base, &f)) {
        assert_int_equal(r.kind, UNWIND_END);
        t->ends++;
        return;
    }
    dwarf_frame_info(f, NULL, NULL, &signal);
    assert_int_equal(dwarf_frame_cfa(f, &ops, &n), 0);
    plain = is_plain(ops, n, &reg, &offset) && (reg == RSP || reg == RBP);
    rbp = saved_at(f, RBP);
    rip = saved_at(f, 16);
    free(f);
    if (signal) {
        assert_int_equal(r.kind, UNWIND_SIGNAL);
        t->signals++;
    } else if (!plain || rip != 8 || rbp < 0) {
        assert_int_equal(r.kind, UNWIND_END);
        t->ends++;
    } else {
        assert_int_equal(r.kind, UNWIND_CALLER);
        assert_int_equal(r.from_rbp, reg == RBP);
        assert_int_equal(r.cfa, offset);
        assert_int_equal(r.rbp, rbp);
        t->callers++;
    }
}

static int each_image(struct dl_phdr_info *info, size_t size, void *arg)
{
    const char *path = info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct tally *t = arg;
    Dwarf_CFI *cfi;
    Elf *elf;

    (void)size;
    if (fd < 0) /* the vdso */
        return 0;
    elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    cfi = elf ? dwarf_getcfi_elf(elf) : NULL;
    for (int i = 0; cfi && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t low = info->dlpi_addr + p->p_vaddr;

        if (p->p_type == PT_LOAD && p->p_flags & PF_X)
            for (uintptr_t pc = low; pc < low + p->p_memsz; pc += 1 + (pc * 2654435761u >> 28) % 13)
                compare(cfi, info->dlpi_addr, pc, t);
    }
    t->images += cfi != NULL;
    if (cfi)
        dwarf_cfi_end(cfi);
    elf_end(elf);
    close(fd);
    return 0;
}

static void rules_are_those_of_elfutils(void **state)
{
    struct tally t = { 0 };

    (void)state;
    elf_version(EV_CURRENT);
    dl_iterate_phdr(each_image, &t);
    print_message("# %u images, %u callers, %u ends, %u signals\n", t.images, t.callers, t.ends,
                  t.signals);
    assert_in_range(t.images, 4, 1000);
    assert_in_range(t.callers, 100000, UINT32_MAX);
    assert_in_range(t.signals, 1, UINT32_MAX);
}

/* ---- stacks ---- */

enum { FRAMES = 64 };
static unsigned walks;

/* From here on, with direct reads: this test's stack is there. */
static __attribute__((noinline)) void walk_and_compare(void)
{
    void *expected[FRAMES];
    int n = backtrace(expected, FRAMES), i = 0;
    uintptr_t *frame = __builtin_frame_address(0), pc = (uintptr_t)__builtin_return_address(0),
              sp = (uintptr_t)(frame + 2), bp = frame[0];
    bool returns = true;

    while (i < n && (uintptr_t)expected[i] != pc) /* here, and what a sanitizer puts before it */
        i++;
    assert_in_range(i, 1, 4);
    for (; i < n; i++) {
        struct unwind_rule r = unwind_rule(pc - returns);

        assert_int_equal(pc, (uintptr_t)expected[i]);
        if (r.kind == UNWIND_SIGNAL) {
            greg_t *g = ((ucontext_t *)sp)->uc_mcontext.gregs;

            pc = (uintptr_t)g[REG_RIP];
            bp = (uintptr_t)g[REG_RBP];
            sp = (uintptr_t)g[REG_RSP];
        } else if (r.kind == UNWIND_CALLER) {
            uintptr_t cfa = (r.from_rbp ? bp : sp) + r.cfa;

            pc = ((uintptr_t *)cfa)[-1];
            bp = r.rbp ? *(uintptr_t *)(cfa - r.rbp) : bp;
            sp = cfa;
        } else {
            break;
        }
        returns = r.kind == UNWIND_CALLER;
    }
    assert_in_range(i, n - 1, n); /* backtrace() may have the end, too */
    walks++;
}

static int by_number(const void *a, const void *b)
{
    if (walks % 3 == 0)
        walk_and_compare();
    walks++;
    return *(const int *)a - *(const int *)b;
}

static __attribute__((noinline)) int down(int depth, volatile char *from)
{
    volatile char *here = __builtin_alloca((size_t)(depth * 13 + 8));
    int numbers[8] = { 3, 1, 4, 1, 5, 9, 2, depth };

    here[0] = from[0];
    if (depth == 0)
        qsort(numbers, 8, sizeof(*numbers), by_number);
    else if (depth % 5 == 4)
        raise(SIGUSR1);
    return (depth ? down(depth - 1, here) : 0) + numbers[0] + here[0];
}

static void handler(int signal)
{
    (void)signal;
    walk_and_compare();
}

static void stacks_are_those_of_glibc(void **state)
{
    struct sigaction act = { .sa_handler = handler }, old;
    char start[8] = { 1 };

    (void)state;
    sigaction(SIGUSR1, &act, &old);
    for (int depth = 0; depth < 30; depth++)
        down(depth, start);
    sigaction(SIGUSR1, &old, NULL);
    assert_in_range(walks, 100, UINT32_MAX);
}

static void what_is_no_code_has_no_caller(void **state)
{
    int here;

    (void)state;
    assert_int_equal(unwind_rule((uintptr_t)&here).kind, UNWIND_END);
    assert_int_equal(unwind_rule(0).kind, UNWIND_END);
    assert_int_equal(unwind_rule(1).kind, UNWIND_END);
    assert_int_equal(unwind_rule(UINTPTR_MAX).kind, UNWIND_END);
    unwind_images();
    assert_int_equal(unwind_rule((uintptr_t)walk_and_compare + 1).kind, UNWIND_CALLER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_are_those_of_elfutils),
        cmocka_unit_test(stacks_are_those_of_glibc),
        cmocka_unit_test(what_is_no_code_has_no_caller),
    };

    unwind_images();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
