// main returns while the thread still runs: what was recorded until then counts.
// race: a b
// gcc: also
#include "prog.h"

int x, written;

THREAD(child)
{
    x = 1; // [a]
    tell(&written);
    for (;;)
        pause_ms(1000);
    return NULL;
}

int main(void)
{
    start(child, NULL);
    await(&written);
    x = 2; // [b]
    return 0;
}
