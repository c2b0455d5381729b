// A read does not stand for the write that follows it.
// race: b c
// may: a c
#include "prog.h"

int x;

THREAD(first)
{
    USE(x); // [a]
    x = 1;  // [b]
    return NULL;
}

THREAD(second)
{
    USE(x); // [c]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
