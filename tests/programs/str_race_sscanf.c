// sscanf writes through its arguments.
// race: a b
#include "prog.h"

int value, other;
const char *volatile source = "12 34";

THREAD(first)
{
    USE(sscanf(source, "%d", &value)); // [a]
    return NULL;
}

THREAD(second)
{
    USE(value); // [b]
    other = 1;
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
