/* aborts - a state that must not be
 * harmful: SIGABRT in */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int state = 1;

static void *first(void *arg)
{
    state = 2;
    return arg;
}

static void *second(void *arg)
{
    usleep(100000);
    if (state != 2)
        abort();
    return arg;
}

int main(void)
{
    pthread_t t[2];

    pthread_create(&t[0], NULL, first, NULL);
    pthread_create(&t[1], NULL, second, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
