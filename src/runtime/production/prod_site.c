/* prod_site.c - what the stubs of patched instructions call
 *
 * An instruction of the program was replaced by a jump to its stub
 * (pass/production/production_code.cpp): between any two instructions, so every register and the
 * flags are in use. The stub has left the red zone, saved rdi and rsi, and loaded the address (rdi)
 * and the entry of the table (rsi). Here the flags and what preserve_all does not keep are saved,
 * and the stack is aligned; rbp stays, for the walk along the stack, which begins in the stub.
 * Where the instruction may store a pointer, the stub has stored what it stores on the stack, above
 * rsi and rdi, and calls __heddle_link first.
 *
 * In caper nearly all hits are of private memory, and that is all there is to say of them: own_at()
 * of caper.h is written out here, with two registers (7 ns a hit when it was a function, 4 now).
 *
 * Code for AVX has values in the upper halves of its registers, of which a runtime compiled for
 * SSE2 knows nothing and which the C library clobbers: there all of them are saved, but only if
 * somebody wants to hear of the access.
 */
#include "runtime/production/caper.h"
#include "runtime/production/patch.h"

#define PUSH(r) "push %%" #r "\n.cfi_adjust_cfa_offset 8\n"
#define POP(r)  "pop %%" #r "\n.cfi_adjust_cfa_offset -8\n"

/* Flags are in rax, rcx and rdx saved. Falls through to 3 unless the access is private. Not
 * .cfi_restore_state: clang 19 then counts .cfi_adjust_cfa_offset from where it was before. */
#define LEAVE_IF_PRIVATE                                                                           \
    "cmpb $0, %c3(%%rip)\n" /* caper_quick */                                                      \
    "je 3f\n"                                                                                      \
    "mov %%rdi, %%rdx\n"                                                                           \
    "shr %5, %%rdx\n"                                                                              \
    "cmp %6, %%rdx\n"                                                                              \
    "jae 3f\n"                                                                                     \
    "lea %c2(%%rip), %%rcx\n" /* own_maps */                                                       \
    "mov (%%rcx, %%rdx, 8), %%rdx\n"                                                               \
    "test %%rdx, %%rdx\n"                                                                          \
    "je 3f\n"                                                                                      \
    "mov %%rdi, %%rcx\n"                                                                           \
    "shr %7, %%rcx\n"                                                                              \
    "and %8, %%ecx\n"                                                                              \
    "cmpb $0, (%%rdx, %%rcx)\n" /* pages */                                                        \
    "jne 4f\n"                                                                                     \
    "mov %%rdi, %%rcx\n"                                                                           \
    "shr %9, %%rcx\n"                                                                              \
    "and %10, %%ecx\n"                                                                             \
    "cmpb $0, %c4(%%rdx, %%rcx)\n" /* units */                                                     \
    "je 3f\n"                                                                                      \
    "4: mov caper_left@gottpoff(%%rip), %%rcx\n"                                                   \
    "decl %%fs:(%%rcx)\n"                                                                          \
    "js 3f\n" POP(rcx) POP(rdx) RESTORE_FLAGS ".cfi_adjust_cfa_offset 24\n"                        \
                                              "3:\n"

#define RESTORE_FLAGS                                                                              \
    "add $127, %%al\n" /* the overflow flag */                                                     \
    "sahf\n" POP(rax) "ret\n"

#define SAVE_FLAGS                                                                                 \
    "endbr64\n" PUSH(rax) "lahf\n"                                                                 \
                          "seto %%al\n"

/* rbx keeps the stack pointer while the stack is aligned; C++ and cancellation unwind through.
 * `set_up` is before the question whether there is anything to do. */
#define ASK(set_up)                                                                                \
    PUSH(rax)                                                                                      \
    PUSH(r11)                                                                                      \
    PUSH(rbx)                                                                                      \
    ".cfi_rel_offset %%rbx, 0\n"                                                                   \
    "mov %%rsp, %%rbx\n"                                                                           \
    ".cfi_def_cfa_register %%rbx\n"                                                                \
    "and $-16, %%rsp\n" set_up "call %c0\n"                                                        \
    "test %%al, %%al\n"                                                                            \
    "jne 2f\n"
