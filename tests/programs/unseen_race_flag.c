// A flag in a library. Not in the right place.
// library: untraced_state.c untraced
// full: also
// race: a b
#include "prog.h"
#include "untraced_state.h"

static int x;

THREAD(first)
{
    state_set();
    x = 1; // [a]
    return NULL;
}

THREAD(second)
{
    state_wait();
    x = 2; // [b]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    USE(x);
    return 0;
}
