// A callback that waits for a flag of the library.
// library: untraced_state.c untraced
// full: also
#include "prog.h"
#include "untraced_state.h"

static int x;

static void wait_inside(void *arg)
{
    (void)arg;
    state_wait();
    x = 2;
}

THREAD(first)
{
    x = 1;
    state_set();
    return NULL;
}

THREAD(second)
{
    state_with_lock(wait_inside, NULL);
    return NULL;
}

int main(void)
{
    run_two(first, second);
    USE(x);
    return 0;
}
