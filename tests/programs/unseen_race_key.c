// A pointer in a library's thread-specific data. Not in the right place.
// library: untraced_state.c untraced
// full: also
// race: a b
#include "prog.h"
#include "untraced_state.h"

static int x;
static struct state_flag *f;

THREAD(first)
{
    state_bind_key(f);
    state_fire_key();
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
    run_two(first, second);
    USE(x);
    return 0;
}
