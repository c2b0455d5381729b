/* Locks are taken and given back behind the other outcome, and the way goes on
 * recipe: empty a
 * recipe: early b
 * never: inside c
 */
#include "turn.h"
#include <pthread.h>

static int queue[4], head, tail, stage;
static volatile int x1, x2, x3, got;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *consumer(void *arg)
{
    int v = -1, s;

    turn(1);
    pthread_mutex_lock(&lock);
    if (head < tail)
        v = queue[head++];
    else
        x3 = 1; /* inside */
    pthread_mutex_unlock(&lock);
    if (v < 0)
        x1 = 1; /* empty */
    else
        got = v;
    pthread_mutex_lock(&lock);
    s = stage;
    pthread_mutex_unlock(&lock);
    if (s < 2) {
        pthread_mutex_lock(&lock);
        s = stage;
        pthread_mutex_unlock(&lock);
        if (s == 0)
            x2 = 1; /* early */
    }
    return arg;
}

static void *producer(void *arg)
{
    x1 = 2; /* a */
    x2 = 2; /* b */
    pthread_mutex_lock(&lock);
    x3 = 2; /* c */
    queue[tail++] = 42;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    stage = 1;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    stage = 2;
    pthread_mutex_unlock(&lock);
    turn_end();
    return arg;
}

int main(void)
{
    pthread_t t[2];

    pthread_create(&t[0], 0, consumer, 0);
    pthread_create(&t[1], 0, producer, 0);
    pthread_join(t[0], 0);
    pthread_join(t[1], 0);
    return got - 42;
}
