// Annotations on different objects order nothing.
// race: a b
// gcc: also
#include "prog.h"

void __tsan_acquire(void *addr);
void __tsan_release(void *addr);
int one, two, x;

THREAD(first)
{
    x = 1; // [a]
    __tsan_release(&one);
    return NULL;
}

THREAD(second)
{
    __tsan_acquire(&two);
    x = 2; // [b]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
