#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
enum { THREADS = 2, BLOCKS = 3 };
static int written[THREADS], total, stopping, saved_total, saved[THREADS];

static void *download(void *arg)
{
    long i = (long)arg;

    for (int k = 0; k < BLOCKS && !stopping; k++) {
        written[i]++;
        pthread_mutex_lock(&m);
        total++;
        pthread_mutex_unlock(&m);
    }
    return NULL;
}

static void *on_signal(void *arg)
{
    (void)arg;
    stopping = 1;
    saved_total = total; /* the counters may be ahead of it */
    for (int i = 0; i < THREADS; i++)
        saved[i] = written[i];
    assert(saved[0] + saved[1] == saved_total);
    return NULL;
}

int main(void)
{
    pthread_t t[THREADS], s;

    for (long i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, download, (void *)i);
    pthread_create(&s, NULL, on_signal, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    pthread_join(s, NULL);
    return 0;
}
