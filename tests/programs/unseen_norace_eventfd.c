// An eventfd by system calls that nobody sees.
// library: untraced_state.c untraced
// full: also
#include "prog.h"
#include "untraced_state.h"

static int x;
static int fd;

THREAD(first)
{
    x = 1;
    state_send(fd);
    return NULL;
}

THREAD(second)
{
    state_receive(fd);
    x = 2;
    return NULL;
}

int main(void)
{
    fd = state_event();
    run_two(first, second);
    USE(x);
    return 0;
}
