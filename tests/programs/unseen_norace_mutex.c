// A mutex in a library that nobody passes.
// library: untraced_state.c untraced
// full: also
#include "prog.h"
#include "untraced_state.h"

static int x;

THREAD(first)
{
    state_mutex_lock();
    x++;
    state_mutex_unlock();
    return NULL;
}

THREAD(second)
{
    state_mutex_lock();
    x++;
    state_mutex_unlock();
    return NULL;
}

int main(void)
{
    run_two(first, second);
    USE(x);
    return 0;
}
