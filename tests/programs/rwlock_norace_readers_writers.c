// Readers read side by side, writers alone; all ways to take the lock.
// gcc: also
#include "prog.h"

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
int x;

THREAD(reads)
{
    for (int i = 0; i < 30; i++) {
        if (pthread_rwlock_tryrdlock(&lock))
            pthread_rwlock_rdlock(&lock);
        USE(x);
        pthread_rwlock_unlock(&lock);
    }
    return NULL;
}

THREAD(writes)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += 10;
    for (int i = 0; i < 30; i++) {
        if (pthread_rwlock_trywrlock(&lock) && pthread_rwlock_timedwrlock(&lock, &t))
            abort();
        x++;
        pthread_rwlock_unlock(&lock);
    }
    return NULL;
}

int main(void)
{
    pthread_t a = start(reads, NULL), b = start(writes, NULL);
    run_two(reads, writes);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return x - 60;
}
