// A 128-bit integer against its upper half.
// race: a b
// flags: -O0
// flags: -O2
#include "prog.h"

union {
    unsigned __int128 whole;
    unsigned long half[2];
} u;

THREAD(first)
{
    u.whole = (unsigned __int128)1 << 100; // [a]
    return NULL;
}

THREAD(second)
{
    u.half[1] = 3; // [b]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
