// The main thread takes two locks in one order before there are threads; they use the other.
// issue: https://github.com/google/sanitizers/issues/814
//   https://github.com/pmem/issues/issues/756
// tool: ThreadSanitizer
// there: false alarm; a cycle of locks that no two threads can close
// verdict: no deadlock; creating the threads orders the first use before all others
#include "prog.h"

static pthread_mutex_t pool = PTHREAD_MUTEX_INITIALIZER, base = PTHREAD_MUTEX_INITIALIZER;
int x;

static void take(pthread_mutex_t *first, pthread_mutex_t *second)
{
    pthread_mutex_lock(first);
    pthread_mutex_lock(second);
    x++;
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
}

THREAD(worker)
{
    take(&base, &pool);
    return NULL;
}

int main(void)
{
    take(&pool, &base);
    run_two(worker, worker);
    return x - 3;
}
