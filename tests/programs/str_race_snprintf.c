// snprintf writes its buffer and reads a string argument.
// race: a b
// race: a c
#include "prog.h"

char buffer[64], name[16] = "name";

THREAD(first)
{
    snprintf(buffer, sizeof(buffer), "%s=%d", name, 42); // [a]
    return NULL;
}

THREAD(second)
{
    USE(buffer[2]); // [b]
    name[1] = 'x';  // [c]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
