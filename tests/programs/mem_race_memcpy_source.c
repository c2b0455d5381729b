// The source of memcpy is read.
// race: a b
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
    from[0] = 1; // [b]
    from[200] = 1;
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
