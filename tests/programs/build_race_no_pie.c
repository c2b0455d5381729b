// Position-dependent code, no frame pointers, sections collected by the linker.
// race: a b
// flags: -O2 -fno-pie -no-pie -fomit-frame-pointer -ffunction-sections -Wl,--gc-sections
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
