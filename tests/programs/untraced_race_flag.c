// What comes after the hand-over is not handed over; the write before it is.
// library: untraced_hidden.c untraced
// options: --engine rdit
// engine: rdit
// race: late read
// never: early read
#include "prog.h"
#include "untraced_hidden.h"

static struct hidden_flag *flag;
int x;

THREAD(giver)
{
    x = 1; // [early]
    hidden_set(flag);
    x = 2; // [late]
    return NULL;
}

THREAD(taker)
{
    hidden_await(flag);
    USE(x); // [read]
    return NULL;
}

int main(void)
{
    flag = hidden_flag_new();
    run_two(giver, taker);
    return 0;
}
