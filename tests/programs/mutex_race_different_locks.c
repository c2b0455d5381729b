// Each thread holds a lock, but not the same one.
// race: a b
// gcc: also
#include "prog.h"

pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, two = PTHREAD_MUTEX_INITIALIZER;
int x;

THREAD(first)
{
    pthread_mutex_lock(&one);
    x++; // [a]
    pthread_mutex_unlock(&one);
    return NULL;
}

THREAD(second)
{
    pthread_mutex_lock(&two);
    x++; // [b]
    pthread_mutex_unlock(&two);
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
