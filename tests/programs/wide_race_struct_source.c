// The source of a struct copy is read.
// race: a b
// flags: -O0
// flags: -O2
#include "prog.h"

struct three {
    long a, b, c;
} from, to;

THREAD(first)
{
    to = from; // [a]
    return NULL;
}

THREAD(second)
{
    from.c = 1; // [b]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
