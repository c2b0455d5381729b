// Two locks are taken in opposite orders, each time under a third one.
// issue: https://github.com/google/sanitizers/issues/1419
// tool: ThreadSanitizer
// there: false alarm; lock-order-inversion although a third mutex is held
// verdict: no deadlock; the third mutex lets only one of the threads in
#include "prog.h"

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER, one = PTHREAD_MUTEX_INITIALIZER,
                       two = PTHREAD_MUTEX_INITIALIZER;
int x;

static void take(pthread_mutex_t *first, pthread_mutex_t *second)
{
    pthread_mutex_lock(&gate);
    pthread_mutex_lock(first);
    pthread_mutex_lock(second);
    x++;
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
    pthread_mutex_unlock(&gate);
}

THREAD(forth)
{
    take(&one, &two);
    return NULL;
}

THREAD(back)
{
    take(&two, &one);
    return NULL;
}

int main(void)
{
    run_two(forth, back);
    return x - 2;
}
