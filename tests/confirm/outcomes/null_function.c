/* null_function - a callback is called before it is set
 * harmful: SIGSEGV */
#include <pthread.h>
#include <unistd.h>

static void hello(void)
{
}
static void (*volatile callback)(void);

static void *first(void *arg)
{
    callback = hello;
    return arg;
}

static void *second(void *arg)
{
    usleep(100000);
    callback();
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
