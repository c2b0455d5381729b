// Two reader-writer locks: one thread reads both, the other holds the second to read, the first
// to write.
// issue: https://github.com/google/sanitizers/issues/1862
// tool: ThreadSanitizer
// there: false alarm; lock-order-inversion of two shared mutexes
// verdict: no deadlock; nobody ever asks for the second lock exclusively, so no reader of it waits
#include "prog.h"

static pthread_rwlock_t m0 = PTHREAD_RWLOCK_INITIALIZER, m1 = PTHREAD_RWLOCK_INITIALIZER;
int x, y;

THREAD(reads)
{
    pthread_rwlock_rdlock(&m0);
    pthread_rwlock_rdlock(&m1);
    USE(x + y);
    pthread_rwlock_unlock(&m1);
    pthread_rwlock_unlock(&m0);
    return NULL;
}

THREAD(writes)
{
    pthread_rwlock_rdlock(&m1);
    pthread_rwlock_wrlock(&m0);
    x++;
    USE(y);
    pthread_rwlock_unlock(&m0);
    pthread_rwlock_unlock(&m1);
    return NULL;
}

int main(void)
{
    run_two(reads, writes);
    return 0;
}
