// Both orders, but only ever inside a third lock.
// gcc: also
#include "prog.h"

pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
int x;

static void both(pthread_mutex_t *one, pthread_mutex_t *other)
{
    pthread_mutex_lock(&gate);
    pthread_mutex_lock(one);
    pthread_mutex_lock(other);
    x++;
    pthread_mutex_unlock(other);
    pthread_mutex_unlock(one);
    pthread_mutex_unlock(&gate);
}

THREAD(first)
{
    for (int i = 0; i < 20; i++)
        both(&a, &b);
    return NULL;
}

THREAD(second)
{
    for (int i = 0; i < 20; i++)
        both(&b, &a);
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return x - 40;
}
