#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int readers, writing, value;

static void *reader(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&m);
    while (writing)
        pthread_cond_wait(&c, &m);
    readers++;
    pthread_mutex_unlock(&m);
    assert(value % 2 == 0);
    pthread_mutex_lock(&m);
    readers--;
    pthread_cond_signal(&c); /* not broadcast: a writer and a reader may wait */
    pthread_mutex_unlock(&m);
    return NULL;
}

static void *writer(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&m);
    if (readers || writing)
        pthread_cond_wait(&c, &m);
    writing = 1;
    pthread_mutex_unlock(&m);
    value++;
    value++;
    pthread_mutex_lock(&m);
    writing = 0;
    pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t t[4];

    pthread_create(&t[0], NULL, reader, NULL);
    pthread_create(&t[1], NULL, writer, NULL);
    pthread_create(&t[2], NULL, reader, NULL);
    pthread_create(&t[3], NULL, writer, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    return 0;
}
