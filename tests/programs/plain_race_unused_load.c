// A racy load whose value nobody needs: at -O0 it is still there.
// race: a b
// flags: -O0
#include "prog.h"

int x;

THREAD(reader)
{
    (void)x; // [a]
    return NULL;
}

THREAD(writer)
{
    x = 2; // [b]
    return NULL;
}

int main(void)
{
    run_two(reader, writer);
    return 0;
}
