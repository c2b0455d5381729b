/* not_initialised - a divisor is read before it is set
 * harmful: SIGFPE in second */
#include <pthread.h>
#include <unistd.h>

static volatile int parts;
static volatile int each;

static void *first(void *arg)
{
    parts = 4;
    return arg;
}

static void *second(void *arg)
{
    usleep(100000);
    each = 100 / parts;
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
