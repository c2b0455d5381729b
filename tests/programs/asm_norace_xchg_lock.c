// A lock in inline assembly, as old projects have it: xchg takes, a locked xadd gives back.
// tsan: false alarm
#include "prog.h"

int locked, x;

static void lock(void)
{
    int old = 1;
    do
        __asm__ volatile("xchgl %0, %1" : "+r"(old), "+m"(locked) : : "memory");
    while (old && !sched_yield());
}

static void unlock(void)
{
    int minus = -1;
    __asm__ volatile("lock; xaddl %0, %1" : "+r"(minus), "+m"(locked) : : "memory");
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
    run_two(work, work);
    return x - 40;
}
