// A pointer that a library has put into an object before. Not in the right place.
// library: untraced_state.c untraced
// full: also
// race: a b
#include "prog.h"
#include "untraced_state.h"

static int x;
static struct state_flag *f;
static struct state_hub *h;

THREAD(first)
{
    state_hub_fire(h);
    x = 1; // [a]
    return NULL;
}

THREAD(second)
{
    state_flag_wait(f);
    x = 2; // [b]
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
