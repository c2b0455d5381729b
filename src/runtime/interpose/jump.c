/* jump.c - setjmp, longjmp and exceptions: the shadow stack, and what is left by them
 *
 * Code of the plugin puts its shadow stack right after setjmp returns (abi.h);
 * code of -fsanitize=thread does not. So setjmp remembers the depth, by the
 * stack pointer that a jump will come back to, and longjmp restores it.
 * setjmp returns twice: ours is a few instructions that leave the stack as it
 * was and go on to the real one.
 *
 * A handler that is left by a jump never comes back to __heddle_run_handler() in
 * signal.c, so it is ended before the jump. It has been left when its frame is
 * below the stack pointer in the jump buffer, or on the alternative signal stack
 * when that one is not.
 *
 * glibc keeps the stack pointer in the buffer mangled: rotated, and xored with a
 * secret of the process. Whether we read it right is tried once, at the start;
 * if not, a jump is taken to leave all handlers.
 * Limits: exceptions thrown out of handlers; an alternative stack that is
 * disarmed (SS_AUTODISARM) or replaced while a handler runs on it; the depth for
 * jumps further out than the last DEPTHS setjmps.
 */
#include "runtime/untraced/callback.h"
#include "runtime/interpose/interpose.h"

#include <setjmp.h>
#include <string.h>

enum { JUMP_SP = 6, MANGLE_BITS = 17 };

static bool can_read; /* the stack pointer in a jump buffer */

static uintptr_t jump_sp(const struct __jmp_buf_tag *buffer)
{
    uintptr_t secret, sp = (uintptr_t)buffer->__jmpbuf[JUMP_SP];

    __asm__("movq %%fs:0x30, %0" : "=r"(secret));
    return (sp >> MANGLE_BITS | sp << (64 - MANGLE_BITS)) ^ secret;
}

static __attribute__((constructor(101), noinline)) void try_to_read(void)
{
    jmp_buf here;
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0), sp;

    if (_setjmp(here))
        return;
    sp = jump_sp(here);
    can_read = sp <= frame && frame - sp < 4096;
}

/* ---- handlers ---- */

struct alt_stack {
    uintptr_t low, high;
};

static struct alt_stack alt_stack(void)
{
    stack_t s = { 0 };
    int saved = errno;

    syscall(SYS_sigaltstack, NULL, &s);
    errno = saved;
    return (struct alt_stack){ (uintptr_t)s.ss_sp, (uintptr_t)s.ss_sp + s.ss_size };
}

static bool is_on(const struct alt_stack *a, uintptr_t sp)
{
    return sp >= a->low && sp < a->high;
}

static void leave_innermost(void)
{
    struct handler_frame *f = handler_innermost;

    handler_innermost = f->outer;
    rt_handler_left(f->saved);
}

void handlers_leave_all(void)
{
    while (handler_innermost)
        leave_innermost();
}

void handlers_leave(uintptr_t sp)
{
    struct alt_stack alt;

    if (likely(!handler_innermost))
        return;
    alt = alt_stack();
    while (handler_innermost) {
        uintptr_t frame = (uintptr_t)handler_innermost;
        bool below = is_on(&alt, frame) == is_on(&alt, sp) ? frame < sp : is_on(&alt, frame);

        if (!below)
            break;
        leave_innermost();
    }
}

/* ---- the shadow stack ---- */

enum { DEPTHS = 64 };

/* Innermost last; stack addresses go down. */
static _Thread_local struct {
    uintptr_t sp;
    uint32_t depth;
} depths[DEPTHS] __attribute__((tls_model("initial-exec")));
static _Thread_local unsigned ndepths __attribute__((tls_model("initial-exec")));

/* A setjmp whose caller has its stack pointer at `sp`: those below have returned. */
static void remember_depth(uintptr_t sp)
{
    while (ndepths && depths[ndepths - 1].sp <= sp)
        ndepths--;
    if (ndepths == DEPTHS) /* forget the outer half */
        memcpy(depths, &depths[DEPTHS / 2], sizeof(depths[0]) * (ndepths = DEPTHS / 2));
    depths[ndepths].sp = sp;
    depths[ndepths++].depth = __heddle_tls.depth;
}

/* In a full build the code that is jumped to does it, and records which frames were left. */
static void restore_depth(uintptr_t sp)
{
    if (rt_is_full())
        return;
    for (unsigned i = ndepths; i-- > 0;) {
        if (depths[i].sp != sp)
            continue;
        __heddle_tls.depth = depths[i].depth;
        if (__heddle_tls.depth < __heddle_tls.low)
            __heddle_tls.low = __heddle_tls.depth;
        return;
    }
}

