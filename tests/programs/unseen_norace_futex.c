// A futex in a library.
// library: untraced_state.c untraced
// full: also
#include "prog.h"
#include "untraced_state.h"

static int x;

THREAD(first)
{
    x = 1;
    state_wake();
    return NULL;
}

THREAD(second)
{
    state_sleep();
    x = 2;
    return NULL;
}

int main(void)
{
    run_two(first, second);
    USE(x);
    return 0;
}
