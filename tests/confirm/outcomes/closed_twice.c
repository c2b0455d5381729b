/* closed_twice - a descriptor is closed by both
 * harmful: exit 10 */
#include <pthread.h>
#include <unistd.h>

static volatile int fd;
static int failed;

static void shut(void)
{
    int f = fd;
    if (f >= 0) {
        fd = -1;
        if (close(f) < 0)
            __atomic_store_n(&failed, 1, __ATOMIC_SEQ_CST);
    }
}

static void *first(void *arg)
{
    shut();
    return arg;
}

static void *second(void *arg)
{
    usleep(100000);
    shut();
    return arg;
}

int main(void)
{
    pthread_t t[2];

    fd = dup(0);
    pthread_create(&t[0], NULL, first, NULL);
    pthread_create(&t[1], NULL, second, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return failed ? 10 : 0;
}
