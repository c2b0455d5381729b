// A cancelled thread runs its cleanup handlers, which give the lock back.
// gcc: also
#include "prog.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t never = PTHREAD_COND_INITIALIZER;
int x, waiting;

static void cleanup(void *arg)
{
    x++;
    pthread_mutex_unlock(arg);
}

THREAD(child)
{
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(cleanup, &lock);
    waiting = 1;
    for (;;)
        pthread_cond_wait(&never, &lock);
    pthread_cleanup_pop(1);
    return NULL;
}

int main(void)
{
    pthread_t t = start(child, NULL);
    for (int w = 0; !w; pause_ms(1)) {
        pthread_mutex_lock(&lock);
        w = waiting;
        pthread_mutex_unlock(&lock);
    }
    pthread_cancel(t);
    pthread_mutex_lock(&lock);
    x++;
    pthread_mutex_unlock(&lock);
    void *result;
    pthread_join(t, &result);
    return result != PTHREAD_CANCELED || x != 2;
}
