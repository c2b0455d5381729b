// Detached threads that say goodbye under a lock.
#include "prog.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t gone = PTHREAD_COND_INITIALIZER;
int left = 4, x[4];

THREAD(child)
{
    pthread_detach(pthread_self());
    x[(intptr_t)arg] = 1;
    pthread_mutex_lock(&lock);
    if (--left == 0)
        pthread_cond_signal(&gone);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void)
{
    for (intptr_t i = 0; i < 4; i++)
        start(child, (void *)i);
    pthread_mutex_lock(&lock);
    while (left)
        pthread_cond_wait(&gone, &lock);
    pthread_mutex_unlock(&lock);
    return x[0] + x[1] + x[2] + x[3] - 4;
}
