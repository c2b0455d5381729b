// A counter in a loop becomes one load and one store, and the load has no line of its own.
// flags: -O1
// race: a a
#include "prog.h"

int x;

THREAD(count)
{
    for (int i = 0; i < 1000; i++)
        x++; // [a]
    return NULL;
}

int main(void)
{
    run_two(count, count);
    return 0;
}
