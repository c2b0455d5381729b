// Sending a cancel orders nothing by itself.
// race: a b
#include "prog.h"

int x;

THREAD(child)
{
    x = 1; // [a]
    for (;;)
        pause_ms(1);
    return NULL;
}

int main(void)
{
    pthread_t t = start(child, NULL);
    pause_ms(20);
    pthread_cancel(t);
    x = 2; // [b]
    pthread_join(t, NULL);
    return 0;
}
