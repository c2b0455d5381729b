// A failed tryjoin is no join.
// race: a b
#include "prog.h"

int x, tried;

THREAD(child)
{
    await(&tried);
    x = 1; // [a]
    return NULL;
}

int main(void)
{
    pthread_t t = start(child, NULL);
    if (pthread_tryjoin_np(t, NULL) == 0)
        return 1;
    tell(&tried);
    x = 2; // [b]
    pthread_join(t, NULL);
    return 0;
}
