#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static pthread_mutex_t m1 = PTHREAD_MUTEX_INITIALIZER, m2 = PTHREAD_MUTEX_INITIALIZER;
static int data;

static void *f1(void *arg)
{
    (void)arg;
    int x;
    pthread_mutex_lock(&m1);
    x = data;
    data++;
    assert(data == x + 1);
    pthread_mutex_unlock(&m1);
    return NULL;
}

static void *f2(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&m1);
    data++;
    pthread_mutex_unlock(&m1);
    return NULL;
}

int main(void)
{
    (void)m2;
    pthread_t t[4];

    pthread_create(&t[0], NULL, f1, NULL);
    pthread_create(&t[1], NULL, f2, NULL);
    pthread_create(&t[2], NULL, f2, NULL);
    pthread_create(&t[3], NULL, f2, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    return 0;
}