/* The real functions, in the order of their numbers below. */
#ifdef HEDDLE_STATIC
#define NAME(name) "__wrap_" #name
extern int __real_setjmp(jmp_buf), __real__setjmp(jmp_buf), __real___sigsetjmp(jmp_buf, int);
static void *const real_setjmps[] = { (void *)__real_setjmp, (void *)__real__setjmp,
                                      (void *)__real___sigsetjmp };
#else
#define NAME(name) #name
static const char *const setjmp_names[] = { "setjmp", "_setjmp", "__sigsetjmp" };
static void *real_setjmps[3];
#endif

/* Called by the functions below; returns where to go on. */
HIDDEN __attribute__((used)) void *jump_set(uintptr_t sp, unsigned which);
void *jump_set(uintptr_t sp, unsigned which)
{
#ifndef HEDDLE_STATIC
    if (unlikely(!real_setjmps[which]))
        real_setjmps[which] = rt_next_definition(setjmp_names[which]);
#endif
    remember_depth(sp);
    return real_setjmps[which];
}

#define SETJMP(name, number)                                                                       \
    __asm__(".text\n.weak " NAME(name) "\n.type " NAME(name) ", @function\n" NAME(                 \
        name) ":\n.cfi_startproc\nendbr64\n"                                                       \
              "pushq %rdi\npushq %rsi\nsubq $8, %rsp\n"                                            \
              ".cfi_adjust_cfa_offset 24\n"                                                        \
              "leaq 32(%rsp), %rdi\nmovl $" #number ", %esi\n"                                     \
              "call jump_set\n"                                                                    \
              "addq $8, %rsp\npopq %rsi\npopq %rdi\n"                                              \
              ".cfi_adjust_cfa_offset -24\n"                                                       \
              "jmp *%rax\n.cfi_endproc\n"                                                          \
              ".size " NAME(name) ", . - " NAME(name) "\n")

SETJMP(setjmp, 0);
SETJMP(_setjmp, 1);
SETJMP(__sigsetjmp, 2);

/* ---- jumping ---- */

static void jump(const struct __jmp_buf_tag *buffer, uint64_t where)
{
    uintptr_t sp = can_read ? jump_sp(buffer) : UINTPTR_MAX;

    handlers_leave(sp);
    callback_is_left(can_read ? sp : 0);
    if (can_read)
        contexts_jump(sp, where);
    restore_depth(sp);
}

INTERPOSE(void, longjmp, struct __jmp_buf_tag buffer[1], int value)
{
    jump(buffer, WHERE_CALLER());
    REAL(longjmp)(buffer, value);
    __builtin_unreachable();
}

INTERPOSE(void, _longjmp, struct __jmp_buf_tag buffer[1], int value)
{
    jump(buffer, WHERE_CALLER());
    REAL(_longjmp)(buffer, value);
    __builtin_unreachable();
}

INTERPOSE(void, siglongjmp, struct __jmp_buf_tag buffer[1], int value)
{
    jump(buffer, WHERE_CALLER());
    REAL(siglongjmp)(buffer, value);
    __builtin_unreachable();
}

/* What longjmp becomes under _FORTIFY_SOURCE. */
INTERPOSE(void, __longjmp_chk, struct __jmp_buf_tag buffer[1], int value)
{
    jump(buffer, WHERE_CALLER());
    REAL(__longjmp_chk)(buffer, value);
    __builtin_unreachable();
}

/* ---- exceptions ----
 *
 * Of C++ and other languages; the first is what throws, the second what throws again. Who will
 * catch it is not known. */

INTERPOSE(int, _Unwind_RaiseException, void *exception)
{
    callback_is_left((uintptr_t)__builtin_frame_address(0));
    __attribute__((musttail)) return REAL(_Unwind_RaiseException)(exception);
}

INTERPOSE(int, _Unwind_Resume_or_Rethrow, void *exception)
{
    callback_is_left((uintptr_t)__builtin_frame_address(0));
    __attribute__((musttail)) return REAL(_Unwind_Resume_or_Rethrow)(exception);
}

/* Handlers may call these first: look them up while nothing is interrupted. */
static __attribute__((constructor)) void look_up(void)
{
    (void)REAL(longjmp);
    (void)REAL(_longjmp);
    (void)REAL(siglongjmp);
    (void)REAL(__longjmp_chk);
}
