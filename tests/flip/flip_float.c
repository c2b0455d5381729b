/* Conditions on floating-point numbers are computed
 * recipe: light a
 * recipe: cold b
 * recipe: few c
 * recipe-s: same d
 * recipe: rounded e
 * never: impossible f
 * never: between g
 */
#include "turn.h"
#include <pthread.h>

static double load = 0.25;
static float heat = 20.0f;
static int count;
static unsigned long big = 1;
static volatile int x1, x2, x3, x4, x5, x6, x7;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *reader(void *arg)
{
    double l;
    float h;
    int c;
    unsigned long b;

    turn(1);
    pthread_mutex_lock(&lock);
    l = load;
    h = heat;
    c = count;
    b = big;
    pthread_mutex_unlock(&lock);
    if (h < 100)
        x4 = 1; /* same */
    if (l * 2 < 0.75)
        x1 = 1; /* light */
    if (h * 1.8f + 32 < 70)
        x2 = 1; /* cold */
    if ((double)c / 2 < 1.0)
        x3 = 1; /* few */
    if ((int)(l * 10) == 2)
        x5 = 1; /* rounded */
    if (l < 0)
        x6 = 1; /* impossible */
    if ((float)b > 1.5f && (float)b < 6.5f && h > 21)
        x7 = 1; /* between */
    return arg;
}

static void *writer(void *arg)
{
    x1 = 2; /* a */
    x2 = 2; /* b */
    x3 = 2; /* c */
    x4 = 2; /* d */
    x5 = 2; /* e */
    x6 = 2; /* f */
    pthread_mutex_lock(&lock);
    load = load * 2 + 0.5;
    heat += 5.5f;
    count = 7;
    big = 1ul << 40;
    pthread_mutex_unlock(&lock);
    x7 = 2; /* g */
    turn_end();
    return arg;
}

int main(void)
{
    pthread_t t[2];

    pthread_create(&t[0], 0, reader, 0);
    pthread_create(&t[1], 0, writer, 0);
    pthread_join(t[0], 0);
    pthread_join(t[1], 0);
    return 0;
}
