/* Where accesses of a branch that was not executed can be: behind a switch, in a function, behind
 * a nested branch, in a loop, in fresh memory's shadow, behind the join point
 *
 * recipe: w_case r_case
 * recipe: w_call r_call
 * recipe: w_nested r_nested
 * recipe: w_loop r_loop
 * recipe: w_shared r_heap
 * recipe: w_behind r_behind
 * never: w_locked r_locked
 * never: w_dead r_dead
 * never: w_after r_after
 * never: w_other r_other
 */
#include "turn.h"
#include <pthread.h>
#include <stdlib.h>

volatile int mode, depth, v_case, v_call, v_nested, v_loop, v_heap, v_behind, v_locked, v_dead,
    v_after;
volatile int table[8], v_other[2];
volatile int out;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void function(int n)
{
    out += v_call + n; /* r_call */
}

static void nested(int m)
{
    if (m == 2) {
        if (depth == 1)
            out = v_nested; /* r_nested */
        if (depth == 7)
            out = v_dead; /* r_dead */
    }
}

static void loops(int m)
{
    if (m != 0)
        for (int i = 0; i < 3; i++)
            out += v_loop; /* r_loop */
}

static void locks(int m)
{
    if (m == 3) {
        pthread_mutex_lock(&lock);
        out = v_locked; /* r_locked */
        pthread_mutex_unlock(&lock);
    }
}

static void heap(int m)
{
    if (m == 1) {
        int *p = malloc(2 * sizeof(*p));

        p[0] = v_heap; /* r_heap */
        out = p[0];
    }
}

static void behind(int m)
{
    int i = 0;

    if (m == 1)
        i = 3;
    table[i] = 1; /* r_behind */
    if (m == 2)
        v_other[0] = 1; /* r_other */
}

static void *reader(void *arg)
{
    int m;

    turn(1);
    m = mode;
    switch (m) {
    case 1:
        out = v_case; /* r_case */
        break;
    case 2:
        function(m);
        break;
    }
    loops(m);
    nested(m);
    locks(m);
    heap(m);
    behind(m);
    return arg;
}

static void *writer(void *arg)
{
    depth = 1;
    mode = 1;
    mode = 2;
    mode = 3;
    mode = 0;
    v_case = 1;     /* w_case */
    v_call = 1;     /* w_call */
    v_nested = 1;   /* w_nested */
    v_loop = 1;     /* w_loop */
    v_heap = 1;     /* w_shared */
    v_dead = 1;     /* w_dead */
    table[3] = 1;   /* w_behind */
    v_other[1] = 1; /* w_other */
    pthread_mutex_lock(&lock);
    v_locked = 1; /* w_locked */
    pthread_mutex_unlock(&lock);
    turn_end();
    return arg;
}

int main(void)
{
    pthread_t a, b;

    mode = 0;
    depth = 0;
    out = 0;
    pthread_create(&a, 0, writer, 0);
    pthread_create(&b, 0, reader, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    v_after = 1;                /* w_after */
    return out + v_after == -1; /* r_after */
}
