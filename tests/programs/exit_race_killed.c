// The program kills itself with SIGKILL: the trace survives.
// race: a b
#include "prog.h"
#include <signal.h>

int x;

THREAD(child)
{
    x = 1; // [a]
    return NULL;
}

int main(void)
{
    pthread_t t = start(child, NULL);
    x = 2; // [b]
    pthread_join(t, NULL);
    kill(getpid(), SIGKILL);
    return 0;
}
