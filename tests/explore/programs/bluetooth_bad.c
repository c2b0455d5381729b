#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int pending = 1, stopping, event, stopped;

static int enter(void)
{
    if (stopping)
        return -1;
    pthread_mutex_lock(&m);
    pending++;
    pthread_mutex_unlock(&m);
    return 0;
}

static void leave(void)
{
    int last;

    pthread_mutex_lock(&m);
    last = --pending == 0;
    pthread_mutex_unlock(&m);
    if (last)
        event = 1;
}

static void *worker(void *arg)
{
    (void)arg;
    if (enter() == 0)
        assert(!stopped);
    leave();
    return NULL;
}

static void *stop(void *arg)
{
    (void)arg;
    stopping = 1;
    leave();
    if (event)
        stopped = 1;
    return NULL;
}

int main(void)
{
    pthread_t t[2];

    pthread_create(&t[0], NULL, worker, NULL);
    pthread_create(&t[1], NULL, stop, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    return 0;
}
