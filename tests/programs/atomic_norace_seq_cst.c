// The default order, with operators; many rounds of ping-pong.
// gcc: also
#include "prog.h"
#include <stdatomic.h>

int data;
_Atomic int turn;

THREAD(play)
{
    int me = (int)(intptr_t)arg;
    for (int i = 0; i < 20; i++) {
        while (turn % 2 != me)
            sched_yield();
        data++;
        turn++;
    }
    return NULL;
}

int main(void)
{
    pthread_t a = start(play, (void *)0), b = start(play, (void *)1);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return data - 40;
}
