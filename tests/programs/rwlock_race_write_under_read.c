// Both hold the lock, but only for reading.
// race: a a
// gcc: also
#include "prog.h"

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
int x;

THREAD(work)
{
    pthread_rwlock_rdlock(&lock);
    x++; // [a]
    pthread_rwlock_unlock(&lock);
    return NULL;
}

int main(void)
{
    run_two(work, work);
    return 0;
}
