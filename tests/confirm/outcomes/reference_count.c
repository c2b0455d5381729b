/* reference_count - one of two references is not given back
 * harmful: exit 6 */
#include <pthread.h>
#include <unistd.h>

static int refs = 2;

static void *first(void *arg)
{
    refs--;
    return arg;
}

static void *second(void *arg)
{
    usleep(100000);
    refs--;
    return arg;
}

int main(void)
{
    pthread_t t[2];

    pthread_create(&t[0], NULL, first, NULL);
    pthread_create(&t[1], NULL, second, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return refs ? 6 : 0;
}
