// An untraced library's lock that nobody passes: a file says so.
// library: untraced_hidden.c untraced
// options: --engine rdit --globals={here}/untraced_globals.txt
#include "prog.h"
#include "untraced_hidden.h"

static int x;

THREAD(work)
{
    hidden_take_global();
    x++;
    hidden_drop_global();
    return NULL;
}

int main(void)
{
    run_two(work, work);
    return x - 2;
}
