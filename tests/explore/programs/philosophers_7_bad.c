#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { N = 7 };
static pthread_mutex_t fork_of[N];
static int eaten;

static void *eat(void *arg)
{
    long i = (long)arg, l = i, r = (i + 1) % N;

    pthread_mutex_lock(&fork_of[l]);
    pthread_mutex_lock(&fork_of[r]);
    __atomic_fetch_add(&eaten, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&fork_of[r]);
    pthread_mutex_unlock(&fork_of[l]);
    return NULL;
}

int main(void)
{
    pthread_t t[N];

    for (int i = 0; i < N; i++)
        pthread_mutex_init(&fork_of[i], NULL);
    for (long i = 0; i < N; i++)
        pthread_create(&t[i], NULL, eat, (void *)i);
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    return eaten != N;
}
