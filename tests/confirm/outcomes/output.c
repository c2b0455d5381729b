/* output - only what is printed differs
 * harmful: exit 0 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static volatile int level = 1;

static void *worker(void *arg)
{
    level = 2;
    return arg;
}

int main(void)
{
    pthread_t t;

    pthread_create(&t, NULL, worker, NULL);
    usleep(100000);
    int l = level;
    pthread_join(t, NULL);
    printf("level %d\n", l);
    return 0;
}
