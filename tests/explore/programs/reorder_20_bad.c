#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int a, b;

static void *set(void *arg)
{
    (void)arg;
    a = 1;
    b = -1;
    return NULL;
}

static void *check(void *arg)
{
    (void)arg;
    if (!((a == 0 && b == 0) || (a == 1 && b == -1)))
        abort();
    return NULL;
}

int main(void)
{
    pthread_t t[21];

    pthread_create(&t[0], NULL, set, NULL);
    pthread_create(&t[1], NULL, set, NULL);
    pthread_create(&t[2], NULL, set, NULL);
    pthread_create(&t[3], NULL, set, NULL);
    pthread_create(&t[4], NULL, set, NULL);
    pthread_create(&t[5], NULL, set, NULL);
    pthread_create(&t[6], NULL, set, NULL);
    pthread_create(&t[7], NULL, set, NULL);
    pthread_create(&t[8], NULL, set, NULL);
    pthread_create(&t[9], NULL, set, NULL);
    pthread_create(&t[10], NULL, set, NULL);
    pthread_create(&t[11], NULL, set, NULL);
    pthread_create(&t[12], NULL, set, NULL);
    pthread_create(&t[13], NULL, set, NULL);
    pthread_create(&t[14], NULL, set, NULL);
    pthread_create(&t[15], NULL, set, NULL);
    pthread_create(&t[16], NULL, set, NULL);
    pthread_create(&t[17], NULL, set, NULL);
    pthread_create(&t[18], NULL, set, NULL);
    pthread_create(&t[19], NULL, set, NULL);
    pthread_create(&t[20], NULL, check, NULL);
    for (int i = 0; i < 21; i++)
        pthread_join(t[i], NULL);
    return 0;
}
