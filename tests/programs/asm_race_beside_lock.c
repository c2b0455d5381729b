// What is no lock is a plain access, also beside one, volatile, or stored by assembly.
// race: a b
// race: c d
// race: e f
// flags: -O1
// flags: -O0
#include "prog.h"

volatile int lock, beside;
int moved, counted;

static void take(void)
{
    int old = 1;
    do
        __asm__ volatile("xchgl %0, %1" : "+r"(old), "+m"(lock) : : "memory");
    while (old && !sched_yield());
}

static void give_back(void)
{
    __asm__ volatile("movl $0, %0" : "=m"(lock) : : "memory");
}

THREAD(first)
{
    beside = 1;                                    // [a]
    __asm__ volatile("movl $1, %0" : "=m"(moved)); // [c]
    __asm__ volatile("incl %0" : "+m"(counted));   // [e]
    return NULL;
}

THREAD(second)
{
    beside = 2;                                    // [b]
    __asm__ volatile("movl $2, %0" : "=m"(moved)); // [d]
    __asm__ volatile("incl %0" : "+m"(counted));   // [f]
    return NULL;
}

int main(void)
{
    take();
    give_back();
    run_two(first, second);
    take();
    give_back();
    return 0;
}
