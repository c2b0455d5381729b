// The flag is set before the data is complete.
// race: a b
#include "prog.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int data, ready;

THREAD(giver)
{
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_mutex_unlock(&lock);
    data = 1; // [a]
    return NULL;
}

THREAD(taker)
{
    for (int got = 0; !got;) {
        pthread_mutex_lock(&lock);
        got = ready;
        pthread_mutex_unlock(&lock);
        sched_yield();
    }
    data = 2; // [b]
    return NULL;
}

int main(void)
{
    run_two(giver, taker);
    return 0;
}
