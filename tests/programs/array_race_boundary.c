// Two threads fill halves of an array; one goes one element too far.
// race: a b
// flags: -O0
// flags: -O3
#include "prog.h"

int data[64];

THREAD(lower)
{
    for (int i = 0; i <= 32; i++)
        data[i] = i; // [a]
    return NULL;
}

THREAD(upper)
{
    for (int i = 32; i < 64; i++)
        data[i] = -i; // [b]
    return NULL;
}

int main(void)
{
    run_two(lower, upper);
    return 0;
}
