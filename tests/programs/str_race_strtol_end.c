// strtol writes the end pointer.
// race: a b
// tsan: misses
#include "prog.h"

char *end;
const char *volatile source = "12 34";

THREAD(first)
{
    USE(strtol(source, &end, 10)); // [a]
    return NULL;
}

THREAD(second)
{
    USE(end); // [b]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
