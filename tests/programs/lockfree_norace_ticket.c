// A ticket lock.
// gcc: also
#include "prog.h"

unsigned next, serving;
int x;

THREAD(work)
{
    for (int i = 0; i < 30; i++) {
        unsigned mine = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
        while (__atomic_load_n(&serving, __ATOMIC_ACQUIRE) != mine)
            sched_yield();
        x++;
        __atomic_store_n(&serving, mine + 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

int main(void)
{
    run_two(work, work);
    return x - 60;
}
