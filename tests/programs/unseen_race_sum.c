// A function without state orders nothing.
// library: untraced_state.c untraced
// full: also
// race: a b
#include "prog.h"
#include "untraced_state.h"

static int x;

THREAD(first)
{
    x = 1; // [a]
    USE(state_sum(1, 2));
    return NULL;
}

THREAD(second)
{
    USE(state_sum(3, 4));
    x = 2; // [b]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    USE(x);
    return 0;
}
