// Asks an untraced library for the wrong thread.
// library: untraced_hidden.c untraced
// options: --engine rdit
// engine: rdit
// race: a b
#include "prog.h"
#include "untraced_hidden.h"

int x;

THREAD(work)
{
    x = 1; // [a]
    return NULL;
}

THREAD(other)
{
    return NULL;
}

int main(void)
{
    pthread_t t = start(work, NULL), u = start(other, NULL);
    while (hidden_is_alive(u))
        pause_ms(1);
    x = 2; // [b]
    pthread_join(t, NULL);
    pthread_join(u, NULL);
    return 0;
}
