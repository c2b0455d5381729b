/* What depends on the rest of the thread that took another way does not happen
 *
 * The thread that could write behind its branch creates a thread, signals a semaphore and is
 * joined, all behind the branch: what comes after these is ordered.
 *
 * recipe: write before
 * never: write forked
 * never: write joined
 * never: write waited
 * never: same seen
 */
#include "turn.h"
#include <pthread.h>
#include <semaphore.h>

volatile int flag, data, twice;
sem_t ready;

static void *late(void *arg)
{
    data += 1; /* forked */
    return arg;
}

static void *branching(void *arg)
{
    pthread_t t;

    turn(1);
    if (flag == 1) {
        data = 5; /* write */
        if (flag == 9)
            twice = 1; /* same */
    }
    pthread_create(&t, 0, late, 0);
    sem_post(&ready);
    pthread_join(t, 0);
    return arg;
}

static void *other(void *arg)
{
    flag = 1;
    data = 1; /* before */
    flag = 0;
    twice = 2; /* seen */
    turn_end();
    sem_wait(&ready);
    data = 2; /* waited */
    return arg;
}

int main(void)
{
    pthread_t a, b;
    int last;

    sem_init(&ready, 0, 0);
    flag = 0;
    pthread_create(&a, 0, branching, 0);
    pthread_create(&b, 0, other, 0);
    pthread_join(a, 0);
    last = data; /* joined */
    pthread_join(b, 0);
    return last < 0;
}
