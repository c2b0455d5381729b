#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int x1 = 1, x2 = 1, x3 = 1, done1, done2, done3;

static void *t1(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&m);
    x1 = (x3 + 1) % 4;
    done1 = 1;
    pthread_mutex_unlock(&m);
    return NULL;
}

static void *t2(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&m);
    x2 = x1;
    done2 = 1;
    pthread_mutex_unlock(&m);
    return NULL;
}

static void *t3(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&m);
    x3 = x2;
    done3 = 1;
    pthread_mutex_unlock(&m);
    return NULL;
}

static void *check(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&m);
    if (done1 && done2 && done3)
        assert(x1 == x2 && x2 == x3);
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t t[4];

    pthread_create(&t[0], NULL, t1, NULL);
    pthread_create(&t[1], NULL, t2, NULL);
    pthread_create(&t[2], NULL, t3, NULL);
    pthread_create(&t[3], NULL, check, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    return 0;
}
