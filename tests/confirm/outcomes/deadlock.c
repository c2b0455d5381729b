/* deadlock - the order of two locks depends on a flag
 * harmful: did not end */
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static volatile int set;

static void *first(void *arg)
{
    set = 1;
    pthread_mutex_lock(&a);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&b);
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
    return arg;
}

static void *second(void *arg)
{
    usleep(100000);
    int reverse = !set;
    if (reverse)
        pthread_mutex_lock(&b);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&a);
    pthread_mutex_unlock(&a);
    if (reverse)
        pthread_mutex_unlock(&b);
    return arg;
}

int main(void)
{
    pthread_t t[2];

    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&t[0], NULL, first, NULL);
    pthread_create(&t[1], NULL, second, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
