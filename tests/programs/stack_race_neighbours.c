// Neighbours in memory, written by one line on behalf of two callers: each keeps its own stack.
// race: set x
// stack: set set from_right
// flags: -O1
// gcc: also
#include "prog.h"

long pair[2], far[64];

static __attribute__((noinline)) void set(long *p)
{
    *p = 1; // [set]
}

static __attribute__((noinline)) void from_left(void)
{
    set(&pair[0]);
    set(&far[0]);
}

static __attribute__((noinline)) void from_right(void)
{
    set(&pair[1]);
    set(&far[8]);
}

THREAD(both)
{
    from_left();
    from_right();
    return NULL;
}

THREAD(one)
{
    pair[1] = 2; // [x]
    return NULL;
}

int main(void)
{
    run_two(both, one);
    return 0;
}
