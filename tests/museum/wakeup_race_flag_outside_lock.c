// A flag is set outside of the mutex under which another thread checks it before it waits.
// issue: https://github.com/rr-debugger/rr/issues/2189
// tool: rr
// there: miss; waiting for ever for a condition variable: thousands of recordings without it
// verdict: race; the flag is written without the mutex
// race: set check
#include "prog.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
int flag, set_it;

THREAD(sets)
{
    flag = 1; // [set]
    tell(&set_it);
    pthread_cond_signal(&cond);
    return NULL;
}

THREAD(waits)
{
    await(&set_it);
    pthread_mutex_lock(&lock);
    while (!flag) // [check]
        pthread_cond_wait(&cond, &lock);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void)
{
    run_two(sets, waits);
    return 0;
}
