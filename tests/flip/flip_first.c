/* What variables hold before anybody writes them
 *
 * `own` is 0: only this file can name it. `first_outside` and what `first_place` leads to would be
 * 0 too, but a constructor that is not traced makes them 7 (turn.c). Only the record would show
 * that, and nobody reads them before they are written.
 *
 * recipe: w_own r_own
 * recipe: w_four r_four
 * never: w_outside r_outside
 * never: w_place r_place
 */
#include "turn.h"
#include <pthread.h>

static volatile int own, four[2] = { 3, 4 };
static volatile int place;
volatile int first_outside;
volatile int *first_place = &place;
static volatile int d_own, d_four, d_outside, d_place;

static void *writer(void *arg)
{
    own = 5;
    four[1] = 5;
    first_outside = 5;
    place = 5;
    d_own = 1;     /* w_own */
    d_four = 1;    /* w_four */
    d_outside = 1; /* w_outside */
    d_place = 1;   /* w_place */
    turn_end();
    return arg;
}

static void *reader(void *arg)
{
    turn(1);
    if (own == 0)
        d_own = 2; /* r_own */
    if (four[1] == 4)
        d_four = 2; /* r_four */
    if (first_outside == 0)
        d_outside = 2; /* r_outside */
    if (place == 0)
        d_place = 2; /* r_place */
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
