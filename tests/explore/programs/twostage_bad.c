#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static pthread_mutex_t m1 = PTHREAD_MUTEX_INITIALIZER, m2 = PTHREAD_MUTEX_INITIALIZER;
static int data1, data2;

static void *writer(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&m1);
    data1 = 1;
    pthread_mutex_unlock(&m1);
    pthread_mutex_lock(&m2);
    data2 = data1 + 1;
    pthread_mutex_unlock(&m2);
    return NULL;
}

static void *reader(void *arg)
{
    (void)arg;
    int t1, t2;
    pthread_mutex_lock(&m1);
    t1 = data1;
    pthread_mutex_unlock(&m1);
    if (t1 == 0)
        return NULL;
    pthread_mutex_lock(&m2);
    t2 = data2;
    pthread_mutex_unlock(&m2);
    assert(t2 == t1 + 1);
    return NULL;
}

int main(void)
{
    pthread_t t[2];

    pthread_create(&t[0], NULL, writer, NULL);
    pthread_create(&t[1], NULL, reader, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    return 0;
}
