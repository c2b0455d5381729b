/* queue_slot - two entries in one slot
 * harmful: SIGABRT.*Assertion */
#include <assert.h>
#include <pthread.h>
#include <unistd.h>

static int queue[4];
static volatile int end;

static void put(int v)
{
    int at = end;
    queue[at] = v;
    end = at + 1;
}

static void *first(void *arg)
{
    put(1);
    return arg;
}

static void *second(void *arg)
{
    usleep(100000);
    put(2);
    return arg;
}

int main(void)
{
    pthread_t t[2];

    pthread_create(&t[0], NULL, first, NULL);
    pthread_create(&t[1], NULL, second, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    assert(queue[0] + queue[1] == 3);
    return 0;
}
