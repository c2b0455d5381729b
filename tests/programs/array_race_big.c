// One element of a million is shared.
// race: a b
// flags: -O2
// tsan: misses
#include "prog.h"

enum { N = 1 << 19 };
int big[2 * N];

THREAD(lower)
{
    for (int i = 0; i < N; i++)
        big[i] = i; // [a]
    return NULL;
}

THREAD(upper)
{
    for (int i = N - 1; i < 2 * N; i++)
        big[i] = i; // [b]
    return NULL;
}

int main(void)
{
    run_two(lower, upper);
    return 0;
}
