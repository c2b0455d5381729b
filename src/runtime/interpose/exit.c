/* exit.c - the end of main(), and exit(): a moment for the threads that still run
 *
 * They would be cut off wherever they are, and what they were about to do never be seen. So the
 * thread that ends the program waits before anything of that end happens, as if main() had been
 * slower: no exit handler has run yet, nothing has been destroyed. It waits until no other thread
 * lives, exit_wait milliseconds at most; and no longer than QUIET_MS while all of them are asleep
 * for good (rt_asleep()), since only somebody else could wake them. Threads that untraced code runs
 * (a pool of OpenMP's, say) mostly have nothing more to do: they count as asleep.
 *
 * _exit(), abort() and signals do not come here. Of main()'s return we hear by being its caller; in
 * static builds exit() is wrapped in the C library as well, and that is enough.
 *
 * System calls: futex only, with a timeout, for programs in a sandbox.
 */
#include "runtime/interpose/interpose.h"
#include "runtime/steer/explore_steps.h"
#include "runtime/core/state.h"

#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    SLICE_MS = 2,
    QUIET_MS = 100 /* a thread that was just woken is still marked asleep until it runs */
};

struct others {
    uint32_t living, asleep;
};

static struct others look(uint32_t own)
{
    struct others o = { 0 };
    uint32_t n = __atomic_load_n(&rt.ring->threads, __ATOMIC_ACQUIRE);

    for (uint32_t i = 0; i < n && i < RING_THREADS_MAX; i++) {
        const struct ring_thread *t = ring_thread_at(i);
        uint64_t life = __atomic_load_n(&t->reserved[1], __ATOMIC_RELAXED);

        if (i == own || life & RING_FIBER ||
            __atomic_load_n(&t->state, __ATOMIC_ACQUIRE) == THREAD_ENDED)
            continue;
        o.living++;
        o.asleep += (life & (RING_ASLEEP | RING_HIDDEN)) != 0;
    }
    return o;
}

static void pause_ms(long ms)
{
    const struct timespec slice = { 0, ms * 1000000 };
    static const uint32_t never = 0;

    syscall(SYS_futex, &never, FUTEX_WAIT_PRIVATE, 0, &slice, NULL, 0L);
}

static void wait_for_others(uint32_t own)
{
    struct others before = { 0 }, o;
    uint32_t quiet = 0;

    for (uint32_t ms = 0; ms < rt_options.exit_wait; ms += SLICE_MS) {
        o = look(own);
        quiet = o.living == before.living && o.asleep == before.asleep ? quiet + SLICE_MS : 0;
        if (!o.living || (o.living == o.asleep && quiet >= QUIET_MS) || rt.mode != MODE_ON)
            return;
        before = o;
        pause_ms(SLICE_MS);
    }
}

/* The second to come (an exit handler that exits, another thread) has nothing to wait for. */
static void program_ends(void)
{
    static uint32_t came;
    int saved = errno;

    if (rt.mode != MODE_ON || !rt.ring || !tls.self || tls.self->fiber || tls.busy ||
        __atomic_exchange_n(&came, 1, __ATOMIC_ACQ_REL))
        return;
    if (unlikely(explore_on))
        explore_exit();
    rt_busy_begin();
    rt_life(RING_EXITS, true);
    if (!explore_on)
        wait_for_others(tls.self->number);
    rt_busy_end();
    errno = saved;
}

INTERPOSE(void, exit, int code)
{
    program_ends();
    REAL(exit)(code);
    __builtin_unreachable();
}

#ifndef HEDDLE_STATIC
typedef int main_function(int argc, char **argv, char **env);
static main_function *program_main;

/* main()'s caller is no place that a user wants to see: it has no line, and a name that reports
 * leave out. */
static __attribute__((nodebug)) int __heddle_main(int argc, char **argv, char **env)
{
    int code = program_main(argc, argv, env);

    program_ends();
    return code;
}

int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end);

INTERPOSE(int, __libc_start_main, main_function *main, int argc, char **argv, void (*init)(void),
          void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
    program_main = main;
    return REAL(__libc_start_main)(__heddle_main, argc, argv, init, fini, rtld_fini, stack_end);
}
#endif
