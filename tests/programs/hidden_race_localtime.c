// localtime returns a pointer to static storage that the next call overwrites.
// race: a b
// tsan: misses
#include "prog.h"

THREAD(first)
{
    time_t zero = 0;
    USE(localtime(&zero)); // [a]
    return NULL;
}

THREAD(second)
{
    time_t one = 1;
    USE(localtime(&one)); // [b]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
