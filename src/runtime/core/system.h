/* system.h - the system calls of the runtime, and what becomes of them in a sandbox
 *
 * A program that has installed a seccomp filter may be killed for a call that it would not make
 * itself. From the moment before it does so (sandbox.c sees prctl() and syscall()) every call here
 * is made without the kernel or fails with EPERM, but for futex, and that only once the program has
 * made threads, which cannot do without it either:
 *
 *     mmap of fresh memory    from memory that was reserved when the sandbox began
 *     getpid, gettid          known; the C library writes the latter into its locks
 *     futex without threads   a wait looks again and again for a moment, a wake does nothing: the
 *                             writer looks by itself ten times a second
 *     sched_yield             a futex wait of some microseconds
 *     write                   to standard error, with the option verbose only
 *     exit                    of our thread, where the main thread has made this call
 *
 * So everything in this folder has to live with EPERM. Calls that are under way in other threads
 * are waited for before the filter comes, which may be for them, too.
 *
 * Here syscall() and sched_yield() mean these, also where the program has functions of that name.
 */
#ifndef HEDDLE_RUNTIME_CORE_SYSTEM_H
#define HEDDLE_RUNTIME_CORE_SYSTEM_H

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

enum sandbox { SANDBOX_NONE, SANDBOX_FILTER, SANDBOX_STRICT };

extern __attribute__((visibility("hidden"))) uint32_t rt_sandbox;         /* enum sandbox */
extern __attribute__((visibility("hidden"))) uint32_t rt_calls_under_way; /* but futex */

/* Before the program installs a filter; returns what to hand to sandbox_failed() if it could not.
 */
__attribute__((visibility("hidden"))) uint32_t sandbox_begins(enum sandbox kind);
__attribute__((visibility("hidden"))) void sandbox_failed(uint32_t before);
__attribute__((visibility("hidden"))) void sandbox_forked(void); /* in the child */
__attribute__((visibility("hidden"))) void sandbox_has_threads(void);

__attribute__((visibility("hidden"))) long sandbox_call(long number, const long *args);
__attribute__((visibility("hidden"))) int rt_yield(void);

/* As syscall(2). */
static inline long rt_call_kernel(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    long r;

    __asm__ volatile("syscall"
                     : "=a"(r)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    if ((unsigned long)r < -4095UL)
        return r;
    errno = (int)-r;
    return -1;
}

static inline long rt_call(long number, long a, long b, long c, long d, long e, long f)
{
    bool counts = number != SYS_futex;
    long r;

    if (counts)
        __atomic_fetch_add(&rt_calls_under_way, 1, __ATOMIC_SEQ_CST);
    if (__builtin_expect(!__atomic_load_n(&rt_sandbox, __ATOMIC_SEQ_CST), 1))
        r = rt_call_kernel(number, a, b, c, d, e, f);
    else
        r = sandbox_call(number, (const long[]){ a, b, c, d, e, f });
    if (counts)
        __atomic_fetch_sub(&rt_calls_under_way, 1, __ATOMIC_SEQ_CST);
    return r;
}

#define RT_CALL(number, a, b, c, d, e, f, ...)                                                     \
    rt_call(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define syscall(...)  RT_CALL(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)
#define sched_yield() rt_yield()

#endif
