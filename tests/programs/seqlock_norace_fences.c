// A seqlock by the book (Boehm 2012): relaxed atomic data, an acquire fence before the second look
// at the count, a release fence behind the first change of it.
// gcc: also
#include "prog.h"
#include <stdatomic.h>

static atomic_uint count;
static atomic_int first, second;

THREAD(writer)
{
    for (int i = 1; i <= 20; i++) {
        unsigned n = atomic_load_explicit(&count, memory_order_relaxed);

        atomic_store_explicit(&count, n + 1, memory_order_relaxed);
        atomic_thread_fence(memory_order_release);
        atomic_store_explicit(&first, i, memory_order_relaxed);
        atomic_store_explicit(&second, -i, memory_order_relaxed);
        atomic_store_explicit(&count, n + 2, memory_order_release);
    }
    return NULL;
}

THREAD(reader)
{
    unsigned before, behind;
    int a, b;

    do {
        before = atomic_load_explicit(&count, memory_order_acquire);
        a = atomic_load_explicit(&first, memory_order_relaxed);
        b = atomic_load_explicit(&second, memory_order_relaxed);
        atomic_thread_fence(memory_order_acquire);
        behind = atomic_load_explicit(&count, memory_order_relaxed);
    } while (before & 1 || before != behind);
    return a + b ? (void *)1 : NULL;
}

int main(void)
{
    run_two(writer, reader);
    return 0;
}
