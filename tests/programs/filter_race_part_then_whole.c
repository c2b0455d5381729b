// A byte accessed first does not stand for the whole word.
// race: b c
#include "prog.h"

union {
    long whole;
    char part[8];
} u;

THREAD(first)
{
    u.part[0] = 1; // [a]
    u.whole = 2;   // [b]
    return NULL;
}

THREAD(second)
{
    u.part[7] = 3; // [c]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
