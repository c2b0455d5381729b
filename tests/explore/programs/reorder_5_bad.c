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
    pthread_t t[6];

    pthread_create(&t[0], NULL, set, NULL);
    pthread_create(&t[1], NULL, set, NULL);
    pthread_create(&t[2], NULL, set, NULL);
    pthread_create(&t[3], NULL, set, NULL);
    pthread_create(&t[4], NULL, set, NULL);
    pthread_create(&t[5], NULL, check, NULL);
    for (int i = 0; i < 6; i++)
        pthread_join(t[i], NULL);
    return 0;
}
