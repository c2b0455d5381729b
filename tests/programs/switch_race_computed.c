// Accesses behind computed gotos, switches and conditional expressions.
// race: a c
// race: b d
// flags: -O0
// flags: -O2
// tsan: misses
#include "prog.h"

int x, y;
volatile int which = 1;

THREAD(first)
{
    static void *const labels[] = { &&zero, &&one };
    goto *labels[which];
zero:
    return NULL;
one:
    x = 1; // [a]
    switch (which) {
    case 1:
        y = 1; // [b]
    }
    return NULL;
}

THREAD(second)
{
    x = which ? 2 : 3; // [c]
    USE(y);            // [d]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
