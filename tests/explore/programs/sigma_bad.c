#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { N = 6 };
static int array[N], next;

static void *fill(void *arg)
{
    (void)arg;
    array[next] = 1;
    return NULL;
}

int main(void)
{
    pthread_t t[N];
    int sum = 0;

    for (int i = 0; i < N; i++) {
        pthread_create(&t[i], NULL, fill, NULL);
        next = next + 1 < N ? next + 1 : next;
    }
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < N; i++)
        sum += array[i];
    assert(sum == N);
    return 0;
}
