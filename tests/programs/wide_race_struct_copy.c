// A struct assignment of 400 bytes, which compilers turn into memcpy or moves.
// race: a b
// flags: -O0
// flags: -O2
// gcc: also
#include "prog.h"

struct big {
    int v[100];
} from, to;

THREAD(first)
{
    to = from; // [a]
    return NULL;
}

THREAD(second)
{
    to.v[77] = 1; // [b]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
