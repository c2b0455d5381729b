// main returns while the thread still runs: what was recorded until then counts.
// race: a b
// gcc: also
#include "prog.h"

int x;

THREAD(child)
{
    x = 1; // [a]
    for (;;)
        pause_ms(1000);
    return NULL;
}

int main(void)
{
    start(child, NULL);
    pause_ms(30);
    x = 2; // [b]
    return 0;
}
