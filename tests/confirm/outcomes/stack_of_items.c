/* stack_of_items - two threads pop the same item
 * harmful: SIGABRT.*Assertion */
#include <assert.h>
#include <pthread.h>
#include <unistd.h>

static int items[2] = { 1, 2 }, got[2];
static volatile int top = 2;

static int pop(void)
{
    int at = top - 1;
    top = at;
    return items[at & 1];
}

static void *first(void *arg)
{
    got[0] = pop();
    return arg;
}

static void *second(void *arg)
{
    usleep(100000);
    got[1] = pop();
    return arg;
}

int main(void)
{
    pthread_t t[2];

    pthread_create(&t[0], NULL, first, NULL);
    pthread_create(&t[1], NULL, second, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    assert(got[0] != got[1]);
    return 0;
}
