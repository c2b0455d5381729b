// A flag that a library exports.
// library: untraced_state.c untraced
// full: also
#include "prog.h"
#include "untraced_state.h"

static int x;

THREAD(first)
{
    x = 1;
    state_set_exported();
    return NULL;
}

THREAD(second)
{
    state_wait_exported();
    x = 2;
    return NULL;
}

int main(void)
{
    USE(state_exported);
    run_two(first, second);
    USE(x);
    return 0;
}
