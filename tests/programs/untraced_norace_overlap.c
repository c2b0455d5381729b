// Calls that overlap in time: each waits for the other to begin (rdit.txt, Figure 3a, caveat 1).
// library: untraced_hidden.c untraced
#include "prog.h"
#include "untraced_hidden.h"

static struct hidden_flag *here, *there;
static int x, y;

THREAD(left)
{
    y = 1;
    hidden_meet(here, there);
    USE(x);
    return NULL;
}

THREAD(right)
{
    x = 1;
    hidden_meet(there, here);
    USE(y);
    return NULL;
}

int main(void)
{
    here = hidden_flag_new();
    there = hidden_flag_new();
    run_two(left, right);
    return 0;
}
