// The same without the mistake; vectorised at -O3.
// flags: -O0
// flags: -O3
// gcc: also
#include "prog.h"

int data[64];

THREAD(lower)
{
    for (int i = 0; i < 32; i++)
        data[i] = i;
    return NULL;
}

THREAD(upper)
{
    for (int i = 32; i < 64; i++)
        data[i] = -i;
    return NULL;
}

int main(void)
{
    run_two(lower, upper);
    return data[31] + data[32] + 1;
}
