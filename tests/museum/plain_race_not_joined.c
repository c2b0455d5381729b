// The outcome of a test of memory ordering is printed without joining its threads.
// issue: https://github.com/google/sanitizers/issues/1332
// tool: ThreadSanitizer
// there: crash; a trap without a core file; the program lacked joins
// verdict: race; each of the four variables is used by two threads, unordered
// race: store_a load_a
// race: store_b load_b
#include "prog.h"

int A, B, R1, R2, done;

THREAD(thread1)
{
    A = 2; // [store_a]
    B = 1; // [store_b]
    __atomic_fetch_add(&done, 1, __ATOMIC_RELAXED);
    return NULL;
}

THREAD(thread2)
{
    R1 = B; // [load_b]
    R2 = A; // [load_a]
    __atomic_fetch_add(&done, 1, __ATOMIC_RELAXED);
    return NULL;
}

int main(void)
{
    pthread_t a = start(thread1, NULL), b = start(thread2, NULL);

    pthread_detach(a);
    pthread_detach(b);
    while (__atomic_load_n(&done, __ATOMIC_RELAXED) != 2)
        pause_ms(1);
    return 0;
}
