// A lock of one's own, described by __tsan_mutex_*; its inside is excluded from tracing.
// gcc: also
#include "prog.h"

void __tsan_mutex_create(void *addr, unsigned flags);
void __tsan_mutex_destroy(void *addr, unsigned flags);
void __tsan_mutex_pre_lock(void *addr, unsigned flags);
void __tsan_mutex_post_lock(void *addr, unsigned flags, int recursion);
int __tsan_mutex_pre_unlock(void *addr, unsigned flags);
void __tsan_mutex_post_unlock(void *addr, unsigned flags);
int locked, x;

static void lock(void)
{
    __tsan_mutex_pre_lock(&locked, 0);
    while (__atomic_exchange_n(&locked, 1, __ATOMIC_RELAXED))
        sched_yield();
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __tsan_mutex_post_lock(&locked, 0, 0);
}

static void unlock(void)
{
    __tsan_mutex_pre_unlock(&locked, 0);
    __atomic_store_n(&locked, 0, __ATOMIC_RELAXED);
    __tsan_mutex_post_unlock(&locked, 0);
}

THREAD(work)
{
    for (int i = 0; i < 20; i++) {
        lock();
        x++;
        unlock();
    }
    return NULL;
}

int main(void)
{
    __tsan_mutex_create(&locked, 0);
    run_two(work, work);
    __tsan_mutex_destroy(&locked, 0);
    return x - 40;
}
