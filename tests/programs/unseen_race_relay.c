// A library that calls another one, which has a flag. Not in the right place.
// library: untraced_state.c untraced
// library: untraced_relay.c untraced
// full: also
// race: a b
#include "prog.h"
#include "untraced_state.h"

static int x;

THREAD(first)
{
    relay_set();
    x = 1; // [a]
    return NULL;
}

THREAD(second)
{
    relay_wait();
    x = 2; // [b]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    USE(x);
    return 0;
}
