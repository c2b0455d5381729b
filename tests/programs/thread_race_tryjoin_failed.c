// A failed tryjoin is no join.
// race: a b
#include "prog.h"

int x;

THREAD(child)
{
    pause_ms(30);
    x = 1; // [a]
    return NULL;
}

int main(void)
{
    pthread_t t = start(child, NULL);
    if (pthread_tryjoin_np(t, NULL) == 0)
        return 1;
    x = 2; // [b]
    pthread_join(t, NULL);
    return 0;
}
