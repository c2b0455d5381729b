/* sandbox.c - programs that restrict their own system calls (system.h)
 *
 * The C library's prctl() (pthread_thread.c) and syscall() are seen, which libseccomp uses, too. A
 * filter that inline assembly installs is not, nor is one that was there before the program began:
 * containers have one, and it has let us start.
 *
 * Concurrency: the reserve is taken by any thread, without a lock. sandbox_begins() waits for
 * whoever changes text, and for calls under way.
 */
#include "runtime/production/caper.h"
#include "runtime/interpose/interpose.h"
#include "runtime/production/prod.h"
#include "runtime/core/state.h"
#include "runtime/steer/steer.h"

#include <linux/futex.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

uint32_t rt_sandbox, rt_calls_under_way;

/* States of threads have some 13 MiB of address space each, most of it never touched: enough for
 * a hundred threads and what maps of objects need. With a limited address space it is less. */
enum { RESERVE_MIB = 2048, RESERVE_LEAST_MIB = 32, PAGE = 4096, MOMENT_STAMPS = 1 << 14 };
static char *reserve;
static size_t reserve_bytes, reserve_used;

static long process;
static bool has_threads;

/* ---- what is done without the kernel ---- */

static void reserve_get(void)
{
    size_t bytes = (size_t)RESERVE_MIB << 20;
    void *m = MAP_FAILED;

    for (; !reserve && bytes >= (size_t)RESERVE_LEAST_MIB << 20; bytes /= 4) {
        m = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1L, 0L);
        if (m == MAP_FAILED)
            continue;
        reserve_bytes = bytes;
        reserve = m;
    }
}

