#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, l = PTHREAD_MUTEX_INITIALIZER;
static int a, b;

static void *t1(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&m);
    a++;
    if (a == 1)
        pthread_mutex_lock(&l);
    pthread_mutex_unlock(&m);
    pthread_mutex_lock(&m);
    a--;
    if (a == 0)
        pthread_mutex_unlock(&l);
    pthread_mutex_unlock(&m);
    return NULL;
}

static void *t2(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&m);
    b++;
    if (b == 1)
        pthread_mutex_lock(&l);
    pthread_mutex_unlock(&m);
    pthread_mutex_lock(&m);
    b--;
    if (b == 0)
        pthread_mutex_unlock(&l);
    pthread_mutex_unlock(&m);
    return NULL;
}

static void *t3(void *arg)
{
    (void)arg;

    return NULL;
}

int main(void)
{
    pthread_t t[3];

    pthread_create(&t[0], NULL, t1, NULL);
    pthread_create(&t[1], NULL, t2, NULL);
    pthread_create(&t[2], NULL, t3, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    return 0;
}
