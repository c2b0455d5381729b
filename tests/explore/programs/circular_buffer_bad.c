#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
enum { SIZE = 4, COUNT = 6 };
static int buffer[SIZE], first, next, size, sent = 1, received;

static void put(int v)
{
    buffer[next] = v;
    next = (next + 1) % SIZE;
    size++;
}

static int take(void)
{
    int v = buffer[first];

    first = (first + 1) % SIZE;
    size--;
    return v;
}

static void *sender(void *arg)
{
    (void)arg;
    for (int i = 0; i < COUNT; i++) {
        pthread_mutex_lock(&m);
        if (sent) {
            put(i);
            sent = 0;
            received = 1;
        }
        pthread_mutex_unlock(&m);
    }
    return NULL;
}

static void *receiver(void *arg)
{
    (void)arg;
    for (int i = 0; i < COUNT; i++) {
        pthread_mutex_lock(&m);
        if (received) {
            assert(take() == i);
            received = 0;
            sent = 1;
        }
        pthread_mutex_unlock(&m);
    }
    return NULL;
}

int main(void)
{
    pthread_t t[2];

    pthread_create(&t[0], NULL, sender, NULL);
    pthread_create(&t[1], NULL, receiver, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    return 0;
}
