// The lost update: both threads read and write on the same line.
// race: a a
// flags: -O0
// flags: -O2
// gcc: also
#include "prog.h"

long counter;

THREAD(work)
{
    counter++; // [a]
    return NULL;
}

int main(void)
{
    run_two(work, work);
    return 0;
}
