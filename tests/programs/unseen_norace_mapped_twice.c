// A flag that has two addresses, since its page is mapped twice.
// library: untraced_odd.c untraced
// full: also
#include "prog.h"
#include "untraced_odd.h"

static int x;

THREAD(first)
{
    x = 1;
    odd_map_set();
    return NULL;
}

THREAD(second)
{
    odd_map_wait();
    x = 2;
    return NULL;
}

int main(void)
{
    odd_map();
    run_two(first, second);
    USE(x);
    return 0;
}
