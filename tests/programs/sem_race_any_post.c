// The post of either thread lets the main thread on, so that the other may still write.
// predicted: a|b r
// full: also
// tsan: misses
#include "prog.h"
#include <semaphore.h>

sem_t done;
int x, y;

THREAD(first)
{
    x = 1; // [a]
    sem_post(&done);
    return NULL;
}

THREAD(second)
{
    y = 1; // [b]
    sem_post(&done);
    return NULL;
}

int main(void)
{
    pthread_t a, b;

    sem_init(&done, 0, 0);
    a = start(first, NULL), b = start(second, NULL);
    sem_wait(&done);
    USE(x + y); // [r]
    pthread_join(a, NULL), pthread_join(b, NULL);
    return 0;
}
