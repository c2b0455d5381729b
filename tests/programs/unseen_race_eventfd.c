// An eventfd by system calls that nobody sees. Not in the right place.
// library: untraced_state.c untraced
// full: also
// race: a b
#include "prog.h"
#include "untraced_state.h"

static int x;
static int fd;

THREAD(first)
{
    state_send(fd);
    x = 1; // [a]
    return NULL;
}

THREAD(second)
{
    state_receive(fd);
    x = 2; // [b]
    return NULL;
}

int main(void)
{
    fd = state_event();
    run_two(first, second);
    USE(x);
    return 0;
}
