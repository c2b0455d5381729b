// An atomic store races with a plain load of the same variable.
// race: a b
// flags: -O0
// flags: -O2
// gcc: also
#include "prog.h"

int x;

THREAD(first)
{
    __atomic_store_n(&x, 1, __ATOMIC_SEQ_CST); // [a]
    return NULL;
}

THREAD(second)
{
    USE(x); // [b]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