static long from_reserve(size_t bytes)
{
    size_t at;

    bytes = (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
    at = __atomic_fetch_add(&reserve_used, bytes, __ATOMIC_RELAXED);
    if (bytes > reserve_bytes || at > reserve_bytes - bytes) {
        __atomic_fetch_sub(&reserve_used, bytes, __ATOMIC_RELAXED);
        errno = ENOMEM;
        return -1;
    }
    return (long)(reserve + at);
}

static bool is_fresh_memory(const long *a)
{
    return !a[0] && a[2] == (PROT_READ | PROT_WRITE) && a[3] & MAP_ANONYMOUS && a[3] & MAP_PRIVATE;
}

/* Of a thread that is the only one: the word changes by itself, or it does not. */
static long wait_a_moment(const long *a)
{
    uint64_t start = clock_stamp();

    if ((a[1] & FUTEX_CMD_MASK) != FUTEX_WAIT && (a[1] & FUTEX_CMD_MASK) != FUTEX_WAIT_BITSET)
        return 0;
    while (__atomic_load_n((const uint32_t *)a[0], __ATOMIC_ACQUIRE) == (uint32_t)a[2])
        if (clock_stamp() - start > MOMENT_STAMPS)
            break;
        else
            __builtin_ia32_pause();
    errno = ETIMEDOUT;
    return -1;
}

static long sandbox_refuse(void)
{
    errno = EPERM;
    return -1;
}

long sandbox_call(long number, const long *a)
{
    switch (number) {
    case SYS_futex:
        return has_threads && rt_sandbox != SANDBOX_STRICT
                   ? rt_call_kernel(number, a[0], a[1], a[2], a[3], a[4], a[5])
                   : wait_a_moment(a);
    case SYS_write:
    case SYS_exit: /* of our thread, when the main thread has ended in that way */
        return rt_call_kernel(number, a[0], a[1], a[2], 0, 0, 0);
    case SYS_getpid:
        return process;
    case SYS_gettid:
        return own_tid();
    case SYS_mmap:
        return is_fresh_memory(a) ? from_reserve((size_t)a[1]) : sandbox_refuse();
    default:
        return sandbox_refuse();
    }
}

int rt_yield(void)
{
    static uint32_t never;
    const struct timespec short_while = { 0, 20000 };
    int saved = errno;

    if (likely(!__atomic_load_n(&rt_sandbox, __ATOMIC_RELAXED)))
        rt_call_kernel(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
    else
        syscall(SYS_futex, &never, FUTEX_WAIT_PRIVATE, 0, &short_while, NULL, 0);
    errno = saved;
    return 0;
}

/* ---- its beginning ---- */

void sandbox_has_threads(void)
{
    if (unlikely(!has_threads))
        has_threads = true;
}

/* A thread that was killed in the middle of a call would leave the number as it is for ever. */
static void wait_for_calls(void)
{
    for (int i = 0; i < 10000 && __atomic_load_n(&rt_calls_under_way, __ATOMIC_SEQ_CST); i++)
        rt_yield();
}

/* In strict mode the processor's counter is out of bounds, too, for this thread: without stamps
 * nothing can be recorded. It stays busy for ever. */
static void leave_alone(void)
{
    if (rt.mode == MODE_ON && tls.self) {
        ring_hand_over(tls.chunk);
        ring_reset_thread();
    }
    rt_busy_begin();
}

uint32_t sandbox_begins(enum sandbox kind)
{
    uint32_t before = rt_sandbox;

    if (before || !(rt_recording() || rt_mode)) /* a forked child may only begin to record now */
        return before;
    rt_busy_begin();
    process = syscall(SYS_getpid);
    reserve_get();
    if (rt_mode == &mode_caper)
        caper_threads(); /* its sites cannot become jumps later, with the first thread */
    rt_say("the program has restricted its system calls (seccomp): %s",
           kind == SANDBOX_STRICT ? "in strict mode nothing more of this thread is recorded"
                                  : "processes that it forks are not recorded");
    patch_fork_before();
    __atomic_store_n(&rt_sandbox, (uint32_t)kind, __ATOMIC_SEQ_CST);
    wait_for_calls();
    patch_fork_after(false);
    if (kind == SANDBOX_STRICT)
        leave_alone();
    rt_busy_end();
    return before;
}

void sandbox_failed(uint32_t before)
{
    if (!before && rt_sandbox == SANDBOX_STRICT)
        rt_busy_end();
    __atomic_store_n(&rt_sandbox, before, __ATOMIC_SEQ_CST);
}

/* The only thread is the one that forked. */
void sandbox_forked(void)
{
    rt_calls_under_way = 0;
    has_threads = false;
    if (rt_sandbox)
        process = own_tid();
}

/* ---- syscall() ---- */

#ifdef HEDDLE_STATIC
#define SYSCALL "__wrap_syscall"
#else
#define SYSCALL "syscall"
#endif

/* As the C library's, in assembly as there: what it makes may share the caller's stack. */
__asm__(".pushsection .text\n"
        ".weak " SYSCALL "\n"
        ".type " SYSCALL ", @function\n" SYSCALL ":\n"
        ".cfi_startproc\n"
        "    cmpq $317, %rdi\n" /* SYS_seccomp */
        "    je rt_syscall_seccomp\n"
        "    cmpq $157, %rdi\n" /* SYS_prctl */
        "    je rt_syscall_seccomp\n"
        "    cmpq $324, %rdi\n" /* SYS_membarrier */
        "    je rt_syscall_seccomp\n"
        "    cmpq $60, %rdi\n" /* SYS_exit */
        "    je rt_syscall_exit\n"
        "    movq %rdi, %rax\n"
        "    movq %rsi, %rdi\n"
        "    movq %rdx, %rsi\n"
        "    movq %rcx, %rdx\n"
        "    movq %r8, %r10\n"
        "    movq %r9, %r8\n"
        "    movq 8(%rsp), %r9\n"
        "    syscall\n"
        "    cmpq $-4095, %rax\n"
        "    jae 1f\n"
        "    ret\n"
        "1:  movq %rax, %rdi\n"
        "    jmp rt_syscall_fails\n"
        ".cfi_endproc\n"
        ".size " SYSCALL ", . - " SYSCALL "\n"
        ".popsection\n");
_Static_assert(SYS_seccomp == 317 && SYS_prctl == 157 && SYS_membarrier == 324 && SYS_exit == 60,
               "as in the assembly");

HIDDEN __attribute__((used)) long rt_syscall_fails(long error);
long rt_syscall_fails(long error)
{
    errno = (int)-error;
    return -1;
}

HIDDEN __attribute__((used)) long rt_syscall_exit(long number, long code);
long rt_syscall_exit(long number, long code)
{
    if (rt_mode)
        prod_thread_exit();
    return rt_call_kernel(number, code, 0, 0, 0, 0, 0);
}

HIDDEN __attribute__((used)) long rt_syscall_seccomp(long number, long a, long b, long c, long d,
                                                     long e, long f);
long rt_syscall_seccomp(long number, long a, long b, long c, long d, long e, long f)
{
    bool strict = number == SYS_seccomp ? a == SECCOMP_SET_MODE_STRICT : b == SECCOMP_MODE_STRICT;
    bool begins = number == SYS_seccomp
                      ? a == SECCOMP_SET_MODE_STRICT || a == SECCOMP_SET_MODE_FILTER
                      : a == PR_SET_SECCOMP;
    uint32_t before;
    long r;

    if (number == SYS_membarrier && unlikely(steer_on))
        steer_ordered_all();
    before = begins ? sandbox_begins(strict ? SANDBOX_STRICT : SANDBOX_FILTER) : 0;
    r = rt_call_kernel(number, a, b, c, d, e, f);
    if (begins && r < 0)
        sandbox_failed(before);
    return r;
}
