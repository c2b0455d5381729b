// System calls that order nothing.
// full: also
// race: a b
#include "prog.h"

#include <sys/syscall.h>

static int x;

THREAD(first)
{
    x = 1; // [a]
    syscall(SYS_gettid);
    return NULL;
}

THREAD(second)
{
    syscall(SYS_gettid);
    x = 2; // [b]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    USE(x);
    return 0;
}
