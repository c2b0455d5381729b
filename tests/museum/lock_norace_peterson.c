// Peterson's lock of two threads, with sequentially consistent atomics.
// issue: https://github.com/google/sanitizers/issues/1004
// tool: ThreadSanitizer
// there: false alarm; in TBB's scheduler, and in a test with Peterson's lock
// verdict: no race; the loads that let a thread in read what the other released
#include "prog.h"

int wants[2], victim, counter;

static void *work(void *arg)
{
    int me = *(int *)arg;

    for (int i = 0; i < 5; i++) {
        __atomic_store_n(&wants[me], 1, __ATOMIC_SEQ_CST);
        __atomic_store_n(&victim, me, __ATOMIC_SEQ_CST);
        while (__atomic_load_n(&wants[!me], __ATOMIC_SEQ_CST) &&
               __atomic_load_n(&victim, __ATOMIC_SEQ_CST) == me)
            pause_ms(1);
        counter++;
        __atomic_store_n(&wants[me], 0, __ATOMIC_SEQ_CST);
    }
    return NULL;
}

int main(void)
{
    int ids[] = { 0, 1 };
    pthread_t a = start(work, &ids[0]), b = start(work, &ids[1]);

    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return counter - 10;
}
