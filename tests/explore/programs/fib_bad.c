#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int i = 1, j = 1;
enum { N = 5 };

static void *t1(void *arg)
{
    (void)arg;
    for (int k = 0; k < N; k++)
        i += j;
    return NULL;
}

static void *t2(void *arg)
{
    (void)arg;
    for (int k = 0; k < N; k++)
        j += i;
    return NULL;
}

int main(void)
{
    pthread_t t[2];

    pthread_create(&t[0], NULL, t1, NULL);
    pthread_create(&t[1], NULL, t2, NULL);
    for (int k = 0; k < 2; k++)
        pthread_join(t[k], NULL);
    assert(i < 144 && j < 144);
    return 0;
}
