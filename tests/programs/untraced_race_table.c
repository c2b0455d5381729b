// Things of an untraced library lead to one table of functions. Nobody can write to it: no order.
// library: untraced_hidden.c untraced
// options: --engine rdit
// engine: rdit
// race: first second
#include "prog.h"
#include "untraced_hidden.h"

#include <unistd.h>

static struct hidden_thing *one, *other;
int x;

THREAD(early)
{
    x = 1; // [first]
    hidden_use(one);
    return NULL;
}

THREAD(late)
{
    usleep(50000); /* the other one is first, most likely */
    hidden_use(other);
    x = 2; // [second]
    return NULL;
}

int main(void)
{
    one = hidden_thing_new(20);
    other = hidden_thing_new(21);
    run_two(early, late);
    return 0;
}
