// Waits for a thread's end by asking an untraced library whether it is alive.
// library: untraced_hidden.c untraced
// options: --engine rdit
#include "prog.h"
#include "untraced_hidden.h"

static int x;

THREAD(work)
{
    x = 1;
    return NULL;
}

int main(void)
{
    pthread_t t = start(work, NULL);
    while (hidden_is_alive(t))
        pause_ms(1);
    x++;
    pthread_join(t, NULL);
    return x - 2;
}
