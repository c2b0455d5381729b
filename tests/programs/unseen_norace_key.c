// A pointer in a library's thread-specific data.
// library: untraced_state.c untraced
// full: also
#include "prog.h"
#include "untraced_state.h"

static int x;
static struct state_flag *f;

THREAD(first)
{
    state_bind_key(f);
    x = 1;
    state_fire_key();
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
    run_two(first, second);
    USE(x);
    return 0;
}
