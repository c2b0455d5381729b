/* What variables hold first is not known where their own file has code that is not traced
 *
 * The constructor makes `own` 7 before main, and no event shows it.
 *
 * never: w_own r_own
 */
#include "turn.h"
#include <pthread.h>

static volatile int own, data;

__attribute__((constructor, disable_sanitizer_instrumentation)) static void before_all(void)
{
    own = 7;
}

static void *writer(void *arg)
{
    own = 5;
    data = 1; /* w_own */
    turn_end();
    return arg;
}

static void *reader(void *arg)
{
    turn(1);
    if (own == 0)
        data = 2; /* r_own */
    return arg;
}

int main(void)
{
    pthread_t a, b;

    pthread_create(&a, 0, writer, 0);
    pthread_create(&b, 0, reader, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
