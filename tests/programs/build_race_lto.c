// Link-time optimisation: instrumented once, not twice.
// race: a b
// flags: -O2 -flto
// flags: -O2 -flto=thin -fuse-ld=lld
#include "prog.h"

int x;

THREAD(first)
{
    x = 1; // [a]
    return NULL;
}

THREAD(second)
{
    USE(x); // [b]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
