// A handle that is a number. Not in the right place.
// library: untraced_state.c untraced
// full: also
// race: a b
#include "prog.h"
#include "untraced_state.h"

static int x;
static int h;

THREAD(first)
{
    state_set_handle(h);
    x = 1; // [a]
    return NULL;
}

THREAD(second)
{
    state_wait_handle(h);
    x = 2; // [b]
    return NULL;
}

int main(void)
{
    h = state_open();
    run_two(first, second);
    USE(x);
    return 0;
}
