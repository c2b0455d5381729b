// The owner dies with the lock; the next one gets EOWNERDEAD and its data.
// gcc: also
// tsan: false alarm
#include "prog.h"

pthread_mutex_t lock;
int x, locked;

THREAD(dies)
{
    pthread_mutex_lock(&lock);
    x = 1;
    tell(&locked);
    return NULL;
}

THREAD(inherits)
{
    await(&locked);
    if (pthread_mutex_lock(&lock) == EOWNERDEAD)
        pthread_mutex_consistent(&lock);
    x++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void)
{
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&lock, &a);
    run_two(dies, inherits);
    return x - 2;
}
