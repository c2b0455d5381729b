// Sending a cancel orders nothing by itself.
// race: a b
#include "prog.h"

int x, written;

THREAD(child)
{
    x = 1; // [a]
    tell(&written);
    for (;;)
        pause_ms(1);
    return NULL;
}

int main(void)
{
    pthread_t t = start(child, NULL);
    await(&written);
    pthread_cancel(t);
    x = 2; // [b]
    pthread_join(t, NULL);
    return 0;
}
