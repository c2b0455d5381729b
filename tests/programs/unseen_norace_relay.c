// A library that calls another one, which has a flag.
// library: untraced_state.c untraced
// library: untraced_relay.c untraced
// full: also
#include "prog.h"
#include "untraced_state.h"

static int x;

THREAD(first)
{
    x = 1;
    relay_set();
    return NULL;
}

THREAD(second)
{
    relay_wait();
    x = 2;
    return NULL;
}

int main(void)
{
    run_two(first, second);
    USE(x);
    return 0;
}
