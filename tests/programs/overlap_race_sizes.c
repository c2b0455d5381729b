// A byte inside a long: sizes differ, the byte is shared.
// race: a b
// gcc: also
#include "prog.h"

union {
    long whole;
    char part[8];
} u;

THREAD(first)
{
    u.whole = 1; // [a]
    return NULL;
}

THREAD(second)
{
    u.part[5] = 2; // [b]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
