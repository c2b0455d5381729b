#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct queue {
    pthread_mutex_t *mutex;
    int done;
};
static struct queue *fifo;

static void *consumer(void *arg)
{
    (void)arg;
    struct queue *q = fifo;
    if (!q)
        return NULL;
    pthread_mutex_lock(q->mutex);
    q->done++;
    pthread_mutex_unlock(q->mutex);
    assert(q->mutex);
    pthread_mutex_lock(q->mutex);
    pthread_mutex_unlock(q->mutex);
    return NULL;
}

int main(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_t t;
    int done;

    fifo = calloc(1, sizeof(*fifo));
    fifo->mutex = &lock;
    pthread_create(&t, NULL, consumer, NULL);
    do {
        pthread_mutex_lock(&lock);
        done = fifo->done;
        pthread_mutex_unlock(&lock);
    } while (!done);
    fifo->mutex = NULL; /* the consumer has not ended yet */
    pthread_join(t, NULL);
    return 0;
}
