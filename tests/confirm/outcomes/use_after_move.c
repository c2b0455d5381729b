/* use_after_move - a vector grows while it is read
 * harmful: SIGABRT.*Assertion|SIGSEGV */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static long *volatile vector;
static volatile long sum;

static void *first(void *arg)
{
    long *v = vector;
    sum = v[0];
    assert(v[0] == 5 && v[1] == 6);
    return arg;
}

static void *second(void *arg)
{
    usleep(100000);
    long *old = vector;
    vector = malloc(4096);
    vector[0] = 5;
    vector[1] = 6;
    free(old);
    return arg;
}

int main(void)
{
    pthread_t t[2];

    vector = malloc(24);
    vector[0] = 5;
    vector[1] = 6;
    pthread_create(&t[0], NULL, first, NULL);
    pthread_create(&t[1], NULL, second, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
