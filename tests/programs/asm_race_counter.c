// A counter in assembly, before the data: it orders nothing that comes after it.
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
    __asm__ volatile("lock; incl %0" : "+m"(entered) : : "memory");
    x = 2; // [b]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
