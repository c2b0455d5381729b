/* variant - the kind is tested, then it changes
 * harmful: SIGSEGV in first */
#include <pthread.h>
#include <unistd.h>

static struct {
    volatile int is_pointer;
    volatile long p;
} v;
static int number;
static volatile int got;

static void *first(void *arg)
{
    if (v.is_pointer)
        got = *(volatile int *)v.p;
    return arg;
}

static void *second(void *arg)
{
    usleep(100000);
    v.is_pointer = 0;
    v.p = 1;
    return arg;
}

int main(void)
{
    pthread_t t[2];

    v.p = (long)&number;
    v.is_pointer = 1;
    pthread_create(&t[0], NULL, first, NULL);
    pthread_create(&t[1], NULL, second, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
