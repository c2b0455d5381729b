// Two threads follow a protocol of steps under a condition variable; the locks cannot meet.
// issue: https://github.com/orlyatomics/orly/pull/195
// tool: ThreadSanitizer
// there: false alarm; lock-order-inversion in a test whose steps exclude it
// verdict: no deadlock; the second thread's locks come after step 1, which follows the first's
#include "prog.h"

static pthread_mutex_t steps = PTHREAD_MUTEX_INITIALIZER, mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t next = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t sync_lock = PTHREAD_RWLOCK_INITIALIZER;
int step, x;

static void go(int to)
{
    pthread_mutex_lock(&steps);
    step = to;
    pthread_cond_broadcast(&next);
    pthread_mutex_unlock(&steps);
}

static void wait_for(int which)
{
    pthread_mutex_lock(&steps);
    while (step < which)
        pthread_cond_wait(&next, &steps);
    pthread_mutex_unlock(&steps);
}

THREAD(appender)
{
    pthread_mutex_lock(&mutex);
    pthread_rwlock_wrlock(&sync_lock);
    x++;
    pthread_rwlock_unlock(&sync_lock);
    pthread_mutex_unlock(&mutex);
    go(1);
    return NULL;
}

THREAD(getter)
{
    wait_for(1);
    pthread_rwlock_wrlock(&sync_lock);
    pthread_mutex_lock(&mutex);
    x++;
    pthread_mutex_unlock(&mutex);
    pthread_rwlock_unlock(&sync_lock);
    return NULL;
}

int main(void)
{
    run_two(appender, getter);
    return x - 2;
}
