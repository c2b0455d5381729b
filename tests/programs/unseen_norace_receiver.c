// Written by a system call that is seen, read by one that nobody sees.
// library: untraced_state.c untraced
// full: also
#include "prog.h"
#include "untraced_state.h"

static int x;
static int fd[2];

THREAD(first)
{
    x = 1;
    USE(write(fd[1], "abcdefgh", 8));
    return NULL;
}

THREAD(second)
{
    state_receive(fd[0]);
    x = 2;
    return NULL;
}

int main(void)
{
    state_pipe(fd);
    run_two(first, second);
    USE(x);
    return 0;
}
