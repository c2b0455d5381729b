/* torn_pair - two fields that belong together
 * harmful: exit 3 */
#include <pthread.h>
#include <unistd.h>

static volatile int low, high;
static int torn;

static void *first(void *arg)
{
    low = 5;
    high = 5;
    return arg;
}

static void *second(void *arg)
{
    usleep(100000);
    int a = low, b = high;
    torn = a != b;
    return arg;
}

int main(void)
{
    pthread_t t[2];

    pthread_create(&t[0], NULL, first, NULL);
    pthread_create(&t[1], NULL, second, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return torn ? 3 : 0;
}
