// A pointer that a library was given before.
// library: untraced_state.c untraced
// full: also
#include "prog.h"
#include "untraced_state.h"

static int x;
static struct state_flag *f;

THREAD(first)
{
    x = 1;
    state_fire();
    return NULL;
}

THREAD(second)
{
    state_flag_wait(f);
    x = 2;
    return NULL;
}

int main(void)
{
    f = state_flag_new();
    state_keep(f);
    run_two(first, second);
    USE(x);
    return 0;
}
