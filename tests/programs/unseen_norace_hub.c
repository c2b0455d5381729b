// A pointer that a library has put into an object before.
// library: untraced_state.c untraced
// full: also
#include "prog.h"
#include "untraced_state.h"

static int x;
static struct state_flag *f;
static struct state_hub *h;

THREAD(first)
{
    x = 1;
    state_hub_fire(h);
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
    h = state_hub_new();
    state_hub_keep(h, f);
    run_two(first, second);
    USE(x);
    return 0;
}
