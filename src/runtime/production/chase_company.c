/* chase_company.c - is there another thread that might come while one waits? */
#include "runtime/production/chase_company.h"

#include <sys/syscall.h>
#include <unistd.h>

static uint32_t made, ended;
static bool has_strangers;
static _Thread_local bool is_over __attribute__((tls_model("initial-exec")));

static bool is_first_thread(void)
{
    return syscall(SYS_gettid) == syscall(SYS_getpid);
}

/* A thread that is not the first has the first for company, known or not. */
bool company_is_there(void)
{
    return (int32_t)(__atomic_load_n(&made, __ATOMIC_RELAXED) -
                     __atomic_load_n(&ended, __ATOMIC_RELAXED)) > 0 ||
           __atomic_load_n(&has_strangers, __ATOMIC_RELAXED) || !is_first_thread();
}

void company_made(void)
{
    __atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);
}

void company_came(void)
{
    if (!__atomic_load_n(&made, __ATOMIC_RELAXED) && !is_first_thread())
        __atomic_store_n(&has_strangers, true, __ATOMIC_RELAXED);
}

void company_ended(void)
{
    if (!is_over)
        __atomic_fetch_add(&ended, 1, __ATOMIC_RELAXED);
    is_over = true;
}

void company_forked(void)
{
    made = ended = 0;
    has_strangers = false;
}
