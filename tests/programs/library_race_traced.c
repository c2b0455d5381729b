// The other access is in a traced shared library.
// race: a b
// library: library_traced.c traced
// gcc: also
#include "prog.h"

extern int shared;
void library_write(void);

THREAD(first)
{
    shared = 1; // [a]
    return NULL;
}

THREAD(second)
{
    library_write();
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
