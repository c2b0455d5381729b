// The sender goes on writing after it has signalled.
// race: a b
// gcc: also
#include "prog.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
int data, ready;

THREAD(sender)
{
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&lock);
    data = 1; // [a]
    return NULL;
}

THREAD(receiver)
{
    pthread_mutex_lock(&lock);
    while (!ready)
        pthread_cond_wait(&cond, &lock);
    pthread_mutex_unlock(&lock);
    USE(data); // [b]
    return NULL;
}

int main(void)
{
    run_two(receiver, sender);
    return 0;
}
