/* same_number_twice - two threads get one number
 * harmful: SIGABRT.*Assertion */
#include <assert.h>
#include <pthread.h>
#include <unistd.h>

static int next, got[2];

static void *first(void *arg)
{
    got[0] = next++;
    return arg;
}

static void *second(void *arg)
{
    usleep(100000);
    got[1] = next++;
    return arg;
}

int main(void)
{
    pthread_t t[2];

    pthread_create(&t[0], NULL, first, NULL);
    pthread_create(&t[1], NULL, second, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    assert(got[0] != got[1]);
    return 0;
}
