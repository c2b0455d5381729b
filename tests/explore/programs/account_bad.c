#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* An account whose check is wrong once both have come. */
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int x = 1, y = 2, z = 4, balance = 1, deposited, withdrawn;

static void *deposit(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&m);
    balance = balance + y;
    deposited = 1;
    pthread_mutex_unlock(&m);
    return NULL;
}

static void *withdraw(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&m);
    balance = balance - z;
    withdrawn = 1;
    pthread_mutex_unlock(&m);
    return NULL;
}

static void *check(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&m);
    if (deposited && withdrawn)
        assert(balance == x - y + z);
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t t[3];

    pthread_create(&t[0], NULL, check, NULL);
    pthread_create(&t[1], NULL, deposit, NULL);
    pthread_create(&t[2], NULL, withdraw, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    return 0;
}
