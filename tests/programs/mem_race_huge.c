// One memset of four megabytes, the other thread's byte is near its end.
// race: a b
// gcc: also
#include "prog.h"

enum { SIZE = 4 << 20 };
char *block;
volatile size_t size = SIZE;

THREAD(first)
{
    memset(block, 1, size); // [a]
    return NULL;
}

THREAD(second)
{
    block[SIZE - 10] = 2; // [b]
    return NULL;
}

int main(void)
{
    block = malloc(SIZE + 64);
    run_two(first, second);
    free(block);
    return 0;
}
