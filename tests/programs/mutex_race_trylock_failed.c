// A failed trylock gives nothing: main holds the lock all the time.
// race: a b
// gcc: also
#include "prog.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int x;

THREAD(child)
{
    if (pthread_mutex_trylock(&lock) == EBUSY)
        x = 1; // [a]
    return NULL;
}

int main(void)
{
    pthread_mutex_lock(&lock);
    pthread_t t = start(child, NULL);
    x = 2; // [b]
    pthread_join(t, NULL);
    pthread_mutex_unlock(&lock);
    return 0;
}
