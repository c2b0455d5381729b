/* fig5 - Figure 5 of the paper: the base of an access is read from shared memory
 *
 * Thread 2 dereferences what y holds. (f2, use) is a race: y = x2 was seen, x2->f = 5 comes.
 * Whoever lets the read of y see x1 must not go on believing that the access is to x2->f: (f1, use)
 * is no race, since x1->f is written before y = x1, and y = x1 is what makes thread 2 look there.
 * Before the first write y holds no object, and thread 2 does not look: this branch is not in the
 * paper.
 */
// find mc: y y?
// find mc: f2 use
// never: f1 use
// stdout: 5
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct object {
    int f;
};

static struct object *y;
static int w;

static void *thread_1(void *arg)
{
    struct object *x1 = calloc(1, sizeof *x1), *x2 = calloc(1, sizeof *x2);

    x1->f = 3; // [f1]
    y = x1;    // [y]
    y = x2;    // [y]
    x2->f = 5; // [f2]
    return arg;
}

static void *thread_2(void *arg)
{
    struct object *z = y; // [y?]

    if (z)
        w = z->f; // [use]
    return arg;
}

int main(void)
{
    pthread_t a, b;

    pthread_create(&a, NULL, thread_1, NULL);
    usleep(30000);
    pthread_create(&b, NULL, thread_2, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d\n", w);
    return 0;
}
