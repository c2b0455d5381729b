// A constructor of the highest priority takes locks and starts a thread.
// issue: https://github.com/google/sanitizers/issues/772
// tool: ThreadSanitizer
// there: crash; early segmentation faults in the tool's tracing
// verdict: no race; counter is under the mutex
#include "prog.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int counter;

THREAD(adds)
{
    pthread_mutex_lock(&lock);
    counter++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

__attribute__((constructor(101))) static void early(void)
{
    pthread_t t = start(adds, NULL);

    adds(NULL);
    pthread_join(t, NULL);
}

int main(void)
{
    run_two(adds, adds);
    return counter - 4;
}
