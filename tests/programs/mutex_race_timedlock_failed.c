// Nor does a timed lock that timed out.
// race: a b
#include "prog.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int x;

THREAD(child)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (pthread_mutex_timedlock(&lock, &now) == ETIMEDOUT)
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
