/* endless_loop - the request to stop is overwritten
 * harmful: did not end */
#include <pthread.h>
#include <unistd.h>

static volatile int stop;

static void *worker(void *arg)
{
    stop = 0;
    while (!stop)
        usleep(1000);
    return arg;
}

int main(void)
{
    pthread_t t;

    pthread_create(&t, NULL, worker, NULL);
    usleep(100000);
    stop = 1;
    pthread_join(t, NULL);
    return 0;
}
