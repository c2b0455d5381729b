/* check_then_act - both threads take what is free
 * harmful: SIGABRT.*Assertion */
#include <assert.h>
#include <pthread.h>
#include <unistd.h>

static volatile int taken;
static int owners;

static void take(void)
{
    if (taken)
        return;
    taken = 1;
    __atomic_fetch_add(&owners, 1, __ATOMIC_SEQ_CST);
}

static void *first(void *arg)
{
    take();
    return arg;
}

static void *second(void *arg)
{
    usleep(100000);
    take();
    return arg;
}

int main(void)
{
    pthread_t t[2];

    pthread_create(&t[0], NULL, first, NULL);
    pthread_create(&t[1], NULL, second, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    assert(owners == 1);
    return 0;
}
