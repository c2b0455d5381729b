// A thread polls a counter under a mutex that the worker needs, too.
// issue: https://github.com/rr-debugger/rr/issues/4101
// tool: rr
// there: hang; the polling thread never gives the mutex up, the worker starves
// verdict: no race; both use the counter under the mutex
#include "prog.h"
#include <sched.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int submitted = 5;

THREAD(worker)
{
    for (int i = 0; i < 5; i++) {
        pthread_mutex_lock(&lock);
        submitted--;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void)
{
    pthread_t t = start(worker, NULL);

    for (int left = 1; left; sched_yield()) {
        pthread_mutex_lock(&lock);
        left = submitted;
        pthread_mutex_unlock(&lock);
    }
    pthread_join(t, NULL);
    return 0;
}
