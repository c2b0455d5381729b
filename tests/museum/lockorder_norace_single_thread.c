// One thread takes two locks in both orders; the other threads take one of them at a time.
// issue: https://github.com/google/sanitizers/issues/488
// tool: ThreadSanitizer
// there: false alarm; lock-order-inversion, even in a program with a single thread
// verdict: no deadlock; a thread cannot wait for itself here, and nobody else holds two locks
#include "prog.h"

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, two = PTHREAD_MUTEX_INITIALIZER;
int x;

THREAD(both)
{
    pthread_mutex_lock(&one);
    pthread_mutex_lock(&two);
    pthread_mutex_unlock(&one);
    pthread_mutex_lock(&one);
    x++;
    pthread_mutex_unlock(&one);
    pthread_mutex_unlock(&two);
    return NULL;
}

THREAD(just_one)
{
    pthread_mutex_lock(&one);
    x++;
    pthread_mutex_unlock(&one);
    return NULL;
}

int main(void)
{
    run_two(both, just_one);
    return 0;
}
