// Data passed under a lock with a condition variable.
// flags: -O0
// flags: -O2
// gcc: also
#include "prog.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
int data, ready;

THREAD(sender)
{
    data = 42;
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_mutex_unlock(&lock);
    pthread_cond_signal(&cond);
    return NULL;
}

THREAD(receiver)
{
    pthread_mutex_lock(&lock);
    while (!ready)
        pthread_cond_wait(&cond, &lock);
    pthread_mutex_unlock(&lock);
    data++;
    return NULL;
}

int main(void)
{
    run_two(receiver, sender);
    return data - 43;
}
