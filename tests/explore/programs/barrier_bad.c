#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static pthread_barrier_t b;
static int sum, part[3];

static void *run(void *arg)
{
    long me = (long)arg;

    part[me] = (int)me + 1;
    if (me != 2) /* one of three does not wait for the others */
        pthread_barrier_wait(&b);
    if (me == 2)
        sum = part[0] + part[1] + part[2];
    return NULL;
}

int main(void)
{
    pthread_t t[3];

    pthread_barrier_init(&b, NULL, 2);
    pthread_create(&t[0], NULL, run, (void *)2);
    pthread_create(&t[1], NULL, run, (void *)0);
    pthread_create(&t[2], NULL, run, (void *)1);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    assert(sum == 6);
    return 0;
}
