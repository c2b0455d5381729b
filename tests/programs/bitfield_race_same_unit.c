// Adjacent bit-fields are one memory location: writing one rewrites the other.
// race: a b
// flags: -O0
// flags: -O2
#include "prog.h"

struct {
    unsigned low : 3;
    unsigned high : 5;
} bits;

THREAD(first)
{
    bits.low = 1; // [a]
    return NULL;
}

THREAD(second)
{
    bits.high = 2; // [b]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
