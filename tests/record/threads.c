/* threads.c - many threads: `threads short N` one after the other (a few at a time),
 * `threads live N` all at once. Every thread adds to a counter under a lock, and one pair races:
 * the last two threads write `raced` without it.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all_here;
static long counter;
int raced;
static int live, total;

static void *work(void *arg)
{
    long me = (long)arg;

    if (live)
        pthread_barrier_wait(&all_here);
    pthread_mutex_lock(&lock);
    counter++;
    pthread_mutex_unlock(&lock);
    if (me >= total - 2)
        raced = (int)me; /* race: with itself */
    return NULL;
}

int main(int argc, char **argv)
{
    long i, j, batch;
    pthread_t *t;
    pthread_attr_t attr;

    if (argc < 3)
        return 2;
    live = !strcmp(argv[1], "live");
    total = atoi(argv[2]);
    batch = live ? total : 8;
    t = calloc((size_t)batch, sizeof(*t));
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 65536);
    if (live)
        pthread_barrier_init(&all_here, NULL, (unsigned)total);
    for (i = 0; i < total; i += batch) {
        for (j = 0; j < batch && i + j < total; j++)
            if (pthread_create(&t[j], &attr, work, (void *)(i + j)))
                return 3;
        for (j = 0; j < batch && i + j < total; j++)
            pthread_join(t[j], NULL);
    }
    printf("%ld\n", counter);
    free(t);
    return counter == total ? 0 : 1;
}
