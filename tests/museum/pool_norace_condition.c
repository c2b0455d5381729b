// A pool of one worker: jobs are handed over under a mutex and a condition variable.
// issue: https://github.com/Kimundi/scoped-threadpool-rs/issues/15
// tool: Helgrind
// there: false alarm; the language's condition variables and channels in a scoped thread pool
// verdict: no race; all of the queue is under the mutex, and results are read after a wait for
//   them
#include "prog.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
int waiting, finished, result[9];

THREAD(worker)
{
    for (int i = 0; i < 9; i++) {
        pthread_mutex_lock(&lock);
        while (waiting <= i)
            pthread_cond_wait(&change, &lock);
        pthread_mutex_unlock(&lock);
        result[i] = i;
        pthread_mutex_lock(&lock);
        finished++;
        pthread_cond_broadcast(&change);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void)
{
    pthread_t t = start(worker, NULL);

    for (int i = 0; i < 9; i++) {
        pthread_mutex_lock(&lock);
        waiting++;
        pthread_cond_broadcast(&change);
        while (finished <= i)
            pthread_cond_wait(&change, &lock);
        pthread_mutex_unlock(&lock);
        if (result[i] != i)
            abort();
    }
    pthread_join(t, NULL);
    return 0;
}
