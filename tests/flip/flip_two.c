/* Both accesses are in code that was not executed
 * recipe: first second
 * never: third fourth
 */
#include "turn.h"
#include <pthread.h>

volatile int a, b, data, more;

static void *one(void *arg)
{
    int v;

    turn(1);
    v = a;
    if (v == 1)
        data = 1; /* first */
    if (v == 9)
        more = 1; /* third */
    return arg;
}

static void *two(void *arg)
{
    int v;

    turn(1);
    v = b;
    if (v == 1)
        data = 2; /* second */
    if (v == 8)
        more = 2; /* fourth */
    return arg;
}

static void *setter(void *arg)
{
    a = 1;
    b = 1;
    a = 0;
    b = 0;
    turn_end();
    return arg;
}

int main(void)
{
    pthread_t t[3];

    data = more = 0;
    pthread_create(&t[0], 0, one, 0);
    pthread_create(&t[1], 0, two, 0);
    pthread_create(&t[2], 0, setter, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    return 0;
}
