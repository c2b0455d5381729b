// 16 bytes of an x87 value: other sizes than powers of two up to eight.
// race: a b
// tsan: misses
#include "prog.h"

long double value;

THREAD(first)
{
    value = 1.5L; // [a]
    return NULL;
}

THREAD(second)
{
    value = 2.5L; // [b]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
