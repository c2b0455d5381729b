// Two halves of one word.
// gcc: also
#include "prog.h"

union {
    long whole;
    int half[2];
    short quarter[4];
} u;

THREAD(first)
{
    u.half[0] = 1;
    return NULL;
}

THREAD(second)
{
    u.quarter[2] = 2;
    u.quarter[3] = 3;
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return u.half[0] - 1;
}
