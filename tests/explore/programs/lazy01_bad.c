#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int data;

static void *f1(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&m);
    data++;
    pthread_mutex_unlock(&m);
    return NULL;
}

static void *f2(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&m);
    data += 2;
    pthread_mutex_unlock(&m);
    return NULL;
}

static void *f3(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&m);
    if (data >= 3)
        abort();
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t t[3];

    pthread_create(&t[0], NULL, f3, NULL);
    pthread_create(&t[1], NULL, f1, NULL);
    pthread_create(&t[2], NULL, f2, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    return 0;
}
