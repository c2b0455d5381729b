#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
enum { SIZE = 8 };
static int queue[SIZE], head, tail, amount, flag_put = 1, flag_take;

static void *producer(void *arg)
{
    (void)arg;
    for (int i = 0; i < SIZE; i++) {
        pthread_mutex_lock(&m);
        if (flag_put) {
            queue[tail++] = i;
            amount++;
            flag_put = 0;
            flag_take = 1;
        }
        pthread_mutex_unlock(&m);
    }
    return NULL;
}

static void *consumer(void *arg)
{
    (void)arg;
    for (int i = 0; i < SIZE; i++) {
        int v = i;
        pthread_mutex_lock(&m);
        if (flag_take) {
            v = queue[head++];
            amount--;
            flag_take = 0;
            flag_put = 1;
        }
        pthread_mutex_unlock(&m);
        assert(v == i);
    }
    return NULL;
}

int main(void)
{
    pthread_t t[2];

    pthread_create(&t[0], NULL, producer, NULL);
    pthread_create(&t[1], NULL, consumer, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    return 0;
}
