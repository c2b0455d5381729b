// A counter of jobs in a library.
// library: untraced_state.c untraced
// full: also
#include "prog.h"
#include "untraced_state.h"

static int x;

THREAD(first)
{
    x = 1;
    state_pool_done();
    return NULL;
}

THREAD(second)
{
    state_pool_wait();
    x = 2;
    return NULL;
}

int main(void)
{
    state_pool_run(1);
    run_two(first, second);
    USE(x);
    return 0;
}
