// Two sections must be reversed to see the race (the demo's pattern): only predictors find it.
// predicted: a b
#include "prog.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int x, z;

THREAD(first)
{
    pthread_mutex_lock(&lock);
    x = 1; // [a]
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second)
{
    usleep(50000); /* nearly always behind the other one; the race is there in any order */
    pthread_mutex_lock(&lock);
    z = 1;
    pthread_mutex_unlock(&lock);
    x = 2; // [b]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
