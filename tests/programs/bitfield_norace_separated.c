// A bit-field of width zero starts a new memory location.
#include "prog.h"

struct {
    unsigned char low : 3;
    unsigned char : 0;
    unsigned char high : 5;
} bits;

THREAD(first)
{
    bits.low = 1;
    return NULL;
}

THREAD(second)
{
    bits.high = 2;
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return bits.low + bits.high - 3;
}
