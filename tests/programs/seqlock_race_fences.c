// A seqlock with all fences, but plain data: the reader may look while the writer writes.
// race: a b
// gcc: also
#include "prog.h"
#include <stdatomic.h>

static atomic_uint count;
static int looked;
int data;

THREAD(writer)
{
    unsigned n;

    await(&looked);
    n = atomic_load_explicit(&count, memory_order_relaxed);
    atomic_store_explicit(&count, n + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    data = 1; // [a]
    atomic_store_explicit(&count, n + 2, memory_order_release);
    return NULL;
}

THREAD(reader)
{
    atomic_load_explicit(&count, memory_order_acquire);
    USE(data); // [b]
    atomic_thread_fence(memory_order_acquire);
    atomic_load_explicit(&count, memory_order_relaxed);
    tell(&looked);
    return NULL;
}

int main(void)
{
    run_two(writer, reader);
    return 0;
}
