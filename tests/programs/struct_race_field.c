// Two threads share one field; the other two are each thread's own.
// race: a b
// gcc: also
#include "prog.h"

struct {
    int mine, shared, yours;
} s;

THREAD(first)
{
    s.mine = 1;
    s.shared = 1; // [a]
    return NULL;
}

THREAD(second)
{
    s.shared = 2; // [b]
    s.yours = 2;
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
