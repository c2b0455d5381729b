// memcmp and memchr read.
// race: a c
// race: b d
#include "prog.h"

char p[64], q[64];
const char r[64];
volatile size_t n = 64;

THREAD(first)
{
    USE(memcmp(p, r, n)); // [a]
    USE(memchr(q, 1, n)); // [b]
    return NULL;
}

THREAD(second)
{
    p[0] = 1; // [c]
    q[0] = 1; // [d]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
