// System calls by an instruction.
// library: untraced_state.c untraced
// full: also
#include "prog.h"
#include "untraced_state.h"

static int x;
static int fd[2];

THREAD(first)
{
    x = 1;
    state_send_inline(fd[1]);
    return NULL;
}

THREAD(second)
{
    state_receive_inline(fd[0]);
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
