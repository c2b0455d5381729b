// Calls that overlap in time order only what comes before the one and after the other.
// library: untraced_hidden.c untraced
// options: --engine rdit
// engine: rdit
// race: a b
// never: before after
#include "prog.h"
#include "untraced_hidden.h"

static struct hidden_flag *here, *there;
int x;
static int y;

THREAD(left)
{
    y = 1; // [before]
    hidden_meet(here, there);
    x = 1; // [a]
    return NULL;
}

THREAD(right)
{
    hidden_meet(there, here);
    x = 2;  // [b]
    USE(y); // [after]
    return NULL;
}

int main(void)
{
    here = hidden_flag_new();
    there = hidden_flag_new();
    run_two(left, right);
    return 0;
}
