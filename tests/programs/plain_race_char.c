// One byte, read by one thread and written by another.
// race: a b
#include "prog.h"

char c;

THREAD(reader)
{
    USE(c); // [a]
    return NULL;
}

THREAD(writer)
{
    c = 'x'; // [b]
    return NULL;
}

int main(void)
{
    run_two(reader, writer);
    return 0;
}
