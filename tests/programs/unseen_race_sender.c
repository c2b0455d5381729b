// Written by a system call that nobody sees, read by one that is seen. Not in the right place.
// library: untraced_state.c untraced
// full: also
// race: a b
#include "prog.h"
#include "untraced_state.h"

static int x;
static int fd[2];

THREAD(first)
{
    state_send(fd[1]);
    x = 1; // [a]
    return NULL;
}

THREAD(second)
{
    char c;
    USE(read(fd[0], &c, 1));
    x = 2; // [b]
    return NULL;
}

int main(void)
{
    state_pipe(fd);
    run_two(first, second);
    USE(x);
    return 0;
}
