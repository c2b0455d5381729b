// The destination of memcpy, with a length only known at run time.
// race: a b
// flags: -O0
// flags: -O2
// gcc: also
#include "prog.h"

char to[256], from[256];
size_t length = 200;

THREAD(first)
{
    memcpy(to, from, length); // [a]
    return NULL;
}

THREAD(second)
{
    to[199] = 1; // [b]
    to[200] = 1;
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
