// A handle that is a number.
// library: untraced_state.c untraced
// full: also
#include "prog.h"
#include "untraced_state.h"

static int x;
static int h;

THREAD(first)
{
    x = 1;
    state_set_handle(h);
    return NULL;
}

THREAD(second)
{
    state_wait_handle(h);
    x = 2;
    return NULL;
}

int main(void)
{
    h = state_open();
    run_two(first, second);
    USE(x);
    return 0;
}
