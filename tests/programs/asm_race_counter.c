// An assembly counter without a lock prefix on one side is still just a counter: the data race.
// race: a b
#include "prog.h"

int entered, x;

THREAD(first)
{
    __asm__ volatile("lock; incl %0" : "+m"(entered) : : "memory");
    x = 1; // [a]
    return NULL;
}

THREAD(second)
{
    x = 2; // [b]
    __asm__ volatile("lock; incl %0" : "+m"(entered) : : "memory");
    return NULL;
}

int main(void)
{
    run_two(second, first);
    return 0;
}
