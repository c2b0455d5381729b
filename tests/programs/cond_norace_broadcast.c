// Four waiters, one broadcast; all of them then read.
// gcc: also
#include "prog.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
int data, ready;

THREAD(waiter)
{
    pthread_mutex_lock(&lock);
    while (!ready)
        pthread_cond_wait(&cond, &lock);
    pthread_mutex_unlock(&lock);
    return (void *)(intptr_t)data;
}

int main(void)
{
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        t[i] = start(waiter, NULL);
    pause_ms(5);
    data = 1;
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_cond_broadcast(&cond);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    data = 2;
    return 0;
}
