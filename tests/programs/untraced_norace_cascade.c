// As untraced_norace_flag.c, with all engines: the cascade leaves out what calls may order.
// library: untraced_hidden.c untraced
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
