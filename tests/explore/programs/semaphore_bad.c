#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <semaphore.h>
static sem_t slots;
static int using, most;

static void *user(void *arg)
{
    (void)arg;
    sem_wait(&slots);
    __atomic_fetch_add(&using, 1, __ATOMIC_SEQ_CST);
    assert(__atomic_load_n(&using, __ATOMIC_SEQ_CST) == 1);
    __atomic_fetch_sub(&using, 1, __ATOMIC_SEQ_CST);
    sem_post(&slots);
    return NULL;
}

int main(void)
{
    pthread_t t[2];

    sem_init(&slots, 0, 2); /* one was meant */
    pthread_create(&t[0], NULL, user, NULL);
    pthread_create(&t[1], NULL, user, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    (void)most;
    return 0;
}
