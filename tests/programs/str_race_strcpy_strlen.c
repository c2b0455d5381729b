// strcpy writes up to the terminator, strlen reads.
// race: a b
// flags: -O0
// flags: -O2
// gcc: also
#include "prog.h"

char text[32] = "longer than this";
const char *volatile source = "short";

THREAD(first)
{
    strcpy(text, source); // [a]
    return NULL;
}

THREAD(second)
{
    USE(strlen(text)); // [b]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
