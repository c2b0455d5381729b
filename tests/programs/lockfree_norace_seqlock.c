// A sequence lock whose data are relaxed atomics, with the fences it needs.
// gcc: also
#include "prog.h"

unsigned seq;
int a, b;

THREAD(writer)
{
    for (int i = 1; i < 20; i++) {
        __atomic_store_n(&seq, 2 * i - 1, __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_RELEASE);
        __atomic_store_n(&a, i, __ATOMIC_RELAXED);
        __atomic_store_n(&b, i, __ATOMIC_RELAXED);
        __atomic_store_n(&seq, 2 * i, __ATOMIC_RELEASE);
    }
    return NULL;
}

THREAD(reader)
{
    for (int i = 0; i < 20; i++) {
        unsigned before = __atomic_load_n(&seq, __ATOMIC_ACQUIRE);
        int x = __atomic_load_n(&a, __ATOMIC_RELAXED), y = __atomic_load_n(&b, __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (before % 2 == 0 && before == __atomic_load_n(&seq, __ATOMIC_RELAXED) && x != y)
            abort();
    }
    return NULL;
}

int main(void)
{
    run_two(writer, reader);
    return 0;
}
