/* bad_index - an index that is not valid yet
 * harmful: SIGSEGV in second */
#include <pthread.h>
#include <unistd.h>

static volatile long at = 1L << 40;
static volatile int table[8], got;

static void *first(void *arg)
{
    at = 3;
    return arg;
}

static void *second(void *arg)
{
    usleep(100000);
    got = table[at];
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
