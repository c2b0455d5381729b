// A handler in the thread itself is no other thread.
// flags: -O0
// flags: -O2
// gcc: also
#include "prog.h"
#include <signal.h>

int x;

static void handler(int number)
{
    x += number;
}

int main(void)
{
    signal(SIGUSR1, handler);
    x = 1;
    raise(SIGUSR1);
    x++;
    return x - 2 - SIGUSR1;
}
