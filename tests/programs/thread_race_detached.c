// A detached thread is never joined: sleeping until it is done is no order.
// race: a b
// gcc: also
#include "prog.h"

int x;

THREAD(child)
{
    pthread_detach(pthread_self());
    x = 1; // [a]
    return NULL;
}

int main(void)
{
    start(child, NULL);
    pause_ms(30);
    x = 2; // [b]
    return 0;
}
