// Two threads write one int: the simplest race, at every optimisation level.
// race: a b
// flags: -O0
// flags: -O1
// flags: -O2
// flags: -O3
// gcc: also
#include "prog.h"

int x;

THREAD(first)
{
    x = 1; // [a]
    return NULL;
}

THREAD(second)
{
    x = 2; // [b]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
