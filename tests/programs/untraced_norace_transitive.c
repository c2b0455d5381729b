// Two calls with nothing in common, and a third that passes on from one to the other (rdit.txt,
// Figure 3c, caveat 4).
// library: untraced_hidden.c untraced
#include "prog.h"
#include "untraced_hidden.h"

static struct hidden_flag *y, *z;
static int x;

THREAD(first)
{
    x = 1;
    hidden_set(y);
    return NULL;
}

THREAD(middle)
{
    hidden_pass_on(y, z);
    return NULL;
}

THREAD(last)
{
    hidden_await(z);
    x = 2;
    return NULL;
}

int main(void)
{
    y = hidden_flag_new();
    z = hidden_flag_new();
    pthread_t t = start(middle, NULL);
    run_two(first, last);
    pthread_join(t, NULL);
    return 0;
}
