/* null_before_set - used before it is set
 * harmful: SIGSEGV in second */
#include <pthread.h>
#include <unistd.h>

static int value = 3, *volatile where;
static volatile int got;

static void *first(void *arg)
{
    where = &value;
    return arg;
}

static void *second(void *arg)
{
    usleep(100000);
    got = *(volatile int *)where;
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
