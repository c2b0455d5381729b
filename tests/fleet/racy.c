/* racy.c - one race, on memory that escapes: racy [ROUNDS [SLEEP_MS]]; exits with 7 when given any
 *
 * Must be reported: the increment of `count` with itself in the other thread. Must never be: the
 * two accesses to `total`, which a lock protects.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct box {
    int count, other;
};
static struct box *shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int total;

static void *work(void *arg)
{
    int rounds = *(int *)arg;

    for (int i = 0; i < rounds; i++) {
        shared->count++; /* race */
        pthread_mutex_lock(&lock);
        total++; /* none */
        pthread_mutex_unlock(&lock);
        usleep(200);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 100;
    pthread_t t[2];

    if (argc > 2)
        usleep((useconds_t)atoi(argv[2]) * 1000);
    shared = calloc(1, sizeof(*shared));
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, work, &rounds);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    printf("total %d\n", total);
    return argc > 1 ? 7 : 0;
}
