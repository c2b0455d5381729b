// A program closes every descriptor it does not know, changes directory and clears its environment.
// race: a b
// gcc: also
// tsan: loses the report
#include "prog.h"

int x;

THREAD(first)
{
    x = 1; // [a]
    return NULL;
}

THREAD(second)
{
    x = 2; // [b]
    return NULL;
}

int main(void)
{
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    if (chdir("/") || clearenv())
        return 1;
    run_two(first, second);
    return 0;
}
