// memset and memmove on overlapping parts of a heap block.
// race: a b
// gcc: also
#include "prog.h"

char *block;
volatile size_t n = 64;

THREAD(first)
{
    memset(block, 0, n); // [a]
    return NULL;
}

THREAD(second)
{
    memmove(block + 63, block + 80, n); // [b]
    return NULL;
}

int main(void)
{
    block = malloc(256);
    run_two(first, second);
    free(block);
    return 0;
}
