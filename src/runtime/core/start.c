/* start.c - the runtime's beginning and end, and the registration of modules
 *
 * A traced image registers from a constructor that runs before all others (priority
 * 0); with the first one the options are read and recording starts, so that the
 * program's own constructors are recorded. In a forked child it starts again when the child first
 * records.
 */
#include "runtime/untraced/objects.h"
#include "runtime/core/only.h"
#include "runtime/core/environment.h"
#include "runtime/production/prod.h"
#include "runtime/core/state.h"
#include "runtime/steer/steer.h"
#include "runtime/core/stripe.h"

#include <dlfcn.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

struct rt_process rt;
EXPORT struct newest_stamp __heddle_newest __attribute__((aligned(64)));

/* Objects of another version of the ABI do not link with this runtime. */
EXPORT char __heddle_abi_7;
extern HIDDEN char rt_abi_of_this_copy __attribute__((alias("__heddle_abi_7")));

/* A program with a runtime of its own may be run with the shared one preloaded (its parent had
 * none): then that one stays out of the way. */
static bool is_second_copy(void)
{
#ifdef HEDDLE_STATIC
    return false;
#else
    void *first = dlsym(RTLD_DEFAULT, "__heddle_abi_7");

    return first && first != &rt_abi_of_this_copy;
#endif
}

uint32_t rt_start_lock;

bool rt_start(void)
{
    int saved = errno;

    rt_busy_begin();
    spin_lock(&rt_start_lock);
    if (rt.mode == MODE_RESTART) {
        stripes_clear();
        if (rt.full) /* every load counts there */
            rt_options.filter = false;
        rt.picky |= only_bits || steer_plan || !rt_options.filter;
        if (ring_open()) {
            images_log_all();
            images_tell_missing_calls();
            __atomic_store_n(&rt.mode, MODE_ON, __ATOMIC_RELEASE);
        } else {
            rt.mode = MODE_OFF;
            rt_say("cannot start the writer '%s': nothing is recorded", rt_options.writer);
        }
    }
    spin_unlock(&rt_start_lock);
    rt_busy_end();
    errno = saved;
    return rt.mode == MODE_ON;
}

/* The mapping stays: other threads may be in the middle of a record. */
void rt_stop(const char *why)
{
    if (__atomic_exchange_n(&rt.mode, MODE_OFF, __ATOMIC_SEQ_CST) == MODE_ON && why)
        rt_say("recording stopped: %s", why);
}

extern void *__libc_stack_end __attribute__((weak)); /* of the dynamic linker */

static void add_main_stack(void)
{
    struct rlimit limit;
    uintptr_t end = &__libc_stack_end ? (uintptr_t)__libc_stack_end : 0, bytes = 8 << 20;

    if (!end)
        return;
    if (syscall(SYS_getrlimit, RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < (1 << 30))
        bytes = limit.rlim_cur;
    end = (end | 4095) + 1;
    stacks_add(end - bytes, end);
}

/* From the constructor of the first traced image: a process without any (the runtime may be
 * preloaded into a shell) records nothing and starts no writer. In a secure execution (set-uid,
 * set-gid, file capabilities) nothing ever happens: the options name programs and files. */
void rt_constructor(void)
{
    if (rt.mode != MODE_EARLY)
        return;
    rt_busy_begin();
    if (getauxval(AT_SECURE))
        options_drop();
    else
        options_read();
    rt.mode = rt_options.record && !is_second_copy() ? MODE_RESTART : MODE_OFF;
    objects_on = rt.mode == MODE_RESTART && rt_options.calls != CALLS_NONE;
    if (objects_on)
        add_main_stack();
    if (rt_options.control[0] && !is_second_copy())
        prod_start(rt_options.control);
    else if (rt.mode == MODE_OFF)
        rt_deaf_to_memory = rt_deaf_to_sync = true;
    rt_busy_end();
}

#ifndef HEDDLE_STATIC
void *rt_next_definition(const char *name)
{
    void *f;

    rt_busy_begin();
    f = dlsym(RTLD_NEXT, name);
    rt_busy_end();
    return f;
}
#endif
