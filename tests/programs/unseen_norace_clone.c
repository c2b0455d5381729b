// A thread that the library made by clone() hands on.
// library: untraced_odd.c untraced
// full: also
#include "prog.h"
#include "untraced_odd.h"

static int x;

THREAD(first)
{
    x = 1;
    odd_clone_set();
    return NULL;
}

THREAD(second)
{
    odd_clone_wait();
    x = 2;
    return NULL;
}

int main(void)
{
    odd_clone();
    run_two(first, second);
    USE(x);
    return 0;
}
