#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static int counter;

static void *add(void *arg)
{
    (void)arg;
    int v;
    pthread_rwlock_rdlock(&l);
    v = counter;
    pthread_rwlock_unlock(&l);
    pthread_rwlock_wrlock(&l);
    counter = v + 1;
    pthread_rwlock_unlock(&l);
    return NULL;
}

int main(void)
{
    pthread_t t[2];

    pthread_create(&t[0], NULL, add, NULL);
    pthread_create(&t[1], NULL, add, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    assert(counter == 2);
    return 0;
}
