#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdatomic.h>
/* published before it is complete */
static int payload;
static atomic_int ready;

static void *sender(void *arg)
{
    (void)arg;
    atomic_store(&ready, 1);
    payload = 5;
    return NULL;
}

static void *receiver(void *arg)
{
    (void)arg;
    while (!atomic_load(&ready))
        ;
    assert(payload == 5);
    return NULL;
}

int main(void)
{
    pthread_t t[2];

    pthread_create(&t[0], NULL, receiver, NULL);
    pthread_create(&t[1], NULL, sender, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    return 0;
}
