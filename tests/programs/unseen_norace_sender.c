// Written by a system call that nobody sees, read by one that is seen.
// library: untraced_state.c untraced
// full: also
#include "prog.h"
#include "untraced_state.h"

static int x;
static int fd[2];

THREAD(first)
{
    x = 1;
    state_send(fd[1]);
    return NULL;
}

THREAD(second)
{
    char c;
    USE(read(fd[0], &c, 1));
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