#define ASKED                                                                                      \
    "2: mov %%rbx, %%rsp\n"                                                                        \
    ".cfi_def_cfa_register %%rsp\n" POP(rbx) ".cfi_restore %%rbx\n" POP(r11) POP(rax)

#define ENTER SAVE_FLAGS PUSH(rdx) PUSH(rcx) LEAVE_IF_PRIVATE POP(rcx) POP(rdx) ASK("")
#define LEAVE ASKED RESTORE_FLAGS

/* All vector registers; then what is called, and back. The header of the state must be zero. */
#define WITH_VECTORS(set_up)                                                                       \
    "push %%rdx\n"                                                                                 \
    "push %%rdx\n"                                                                                 \
    "mov %%rsp, %%r11\n"                                                                           \
    "sub $2816, %%rsp\n"                                                                           \
    "and $-64, %%rsp\n"                                                                            \
    "push %%r11\n"                                                                                 \
    "sub $56, %%rsp\n"                                                                             \
    "xor %%eax, %%eax\n"                                                                           \
    "mov %%rax, 576(%%rsp)\n"                                                                      \
    "mov %%rax, 584(%%rsp)\n"                                                                      \
    "mov %%rax, 592(%%rsp)\n"                                                                      \
    "mov %%rax, 600(%%rsp)\n"                                                                      \
    "mov %%rax, 608(%%rsp)\n"                                                                      \
    "mov %%rax, 616(%%rsp)\n"                                                                      \
    "mov %%rax, 624(%%rsp)\n"                                                                      \
    "mov %%rax, 632(%%rsp)\n"                                                                      \
    "mov $0xe7, %%eax\n" /* x87, SSE, AVX and AVX-512, 2,688 bytes at most */                      \
    "xor %%edx, %%edx\n"                                                                           \
    "xsave64 64(%%rsp)\n" set_up "call %c1\n"                                                      \
    "mov $0xe7, %%eax\n"                                                                           \
    "xor %%edx, %%edx\n"                                                                           \
    "xrstor64 64(%%rsp)\n"                                                                         \
    "mov 56(%%rsp), %%rsp\n"                                                                       \
    "pop %%rdx\n"

#define FUNCTIONS                                                                                  \
    "i"(site_is_idle), "i"(site_hit), "i"(own_maps), "i"(&caper_quick),                            \
        "i"(__builtin_offsetof(struct own_map, units)), "i"(OWN_MAP_SHIFT), "i"(OWN_MAPS),         \
        "i"(OWN_PAGE_SHIFT), "i"((int)OWN_PAGES - 1), "i"(OWN_UNIT_SHIFT), "i"((int)OWN_UNITS - 1)

/* From rbx: itself, r11, flags, rax, the return address. */
#define STUB "lea 40(%%rbx), %%rdx\n"

EXPORT void __heddle_site(void);
__attribute__((naked)) EXPORT void __heddle_site(void)
{
    __asm__(ENTER "push %%rdx\n"
                  "push %%rdx\n" STUB "call %c1\n"
                  "pop %%rdx\n" LEAVE
            :
            : FUNCTIONS);
}

EXPORT void __heddle_site_avx(void);
__attribute__((naked)) EXPORT void __heddle_site_avx(void)
{
    __asm__(ENTER WITH_VECTORS(STUB) LEAVE : : FUNCTIONS);
}

/* ---- links ---- */

/* From rbx: itself, r11, flags, rdx, rax, the return address, rsi, rdi. */
#define STORED     "lea 64(%%rbx), %%rdx\n"
#define ENTER_LINK SAVE_FLAGS PUSH(rdx) ASK(STORED)
#define LEAVE_LINK                                                                                 \
    ASKED POP(rdx)                                                                                 \
    RESTORE_FLAGS

EXPORT void __heddle_link(void);
__attribute__((naked)) EXPORT void __heddle_link(void)
{
    __asm__(ENTER_LINK "call %c1\n" LEAVE_LINK : : "i"(link_is_idle), "i"(link_tell));
}

EXPORT void __heddle_link_avx(void);
__attribute__((naked)) EXPORT void __heddle_link_avx(void)
{
    __asm__(ENTER_LINK WITH_VECTORS(STORED) LEAVE_LINK : : "i"(link_is_idle), "i"(link_tell));
}
