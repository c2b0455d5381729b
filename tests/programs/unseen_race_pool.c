// A counter of jobs in a library. Not in the right place.
// library: untraced_state.c untraced
// full: also
// race: a b
#include "prog.h"
#include "untraced_state.h"

static int x;

THREAD(first)
{
    state_pool_done();
    x = 1; // [a]
    return NULL;
}

THREAD(second)
{
    state_pool_wait();
    x = 2; // [b]
    return NULL;
}

int main(void)
{
    state_pool_run(1);
    run_two(first, second);
    USE(x);
    return 0;
}
