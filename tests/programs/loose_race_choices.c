// Choices that are values of the machine once the program is optimised.
// predicted: a_max b_max
// predicted: a_saturate b_saturate
// predicted: a_snapshot b_snapshot
// flags: -O1
// flags: -O2
#include "prog.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Nearly always behind the other thread; what is expected is right in any order. */
static void later(void)
{
    usleep(20000);
}

/* ---- the greatest so far ---- */

int x_max;
static unsigned greatest;
static volatile unsigned value = 7;

THREAD(first_max)
{
    x_max = 1; // [a_max]
    pthread_mutex_lock(&lock);
    unsigned v = value;
    greatest = v > greatest ? v : greatest;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_max)
{
    later();
    pthread_mutex_lock(&lock);
    unsigned v = value;
    greatest = v > greatest ? v : greatest;
    pthread_mutex_unlock(&lock);
    x_max = 2; // [b_max]
    return NULL;
}

/* ---- a counter that stops ---- */

int x_saturate;
static unsigned filled;

THREAD(first_saturate)
{
    x_saturate = 1; // [a_saturate]
    pthread_mutex_lock(&lock);
    filled += filled < 100;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_saturate)
{
    later();
    pthread_mutex_lock(&lock);
    filled += filled < 100;
    pthread_mutex_unlock(&lock);
    x_saturate = 2; // [b_saturate]
    return NULL;
}

/* ---- statistics copied ---- */

int x_snapshot;
static long total, copies[4];
static volatile int slot = 1;

THREAD(first_snapshot)
{
    x_snapshot = 1; // [a_snapshot]
    pthread_mutex_lock(&lock);
    copies[slot] = total;
    total += 5;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second_snapshot)
{
    later();
    pthread_mutex_lock(&lock);
    copies[slot] = total;
    total += 5;
    pthread_mutex_unlock(&lock);
    x_snapshot = 2; // [b_snapshot]
    return NULL;
}

int main(void)
{
    run_two(first_max, second_max);
    run_two(first_saturate, second_saturate);
    run_two(first_snapshot, second_snapshot);
    return 0;
}
