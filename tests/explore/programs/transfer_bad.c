#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int from = 100, to;

static void *transfer(void *arg)
{
    (void)arg;
    int v;
    pthread_mutex_lock(&m);
    v = from;
    pthread_mutex_unlock(&m);
    pthread_mutex_lock(&m);
    from = v - 10;
    to += 10;
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t t[2];

    pthread_create(&t[0], NULL, transfer, NULL);
    pthread_create(&t[1], NULL, transfer, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    assert(from + to == 100);
    return 0;
}
