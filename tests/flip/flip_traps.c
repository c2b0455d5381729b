/* What would end the thread on the way is on no schedule: a division by zero, a branch of its own
 *
 * recipe: w_fine r_fine
 * never: w_trap r_trap
 * never: w_hash r_hash
 */
#include "turn.h"
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

volatile int mode, v_fine, v_trap, out;
volatile int table[64];

static void *reader(void *arg)
{
    int m;

    turn(1);
    m = mode;
    if (m == 2)
        out = v_fine; /* r_fine */
    if (m != 5) {     /* it is 5, 2 or 0 */
        out = 10 / m;
        if (m != 2)
            v_trap = 1; /* r_trap */
    }
    if (m == 2) {
        int *p = malloc(4);

        table[(uintptr_t)p / 64 % 64] = 1; /* r_hash */
    }
    return arg;
}

static void *writer(void *arg)
{
    mode = 0;
    mode = 2;
    v_fine = 1; /* w_fine */
    v_trap = 2; /* w_trap */
    for (int i = 0; i < 64; i++)
        table[i] = 2; /* w_hash */
    mode = 5;
    turn_end();
    return arg;
}

int main(void)
{
    pthread_t a, b;

    mode = 5;
    pthread_create(&a, 0, writer, 0);
    pthread_create(&b, 0, reader, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
