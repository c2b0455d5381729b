// The second order is only taken once the first one is over: the thread waits for a flag.
// gcc: also
#include "prog.h"

pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
int done, x;

THREAD(first)
{
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b);
    x++;
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
    tell(&done);
    return NULL;
}

THREAD(second)
{
    await(&done);
    pthread_mutex_lock(&b);
    pthread_mutex_lock(&a);
    x++;
    pthread_mutex_unlock(&a);
    pthread_mutex_unlock(&b);
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return x - 2;
}
