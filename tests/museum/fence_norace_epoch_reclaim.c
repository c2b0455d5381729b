// A reader pins an epoch; the writer unlinks, waits until the reader has left, and frees.
// issue: https://github.com/crossbeam-rs/crossbeam-epoch/issues/59
// tool: ThreadSanitizer
// there: false alarm; the collector's fences are not understood: races of reads and deallocation
// verdict: no race; the reader leaves with a release store that the writer's fence acquires
#include "prog.h"

int *shared, pinned, reading;

THREAD(reader)
{
    __atomic_store_n(&pinned, 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    int *seen = __atomic_load_n(&shared, __ATOMIC_ACQUIRE);
    if (seen)
        USE(*seen);
    tell(&reading);
    __atomic_store_n(&pinned, 0, __ATOMIC_RELEASE);
    return NULL;
}

THREAD(writer)
{
    await(&reading);
    int *old = __atomic_exchange_n(&shared, NULL, __ATOMIC_ACQ_REL);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    while (__atomic_load_n(&pinned, __ATOMIC_RELAXED))
        pause_ms(1);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    free(old);
    return NULL;
}

int main(void)
{
    shared = calloc(1, sizeof(int));
    run_two(reader, writer);
    return 0;
}
