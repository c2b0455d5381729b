// A pointer in a list of a library.
// library: untraced_state.c untraced
// full: also
#include "prog.h"
#include "untraced_state.h"

static int x;
static struct state_flag *f;

THREAD(first)
{
    x = 1;
    state_table_fire(2);
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
    state_table_keep(1, state_flag_new());
    state_table_keep(2, f);
    state_table_keep(3, state_flag_new());
    run_two(first, second);
    USE(x);
    return 0;
}
