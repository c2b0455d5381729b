// An untraced library hands over by a flag behind a pointer in the object that it gets.
// library: untraced_hidden.c untraced
// options: --engine rdit
// flags: -O1
// flags: -O0
#include "prog.h"
#include "untraced_hidden.h"

static struct hidden_flag *flag;
static int x;

THREAD(giver)
{
    x = 1;
    hidden_set(flag);
    return NULL;
}

THREAD(taker)
{
    hidden_await(flag);
    x++;
    return NULL;
}

int main(void)
{
    flag = hidden_flag_new();
    run_two(giver, taker);
    return x - 2;
}
