// A detached thread is never joined: knowing that it is done is no order.
// race: a b
// gcc: also
#include "prog.h"

int x, written;

THREAD(child)
{
    pthread_detach(pthread_self());
    x = 1; // [a]
    tell(&written);
    return NULL;
}

int main(void)
{
    start(child, NULL);
    await(&written);
    x = 2; // [b]
    return 0;
}
