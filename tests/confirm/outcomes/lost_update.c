/* lost_update - two increments, one is lost
 * harmful: SIGABRT.*Assertion */
#include <assert.h>
#include <pthread.h>
#include <unistd.h>

static int count;

static void *first(void *arg)
{
    count++;
    return arg;
}

static void *second(void *arg)
{
    usleep(100000);
    count++;
    return arg;
}

int main(void)
{
    pthread_t t[2];

    pthread_create(&t[0], NULL, first, NULL);
    pthread_create(&t[1], NULL, second, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    assert(count == 2);
    return 0;
}
