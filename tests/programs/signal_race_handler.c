// A handler that interrupts main writes what another thread writes.
// race: a b
// gcc: also
#include "prog.h"
#include <signal.h>

int x;

static void handler(int number)
{
    x = number; // [a]
}

THREAD(child)
{
    x = 1; // [b]
    return NULL;
}

int main(void)
{
    signal(SIGUSR1, handler);
    pthread_t t = start(child, NULL);
    raise(SIGUSR1);
    pthread_join(t, NULL);
    return 0;
}
