#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;

static void unlock(void *arg)
{
    pthread_mutex_unlock(arg);
}

static void *wait(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&m);
    pthread_cleanup_push(unlock, &m);
    for (;;)
        pthread_cond_wait(&c, &m);
    pthread_cleanup_pop(1);
    return NULL;
}

int main(void)
{
    pthread_t t;
    void *r;

    pthread_create(&t, NULL, wait, NULL);
    pthread_cancel(t);
    pthread_join(t, &r);
    pthread_mutex_lock(&m);
    return r != PTHREAD_CANCELED;
}
