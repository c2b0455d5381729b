/* fig6 - Figure 6 of the paper: two looks at one variable of the bounded buffer (lines 291, 294,
 * 400)
 *
 * Observed 400, 291, 294. The branch at 291 holds before 400 as well as after it, so 294 does not
 * depend on 400: (400, 294) is a race that keeping the dependence 400 -> 291 hides.
 */
// find mc: 400 291
// find recipe-s: 400 294
// never: start 291
// never: start 294
// stdout: 2
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int num_elements;
static int seen;

static void *consumer(void *arg)
{
    if (num_elements > 0)    // [291]
        seen = num_elements; // [294]
    return arg;
}

static void *producer(void *arg)
{
    num_elements = 2; // [400]
    return arg;
}

int main(void)
{
    pthread_t a, b;

    num_elements = 1; // [start]
    pthread_create(&a, NULL, producer, NULL);
    usleep(30000);
    pthread_create(&b, NULL, consumer, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d\n", seen);
    return 0;
}
