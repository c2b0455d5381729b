// A future without a value, under a lock and a condition variable that are the library's.
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static int finished;

void future_finish(void);
void future_wait(void);

void future_finish(void)
{
    pthread_mutex_lock(&lock);
    finished = 1;
    pthread_cond_broadcast(&change);
    pthread_mutex_unlock(&lock);
}

void future_wait(void)
{
    pthread_mutex_lock(&lock);
    while (!finished)
        pthread_cond_wait(&change, &lock);
    pthread_mutex_unlock(&lock);
}
