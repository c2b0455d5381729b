// Peterson's lock: stores and loads, all sequentially consistent.
// gcc: also
#include "prog.h"

int wants[2], turn, x;

THREAD(work)
{
    int me = (int)(intptr_t)arg, other = !me;
    for (int i = 0; i < 30; i++) {
        __atomic_store_n(&wants[me], 1, __ATOMIC_SEQ_CST);
        __atomic_store_n(&turn, other, __ATOMIC_SEQ_CST);
        while (__atomic_load_n(&wants[other], __ATOMIC_SEQ_CST) &&
               __atomic_load_n(&turn, __ATOMIC_SEQ_CST) == other)
            sched_yield();
        x++;
        __atomic_store_n(&wants[me], 0, __ATOMIC_SEQ_CST);
    }
    return NULL;
}

int main(void)
{
    pthread_t a = start(work, (void *)0), b = start(work, (void *)1);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return x - 60;
}
