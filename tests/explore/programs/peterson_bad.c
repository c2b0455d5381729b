#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdatomic.h>
/* without a turn: both may wait for ever */
static atomic_int wants[2];
static int inside;

static void *run(void *arg)
{
    long me = (long)arg;

    atomic_store(&wants[me], 1);
    while (atomic_load(&wants[1 - me]))
        ;
    inside++;
    assert(inside == 1);
    inside--;
    atomic_store(&wants[me], 0);
    return NULL;
}

int main(void)
{
    pthread_t t[2];

    pthread_create(&t[0], NULL, run, (void *)0);
    pthread_create(&t[1], NULL, run, (void *)1);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    return 0;
}
