// The signal comes before anybody waits: the flag under the lock carries the order.
#include "prog.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
int data, ready, signalled;

THREAD(sender)
{
    data = 1;
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&lock);
    tell(&signalled);
    return NULL;
}

THREAD(receiver)
{
    await(&signalled);
    pthread_mutex_lock(&lock);
    while (!ready)
        pthread_cond_wait(&cond, &lock);
    pthread_mutex_unlock(&lock);
    data = 2;
    return NULL;
}

int main(void)
{
    run_two(sender, receiver);
    return data - 2;
}
