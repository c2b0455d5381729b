// A flag under a lock passes the ownership of unlocked data.
// gcc: also
#include "prog.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int data, ready;

THREAD(giver)
{
    data = 1;
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_mutex_unlock(&lock);
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
    data = 2;
    return NULL;
}

int main(void)
{
    run_two(giver, taker);
    return data - 2;
}
