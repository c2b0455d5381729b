/* RECIPE, Figure 1: the else branch is not executed, and reads x
 * recipe-s: write then
 * recipe: write else
 */
#include "turn.h"
#include <pthread.h>

int x, y, z = 3, out;

static void *one(void *arg)
{
    y = 3;
    x = 1; /* write */
    y = 5;
    turn_end();
    return arg;
}

static void *two(void *arg)
{
    turn(1);
    if (y > z)
        out = 1 / (x + 1); /* then */
    else
        out = 2 / (x + 1); /* else */
    return arg;
}

int main(void)
{
    pthread_t a, b;

    x = 0;
    y = 0;
    z = 2;
    pthread_create(&a, 0, one, 0);
    pthread_create(&b, 0, two, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
