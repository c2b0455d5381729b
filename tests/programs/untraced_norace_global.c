// An untraced library's lock that nobody passes: the calls say so.
// library: untraced_hidden.c untraced
// options: --engine rdit
#include "prog.h"
#include "untraced_hidden.h"

#include <heddle.h>

static int x;

THREAD(work)
{
    HEDDLE_GLOBAL(&hidden_global);
    hidden_take_global();
    x++;
    HEDDLE_GLOBAL(&hidden_global);
    hidden_drop_global();
    return NULL;
}

int main(void)
{
    run_two(work, work);
    return x - 2;
}
