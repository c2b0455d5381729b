/* RECIPE, Figure 7: a pool of five threads, each entry counted in `alive`, under two different
 * locks
 *
 * Thread 1 finds the pool full, because thread 2 took the last two entries. Had it come between
 * them, it had started one child, and counted it (line "one") while thread 3 asks how many there
 * are (line "ask").
 * recipe: one ask
 * never: one guarded
 */
#include "turn.h"
#include <pthread.h>

enum { TOTAL = 5 };
volatile int alive;
pthread_mutex_t class_lock = PTHREAD_MUTEX_INITIALIZER, pool = PTHREAD_MUTEX_INITIALIZER;
struct sorter {
    pthread_mutex_t lock;
    pthread_t child;
} sorters[3] = { { PTHREAD_MUTEX_INITIALIZER, 0 },
                 { PTHREAD_MUTEX_INITIALIZER, 0 },
                 { PTHREAD_MUTEX_INITIALIZER, 0 } };

static int available(void)
{
    int n;

    pthread_mutex_lock(&class_lock);
    n = TOTAL - alive; /* ask */
    pthread_mutex_unlock(&class_lock);
    return n;
}

static void *child(void *arg)
{
    return arg;
}

static void *sort(void *arg)
{
    struct sorter *me = arg;
    int n;

    turn(2);
    n = available();
    if (n == 0) {
        ;
    } else if (n == 1) {
        pthread_create(&me->child, 0, child, me);
        pthread_mutex_lock(&me->lock);
        alive++; /* one */
        pthread_mutex_unlock(&me->lock);
    }
    turn_end();
    return 0;
}

static void *taker(void *arg)
{
    struct sorter *me = arg;

    pthread_mutex_lock(&me->lock);
    alive++;
    pthread_mutex_unlock(&me->lock);
    turn_end();
    pthread_mutex_lock(&me->lock);
    alive++;
    pthread_mutex_unlock(&me->lock);
    turn_end();
    return 0;
}

static void *asker(void *arg)
{
    turn(3);
    available();
    return arg;
}

int main(void)
{
    pthread_t t[3];
    int last;

    alive = 3;
    pthread_create(&t[0], 0, sort, &sorters[0]);
    pthread_create(&t[1], 0, taker, &sorters[1]);
    pthread_create(&t[2], 0, asker, &sorters[2]);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    last = alive; /* guarded */
    return last == 0;
}
