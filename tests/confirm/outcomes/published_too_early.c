/* published_too_early - a pointer is there before what it points to
 * harmful: exit 4 */
#include <pthread.h>
#include <unistd.h>

struct item {
    volatile int key;
};
static struct item item;
static struct item *volatile shared;
static int got = 1;

static void *first(void *arg)
{
    shared = &item;
    item.key = 1;
    return arg;
}

static void *second(void *arg)
{
    usleep(100000);
    struct item *i = shared;
    if (i)
        got = i->key;
    return arg;
}

int main(void)
{
    pthread_t t[2];

    pthread_create(&t[0], NULL, first, NULL);
    pthread_create(&t[1], NULL, second, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return got == 1 ? 0 : 4;
}
