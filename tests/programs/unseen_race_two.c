// Different statics of one library order nothing.
// library: untraced_state.c untraced
// full: also
// race: a b
#include "prog.h"
#include "untraced_state.h"

static int x;

THREAD(first)
{
    x = 1; // [a]
    state_set();
    return NULL;
}

THREAD(second)
{
    state_lock();
    state_unlock();
    x = 2; // [b]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    USE(x);
    return 0;
}
